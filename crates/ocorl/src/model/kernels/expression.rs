//! Kernel expressions in text form: `rbf`, `linear + constant`, `(rbf + linear) * periodic`. The grammar is
//!
//! ```text
//! sum     = product { "+" product }
//! product = factor { "*" factor }
//! factor  = name | "(" sum ")"
//! ```
//!
//! **Variances.** Each term of a sum has one learned signal variance v · k. A term with a factor `linear` or `constant` has none,
//! because the parameters of these kernels are variances already; the data could not identify a product of two variances.
//!
//! **Constants.** The kernel acts on standardised coordinates and models outputs less their mean over the data. `linear` alone can
//! therefore represent any affine function, but it assumes that the value at the mean of the data is known. `linear + constant` has
//! an uncertainty there too. `linear * linear` is a quadratic form without lower-order terms; `constant + linear + linear * linear`
//! covers all quadratic functions.

use super::{Constant, Kernel, Linear, Matern32, Matern52, Periodic, Product, Rbf, Reference, Scale, Sum};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The name of an elementary kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelName {
    /// The squared-exponential kernel: infinitely differentiable functions.
    Rbf,
    /// The Matérn kernel with ν = 5/2: twice differentiable functions.
    Matern52,
    /// The Matérn kernel with ν = 3/2: once differentiable functions.
    Matern32,
    /// The linear kernel: linear functions of the standardised coordinates.
    Linear,
    /// The constant kernel: constant functions.
    Constant,
    /// The periodic kernel: functions that are periodic in each coordinate.
    Periodic,
    /// The kernel of the paper's authors' program together with its treatment of noise: a complete model, which cannot be combined.
    Reference,
}

impl KernelName {
    /// All kernel names.
    pub const ALL: [KernelName; 7] = [
        KernelName::Rbf,
        KernelName::Matern52,
        KernelName::Matern32,
        KernelName::Linear,
        KernelName::Constant,
        KernelName::Periodic,
        KernelName::Reference,
    ];

    /// The name as it is written in an expression.
    pub fn name(self) -> &'static str {
        match self {
            KernelName::Rbf => "rbf",
            KernelName::Matern52 => "matern-5/2",
            KernelName::Matern32 => "matern-3/2",
            KernelName::Linear => "linear",
            KernelName::Constant => "constant",
            KernelName::Periodic => "periodic",
            KernelName::Reference => "reference",
        }
    }

    /// Builds the kernel, with unit variance if it has no variance parameter.
    fn build(self) -> Box<dyn Kernel> {
        match self {
            KernelName::Rbf => Box::new(Rbf),
            KernelName::Matern52 => Box::new(Matern52),
            KernelName::Matern32 => Box::new(Matern32),
            KernelName::Linear => Box::new(Linear),
            KernelName::Constant => Box::new(Constant),
            KernelName::Periodic => Box::new(Periodic),
            KernelName::Reference => Box::new(Reference),
        }
    }
}

/// A kernel composed of elementary kernels by sums and products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelExpression {
    /// An elementary kernel.
    Name(KernelName),
    /// The sum k = a + b.
    Sum(Box<KernelExpression>, Box<KernelExpression>),
    /// The product k = a · b.
    Product(Box<KernelExpression>, Box<KernelExpression>),
}

impl From<KernelName> for KernelExpression {
    fn from(name: KernelName) -> Self {
        KernelExpression::Name(name)
    }
}

impl KernelExpression {
    /// Builds the kernel; every term of a sum has a signal variance.
    pub fn build(&self) -> Box<dyn Kernel> {
        if self.has_variance() { self.build_unscaled() } else { Box::new(Scale(self.build_unscaled())) }
    }

    fn build_unscaled(&self) -> Box<dyn Kernel> {
        match self {
            KernelExpression::Name(name) => name.build(),
            KernelExpression::Sum(a, b) => Box::new(Sum(a.build(), b.build())),
            KernelExpression::Product(a, b) => Box::new(Product(a.build_unscaled(), b.build_unscaled())),
        }
    }

