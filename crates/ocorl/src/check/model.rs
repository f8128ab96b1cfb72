//! Contract check of statistical models.

use super::{POINTS, TOLERANCE, Violation};
use crate::linalg::{Blocks, Cholesky, Dims, Linearization, Points};
use crate::model::{Posterior, Query, StatisticalModel};
use crate::random::Rng;
use crate::system::Dynamics;

/// Number of function samples whose spread is compared with σ.
const DRAWS: usize = 64;

/// Admissible range for the mean of `DRAWS` standardised values: 5 standard errors of 1/8 each.
const MEAN_OF_DRAWS: (f64, f64) = (-0.625, 0.625);

/// Admissible range for their variance, which detects a σ that is wrong by a factor of two. The variance of normal values is below it
/// with probability 1e-6 (χ² with 63 degrees of freedom; the standard error is 0.18) and practically never above; samples
/// from random features have heavier tails.
const VARIANCE_OF_DRAWS: (f64, f64) = (0.4, 3.0);

/// Tolerance between two means that should be equal, relative to the magnitude of the mean.
const SAME_MEAN: f64 = 1e-12;

/// Tolerance between two variances that should be equal, relative to the greatest variance found. A posterior
/// variance is the prior variance minus the explained one, so its rounding error is relative to the
/// prior: a σ of the prior's magnitude is compared to 1e-9, one of 1e-3 of it to 1e-6 of itself.
const SAME_VARIANCE: f64 = 1e-9;

/// Tolerance between two Jacobians that should be equal, in units of the function (of σ²) and of the
/// coordinate's spread.
const SAME_JACOBIAN: f64 = 1e-9;

/// Multiple of the model's own rounding error, measured by [`noise`], that is added to all tolerances: a prior of
/// large variance loses digits.
const ROUNDING: f64 = 100.0;

/// Checks the full contract of a statistical model at random points around `typical` ones (those of the data,
/// for example, or of a trajectory; in the model's units, at least one):
///
/// - every value is finite, σ ≥ 0, there is a β ≥ 0 for each output, and results have the correct lengths, also for an
///   empty batch;
/// - the Jacobians of μ and σ agree with central differences;
/// - each [`Query`] gives the same values as [`Query::All`], and leaves the other results empty;
/// - a batch agrees with single evaluations up to rounding (a matrix library may sum in another order in
///   another batch), and a repeated call gives the same bits for any previous contents of its [`Posterior`];
/// - covariances are symmetric and positive semidefinite, with σ² on the diagonal;
/// - a function sampled twice from equal random states is the same, a consistent [`Dynamics`] with its
///   Jacobian, and 64 samples have the mean μ and the standard deviation σ.
///
/// ```
/// use ocorl::linalg::{Dims, Points};
/// use ocorl::model::{GaussianProcess, Settings};
/// use ocorl::{check, random::Stream};
/// let model = GaussianProcess::new(Dims { state: 2, control: 1 }, &[0], Settings::default())?;
/// let typical = [3.1, 0.0, 0.5, 2.0, -1.0, -0.5];
/// check::statistical_model(&model, Points::new(&typical, 3), &mut Stream::root(0).rng())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn statistical_model(
    model: &dyn StatisticalModel,
    typical: Points<'_>,
    rng: &mut Rng,
) -> Result<(), Violation> {
    let examined = Examined::new(model, typical, rng)?;
    examined.confidence()?;
    examined.jacobians()?;
    examined.queries()?;
    examined.batches()?;
    examined.repetitions()?;
    examined.covariances()?;
    examined.draws(rng)
}

/// A model with its posterior at the points of the check, and the units of the tolerances.
struct Examined<'a> {
    model: &'a dyn StatisticalModel,
    dims: Dims,
    /// Points of the check, one after another.
    z: Vec<f64>,
    /// Spread of the typical points in each coordinate.
    spread: Vec<f64>,
    /// Posterior at all points, from one batch.
    at: Posterior,
    /// Greatest σ of each output, near and far from the typical points.
    std_size: Vec<f64>,
    /// Greatest |μ| plus greatest σ of each output.
    mean_size: Vec<f64>,
    /// Rounding errors of μ of each output, followed by those of σ².
    noise: Vec<f64>,
}

