//! Hyper-parameters by maximum a posteriori: the marginal likelihood with weak priors, maximised in log space.
//!
//! ```text
//! maximise  Σ_j ln p(y_j | θ, ν_j) − Σ_p ½ ((θ_p − m_p)/s_p)²  over kernel parameters θ (and noise factors ν, if they are learned)
//! ```
//!
//! - Several starts: the previous parameters, two default starts of the kernel, and seeded samples from the prior; the best result
//!   is kept. A start whose objective stays above that of the best earlier one is abandoned.
//! - Large data sets: all starts are first optimised on a small random subset of the data. The best result and the Hessian there
//!   initialise the search on the next larger subset, so that few evaluations (O(n³) each) use all data. A subset may mislead;
//!   therefore the search on all data also starts from the previous parameters, and the better result is kept.
//! - The objective is divided by the number of points, so that tolerances do not depend on the amount of data.

use super::inputs::Inputs;
use super::kernels::{Kernel, Parameter};
use super::likelihood::Likelihood;
use super::minimize::{Function, Minimum, Stop, hessian, minimize, minimize_with_incumbent, refine};
use super::targets::Targets;
use crate::random::{Rng, Stream};

pub use super::minimize::Status;

/// Settings of the hyper-parameter search.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSettings {
    /// Number of starts sampled from the prior, in addition to the previous parameters and the two default starts of the kernel.
    pub restarts: usize,
    /// Largest number of likelihood evaluations for each start and each subset of the data.
    pub max_evaluations: usize,
    /// The search stops when the largest entry of the gradient is below this value, in nats per measurement.
    pub gradient_tolerance: f64,
    /// The search stops when a step improves the objective by less than this value, in nats per measurement.
    pub gain_tolerance: f64,
    /// Whether weak priors on the parameters are used. Without them the lengthscales of irrelevant coordinates grow to their
    /// bounds.
    pub priors: bool,
    /// Size of the smallest subset of the data. With at most one and a half times as many data, all starts use all data.
    pub first_part: usize,
}

impl Default for TrainingSettings {
    fn default() -> Self {
        TrainingSettings {
            restarts: 2,
            max_evaluations: 100,
            gradient_tolerance: 1e-4,
            gain_tolerance: 1e-7,
            priors: true,
            first_part: 80,
        }
    }
}

/// The result of the search for the parameters of one output, or of all outputs if they share parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fit {
    /// The termination status of the best search.
    pub status: Status,
    /// Number of likelihood evaluations of all starts on all subsets.
    pub evaluations: usize,
    /// Number of likelihood evaluations of the last search, on all data.
    pub last_evaluations: usize,
    /// The log marginal likelihood ln p(y) of the outputs concerned, in standardised units.
    pub log_likelihood: f64,
    /// Indices of the kernel parameters that ended at a bound.
    pub at_bounds: Vec<usize>,
}

/// The result of training: one entry for each output, or a single one if all outputs share their parameters.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TrainingReport {
    /// The results of the searches.
    pub fits: Vec<Fit>,
}

/// A set of parameters that are searched together: those of one output, or those that all outputs share.
pub(super) struct Group<'a> {
    pub(super) kernel: &'a dyn Kernel,
    pub(super) inputs: &'a Inputs,
    pub(super) targets: Vec<&'a Targets>,
    /// The previous parameters: those of the kernel, then one noise factor for each output.
    pub(super) previous: Vec<f64>,
    pub(super) learn_noise: bool,
    /// Largest number of points that the search uses.
    pub(super) limit: usize,
}

/// The logarithm of a factor on the stated noise variances. The prior is centred at 1 (the stated noise) with a standard deviation
/// of 1 in the logarithm.
fn noise_parameter() -> Parameter {
    Parameter {
        name: "noise factor",
        coordinate: None,
        starts: [0.0, 0.01_f64.ln()],
        bounds: (1e-6_f64.ln(), 1e4_f64.ln()),
        prior: (0.0, 1.0),
    }
}

/// Searches for the parameters (kernel, then noise factors). The cost is dominated by one O(n³) factorisation for each evaluation
/// on all data.
pub(super) fn train(group: &Group<'_>, settings: &TrainingSettings, stream: Stream) -> (Vec<f64>, Fit) {
    let mut parameters = group.kernel.parameters(group.inputs.dim());
    let kernel_count = parameters.len();
    parameters.extend((0..group.targets.len()).map(|_| noise_parameter()));
    let free = if group.learn_noise { parameters.len() } else { kernel_count };
    let search = Search { group, settings, parameters: &parameters[..free], kernel_count };

    // The start with short lengthscales and little noise comes first: it converges faster, and slower starts are then abandoned
    // early.
    let own = |k: usize| parameters[..free].iter().map(|p: &Parameter| p.starts[k]).collect::<Vec<f64>>();
    let mut starts = vec![group.previous[..free].to_vec(), own(1), own(0)];
    if starts[0] == starts[1] || starts[0] == starts[2] {
        starts.remove(0);
    }
    let mut rng = stream.child("restarts").rng();
    starts.extend(
        (0..settings.restarts).map(|_| parameters[..free].iter().map(|p| draw(p, &mut rng)).collect()),
    );

    let (best, evaluations) = search.over_subsets(&starts, stream);
    let mut point = best.point;
    point.resize(parameters.len(), 0.0);
    let near = |p: usize| {
        let (low, high) = parameters[p].bounds;
        (point[p] - low).abs().min((high - point[p]).abs()) < 1e-6
    };
    let at_bounds = (0..kernel_count).filter(|&p| near(p)).collect();
    let whole = group.inputs.len() <= group.limit;
    let constant: f64 = group.targets.iter().filter(|_| whole).map(|t| t.log_constant()).sum();
    let log_likelihood = constant + search.penalty(&point[..free], None) - best.value * search.count() as f64;
    let (status, last_evaluations) = (best.status, best.evaluations);
    (point, Fit { status, evaluations, last_evaluations, log_likelihood, at_bounds })
}