    /// True if the parameters already include a variance.
    fn has_variance(&self) -> bool {
        match self {
            KernelExpression::Name(name) => {
                matches!(name, KernelName::Linear | KernelName::Constant | KernelName::Reference)
            }
            KernelExpression::Sum(..) => true,
            KernelExpression::Product(a, b) => a.has_variance() || b.has_variance(),
        }
    }

    /// True if functions of this kernel are weighted sums of finitely many features, that is if it is composed of `linear` and
    /// `constant` only.
    pub fn has_finite_features(&self) -> bool {
        match self {
            KernelExpression::Name(name) => matches!(name, KernelName::Linear | KernelName::Constant),
            KernelExpression::Sum(a, b) | KernelExpression::Product(a, b) => {
                a.has_finite_features() && b.has_finite_features()
            }
        }
    }
}

impl fmt::Display for KernelExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // + and * are left-associative: only a right operand of the same kind, and a sum inside a product, need parentheses.
        let nested = |of: &KernelExpression| format!("({of})");
        match self {
            KernelExpression::Name(name) => f.write_str(name.name()),
            KernelExpression::Sum(a, b) => {
                let right = if matches!(**b, KernelExpression::Sum(..)) { nested(b) } else { b.to_string() };
                write!(f, "{a} + {right}")
            }
            KernelExpression::Product(a, b) => {
                let left = if matches!(**a, KernelExpression::Sum(..)) { nested(a) } else { a.to_string() };
                let single = matches!(**b, KernelExpression::Name(_));
                let right = if single { b.to_string() } else { nested(b) };
                write!(f, "{left} * {right}")
            }
        }
    }
}

/// The reasons why a text is not a valid kernel expression. Positions count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The name of an elementary kernel is unknown.
    #[error("unknown kernel `{name}` at character {place}, expected one of {}", names())]
    Unknown {
        /// The unknown name.
        name: String,
        /// Position of its first character.
        place: usize,
    },
    /// A kernel name or an opening parenthesis was expected.
    #[error("expected a kernel (one of {}) or '(' at character {place}, found {found}", names())]
    NoKernel {
        /// The text that was found instead.
        found: String,
        /// Position of that text.
        place: usize,
    },
    /// An operator or the end of the text was expected.
    #[error("expected '+', '*' or the end at character {place}, found {found}")]
    NoOperator {
        /// The text that was found instead.
        found: String,
        /// Position of that text.
        place: usize,
    },
    /// An opening parenthesis has no closing one.
    #[error("the parenthesis at character {place} is not closed")]
    NotClosed {
        /// Position of the opening parenthesis.
        place: usize,
    },
    /// The kernel `reference` was combined with other kernels.
    #[error(
        "`reference` at character {place} cannot be combined with other kernels: it selects the complete model of the paper's authors"
    )]
    Combined {
        /// Position of its first character.
        place: usize,
    },
    /// The expression has too many kernels or too deeply nested parentheses.
    #[error("the kernel has more than {most} terms or nested parentheses; simplify it")]
    TooLarge {
        /// The largest permitted number.
        most: usize,
    },
}

fn names() -> String {
    KernelName::ALL.map(|name| format!("`{}`", name.name())).join(", ")
}

/// Largest number of kernels and of nested parentheses in one expression. It bounds the recursion depth of the parser.
const MOST: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Sign(char),
}

impl Token<'_> {
    fn describe(token: Option<Token<'_>>) -> String {
        match token {
            Some(Token::Word(word)) => format!("'{word}'"),
            Some(Token::Sign(sign)) => format!("'{sign}'"),
            None => "the end".into(),
        }
    }
}

