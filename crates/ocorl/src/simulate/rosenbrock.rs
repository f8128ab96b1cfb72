//! The Rosenbrock method RODAS of order 4(3) by Hairer and Wanner [Hai96, section IV.7], for stiff runs.
//!
//! One step solves six linear systems with the same matrix W = I/(γh) − J, J the Jacobian of the right-hand side:
//!
//! ```text
//! W uᵢ = f(t + αᵢh, y + Σⱼ aᵢⱼ uⱼ) + Σⱼ cᵢⱼ uⱼ / h + dᵢ h ∂f/∂t,        y⁺ = y + Σⱼ a₅ⱼ uⱼ + u₅ + u₆,
//! ```
//!
//! with u₆ as the estimate of the error. The method is L-stable: components that decay much faster than the step are damped, not followed.
//! Left out on purpose: sparse Jacobians, and Jacobians that are reused from step to step.

const GAMMA: f64 = 0.25;

/// aᵢⱼ for j < i; the sixth stage adds u₅ to the fifth.
const A: [[f64; 4]; 5] = [
    [0.0; 4],
    [1.544, 0.0, 0.0, 0.0],
    [0.946_678_528_081_582_6, 0.255_701_169_898_328_4, 0.0, 0.0],
    [3.314_825_187_068_521, 2.896_124_015_972_201, 0.998_641_913_997_781_7, 0.0],
    [1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895],
];

/// cᵢⱼ for j < i.
const C: [[f64; 5]; 6] = [
    [0.0; 5],
    [-5.6688, 0.0, 0.0, 0.0, 0.0],
    [-2.430_093_356_833_875, -0.206_359_915_709_191_5, 0.0, 0.0, 0.0],
    [-0.107_352_905_815_137_5, -9.594_562_251_023_355, -20.470_286_148_096_16, 0.0, 0.0],
    [7.496_443_313_967_647, -10.246_804_314_643_52, -33.999_903_528_199_05, 11.708_908_932_061_6, 0.0],
    [
        8.083_246_795_921_522,
        -7.981_132_988_064_893,
        -31.521_594_328_743_71,
        16.319_305_431_231_36,
        -6.058_818_238_834_054,
    ],
];

/// αᵢ: the times of the stages.
const TIMES: [f64; 6] = [0.0, 0.386, 0.21, 0.63, 1.0, 1.0];

/// dᵢ: the weights of ∂f/∂t.
const D: [f64; 6] = [0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0];

/// Weights of the dense output: y(θ) = y + θ (Δy + (1 − θ)(w₁ + θ w₂)) with wₖ = Σᵢ DENSE[k]ᵢ uᵢ.
const DENSE: [[f64; 5]; 2] = [
    [
        10.126_235_083_445_86,
        -7.487_995_877_610_167,
        -34.800_918_615_557_47,
        -7.992_771_707_568_823,
        1.025_137_723_295_662,
    ],
    [
        -0.676_280_339_280_125_3,
        6.087_714_651_680_015,
        16.430_843_208_924_78,
        24.767_225_114_183_86,
        -6.594_389_125_716_872,
    ],
];

/// Memory of the method. `y` has the states and, as the last component, the accumulated cost.
#[derive(Default)]
pub(super) struct Rosenbrock {
    /// The end of the last step that was tried.
    pub(super) after: Vec<f64>,
    /// The estimated error of each component of that step.
    pub(super) error: Vec<f64>,
    /// The coefficients w₁ and w₂ of its dense output.
    pub(super) dense: [Vec<f64>; 2],
    matrix: Vec<f64>,
    pivots: Vec<usize>,
    stages: [Vec<f64>; 6],
}

/// The right-hand side at the beginning of a step, with its derivatives.
pub(super) struct Slope<'a> {
    /// The value f(t, y).
    pub(super) value: &'a [f64],
    /// The Jacobian ∂f/∂y, row by row.
    pub(super) jacobian: &'a [f64],
    /// The derivative ∂f/∂t.
    pub(super) by_time: &'a [f64],
}