impl<'a> Examined<'a> {
    fn new(model: &'a dyn StatisticalModel, typical: Points<'_>, rng: &mut Rng) -> Result<Self, Violation> {
        let (dims, n) = (model.dims(), model.dims().point());
        assert_eq!(typical.dim(), n, "points of {} numbers for a model of {n}", typical.dim());
        assert!(!typical.is_empty(), "there must be a typical point");
        let spread: Vec<f64> = (0..n).map(|d| spread(typical, d)).collect();
        let mut around = |factor: f64| -> Vec<f64> {
            let mut one = || {
                let centre = typical.at(rng.below(typical.len()));
                centre.iter().zip(&spread).map(|(c, s)| c + factor * s * rng.normal()).collect::<Vec<f64>>()
            };
            (0..POINTS).flat_map(|_| one()).collect()
        };
        let (z, far) = (around(0.3), around(5.0));
        let at = ask(model, Points::new(&z, n), Query::All, Posterior::default())?;
        // Far from the typical points the model need not be valid; its σ there only gives the largest magnitude.
        let mut beyond = Posterior::default();
        model.posterior(Points::new(&far, n), Query::MeanStd, &mut beyond);
        lengths(dims, POINTS, Query::MeanStd, &beyond)?;
        let greatest = |values: &Blocks, j: usize| {
            values.iter().map(|v| v[j].abs()).filter(|v| v.is_finite()).fold(0.0, f64::max)
        };
        let std_size: Vec<f64> =
            (0..dims.state).map(|j| greatest(&at.std.value, j).max(greatest(&beyond.std.value, j))).collect();
        let mean_size = (0..dims.state).map(|j| greatest(&at.mean.value, j) + std_size[j]).collect();
        let noise = noise(Points::new(&z, n), &spread, &mut |z| means_and_variances(model, z))?;
        Ok(Examined { model, dims, z, spread, at, std_size, mean_size, noise })
    }

