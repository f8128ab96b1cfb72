//! Named random streams: the draws of a stream depend on its path only, not on what other streams draw.
//!
//! ```
//! use ocorl::random::Stream;
//! let mut rng = Stream::root(7).child("noise").index(3).rng();
//! let first = rng.normal();
//! assert_eq!(first, Stream::root(7).child("noise").index(3).rng().normal());
//! ```

use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

/// A node in the tree of random streams. It stores no generator state; its path determines all draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream(u64);

impl Stream {
    /// The root of all streams of a `seed`.
    pub fn root(seed: u64) -> Stream {
        Stream(mix(seed ^ 0x6f63_6f72_6c00_0001))
    }

    /// The sub-stream for a named purpose.
    #[must_use]
    pub fn child(self, purpose: &str) -> Stream {
        purpose.bytes().fold(Stream(mix(self.0 ^ 0xa5a5)), |s, b| Stream(mix(s.0 ^ u64::from(b))))
    }

    /// The `i`-th sub-stream.
    #[must_use]
    pub fn index(self, i: usize) -> Stream {
        Stream(mix(self.0.wrapping_add(mix(i as u64 ^ 0x5a5a))))
    }

    /// A new generator at the beginning of this stream.
    pub fn rng(self) -> Rng {
        Rng(ChaCha12Rng::seed_from_u64(self.0))
    }
}

/// A bijective scrambling of 64 bits (the finaliser of the SplitMix generator).
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A random number generator with a fixed algorithm (ChaCha, 12 rounds): the same draws on every platform and release.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha12Rng);

impl Rng {
    /// Draws uniformly from [0, 1) with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Draws uniformly from [`low`, `high`).
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Draws uniformly from 0, 1, …, n − 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ unit < 1")]
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Draws from the standard normal distribution (Box–Muller; the second value is discarded, so that draws do not depend on
    /// history).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_independent_of_each_other_and_repeatable() {
        let draw = |s: Stream| s.rng().unit();
        let root = Stream::root(0);
        let all = [
            draw(root),
            draw(root.child("a")),
            draw(root.child("b")),
            draw(root.child("a").index(0)),
            draw(root.child("a").index(1)),
            draw(Stream::root(1).child("a")),
        ];
        for i in 0..all.len() {
            for j in 0..i {
                assert_ne!(all[i], all[j]);
            }
        }
        assert_eq!(all[3], draw(root.child("a").index(0)));
    }

    #[test]
    fn normal_draws_have_unit_variance() {
        let mut rng = Stream::root(3).rng();
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n) - mean * mean;
        // Five standard errors of each estimate.
        assert!(mean.abs() < 5.0 / f64::from(n).sqrt(), "mean {mean}");
        assert!((variance - 1.0).abs() < 5.0 * (2.0 / f64::from(n)).sqrt(), "variance {variance}");
    }
}