impl Rosenbrock {
    /// Tries one step of length `h` from `y`. `f` evaluates the right-hand side at a part of the step and a state, and returns whether all
    /// values are finite. Returns false if they are not, or if W is singular.
    pub(super) fn step(
        &mut self,
        h: f64,
        y: &[f64],
        slope: &Slope<'_>,
        mut f: impl FnMut(f64, &[f64], &mut [f64]) -> bool,
    ) -> bool {
        let n = y.len();
        self.matrix.clear();
        self.matrix.extend(slope.jacobian.iter().map(|j| -j));
        for i in 0..n {
            self.matrix[i * n + i] += 1.0 / (GAMMA * h);
        }
        if !factor(&mut self.matrix, n, &mut self.pivots) {
            return false;
        }
        self.after.clear();
        self.after.extend_from_slice(y);
        for stage in 0..6 {
            if stage > 0 {
                let (known, _) = self.stages.split_at(stage);
                for j in 0..n {
                    self.after[j] = match stage {
                        5 => self.after[j] + known[4][j],
                        _ => y[j] + known.iter().zip(A[stage]).map(|(u, a)| a * u[j]).sum::<f64>(),
                    };
                }
            }
            let mut u = std::mem::take(&mut self.stages[stage]);
            u.clear();
            u.extend_from_slice(slope.value);
            let finite = stage == 0 || f(TIMES[stage], &self.after, &mut u);
            for j in 0..n {
                let known = self.stages[..stage].iter().zip(C[stage]);
                u[j] += known.map(|(u, c)| c * u[j]).sum::<f64>() / h + D[stage] * h * slope.by_time[j];
            }
            solve(&self.matrix, n, &self.pivots, &mut u);
            self.stages[stage] = u;
            if !finite {
                return false;
            }
        }
        self.error.clone_from(&self.stages[5]);
        for (after, error) in self.after.iter_mut().zip(&self.error) {
            *after += error;
        }
        for (out, weights) in self.dense.iter_mut().zip(DENSE) {
            out.clear();
            out.extend((0..n).map(|j| self.stages.iter().zip(weights).map(|(u, w)| w * u[j]).sum::<f64>()));
        }
        self.after.iter().all(|y| y.is_finite())
    }
}

/// Factors the n×n matrix `a`, row by row, into a lower and an upper triangle with partial pivoting; false if it is singular.
fn factor(a: &mut [f64], n: usize, pivots: &mut Vec<usize>) -> bool {
    pivots.clear();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        let largest = a[pivot * n + k];
        if !(largest.abs() > 0.0 && largest.is_finite()) {
            return false;
        }
        pivots.push(pivot);
        for j in 0..n {
            a.swap(k * n + j, pivot * n + j);
        }
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            for j in k + 1..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
    true
}

/// Solves with the factors of [`factor`], in place.
fn solve(a: &[f64], n: usize, pivots: &[usize], b: &mut [f64]) {
    for (k, &pivot) in pivots.iter().enumerate() {
        b.swap(k, pivot);
    }
    for i in 0..n {
        b[i] -= (0..i).map(|j| a[i * n + j] * b[j]).sum::<f64>();
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i * n + j] * b[j]).sum();
        b[i] = (b[i] - known) / a[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y' = −y² cos t (solution 1/(1 + sin t)) beside z' = −λ(z − cos t) − sin t (solution cos t), in `steps` steps to t = 1.
    fn end(lambda: f64, steps: usize) -> ([f64; 2], [f64; 2]) {
        let f = |t: f64, y: &[f64], out: &mut [f64]| {
            out[0] = -y[0] * y[0] * t.cos();
            out[1] = -lambda * (y[1] - t.cos()) - t.sin();
            true
        };
        let h = 1.0 / steps as f64;
        let (mut y, mut method) = (vec![1.0, 1.0], Rosenbrock::default());
        let mut middle = [0.0; 2];
        for k in 0..steps {
            let t = k as f64 * h;
            let mut value = [0.0; 2];
            f(t, &y, &mut value);
            let jacobian = [-2.0 * y[0] * t.cos(), 0.0, 0.0, -lambda];
            let by_time = [y[0] * y[0] * t.sin(), -lambda * t.sin() - t.cos()];
            let slope = Slope { value: &value, jacobian: &jacobian, by_time: &by_time };
            assert!(method.step(h, &y, &slope, |part, y, out| f(t + part * h, y, out)));
            if k == steps / 2 {
                for (j, middle) in middle.iter_mut().enumerate() {
                    let change = method.after[j] - y[j];
                    let value = y[j] + 0.5 * (change + 0.5 * (method.dense[0][j] + 0.5 * method.dense[1][j]));
                    let at = t + 0.5 * h;
                    *middle = value - [1.0 / (1.0 + at.sin()), at.cos()][j];
                }
            }
            y.clone_from(&method.after);
        }
        ([y[0] - 1.0 / (1.0 + 1f64.sin()), y[1] - 1f64.cos()], middle)
    }

    #[test]
    fn the_method_has_order_four_and_its_dense_output_order_three() {
        let (few, more) = (end(1.0, 40), end(1.0, 80));
        for j in 0..2 {
            let order = (few.0[j] / more.0[j]).abs().log2();
            assert!((3.7..4.6).contains(&order), "component {j}: order {order}");
            let dense = (few.1[j] / more.1[j]).abs().log2();
            assert!(dense > 2.8, "component {j}: dense output of order {dense}");
        }
    }

    #[test]
    fn fast_components_do_not_shorten_the_steps() {
        // An explicit method would need more than 10⁵ steps for λ = 10⁶.
        let (error, _) = end(1e6, 20);
        assert!(error[0].abs() < 1e-6 && error[1].abs() < 1e-6, "{error:?}");
    }
}
