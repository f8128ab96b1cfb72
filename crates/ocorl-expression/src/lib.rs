//! Equations as text: parsing, evaluation and exact differentiation. An expression cannot access files, clocks or other programs; it can
//! call [`FUNCTIONS`] only. Integration, plans and file formats are left to other crates.
//!
//! ```text
//! expression = term { ("+" | "-") term }            term  = sign { ("*" | "/") sign }
//! sign       = "-" sign | "+" sign | power          power = atom [ "^" sign ]
//! atom       = number | name | function "(" expression { "," expression } ")" | "(" expression ")"
//! condition  = comparison { "or" comparison }       comparison = expression ("<" | "<=" | ">" | ">=") expression
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `lexer`, `parser` | text to [`Expression`], in linear time and bounded memory |
//! | `operation` | each operation with its first and second derivatives |
//! | `tape` | several expressions as one list of steps; values, Jacobians, Hessians |
//! | `equations` | a tape as [`Dynamics`](ocorl::system::Dynamics) |
//! | `cost` | a tape as [`Cost`](ocorl::system::Cost) |
//!
//! ```
//! use ocorl_expression::{Equations, Formulas, Scope};
//! use ocorl::linalg::Points;
//! use ocorl::system::Dynamics;
//!
//! let scope = Scope::new().inputs(["theta", "omega", "torque"]).parameters(["g", "l"]);
//! let formulas = Formulas::new(scope);
//! let outputs = [formulas.parse("omega")?, formulas.parse("g/l*sin(theta) + torque")?];
//! let mut pendulum = Equations::new(formulas.tape(&outputs, &[9.81, 5.0])?, 2);
//! let mut derivative = [0.0; 2];
//! pendulum.derivative(Points::single(&[0.3, -0.2, 0.7]), &mut derivative);
//! assert!((derivative[1] - 1.279_810_645_47).abs() < 1e-10);
//! # Ok::<(), ocorl_expression::ExpressionError>(())
//! ```

mod constraints;
mod cost;
mod equations;
mod lexer;
mod operation;
mod parser;
mod scope;
mod tape;

pub use constraints::ExpressionConstraints;
pub use cost::ExpressionCost;
pub use equations::Equations;
pub use operation::FUNCTIONS;
pub use scope::{CONSTANTS, Formulas, Scope, Symbol, WORDS, is_name};
pub use tape::Tape;

use operation::Operation;
use std::ops::Range;

/// Maximum length of an expression in bytes.
pub const MAX_TEXT: usize = 64 * 1024;
/// Maximum number of numbers, names and operations in an expression or a tape.
pub const MAX_NODES: usize = 10_000;
/// Maximum nesting depth of parentheses, functions, signs and powers.
pub const MAX_DEPTH: usize = 128;

/// A parsed expression with resolved names, in postfix order: operands come before their operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    nodes: Vec<Node>,
}

/// One number, name or operation; operands are indices of earlier nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Number(f64),
    Symbol(Symbol),
    Unary(Operation, usize),
    Binary(Operation, usize, usize),
}

impl Expression {
    /// The symbol, if the expression is a single name.
    pub fn symbol(&self) -> Option<Symbol> {
        match self.nodes.as_slice() {
            [Node::Symbol(symbol)] => Some(*symbol),
            _ => None,
        }
    }

    /// All symbols that occur in the expression.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.nodes.iter().filter_map(|node| match node {
            Node::Symbol(symbol) => Some(*symbol),
            _ => None,
        })
    }

    /// Number of numbers, names and operations.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Always false: an expression has at least one node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// A disjunction of comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The comparisons, joined by `or`.
    pub comparisons: Vec<Comparison>,
}

/// A comparison of two expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Left-hand side.
    pub left: Expression,
    /// `<` or `<=`: true if the left side is the smaller one; `>` or `>=`: false.
    pub less: bool,
    /// Right-hand side.
    pub right: Expression,
    /// Byte range in the text.
    pub span: Range<usize>,
}

/// An error in an expression, with its position.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct ExpressionError {
    /// Byte range in the text; empty at its end, and for errors without a single position.
    pub span: Range<usize>,
    /// Cause of the error.
    pub cause: Cause,
}

/// Causes of errors in expressions.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The text is too long.
    #[error("it has {bytes} bytes; at most {MAX_TEXT} are read")]
    TooLong {
        /// Length of the text in bytes.
        bytes: usize,
    },
    /// There are too many numbers, names and operations.
    #[error("it has more than {MAX_NODES} numbers, names and operations")]
    TooManyNodes,
    /// The nesting is too deep.
    #[error("it is nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The text is empty.
    #[error("it is empty")]
    Empty,
    /// A token is not allowed at its position.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The token found.
        found: String,
        /// The kind of token expected.
        expected: &'static str,
    },
    /// A character that is not part of the language.
    #[error("unexpected character '{0}'")]
    UnknownSign(char),
    /// A comparison where a number is expected.
    #[error("'{0}' is a comparison; only a condition may contain one")]
    ComparisonHere(&'static str),
    /// The operator `and` in a condition.
    #[error("'and' is not allowed in a condition; only 'or' is")]
    And,
    /// A malformed number, or one that is too large.
    #[error("'{0}' is not a finite number")]
    Number(String),
    /// The name is not defined.
    #[error("unknown name '{0}'")]
    UnknownName(String),
    /// The function is not defined.
    #[error("unknown function '{0}'")]
    UnknownFunction(String),
    /// The name is defined, but not allowed in this expression.
    #[error("'{name}' cannot be used here: {why}")]
    NotHere {
        /// The name.
        name: String,
        /// Reason why it is not allowed.
        why: &'static str,
    },
    /// A function call with the wrong number of arguments.
    #[error("{function} takes {needed} argument{}, not {found}", if *needed == 1 { "" } else { "s" })]
    Arguments {
        /// Name of the function.
        function: &'static str,
        /// Required number of arguments.
        needed: usize,
        /// Number of arguments found.
        found: usize,
    },
    /// A circular definition.
    #[error("the definition of '{0}' is recursive")]
    Circular(String),
}

impl ExpressionError {
    fn new(span: Range<usize>, cause: Cause) -> Self {
        ExpressionError { span, cause }
    }
}

/// The code of `README.md`, compiled and run by the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
