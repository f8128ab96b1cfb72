//! Parses tokens to expressions by precedence climbing. Nesting is limited, so that no input can exhaust the stack.

use super::lexer::{Lexer, Token, short};
use super::operation::{Function, Operation, TABLE};
use super::scope::{CONSTANTS, Scope};
use super::{
    Cause, Comparison, Condition, Expression, ExpressionError, MAX_DEPTH, MAX_NODES, MAX_TEXT, Node,
};
use std::ops::Range;

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    scope: &'a Scope,
    token: Token<'a>,
    span: Range<usize>,
    /// End position of the last token consumed.
    end: usize,
    nodes: Vec<Node>,
    depth: usize,
    /// Whether comparisons are allowed.
    comparing: bool,
}

type Parsed<T> = Result<T, ExpressionError>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, scope: &'a Scope) -> Parsed<Self> {
        if text.len() > MAX_TEXT {
            return Err(ExpressionError::new(0..0, Cause::TooLong { bytes: text.len() }));
        }
        let mut lexer = Lexer::new(text);
        let (token, span) = lexer.next()?;
        if token == Token::End {
            return Err(ExpressionError::new(0..0, Cause::Empty));
        }
        Ok(Parser { lexer, scope, token, span, end: 0, nodes: Vec::new(), depth: 0, comparing: false })
    }

    /// Parses the whole text as one expression.
    pub(super) fn expression(mut self) -> Parsed<Expression> {
        self.sum()?;
        self.finish("an operator or the end")?;
        Ok(Expression { nodes: self.nodes })
    }

    /// Parses the whole text as a condition.
    pub(super) fn condition(mut self) -> Parsed<Condition> {
        self.comparing = true;
        let mut comparisons = vec![self.comparison()?];
        while self.token == Token::Name("or") {
            self.advance()?;
            comparisons.push(self.comparison()?);
        }
        self.finish("'or' or the end")?;
        Ok(Condition { comparisons })
    }

    #[cfg(test)]
    fn tokens(mut self) -> usize {
        let _ = self.sum();
        self.lexer.count
    }

    fn comparison(&mut self) -> Parsed<Comparison> {
        let start = self.span.start;
        let left = self.side()?;
        let Token::Compare(sign) = self.token else { return Err(self.unexpected("'<', '<=', '>' or '>='")) };
        self.advance()?;
        let right = self.side()?;
        Ok(Comparison { left, less: sign.starts_with('<'), right, span: start..self.end })
    }

    fn side(&mut self) -> Parsed<Expression> {
        self.sum()?;
        Ok(Expression { nodes: std::mem::take(&mut self.nodes) })
    }

    fn advance(&mut self) -> Parsed<()> {
        self.end = self.span.end;
        (self.token, self.span) = self.lexer.next()?;
        Ok(())
    }

    fn finish(&self, expected: &'static str) -> Parsed<()> {
        if self.token == Token::End { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let cause = match self.token {
            Token::Name("and") if self.comparing => Cause::And,
            Token::Compare(sign) if !self.comparing => Cause::ComparisonHere(sign),
            Token::Name(name) => Cause::Unexpected { found: format!("'{}'", short(name)), expected },
            Token::Number(value) => Cause::Unexpected { found: format!("'{value}'"), expected },
            Token::Sign(sign) => Cause::Unexpected { found: format!("'{sign}'"), expected },
            Token::Compare(sign) => Cause::Unexpected { found: format!("'{sign}'"), expected },
            Token::End => Cause::Unexpected { found: "the end".into(), expected },
        };
        ExpressionError::new(self.span.clone(), cause)
    }

    fn push(&mut self, node: Node) -> Parsed<usize> {
        if self.nodes.len() >= MAX_NODES {
            return Err(ExpressionError::new(self.span.clone(), Cause::TooManyNodes));
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    /// Enters one nesting level, if the limit allows it.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ExpressionError::new(self.span.clone(), Cause::TooDeep));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Parsed<usize> {
        let mut left = self.product()?;
        loop {
            let operation = match self.token {
                Token::Sign('+') => Operation::Add,
                Token::Sign('-') => Operation::Subtract,
                _ => return Ok(left),
            };
            self.advance()?;
            let right = self.product()?;
            left = self.push(Node::Binary(operation, left, right))?;
        }
    }

    fn product(&mut self) -> Parsed<usize> {
        let mut left = self.signed()?;
        loop {
            let operation = match self.token {
                Token::Sign('*') => Operation::Multiply,
                Token::Sign('/') => Operation::Divide,
                _ => return Ok(left),
            };
            self.advance()?;
            let right = self.signed()?;
            left = self.push(Node::Binary(operation, left, right))?;
        }
    }

    /// Parses a signed term. A sign binds weaker than a power: −x² is −(x²).
    fn signed(&mut self) -> Parsed<usize> {
        match self.token {
            Token::Sign('-') => {
                self.advance()?;
                let operand = self.nested(Self::signed)?;
                self.push(Node::Unary(Operation::Negate, operand))
            }
            Token::Sign('+') => {
                self.advance()?;
                self.nested(Self::signed)
            }
            _ => self.power(),
        }
    }

    /// Parses a power. Powers are right-associative: a^b^c is a^(b^c).
    fn power(&mut self) -> Parsed<usize> {
        let base = self.atom()?;
        if self.token != Token::Sign('^') {
            return Ok(base);
        }
        self.advance()?;
        let exponent = self.nested(Self::signed)?;
        self.push(Node::Binary(Operation::Power, base, exponent))
    }

    fn atom(&mut self) -> Parsed<usize> {
        match self.token {
            Token::Number(value) => {
                self.advance()?;
                self.push(Node::Number(value))
            }
            Token::Sign('(') => {
                self.advance()?;
                let inside = self.nested(Self::sum)?;
                self.close("')' or an operator")?;
                Ok(inside)
            }
            Token::Name(name) if !["and", "or"].contains(&name) => {
                let span = self.span.clone();
                self.advance()?;
                if self.token == Token::Sign('(') {
                    return self.call(name, span);
                }
                let node = self.name(name).map_err(|cause| ExpressionError::new(span, cause))?;
                self.push(node)
            }
            _ => Err(self.unexpected("a number, a name or '('")),
        }
    }

    fn close(&mut self, expected: &'static str) -> Parsed<()> {
        if self.token == Token::Sign(')') { self.advance() } else { Err(self.unexpected(expected)) }
    }

    fn name(&self, name: &str) -> Result<Node, Cause> {
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            return Ok(Node::Number(*value));
        }
        match self.scope.find(name) {
            Some(Ok(symbol)) => Ok(Node::Symbol(symbol)),
            Some(Err(why)) => Err(Cause::NotHere { name: name.into(), why }),
            None if TABLE.iter().any(|(function, _)| *function == name) => Err(Cause::NotHere {
                name: name.into(),
                why: "it is a function and needs its argument in '()'",
            }),
            None => Err(Cause::UnknownName(short(name))),
        }
    }

    fn call(&mut self, name: &str, span: Range<usize>) -> Parsed<usize> {
        let Some((function, kind)) = TABLE.iter().find(|(function, _)| *function == name) else {
            let known = self.scope.find(name).is_some() || CONSTANTS.iter().any(|(c, _)| *c == name);
            let cause = if known {
                Cause::NotHere { name: name.into(), why: "it is no function; write '*' to multiply" }
            } else {
                Cause::UnknownFunction(short(name))
            };
            return Err(ExpressionError::new(span, cause));
        };
        self.advance()?;
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.nested(Self::sum)?);
            if self.token != Token::Sign(',') {
                break;
            }
            self.advance()?;
        }
        self.close("',', ')' or an operator")?;
        match (*kind, arguments.as_slice()) {
            (Function::Of(operation), [a]) => self.push(Node::Unary(operation, *a)),
            (Function::OfTwo(operation), [a, b]) => self.push(Node::Binary(operation, *a, *b)),
            (Function::Clamp, [x, low, high]) => {
                let above = self.push(Node::Binary(Operation::Max, *x, *low))?;
                self.push(Node::Binary(Operation::Min, above, *high))
            }
            (kind, given) => {
                let (needed, found) = (kind.arguments(), given.len());
                let cause = Cause::Arguments { function, needed, found };
                Err(ExpressionError::new(span.start..self.end, cause))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_read_once_however_the_text_is_built() {
        let scope = Scope::new().inputs(["x"]);
        for unit in ["x+", "sin(x)*", "-x^2-", "(x)/", "1.5e-3*"] {
            let mut before: Option<usize> = None;
            for kib in [1, 2, 4, 8, 16, 32, 64] {
                let repeats = (kib * 1024 - 1) / unit.len();
                let text = unit.repeat(repeats) + "x";
                let parser = Parser::new(&text, &scope).unwrap();
                let tokens = parser.tokens();
                // The number of tokens is bounded by the number of bytes: no token is read twice.
                assert!(tokens <= text.len() + 2, "{unit}: {tokens} tokens of {} bytes", text.len());
                if let Some(before) = before {
                    assert!(tokens as f64 <= 2.5 * before as f64, "{unit}: {before}, then {tokens}");
                }
                before = Some(tokens);
            }
        }
    }
}