    fn points(&self) -> Points<'_> {
        Points::new(&self.z, self.dims.point())
    }

    fn confidence(&self) -> Result<(), Violation> {
        let beta = self.model.confidence_scale();
        length("β", beta.len(), self.dims.state)?;
        value("β", &[], beta, |b| b >= 0.0 && b.is_finite(), "zero or positive, and finite")
    }

    fn jacobians(&self) -> Result<(), Violation> {
        let (n, outputs) = (self.dims.point(), self.dims.state);
        for column in 0..n {
            // The entries are μ and σ² of the first point, then those of the second, and so on; the rounding error of σ²
            // is the same everywhere.
            let compare = |e: usize, slope: f64, uncertainty: f64| {
                let (i, row) = (e / (2 * outputs), e % outputs);
                let (point, place) = (self.points().at(i), row * n + column);
                if e % (2 * outputs) < outputs {
                    let (what, found) = ("∂μ/∂z", self.at.mean.jacobian.at(i)[place]);
                    return self.slope(what, (row, column), point, found, (slope, uncertainty));
                }
                let (found, sigma) = (self.at.std.jacobian.at(i)[place], self.at.std.value.at(i)[row]);
                let allowed = TOLERANCE * self.std_size[row].powi(2) / self.spread[column];
                if (2.0 * sigma * found - slope).abs() <= allowed + uncertainty {
                    return Ok(());
                }
                let (what, point, expected) = ("∂σ/∂z", point.to_vec(), slope / (2.0 * sigma));
                Err(Violation::Derivative { what, row, column, point, found, expected })
            };
            let f = &mut |z: Points<'_>| means_and_variances(self.model, z);
            differences(self.points(), column, self.spread[column], compare, f)?;
        }
        Ok(())
    }

    /// Compares a derivative of μ or of a sample with differences, in units of output and coordinate.
    fn slope(
        &self,
        what: &'static str,
        (row, column): (usize, usize),
        point: &[f64],
        found: f64,
        (expected, uncertainty): (f64, f64),
    ) -> Result<(), Violation> {
        let size = self.mean_size[row] / self.spread[column] + found.abs() + expected.abs();
        if (found - expected).abs() <= TOLERANCE * size + uncertainty {
            return Ok(());
        }
        Err(Violation::Derivative { what, row, column, point: point.to_vec(), found, expected })
    }

    fn queries(&self) -> Result<(), Violation> {
        for query in [Query::Mean, Query::MeanJacobian, Query::MeanStd, Query::All] {
            ask(self.model, Points::new(&[], self.dims.point()), query, Posterior::default())?;
            let part = ask(self.model, self.points(), query, Posterior::default())?;
            for i in 0..POINTS {
                self.compare((&part, i), i, "with Query::All")?;
            }
        }
        Ok(())
    }

    fn batches(&self) -> Result<(), Violation> {
        for i in 0..POINTS {
            let alone =
                ask(self.model, Points::single(self.points().at(i)), Query::All, Posterior::default())?;
            self.compare((&alone, 0), i, "in a batch")?;
        }
        Ok(())
    }

    /// Compares point `i` of `found` with point `k` of the full batch, for the results that the query includes.
    fn compare(
        &self,
        (found, i): (&Posterior, usize),
        k: usize,
        otherwise: &'static str,
    ) -> Result<(), Violation> {
        let (n, point) = (self.dims.point(), self.points().at(k));
        let agree = |what, output, found: f64, expected: f64, factor: f64, allowed: f64| {
            if factor * (found - expected).abs() <= allowed {
                return Ok(());
            }
            Err(Violation::Inconsistent { what, output, point: point.to_vec(), found, expected, otherwise })
        };
        for j in 0..self.dims.state {
            let (mean, variance) = (self.mean_size[j], self.std_size[j].powi(2));
            let uncertainty = [self.noise[j], self.noise[self.dims.state + j]].map(|noise| ROUNDING * noise);
            let (a, b) = (found.mean.value.at(i)[j], self.at.mean.value.at(k)[j]);
            agree("μ", j, a, b, 1.0, SAME_MEAN * mean + uncertainty[0])?;
            if !found.std.value.is_empty() {
                let (a, b) = (found.std.value.at(i)[j], self.at.std.value.at(k)[j]);
                agree("σ", j, a, b, a + b, SAME_VARIANCE * variance + uncertainty[1])?;
            }
            for d in j * n..(j + 1) * n {
                let spread = self.spread[d % n];
                if !found.mean.jacobian.is_empty() {
                    let (a, b) = (found.mean.jacobian.at(i)[d], self.at.mean.jacobian.at(k)[d]);
                    let size = mean / spread + b.abs();
                    agree("∂μ/∂z", j, a, b, 1.0, SAME_JACOBIAN * size + uncertainty[0] / spread)?;
                }
                if !found.std.jacobian.is_empty() {
                    let (a, b) = (found.std.jacobian.at(i)[d], self.at.std.jacobian.at(k)[d]);
                    let twice = 2.0 * self.at.std.value.at(k)[j];
                    agree("∂σ/∂z", j, a, b, twice, (SAME_JACOBIAN * variance + uncertainty[1]) / spread)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that repeated calls give the same bits, in a new buffer and in a used one.
    fn repetitions(&self) -> Result<(), Violation> {
        let again = ask(self.model, self.points(), Query::All, Posterior::default())?;
        self.identical(&again, "the first time")?;
        let mut used = spoiled();
        for (count, query) in [
            (POINTS, Query::All),
            (3, Query::Mean),
            (POINTS, Query::MeanJacobian),
            (1, Query::MeanStd),
            (0, Query::All),
        ] {
            let part = Points::new(&self.z[..count * self.dims.point()], self.dims.point());
            used = ask(self.model, part, query, used)?;
            let fresh = ask(self.model, self.points(), Query::All, used.clone())?;
            self.identical(&fresh, "in a new buffer")?;
        }
        Ok(())
    }

    fn identical(&self, found: &Posterior, otherwise: &'static str) -> Result<(), Violation> {
        for (what, found, expected) in [
            ("μ", &found.mean.value, &self.at.mean.value),
            ("σ", &found.std.value, &self.at.std.value),
            ("∂μ/∂z", &found.mean.jacobian, &self.at.mean.jacobian),
            ("∂σ/∂z", &found.std.jacobian, &self.at.std.jacobian),
        ] {
            same_bits(
                what,
                self.points(),
                (found.as_slice(), expected.as_slice()),
                self.dims.state,
                otherwise,
            )?;
        }
        Ok(())
    }

    fn covariances(&self) -> Result<(), Violation> {
        let mut matrices = Blocks::default();
        self.model.covariance(Points::new(&[], self.dims.point()), &mut matrices);
        length("the covariance of no points", matrices.as_slice().len(), 0)?;
        self.model.covariance(self.points(), &mut matrices);
        length("the covariance", matrices.as_slice().len(), self.dims.state * POINTS * POINTS)?;
        for (output, matrix) in matrices.iter().enumerate() {
            let variance = self.std_size[output].powi(2);
            let allowed = SAME_VARIANCE * variance + ROUNDING * self.noise[self.dims.state + output];
            let agree = |i: usize, found: f64, expected: f64, otherwise| {
                if (found - expected).abs() <= allowed {
                    return Ok(());
                }
                let (what, point) = ("the covariance", self.points().at(i).to_vec());
                Err(Violation::Inconsistent { what, output, point, found, expected, otherwise })
            };
            for i in 0..POINTS {
                agree(i, matrix[i * POINTS + i], self.at.std.value.at(i)[output].powi(2), "as σ²")?;
                for k in 0..i {
                    agree(i, matrix[i * POINTS + k], matrix[k * POINTS + i], "the other way round")?;
                }
            }
            // Rounding makes zero eigenvalues negative by at most the tolerance of the entries
            // times their number.
            let mut raised = matrix.to_vec();
            (0..POINTS).for_each(|i| raised[i * POINTS + i] += POINTS as f64 * allowed);
            if variance > 0.0 {
                Cholesky::new(&raised, POINTS)
                    .map_err(|pivot| Violation::NotPositiveSemidefinite { output, pivot })?;
            }
        }
        Ok(())
    }

    fn draws(&self, rng: &mut Rng) -> Result<(), Violation> {
        let (mut first, mut twin) =
            (self.model.sample(&mut rng.clone()), self.model.sample(&mut rng.clone()));
        self.function(first.as_mut())?;
        let (mut values, mut again) = (self.zeros(), self.zeros());
        first.derivative(self.points(), &mut values);
        twin.derivative(self.points(), &mut again);
        let otherwise = "when drawn from the same random state";
        same_bits("a draw", self.points(), (&again, &values), self.dims.state, otherwise)?;

        let draws: Vec<Vec<f64>> = (0..DRAWS)
            .map(|_| {
                let mut values = self.zeros();
                self.model.sample(rng).derivative(self.points(), &mut values);
                values
            })
            .collect();
        let certain = self.at.std.value.as_slice().iter().all(|s| *s == 0.0);
        if !certain && draws.iter().all(|draw| *draw == draws[0]) {
            return Err(Violation::SameDraws { draws: DRAWS });
        }
        for output in 0..self.dims.state {
            let std = |i: &usize| self.at.std.value.at(*i)[output];
            let mut order: Vec<usize> = (0..POINTS).filter(|i| std(i) > 0.0).collect();
            order.sort_by(|a, b| std(b).total_cmp(&std(a)));
            // Only where σ is large: near data the error of a sample from random features
            // dominates.
            for &i in order.iter().take(POINTS / 5) {
                self.spread_of_draws(&draws, output, i)?;
            }
        }
        Ok(())
    }

    fn zeros(&self) -> Vec<f64> {
        vec![0.0; POINTS * self.dims.state]
    }

    /// Checks mean and variance of (f − μ)/σ over the samples.
    fn spread_of_draws(&self, draws: &[Vec<f64>], output: usize, i: usize) -> Result<(), Violation> {
        let (mean, std) = (self.at.mean.value.at(i)[output], self.at.std.value.at(i)[output]);
        let standard = || draws.iter().map(|draw| (draw[i * self.dims.state + output] - mean) / std);
        let average = standard().sum::<f64>() / DRAWS as f64;
        let variance = standard().map(|t| (t - average).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
        for (what, found, (low, high)) in
            [("mean", average, MEAN_OF_DRAWS), ("variance", variance, VARIANCE_OF_DRAWS)]
        {
            if !(found >= low && found <= high) {
                let (point, draws) = (self.points().at(i).to_vec(), DRAWS);
                return Err(Violation::Draws { what, output, point, draws, found, low, high });
            }
        }
        Ok(())
    }

    /// Checks that a sample is a function with its Jacobian, equal in batches, alone and in repeated calls.
    fn function(&self, f: &mut dyn Dynamics) -> Result<(), Violation> {
        let (n, outputs, points) = (self.dims.point(), self.dims.state, self.points());
        length("the state of a draw", f.dims().state, outputs)?;
        length("the control of a draw", f.dims().control, self.dims.control)?;
        f.derivative(Points::new(&[], n), &mut []);
        let mut linear = Linearization::default();
        f.linearize(points, &mut linear);
        length("a draw, linearised", linear.value.as_slice().len(), POINTS * outputs)?;
        length("the Jacobian of a draw", linear.jacobian.as_slice().len(), POINTS * outputs * n)?;
        let mut evaluate = |z: Points<'_>| {
            let mut out = vec![0.0; z.len() * outputs];
            f.derivative(z, &mut out);
            Ok(out)
        };
        let (values, again) = (evaluate(points)?, evaluate(points)?);
        same_bits("a draw", points, (&again, &values), outputs, "the first time")?;
        let noise = noise(points, &self.spread, &mut evaluate)?;
        for i in 0..POINTS {
            let alone = evaluate(Points::single(points.at(i)))?;
            for output in 0..outputs {
                let expected = values[i * outputs + output];
                let size = self.mean_size[output] + expected.abs();
                let allowed = SAME_MEAN * size + ROUNDING * noise[output];
                for (found, otherwise) in
                    [(alone[output], "in a batch"), (linear.value.at(i)[output], "not linearised")]
                {
                    if !((found - expected).abs() <= allowed) {
                        let (what, point) = ("a draw", points.at(i).to_vec());
                        return Err(Violation::Inconsistent {
                            what,
                            output,
                            point,
                            found,
                            expected,
                            otherwise,
                        });
                    }
                }
            }
        }
        for column in 0..n {
            let compare = |e: usize, slope: f64, uncertainty: f64| {
                let (i, row) = (e / outputs, e % outputs);
                let found = linear.jacobian.at(i)[row * n + column];
                self.slope("∂f/∂z of a draw", (row, column), points.at(i), found, (slope, uncertainty))
            };
            differences(points, column, self.spread[column], compare, &mut evaluate)?;
        }
        Ok(())
    }
}

/// Returns μ and σ² of the first point, then of the second, and so on.
fn means_and_variances(model: &dyn StatisticalModel, z: Points<'_>) -> Result<Vec<f64>, Violation> {
    let at = ask(model, z, Query::MeanStd, Posterior::default())?;
    let variances = |std: &[f64]| std.iter().map(|s| s * s).collect::<Vec<f64>>();
    let each = at.mean.value.iter().zip(at.std.value.iter());
    Ok(each.flat_map(|(mean, std)| [mean, &variances(std)].concat()).collect())
}

/// Returns the standard deviation of coordinate `d`; if it is constant, its magnitude, or one.
fn spread(points: Points<'_>, d: usize) -> f64 {
    let (column, count) = (|| (0..points.len()).map(|i| points.at(i)[d]), points.len() as f64);
    let (mean, size) = (column().sum::<f64>() / count, column().fold(0.0, |a: f64, b| a.max(b.abs())));
    let std = (column().map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt();
    let varies = std > 1e-9 * size;
    if varies {
        std
    } else if size > 0.0 {
        size
    } else {
        1.0
    }
}

/// Evaluates the posterior into `out` and checks its lengths and values.
fn ask(
    model: &dyn StatisticalModel,
    z: Points<'_>,
    query: Query,
    mut out: Posterior,
) -> Result<Posterior, Violation> {
    model.posterior(z, query, &mut out);
    lengths(model.dims(), z.len(), query, &out)?;
    for i in 0..z.len() {
        for (what, blocks) in [
            ("μ", &out.mean.value),
            ("σ", &out.std.value),
            ("∂μ/∂z", &out.mean.jacobian),
            ("∂σ/∂z", &out.std.jacobian),
        ] {
            if !blocks.is_empty() {
                value(what, z.at(i), blocks.at(i), f64::is_finite, "finite")?;
            }
        }
        if query.std() {
            value("σ", z.at(i), out.std.value.at(i), |s| s >= 0.0, "zero or positive")?;
        }
    }
    Ok(out)
}

/// Checks the lengths of the results of a query, and that results outside the query are empty.
fn lengths(dims: Dims, count: usize, query: Query, out: &Posterior) -> Result<(), Violation> {
    let (values, jacobians) = (count * dims.state, count * dims.state * dims.point());
    let wanted = |wanted: bool, length: usize| if wanted { length } else { 0 };
    for (what, blocks, expected) in [
        ("μ", &out.mean.value, values),
        ("σ", &out.std.value, wanted(query.std(), values)),
        ("∂μ/∂z", &out.mean.jacobian, wanted(query.jacobian(), jacobians)),
        ("∂σ/∂z", &out.std.jacobian, wanted(query == Query::All, jacobians)),
    ] {
        length(what, blocks.as_slice().len(), expected)?;
        if count > 0 && expected > 0 {
            length("a block", blocks.size(), expected / count)?;
        }
    }
    Ok(())
}

/// Returns a buffer filled with NaN.
fn spoiled() -> Posterior {
    let blocks = || Blocks::from_vec(vec![f64::NAN; 7 * POINTS], 7);
    let mut out = Posterior {
        mean: Linearization { value: blocks(), jacobian: blocks() },
        std: Linearization { value: blocks(), jacobian: blocks() },
        ..Posterior::default()
    };
    (0..32).for_each(|_| out.scratch.give(vec![f64::NAN; 1 << 12]));
    out
}

/// Function that evaluates all outputs at any number of points, the outputs of one point after those of the previous one.
type Evaluate<'a> = dyn FnMut(Points<'_>) -> Result<Vec<f64>, Violation> + 'a;

/// Computes Σ weight · f(z + step · direction) at all points.
fn combination(
    z: Points<'_>,
    direction: &[f64],
    terms: &[(f64, f64)],
    f: &mut Evaluate<'_>,
) -> Result<Vec<f64>, Violation> {
    let mut sum = Vec::new();
    for (step, weight) in terms {
        let mut there = z.as_slice().to_vec();
        for point in there.chunks_exact_mut(z.dim()) {
            point.iter_mut().zip(direction).for_each(|(z, d)| *z += step * d);
        }
        let values = f(Points::new(&there, z.dim()))?;
        sum.resize(values.len(), 0.0);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
    }
    Ok(sum)
}

/// Estimates the rounding error of each output by the greatest second difference over points 1e-9 of `direction` apart,
/// where that of a smooth function is negligible.
fn noise(z: Points<'_>, direction: &[f64], f: &mut Evaluate<'_>) -> Result<Vec<f64>, Violation> {
    let rough = combination(z, direction, &[(-1e-9, 1.0), (0.0, -2.0), (1e-9, 1.0)], f)?;
    let outputs = rough.len() / z.len();
    let greatest = |j: usize| rough.iter().skip(j).step_by(outputs).fold(0.0, |a: f64, b| a.max(b.abs()));
    Ok((0..outputs).map(greatest).collect())
}

/// Compares ∂f/∂z_d of all outputs at all points with central differences of fourth order, (f₋₂ − 8 f₋₁ +
/// 8 f₁ − f₂)/(12 h).
///
/// The truncation error is h⁴/30 times the fifth derivative, and a rounding error η becomes η/h, which is passed to
/// `compare` as the uncertainty of each slope. The length scale of the model is unknown, so several
/// steps are tried: a correct derivative agrees with one of them, a wrong one with none.
fn differences(
    z: Points<'_>,
    coordinate: usize,
    spread: f64,
    compare: impl Fn(usize, f64, f64) -> Result<(), Violation>,
    f: &mut Evaluate<'_>,
) -> Result<(), Violation> {
    let mut direction = vec![0.0; z.dim()];
    direction[coordinate] = spread;
    let noise = noise(z, &direction, f)?;
    let mut open: Option<Vec<(usize, Violation)>> = None;
    for step in [1e-3, 1e-2, 1e-1, 1e-4] {
        let terms = [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)].map(|(s, w)| (s * step, w));
        let (sums, h) = (combination(z, &direction, &terms, f)?, step * spread);
        let judge = |e: usize| compare(e, sums[e] / (12.0 * h), noise[e % noise.len()] / h);
        let still: Vec<(usize, Violation)> = match open {
            None => (0..sums.len()).filter_map(|e| Some((e, judge(e).err()?))).collect(),
            Some(open) => open.into_iter().filter(|(e, _)| judge(*e).is_err()).collect(),
        };
        if still.is_empty() {
            return Ok(());
        }
        open = Some(still);
    }
    open.into_iter().flatten().next().map_or(Ok(()), |(_, violation)| Err(violation))
}

fn length(what: &'static str, found: usize, expected: usize) -> Result<(), Violation> {
    if found == expected { Ok(()) } else { Err(Violation::Length { what, found, expected }) }
}

/// Checks that all of `values` satisfy `fine`.
fn value(
    what: &'static str,
    point: &[f64],
    values: &[f64],
    fine: impl Fn(f64) -> bool,
    need: &'static str,
) -> Result<(), Violation> {
    match values.iter().position(|v| !fine(*v)) {
        None => Ok(()),
        Some(output) => {
            Err(Violation::Value { what, output, point: point.to_vec(), value: values[output], need })
        }
    }
}

/// Checks that all blocks of `found` and `expected`, one for each point, have equal bits.
fn same_bits(
    what: &'static str,
    points: Points<'_>,
    (found, expected): (&[f64], &[f64]),
    outputs: usize,
    otherwise: &'static str,
) -> Result<(), Violation> {
    length(what, found.len(), expected.len())?;
    let different = found.iter().zip(expected).position(|(a, b)| a.to_bits() != b.to_bits());
    different.map_or(Ok(()), |e| {
        let size = found.len() / points.len();
        let (point, output) = (points.at(e / size).to_vec(), e % size * outputs / size);
        let (found, expected) = (found[e], expected[e]);
        Err(Violation::Inconsistent { what, output, point, found, expected, otherwise })
    })
}
