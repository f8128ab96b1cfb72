//! Kernels as people write them: `rbf`, `linear + constant`, `(rbf + linear) * periodic`.
//!
//! ```text
//! sum     = product { "+" product }
//! product = factor { "*" factor }
//! factor  = name | "(" sum ")"
//! ```
//!
//! **Variances.** Each term of a sum has one signal variance: v · k, learned. A term with a factor `linear` or `constant` needs none, because
//! the parameters of these are variances already; a product of two variances could not be told apart by any data.
//!
//! **Constants.** The kernel sees standardised coordinates and explains outputs less their mean over the data, so `linear` alone can represent
//! any affine function; but it takes the value at the mean of the data as known. `linear + constant` has an uncertainty there too.
//! `linear * linear` is a quadratic form without lower terms: `constant + linear + linear * linear` are all quadratic functions.

use super::{Constant, Kernel, Linear, Matern32, Matern52, Periodic, Product, Rbf, Reference, Scale, Sum};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A kernel by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelName {
    /// Squared exponential: infinitely smooth functions.
    Rbf,
    /// Twice differentiable functions.
    Matern52,
    /// Once differentiable functions.
    Matern32,
    /// Linear functions of the standardised coordinates.
    Linear,
    /// Constants.
    Constant,
    /// Periodic functions of each coordinate.
    Periodic,
    /// As the paper's authors' program has it, with its noise on the diagonal: a model of its own, which cannot be combined.
    Reference,
}

impl KernelName {
    /// All names.
    pub const ALL: [KernelName; 7] = [
        KernelName::Rbf,
        KernelName::Matern52,
        KernelName::Matern32,
        KernelName::Linear,
        KernelName::Constant,
        KernelName::Periodic,
        KernelName::Reference,
    ];

    /// As it is written.
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

    /// The kernel, with unit variance if it has none of its own.
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

/// A kernel made of named ones by sums and products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelExpression {
    /// One kernel.
    Name(KernelName),
    /// k = a + b
    Sum(Box<KernelExpression>, Box<KernelExpression>),
    /// k = a · b
    Product(Box<KernelExpression>, Box<KernelExpression>),
}

impl From<KernelName> for KernelExpression {
    fn from(name: KernelName) -> Self {
        KernelExpression::Name(name)
    }
}

impl KernelExpression {
    /// The kernel, every term of a sum with a signal variance.
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

    /// Whether the parameters include a variance already.
    fn has_variance(&self) -> bool {
        match self {
            KernelExpression::Name(name) => {
                matches!(name, KernelName::Linear | KernelName::Constant | KernelName::Reference)
            }
            KernelExpression::Sum(..) => true,
            KernelExpression::Product(a, b) => a.has_variance() || b.has_variance(),
        }
    }

    /// Whether functions of this kernel are weighted sums of finitely many features: it is made of `linear` and `constant` only.
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
        // + and * group from the left: only a right operand of the same kind, and a sum inside a product, need parentheses.
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

/// Why a text is not a kernel. Places count characters, from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A name that no kernel has.
    #[error("unknown kernel `{name}` at character {place}, expected one of {}", names())]
    Unknown {
        /// The name.
        name: String,
        /// Where it begins.
        place: usize,
    },
    /// Something other than a kernel or an opening parenthesis where one must stand.
    #[error("found {found} at character {place} where a kernel must stand (one of {}) or '('", names())]
    NoKernel {
        /// What stands there.
        found: String,
        /// Where.
        place: usize,
    },
    /// Something other than an operator between two kernels.
    #[error("found {found} at character {place} where '+', '*' or the end must stand")]
    NoOperator {
        /// What stands there.
        found: String,
        /// Where.
        place: usize,
    },
    /// A parenthesis without its partner.
    #[error("the parenthesis at character {place} is not closed")]
    NotClosed {
        /// Where it opens.
        place: usize,
    },
    /// The authors' kernel as a part of another.
    #[error("`reference` at character {place} cannot be combined: it stands for the authors' whole model")]
    Combined {
        /// Where it begins.
        place: usize,
    },
    /// More kernels or deeper parentheses than any data could tell apart.
    #[error("more than {most} kernels or nested parentheses")]
    TooLarge {
        /// How many there may be.
        most: usize,
    },
}

fn names() -> String {
    KernelName::ALL.map(|name| format!("`{}`", name.name())).join(", ")
}

/// Kernels and nested parentheses in one expression; a recursion without a limit would let a long text exhaust the stack.
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

/// The tokens of a text with their places; the end has a place too.
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
            ("rbf - linear", "found '-' at character 5 where '+', '*' or the end must stand".into()),
            ("rbf linear", "found 'linear' at character 5 where '+', '*' or the end must stand".into()),
            (
                "rbf +",
                format!("found the end at character 6 where a kernel must stand (one of {names}) or '('"),
            ),
            ("", format!("found the end at character 1 where a kernel must stand (one of {names}) or '('")),
            (
                "rbf * * rbf",
                format!("found '*' at character 7 where a kernel must stand (one of {names}) or '('"),
            ),
            ("linear * (rbf + rbf", "the parenthesis at character 10 is not closed".into()),
            ("(rbf rbf)", "found 'rbf' at character 6 where '+', '*' or the end must stand".into()),
            ("rbf)", "found ')' at character 4 where '+', '*' or the end must stand".into()),
            (
                "rbf + reference",
                "`reference` at character 7 cannot be combined: it stands for the authors' whole model"
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
