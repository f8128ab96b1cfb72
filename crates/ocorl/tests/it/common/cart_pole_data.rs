//! The data set that models are compared on, the same in every language (see `studies/peers/gp_peers.py`): derivatives of the cart pole
//! at random points, with noise of 0.01.

#![allow(dead_code, reason = "each test takes what it needs")]

use ocorl::linalg::{Dims, Points};
use ocorl::measurements::Measurements;
use ocorl::system::Benchmark;

pub(crate) const DIMS: Dims = Dims { state: 4, control: 1 };
pub(crate) const ROWS: usize = 2100;
/// The rows from here on are for tests.
pub(crate) const FIRST_TEST: usize = 2000;

/// SplitMix64: u = (z >> 11)·2⁻⁵³.
struct SplitMix(u64);

impl SplitMix {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (a, b) = (self.unit(), self.unit());
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// All rows, seed 42: inputs (θ, ω, x, v, u) and noisy derivatives.
pub(crate) fn rows() -> Vec<([f64; 5], [f64; 4])> {
    let mut random = SplitMix(42);
    let mut f = Benchmark::find("cart-pole").expect("a benchmark's name").dynamics();
    let ranges = [std::f64::consts::PI, 3.0, 2.0, 3.0, 4.0];
    (0..ROWS)
        .map(|_| {
            let z = ranges.map(|range| (2.0 * random.unit() - 1.0) * range);
            let mut y = [0.0; 4];
            f.derivative(Points::single(&z), &mut y);
            (z, y.map(|y| y + 0.01 * random.normal()))
        })
        .collect()
}

/// The first `n` rows as measurements, with `noise(i, j)` as stated noise of output j of row i.
pub(crate) fn measurements(n: usize, noise: impl Fn(usize, usize) -> f64) -> Measurements {
    let mut data = Measurements::new(DIMS);
    for (i, (z, y)) in rows()[..n].iter().enumerate() {
        let noise: [f64; 4] = std::array::from_fn(|j| noise(i, j));
        data.push(i as f64, &z[..4], &z[4..], y, &noise).expect("finite numbers");
    }
    data
}

/// Population standard deviations of the four outputs of the first `n` rows.
pub(crate) fn spreads(n: usize) -> [f64; 4] {
    let rows = &rows()[..n];
    std::array::from_fn(|j| {
        let mean = rows.iter().map(|(_, y)| y[j]).sum::<f64>() / n as f64;
        (rows.iter().map(|(_, y)| (y[j] - mean).powi(2)).sum::<f64>() / n as f64).sqrt()
    })
}

/// `count` test inputs, one after the other.
pub(crate) fn test_points(count: usize) -> Vec<f64> {
    rows()[FIRST_TEST..FIRST_TEST + count].iter().flat_map(|(z, _)| *z).collect()
}
