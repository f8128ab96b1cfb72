//! The names available to expressions, and systems of expressions that refer to each other.

use super::lexer::is_letter;
use super::parser::Parser;
use super::tape::{Compiler, Tape};
use super::{Cause, Condition, Expression, ExpressionError, FUNCTIONS, MAX_NODES};
use std::collections::HashMap;

/// Named constants.
pub const CONSTANTS: [(&str, f64); 1] = [("pi", std::f64::consts::PI)];

/// Reserved words.
pub const WORDS: [&str; 3] = ["t", "and", "or"];

/// Meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A coordinate of the point at which the expression is evaluated.
    Input(usize),
    /// The time t.
    Time,
    /// A parameter, whose value is fixed before the evaluation.
    Parameter(usize),
    /// Another expression.
    Definition(usize),
}

/// The names that an expression may use.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    names: HashMap<String, Result<Symbol, &'static str>>,
    inputs: usize,
    parameters: usize,
    definitions: Vec<String>,
}

impl Scope {
    /// A scope with constants only.
    pub fn new() -> Self {
        Scope::default()
    }

    /// Adds inputs: coordinates of the point, in its order.
    #[must_use]
    pub fn inputs<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        for name in names {
            self.names.insert(name.into(), Ok(Symbol::Input(self.inputs)));
            self.inputs += 1;
        }
        self
    }

    /// Adds the time `t`.
    #[must_use]
    pub fn time(mut self) -> Self {
        self.names.insert("t".into(), Ok(Symbol::Time));
        self
    }

    /// Adds parameters, in the order in which their values will be given.
    #[must_use]
    pub fn parameters<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        for name in names {
            self.names.insert(name.into(), Ok(Symbol::Parameter(self.parameters)));
            self.parameters += 1;
        }
        self
    }

    /// Adds names of definitions; [`Formulas::define`] provides their expressions, in any order.
    #[must_use]
    pub fn definitions<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        for name in names {
            let name = name.into();
            self.names.insert(name.clone(), Ok(Symbol::Definition(self.definitions.len())));
            self.definitions.push(name);
        }
        self
    }

    /// Adds names that exist but are not allowed, with the reason.
    #[must_use]
    pub fn forbid<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>, why: &'static str) -> Self {
        self.names.extend(names.into_iter().map(|name| (name.into(), Err(why))));
        self
    }

    /// All names that may be used, including constants, sorted.
    pub fn names(&self) -> Vec<&str> {
        let own = self.names.iter().filter(|(_, symbol)| symbol.is_ok()).map(|(name, _)| name.as_str());
        let mut names: Vec<&str> = own.chain(CONSTANTS.map(|(name, _)| name)).collect();
        names.sort_unstable();
        names
    }

    pub(super) fn find(&self, name: &str) -> Option<Result<Symbol, &'static str>> {
        self.names.get(name).copied()
    }
}

/// Whether `name` is a valid name: letters, digits and `_`, starting with a letter, and not a reserved word.
pub fn is_name(name: &str) -> bool {
    let reserved = WORDS.contains(&name)
        || CONSTANTS.iter().any(|(constant, _)| *constant == name)
        || FUNCTIONS.iter().any(|(function, _)| *function == name);
    let mut letters = name.chars();
    letters.next().is_some_and(is_letter)
        && letters.all(|c| is_letter(c) || c.is_ascii_digit())
        && name.len() <= 64
        && !reserved
}

/// Expressions over one scope, which may refer to each other's definitions.
#[derive(Clone, Debug)]
pub struct Formulas {
    scope: Scope,
    definitions: Vec<Option<Expression>>,
}

impl Formulas {
    /// An empty set of definitions over `scope`.
    pub fn new(scope: Scope) -> Self {
        let definitions = vec![None; scope.definitions.len()];
        Formulas { scope, definitions }
    }

    /// The scope of the expressions.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Parses an expression.
    pub fn parse(&self, text: &str) -> Result<Expression, ExpressionError> {
        Parser::new(text, &self.scope)?.expression()
    }

    /// Parses a condition.
    pub fn parse_condition(&self, text: &str) -> Result<Condition, ExpressionError> {
        Parser::new(text, &self.scope)?.condition()
    }

    /// Provides the expression of the definition `name`, which must be in the scope.
    pub fn define(&mut self, name: &str, text: &str) -> Result<(), ExpressionError> {
        let expression = self.parse(text)?;
        let Some(i) = self.scope.definitions.iter().position(|known| known == name) else {
            return Err(ExpressionError::new(0..0, Cause::UnknownName(name.into())));
        };
        self.definitions[i] = Some(expression);
        Ok(())
    }

    /// The first circular definition, if there is one.
    pub fn circular(&self) -> Option<&str> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            No,
            Open,
            Done,
        }
        let uses = |i: usize| -> Vec<usize> {
            let symbols = self.definitions[i].iter().flat_map(Expression::symbols);
            symbols.filter_map(|s| if let Symbol::Definition(j) = s { Some(j) } else { None }).collect()
        };
        let mut seen = vec![Seen::No; self.definitions.len()];
        for first in 0..self.definitions.len() {
            // An explicit stack, because chains of definitions may be as long as the file.
            let mut stack = vec![(first, uses(first))];
            if seen[first] == Seen::Done {
                continue;
            }
            seen[first] = Seen::Open;
            while let Some((i, rest)) = stack.last_mut() {
                match rest.pop() {
                    Some(next) if seen[next] == Seen::Open => {
                        return Some(&self.scope.definitions[next]);
                    }
                    Some(next) if seen[next] == Seen::No => {
                        seen[next] = Seen::Open;
                        stack.push((next, uses(next)));
                    }
                    Some(_) => {}
                    None => {
                        seen[*i] = Seen::Done;
                        stack.pop();
                    }
                }
            }
        }
        None
    }

    /// Compiles expressions to a tape, with the values of the parameters substituted.
    pub fn tape(&self, outputs: &[Expression], parameters: &[f64]) -> Result<Tape, ExpressionError> {
        assert_eq!(parameters.len(), self.scope.parameters, "parameters and their values differ in number");
        if let Some(name) = self.circular() {
            return Err(ExpressionError::new(0..0, Cause::Circular(name.into())));
        }
        let all = outputs.iter().chain(self.definitions.iter().flatten());
        if all.map(Expression::len).sum::<usize>() > MAX_NODES {
            return Err(ExpressionError::new(0..0, Cause::TooManyNodes));
        }
        let mut compiler = Compiler::new(self.scope.inputs, parameters, &self.definitions);
        outputs.iter().try_for_each(|output| compiler.output(output))?;
        Ok(compiler.finish())
    }

    /// Value of an expression that depends on parameters only.
    pub fn constant(&self, expression: &Expression, parameters: &[f64]) -> Option<f64> {
        self.tape(std::slice::from_ref(expression), parameters).ok()?.constant()
    }
}
