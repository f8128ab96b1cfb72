//! The write token: a secret that every writing request must carry.

use crate::WatchError;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Size of a generated token in bytes: 128 bits.
const BYTES: usize = 16;
/// Smallest length of a token chosen by the user, in characters.
const SHORTEST: usize = 32;
/// Largest length of a token chosen by the user, in characters.
const LONGEST: usize = 256;

/// A secret that every writing request must carry.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new token from the operating system's random number generator.
    pub fn new() -> Result<Self, WatchError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| WatchError::Random(error.to_string()))?;
        let mut text = String::new();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Token(text))
    }

    /// A token chosen by the user.
    pub fn given(text: &str) -> Result<Self, WatchError> {
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if plain && (SHORTEST..=LONGEST).contains(&text.len()) {
            Ok(Token(text.into()))
        } else {
            Err(WatchError::WeakToken { shortest: SHORTEST, longest: LONGEST })
        }
    }

    /// The secret, to be shown only to the user who started the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `other` equals the token, in constant time: all bytes of both digests are compared.
    pub(crate) fn is(&self, other: &[u8]) -> bool {
        let (ours, theirs) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(other));
        let unlike = ours.iter().zip(theirs.iter()).fold(0, |unlike, (a, b)| unlike | (a ^ b));
        std::hint::black_box(unlike) == 0
    }
}

/// Hides the secret, so that it cannot appear in logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tokens_have_128_bits_and_are_all_different() {
        let tokens: BTreeSet<String> = (0..1000).map(|_| Token::new().unwrap().0).collect();
        assert_eq!(tokens.len(), 1000);
        assert!(tokens.iter().all(|t| t.len() == 32 && t.bytes().all(|b| b.is_ascii_hexdigit())));
        // Every digit takes every value, so no bit is fixed.
        for place in 0..32 {
            let digits: BTreeSet<u8> = tokens.iter().map(|t| t.as_bytes()[place]).collect();
            assert_eq!(digits.len(), 16, "digit {place}");
        }
    }

    #[test]
    fn only_the_same_is_the_same_and_nobody_prints_it() {
        let token = Token::new().unwrap();
        assert!(token.is(token.reveal().as_bytes()));
        for other in ["", " ", &token.0[1..], &format!("{}0", token.0), &token.0.to_uppercase()] {
            assert_eq!(token.is(other.as_bytes()), *other == token.0, "{other}");
        }
        assert!(!format!("{token:?}").contains(&token.0));
        assert!(Token::given("short").is_err() && Token::given(&"ä".repeat(40)).is_err());
        assert!(Token::given(&"a".repeat(32)).is_ok());
    }
}