/// A sample from the prior, limited to 1.5 standard deviations and to the bounds; farther away the likelihood is flat.
fn draw(parameter: &Parameter, rng: &mut Rng) -> f64 {
    let (mean, std) = parameter.prior;
    (mean + std * rng.normal().clamp(-1.5, 1.5)).clamp(parameter.bounds.0, parameter.bounds.1)
}

struct Search<'a> {
    group: &'a Group<'a>,
    settings: &'a TrainingSettings,
    /// The parameters that are searched.
    parameters: &'a [Parameter],
    kernel_count: usize,
}

impl Search<'_> {
    /// Number of terms of the likelihood: the measurements of all outputs.
    fn count(&self) -> usize {
        self.group.inputs.len().min(self.group.limit) * self.group.targets.len()
    }

    /// Computes Σ ½ ((θ − m)/s)² and adds its gradient to `gradient`.
    fn penalty(&self, point: &[f64], mut gradient: Option<&mut [f64]>) -> f64 {
        if !self.settings.priors {
            return 0.0;
        }
        let mut sum = 0.0;
        for (p, (value, parameter)) in point.iter().zip(self.parameters).enumerate() {
            let (mean, std) = parameter.prior;
            let t = (value - mean) / std;
            sum += 0.5 * t * t;
            if let Some(gradient) = &mut gradient {
                gradient[p] += t / std;
            }
        }
        sum
    }

    /// Optimises all starts on the smallest subset, then refines the best result on larger subsets up to all data.
    fn over_subsets(&self, starts: &[Vec<f64>], stream: Stream) -> (Minimum, usize) {
        let n = self.group.inputs.len();
        let mut sizes = vec![n.min(self.group.limit)];
        let first = self.settings.first_part;
        // The starts are most of the work, and cost the cube of the size of the smallest subset.
        while sizes[sizes.len() - 1] > first + first / 2 {
            sizes.push((sizes[sizes.len() - 1] / 3).max(first));
        }
        let order = permutation(n, stream);
        let bounds: Vec<(f64, f64)> = self.parameters.iter().map(|p| p.bounds).collect();
        let mut evaluations = 0;
        let mut results: Vec<Minimum> = Vec::new();
        let mut curvature = None;
        for (level, &size) in sizes.iter().enumerate().rev() {
            let subset = Subset::new(self.group, (size < n).then(|| &order[..size]));
            let mut likelihoods = subset.likelihoods();
            let mut used = 0;
            let mut objective = |point: &[f64], gradient: &mut [f64]| {
                used += 1;
                self.objective(&mut likelihoods, point, gradient)
            };
            let stop = self.stop(level == 0);
            results = match curvature.take() {
                None => multistart(&mut objective, starts, &bounds, stop),
                Some(hessian) if level > 0 => {
                    vec![refined(&mut objective, &results, hessian, &bounds, stop)]
                }
                Some(hessian) => {
                    let found = refined(&mut objective, &results, hessian.clone(), &bounds, stop);
                    let again = self.search_from_previous(&mut objective, &found, hessian, &bounds, stop);
                    std::iter::once(found).chain(again).collect()
                }
            };
            results.retain(|result| result.status != Status::Failed);
            results.sort_by(|a, b| a.value.total_cmp(&b.value));
            results.truncate(2);
            if let (Some(best), true) = (results.first(), level > 0) {
                curvature = hessian(&mut objective, &best.point, &bounds);
            }
            evaluations += used;
        }
        let previous = || self.group.previous[..self.parameters.len()].to_vec();
        let failed = || Minimum::at(previous(), f64::INFINITY, 0, Status::Failed);
        (results.into_iter().next().unwrap_or_else(failed), evaluations)
    }

    /// Searches on all data from the previous parameters, with the curvature at `found`, the result that the subsets led to. `None` if both
    /// would reach the same optimum and `found` is already better, or if the previous parameters are far worse.
    fn search_from_previous(
        &self,
        objective: &mut Function<'_>,
        found: &Minimum,
        hessian: Vec<f64>,
        bounds: &[(f64, f64)],
        stop: Stop,
    ) -> Option<Minimum> {
        let previous = &self.group.previous[..self.parameters.len()];
        if found.status != Status::Failed {
            let near = distance(&found.point, previous) <= SAME_OPTIMUM;
            let limit = found.value + if near { 0.0 } else { WORTH_SEARCHING };
            let here = objective(previous, &mut vec![0.0; previous.len()]);
            if !here.is_some_and(|here| here < limit) {
                return None;
            }
        }
        let start = Minimum::at(previous.to_vec(), f64::INFINITY, 0, Status::Failed);
        Some(refined(objective, &[start], hessian, bounds, stop))
    }

    /// Tolerances are ten times larger on a subset, where only the neighbourhood of the optimum is needed.
    fn stop(&self, all_data: bool) -> Stop {
        let loose = if all_data { 1.0 } else { 10.0 };
        Stop {
            evaluations: self.settings.max_evaluations,
            gradient: loose * self.settings.gradient_tolerance,
            decrease: loose * self.settings.gain_tolerance,
        }
    }

    /// Computes −(ln p + ln prior) per measurement and its gradient. `None` if the likelihood cannot be evaluated.
    fn objective(
        &self,
        likelihoods: &mut [Likelihood<'_>],
        point: &[f64],
        gradient: &mut [f64],
    ) -> Option<f64> {
        gradient.fill(0.0);
        let mut own = vec![0.0; self.kernel_count + 1];
        let mut value = self.penalty(point, Some(gradient));
        let (kernel, noise) = point.split_at(self.kernel_count);
        let mut count = 0;
        for (j, likelihood) in likelihoods.iter_mut().enumerate() {
            let log_noise = noise.get(j).copied().unwrap_or(0.0);
            value -= likelihood.evaluate(kernel, log_noise, &mut own)?;
            count += likelihood.len();
            for (g, own) in gradient.iter_mut().zip(&own[..self.kernel_count]) {
                *g -= own;
            }
            if let Some(g) = gradient.get_mut(self.kernel_count + j) {
                *g -= own[self.kernel_count];
            }
        }
        let scale = 1.0 / count.max(1) as f64;
        for g in gradient {
            *g *= scale;
        }
        Some(value * scale)
    }
}

