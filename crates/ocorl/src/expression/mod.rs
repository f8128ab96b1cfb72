//! Equations as text: parsed, differentiated exactly, and nothing else. An expression can reach no file, no clock, no other program;
//! what it may call is [`FUNCTIONS`].
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
//! | `equations` | a tape as [`Dynamics`](crate::system::Dynamics) |
//! | `cost` | a tape as [`Cost`](crate::system::Cost) |
//!
//! ```
//! use ocorl::expression::{Equations, Formulas, Scope};
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
//! # Ok::<(), ocorl::expression::ExpressionError>(())
//! ```

mod cost;
mod equations;
mod lexer;
mod operation;
mod parser;
mod scope;
mod tape;

pub use cost::ExpressionCost;
pub use equations::Equations;
pub use operation::FUNCTIONS;
pub use scope::{CONSTANTS, Formulas, Scope, Symbol, WORDS, is_name};
pub use tape::Tape;

use operation::Operation;
use std::ops::Range;

/// Longest text of an expression, in bytes.
pub const MAX_TEXT: usize = 64 * 1024;
/// Most numbers, names and operations of an expression, or of a tape.
pub const MAX_NODES: usize = 10_000;
/// Deepest nesting of parentheses, functions, signs and powers.
pub const MAX_DEPTH: usize = 128;

/// An expression whose names are known. Operations stand behind what they act on.
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
    /// The name that is the whole expression, if it is one.
    pub fn symbol(&self) -> Option<Symbol> {
        match self.nodes.as_slice() {
            [Node::Symbol(symbol)] => Some(*symbol),
            _ => None,
        }
    }

    /// All names it uses.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.nodes.iter().filter_map(|node| match node {
            Node::Symbol(symbol) => Some(*symbol),
            _ => None,
        })
    }

    /// Numbers, names and operations.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// False: there is always something to evaluate.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// Comparisons of which one must be true.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Joined by `or`.
    pub comparisons: Vec<Comparison>,
}

/// Two expressions compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Left of the sign.
    pub left: Expression,
    /// `<` or `<=`: true if the left side is the smaller one; `>` or `>=`: false.
    pub less: bool,
    /// Right of the sign.
    pub right: Expression,
    /// Where it stands, in bytes.
    pub span: Range<usize>,
}

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct ExpressionError {
    /// Bytes of the text; empty at its end, and where the mistake is not in one place.
    pub span: Range<usize>,
    /// What is wrong.
    pub cause: Cause,
}

/// What can be wrong with an expression.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The text is too long.
    #[error("it has {bytes} bytes; at most {MAX_TEXT} are read")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// There is too much to evaluate.
    #[error("it has more than {MAX_NODES} numbers, names and operations")]
    TooManyNodes,
    /// Nested too deeply.
    #[error("it is nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// Something stands where something else must.
    #[error("{found} stands where {expected} is expected")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What must.
        expected: &'static str,
    },
    /// A sign that means nothing here.
    #[error("'{0}' means nothing in an expression")]
    UnknownSign(char),
    /// A comparison where a number is wanted.
    #[error("'{0}' compares; only a condition compares")]
    ComparisonHere(&'static str),
    /// `and` in a condition.
    #[error("'and' cannot join comparisons; only 'or' can")]
    And,
    /// A number that is none, or too large.
    #[error("'{0}' is not a finite number")]
    Number(String),
    /// Nobody knows this name.
    #[error("nothing is called '{0}'")]
    UnknownName(String),
    /// Nobody knows this function.
    #[error("no function is called '{0}'")]
    UnknownFunction(String),
    /// A name that is known, but not here.
    #[error("'{name}' cannot be used here: {why}")]
    NotHere {
        /// The name.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// The wrong number of arguments.
    #[error("{function} takes {needed} argument{}, not {found}", if *needed == 1 { "" } else { "s" })]
    Arguments {
        /// Which function.
        function: &'static str,
        /// How many it takes.
        needed: usize,
        /// How many it was given.
        found: usize,
    },
    /// A definition that needs itself.
    #[error("'{0}' is defined by itself")]
    Circular(String),
}

impl ExpressionError {
    fn new(span: Range<usize>, cause: Cause) -> Self {
        ExpressionError { span, cause }
    }
}