/// The tokens of a text with their positions, including the position of the end.
struct Parser<'a> {
    tokens: Vec<(usize, Token<'a>)>,
    end: usize,
    next: usize,
    kernels: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut tokens = Vec::new();
        let mut word: Option<(usize, usize)> = None;
        let mut end = 1;
        for (i, (at, c)) in text.char_indices().enumerate() {
            end = i + 2;
            let sign = matches!(c, '+' | '*' | '(' | ')');
            if sign || c.is_whitespace() {
                tokens.extend(word.take().map(|(place, from)| (place, Token::Word(&text[from..at]))));
            }
            if sign {
                tokens.push((i + 1, Token::Sign(c)));
            } else if !c.is_whitespace() {
                word.get_or_insert((i + 1, at));
            }
        }
        tokens.extend(word.map(|(place, from)| (place, Token::Word(&text[from..]))));
        Parser { tokens, end, next: 0, kernels: 0, depth: 0 }
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).map(|(_, token)| *token)
    }

    fn place(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(place, _)| *place)
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(Token::Sign(sign));
        self.next += usize::from(found);
        found
    }

    fn sum(&mut self) -> Result<KernelExpression, KernelError> {
        let mut sum = self.product()?;
        while self.take('+') {
            sum = KernelExpression::Sum(Box::new(sum), Box::new(self.product()?));
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<KernelExpression, KernelError> {
        let mut product = self.factor()?;
        while self.take('*') {
            product = KernelExpression::Product(Box::new(product), Box::new(self.factor()?));
        }
        Ok(product)
    }

    fn factor(&mut self) -> Result<KernelExpression, KernelError> {
        let place = self.place();
        if self.take('(') {
            self.depth += 1;
            if self.depth > MOST {
                return Err(KernelError::TooLarge { most: MOST });
            }
            let inner = self.sum()?;
            if !self.take(')') {
                return Err(match self.peek() {
                    None => KernelError::NotClosed { place },
                    found => KernelError::NoOperator { found: Token::describe(found), place: self.place() },
                });
            }
            self.depth -= 1;
            return Ok(inner);
        }
        let found = self.peek();
        let Some(Token::Word(word)) = found else {
            return Err(KernelError::NoKernel { found: Token::describe(found), place });
        };
        let Some(name) = KernelName::ALL.into_iter().find(|kernel| kernel.name() == word) else {
            return Err(KernelError::Unknown { name: word.into(), place });
        };
        self.next += 1;
        self.kernels += 1;
        if self.kernels > MOST {
            return Err(KernelError::TooLarge { most: MOST });
        }
        Ok(name.into())
    }
}

impl FromStr for KernelExpression {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        let mut parser = Parser::new(text);
        let whole = parser.sum()?;
        if parser.peek().is_some() {
            let found = Token::describe(parser.peek());
            return Err(KernelError::NoOperator { found, place: parser.place() });
        }
        let reference = Token::Word(KernelName::Reference.name());
        match parser.tokens.iter().find(|(_, token)| *token == reference) {
            Some((place, _)) if parser.kernels > 1 => Err(KernelError::Combined { place: *place }),
            _ => Ok(whole),
        }
    }
}