/// Two parameter vectors closer than this (largest difference in log space) are assumed to lead to the same optimum.
const SAME_OPTIMUM: f64 = 0.5;

/// Previous parameters that are worse than a result by more than this, in nats per measurement, are not searched from.
const WORTH_SEARCHING: f64 = 0.05;

/// Optimises one start after the other; a start is abandoned when it is unlikely to reach a lower value than the best before it.
fn multistart(
    objective: &mut Function<'_>,
    starts: &[Vec<f64>],
    bounds: &[(f64, f64)],
    stop: Stop,
) -> Vec<Minimum> {
    let mut results: Vec<Minimum> = Vec::new();
    for start in starts {
        let finite = results.iter().filter(|result| result.status != Status::Failed);
        let best = finite.min_by(|a, b| a.value.total_cmp(&b.value));
        results.push(minimize_with_incumbent(objective, start, bounds, stop, best));
    }
    results
}

/// Refines the better of two results of a smaller subset with the given Hessian. If that stalls, the search continues with
/// L-BFGS-B.
fn refined(
    objective: &mut Function<'_>,
    results: &[Minimum],
    hessian: Vec<f64>,
    bounds: &[(f64, f64)],
    stop: Stop,
) -> Minimum {
    let mut gradient = vec![0.0; bounds.len()];
    let mut best = 0;
    if results.len() > 1 && distance(&results[0].point, &results[1].point) > SAME_OPTIMUM {
        let mut value = |i: usize| objective(&results[i].point, &mut gradient).unwrap_or(f64::INFINITY);
        best = usize::from(value(1) < value(0));
    }
    let refined = refine(objective, &results[best].point, hessian, bounds, stop);
    if matches!(refined.status, Status::Converged | Status::Budget) {
        return refined;
    }
    let restarted = minimize(objective, &refined.point, bounds, stop);
    if restarted.value <= refined.value { restarted } else { refined }
}

/// A random subset of the data, or all data.
struct Subset<'a> {
    own: Option<(Inputs, Vec<Targets>)>,
    group: &'a Group<'a>,
}

impl<'a> Subset<'a> {
    fn new(group: &'a Group<'a>, indices: Option<&[usize]>) -> Self {
        let own = indices.map(|i| {
            (group.inputs.select(i), group.targets.iter().map(|targets| targets.select(i)).collect())
        });
        Subset { own, group }
    }

    fn likelihoods(&self) -> Vec<Likelihood<'_>> {
        let kernel = self.group.kernel;
        match &self.own {
            Some((inputs, targets)) => targets.iter().map(|t| Likelihood::new(kernel, inputs, t)).collect(),
            None => {
                self.group.targets.iter().map(|t| Likelihood::new(kernel, self.group.inputs, t)).collect()
            }
        }
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// A random permutation of 0, …, n − 1.
fn permutation(n: usize, stream: Stream) -> Vec<usize> {
    let (mut order, mut rng): (Vec<usize>, _) = ((0..n).collect(), stream.child("parts").rng());
    for i in (1..n).rev() {
        order.swap(i, rng.below(i + 1));
    }
    order
}
