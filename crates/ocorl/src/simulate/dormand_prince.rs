//! The Dormand–Prince pair of orders 5 and 4 with its dense output of order 4 [DP80, Hai93 II.4–6].

/// cᵢ of the seven stages; the last two are at the end of the step.
pub(super) const NODES: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];

/// aᵢⱼ, row by row; the last row is the step itself, so its slope begins the next step.
pub(super) const STAGES: [[f64; 6]; 7] = [
    [0.0; 6],
    [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19_372.0 / 6_561.0, -25_360.0 / 2_187.0, 64_448.0 / 6_561.0, -212.0 / 729.0, 0.0, 0.0],
    [9_017.0 / 3_168.0, -355.0 / 33.0, 46_732.0 / 5_247.0, 49.0 / 176.0, -5_103.0 / 18_656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1_113.0, 125.0 / 192.0, -2_187.0 / 6_784.0, 11.0 / 84.0],
];

/// Weights of the difference between the two orders.
pub(super) const ERROR: [f64; 7] = [
    71.0 / 57_600.0,
    0.0,
    -71.0 / 16_695.0,
    71.0 / 1_920.0,
    -17_253.0 / 339_200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];

/// Weights of the fifth coefficient of the dense output.
const DENSE: [f64; 7] = [
    -12_715_105_075.0 / 11_282_082_432.0,
    0.0,
    87_487_479_700.0 / 32_700_410_799.0,
    -10_690_763_975.0 / 1_880_347_072.0,
    701_980_252_875.0 / 199_316_789_632.0,
    -1_453_857_185.0 / 822_651_844.0,
    69_997_945.0 / 29_380_423.0,
];

/// Coefficients of the dense output of a step of length `h` from `before` to `after` with slopes `k` (stage i of
/// component j is `k(i, j)`): `out` holds five vectors.
#[inline(always)]
pub(super) fn dense_coefficients(
    h: f64,
    before: &[f64],
    after: &[f64],
    k: impl Fn(usize, usize) -> f64,
    out: &mut [f64],
) {
    let n = before.len();
    for j in 0..n {
        let difference = after[j] - before[j];
        let bend = h * k(0, j) - difference;
        out[j] = before[j];
        out[n + j] = difference;
        out[2 * n + j] = bend;
        out[3 * n + j] = difference - h * k(6, j) - bend;
        out[4 * n + j] = h * (0..7).map(|i| DENSE[i] * k(i, j)).sum::<f64>();
    }
}

/// The dense output at the fraction θ of its step.
#[inline]
pub(super) fn interpolate(coefficients: &[f64], theta: f64, out: &mut [f64]) {
    let n = coefficients.len() / 5;
    let rest = 1.0 - theta;
    for (j, out) in out.iter_mut().enumerate() {
        let c = |i: usize| coefficients[i * n + j];
        *out = c(0) + theta * (c(1) + rest * (c(2) + theta * (c(3) + rest * c(4))));
    }
}