impl Serialize for KernelExpression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KernelExpression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> KernelExpression {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn products_bind_stronger_than_sums_and_both_group_from_the_left() {
        let [rbf, linear, matern] = [KernelName::Rbf, KernelName::Linear, KernelName::Matern52]
            .map(|n| Box::new(KernelExpression::Name(n)));
        let product = KernelExpression::Product(rbf.clone(), linear.clone());
        assert_eq!(
            parse("rbf * linear + matern-5/2"),
            KernelExpression::Sum(Box::new(product), matern.clone())
        );
        let sum = KernelExpression::Sum(linear.clone(), matern.clone());
        assert_eq!(parse("rbf*(linear+matern-5/2)"), KernelExpression::Product(rbf.clone(), Box::new(sum)));
        let sum = KernelExpression::Sum(rbf, linear);
        assert_eq!(parse("rbf + linear + matern-5/2"), KernelExpression::Sum(Box::new(sum), matern));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for name in KernelName::ALL {
            assert_eq!(parse(name.name()).to_string(), name.name());
        }
        for (text, plain) in [
            ("rbf+linear", "rbf + linear"),
            ("( ( rbf ) )", "rbf"),
            ("rbf + (linear + constant)", "rbf + (linear + constant)"),
            ("(rbf + linear) + constant", "rbf + linear + constant"),
            ("(rbf * linear) * constant", "rbf * linear * constant"),
            ("rbf * (linear * constant)", "rbf * (linear * constant)"),
            ("(rbf + linear) * periodic", "(rbf + linear) * periodic"),
            ("rbf * linear + matern-5/2 * linear", "rbf * linear + matern-5/2 * linear"),
        ] {
            assert_eq!(parse(text).to_string(), plain);
            assert_eq!(parse(plain), parse(text));
            let json = serde_json::to_string(&parse(text)).unwrap();
            assert_eq!(json, format!("\"{plain}\""));
            assert_eq!(serde_json::from_str::<KernelExpression>(&json).unwrap(), parse(text));
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let names = "`rbf`, `matern-5/2`, `matern-3/2`, `linear`, `constant`, `periodic`, `reference`";
        for (text, error) in [
            ("rbf + matern", format!("unknown kernel `matern` at character 7, expected one of {names}")),
            ("rbf - linear", "expected '+', '*' or the end at character 5, found '-'".into()),
            ("rbf linear", "expected '+', '*' or the end at character 5, found 'linear'".into()),
            (
                "rbf +",
                format!("expected a kernel (one of {names}) or '(' at character 6, found the end"),
            ),
            ("", format!("expected a kernel (one of {names}) or '(' at character 1, found the end")),
            (
                "rbf * * rbf",
                format!("expected a kernel (one of {names}) or '(' at character 7, found '*'"),
            ),
            ("linear * (rbf + rbf", "the parenthesis at character 10 is not closed".into()),
            ("(rbf rbf)", "expected '+', '*' or the end at character 6, found 'rbf'".into()),
            ("rbf)", "expected '+', '*' or the end at character 4, found ')'".into()),
            (
                "rbf + reference",
                "`reference` at character 7 cannot be combined with other kernels: it selects the complete model of the paper's authors"
                    .into(),
            ),
        ] {
            assert_eq!(text.parse::<KernelExpression>().unwrap_err().to_string(), error, "{text}");
        }
        for text in ["(".repeat(100_000), format!("rbf{}", " + rbf".repeat(40))] {
            assert_eq!(text.parse::<KernelExpression>(), Err(KernelError::TooLarge { most: MOST }));
        }
        assert!(serde_json::from_str::<KernelExpression>("3").is_err());
    }

    #[test]
    fn every_term_has_one_variance_and_no_more() {
        let variances = |text: &str| {
            let parameters = parse(text).build().parameters(3);
            parameters.iter().filter(|p| p.name == "variance" || p.name == "constant").count()
        };
        for (text, count) in [
            ("rbf", 1),
            ("linear", 0),
            ("linear + constant", 1),
            ("rbf + linear", 1),
            ("rbf + matern-3/2", 2),
            ("rbf * matern-3/2", 1),
            ("rbf * linear + matern-5/2", 1),
            ("(rbf + linear) * periodic", 1),
            ("reference", 0),
        ] {
            assert_eq!(variances(text), count, "{text}");
        }
    }

    #[test]
    fn only_linear_and_constant_kernels_have_finite_features() {
        for (text, finite) in [
            ("linear", true),
            ("linear + constant", true),
            ("(linear + constant) * linear", true),
            ("rbf", false),
            ("rbf * linear", false),
            ("linear + periodic", false),
            ("reference", false),
        ] {
            assert_eq!(parse(text).has_finite_features(), finite, "{text}");
        }
    }
}
