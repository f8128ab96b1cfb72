//! Hyper-parameters by maximum marginal likelihood with weak priors, in log space.
//!
//! maximise  Σ_j ln p(y_j | θ, ν_j) − Σ_p ½ ((θ_p − m_p)/s_p)²  over kernel parameters θ (and noise factors ν, if they are learned)
//!
//! - Several starts: the parameters of last time, the kernel's own two starts, and seeded draws from the prior; the best end is kept.
//!   A start that falls behind the best before it is given up.
//! - Much data: every start is followed on a small random part of the data first; the best end and the curvature there are what the
//!   search on the next larger part begins with, so that few evaluations (n³ each) see all data. A part may mislead: on all data the
//!   parameters of last time compete with what the parts found, and the best is kept.
//! - Divided by the number of points, so that tolerances mean the same for any amount of data.

use super::inputs::Inputs;
use super::kernels::{Kernel, Parameter};
use super::likelihood::Likelihood;
use super::minimize::{Function, Minimum, Stop, hessian, minimize, minimize_beside, refine};
use super::targets::Targets;
use crate::random::{Rng, Stream};

pub use super::minimize::Status;

/// How to search.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSettings {
    /// Starts drawn from the prior, beside the last parameters and the kernel's own two starts.
    pub restarts: usize,
    /// Evaluations of the likelihood for each start and each part of the data.
    pub max_evaluations: usize,
    /// Stop when the largest entry of the gradient is below this, in nats for each measurement.
    pub gradient_tolerance: f64,
    /// Stop when a step gains less than this, in nats for each measurement.
    pub gain_tolerance: f64,
    /// Whether weak priors on the parameters count; without them lengthscales of coordinates without influence grow to their bounds.
    pub priors: bool,
    /// The smallest part of the data that starts are tried on; with less than twice as many, all are used from the beginning.
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

/// How the parameters of one output (or of all, if they share them) were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// How the search that won ended.
    pub status: Status,
    /// Evaluations of all starts on all parts of the data together.
    pub evaluations: usize,
    /// Evaluations of the last search, on all data.
    pub last_evaluations: usize,
    /// ln p(y) of the outputs concerned, in standardised units.
    pub log_likelihood: f64,
    /// Numbers of the kernel parameters that ended at a bound.
    pub at_bounds: Vec<usize>,
}

/// How training went, one entry for each output, or one for all if they share their parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingReport {
    /// The fits.
    pub fits: Vec<Fit>,
}

/// Parameters to be found together: one output, or all that share them.
pub(super) struct Group<'a> {
    pub(super) kernel: &'a dyn Kernel,
    pub(super) inputs: &'a Inputs,
    pub(super) targets: Vec<&'a Targets>,
    /// Parameters of last time: the kernel's, then one noise factor for each output.
    pub(super) last: Vec<f64>,
    pub(super) learn_noise: bool,
    /// At most so many points are learned from.
    pub(super) limit: usize,
}

/// ln of a factor on stated noise variances: e^0 = as stated, give or take a factor of e² for two standard deviations.
fn noise_parameter() -> Parameter {
    Parameter {
        name: "noise factor",
        coordinate: None,
        starts: [0.0, 0.01_f64.ln()],
        bounds: (1e-6_f64.ln(), 1e4_f64.ln()),
        prior: (0.0, 1.0),
    }
}

/// Parameters (kernel, then noise factors) and how they were found.
pub(super) fn train(group: &Group<'_>, settings: &TrainingSettings, stream: Stream) -> (Vec<f64>, Fit) {
    let mut parameters = group.kernel.parameters(group.inputs.dim());
    let kernel_count = parameters.len();
    parameters.extend((0..group.targets.len()).map(|_| noise_parameter()));
    let free = if group.learn_noise { parameters.len() } else { kernel_count };
    let search = Search { group, settings, parameters: &parameters[..free], kernel_count };

    // The lively start first: it gets on faster, and those that fall behind are given up.
    let own = |k: usize| parameters[..free].iter().map(|p: &Parameter| p.starts[k]).collect::<Vec<f64>>();
    let mut starts = vec![group.last[..free].to_vec(), own(1), own(0)];
    if starts[0] == starts[1] || starts[0] == starts[2] {
        starts.remove(0);
    }
    let mut rng = stream.child("restarts").rng();
    starts.extend(
        (0..settings.restarts).map(|_| parameters[..free].iter().map(|p| draw(p, &mut rng)).collect()),
    );

    let (best, evaluations) = search.over_parts(&starts, stream);
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

/// A draw from the prior, within one and a half standard deviations and the bounds: farther out the likelihood is flat.
fn draw(parameter: &Parameter, rng: &mut Rng) -> f64 {
    let (mean, std) = parameter.prior;
    (mean + std * rng.normal().clamp(-1.5, 1.5)).clamp(parameter.bounds.0, parameter.bounds.1)
}

struct Search<'a> {
    group: &'a Group<'a>,
    settings: &'a TrainingSettings,
    /// The free parameters.
    parameters: &'a [Parameter],
    kernel_count: usize,
}

impl Search<'_> {
    /// Terms of the likelihood: measurements of all outputs.
    fn count(&self) -> usize {
        self.group.inputs.len().min(self.group.limit) * self.group.targets.len()
    }

    /// Σ ½ ((θ − m)/s)², its gradient added to `gradient`.
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

    /// Follows all starts on the smallest part, then refines the best end on larger ones up to all data.
    fn over_parts(&self, starts: &[Vec<f64>], stream: Stream) -> (Minimum, usize) {
        let n = self.group.inputs.len();
        let mut sizes = vec![n.min(self.group.limit)];
        while sizes[sizes.len() - 1] >= 2 * self.settings.first_part {
            sizes.push((sizes[sizes.len() - 1] / 3).max(self.settings.first_part));
        }
        let order = permutation(n, stream);
        let bounds: Vec<(f64, f64)> = self.parameters.iter().map(|p| p.bounds).collect();
        let mut evaluations = 0;
        let mut ends: Vec<Minimum> = Vec::new();
        let mut curvature = None;
        for (level, &size) in sizes.iter().enumerate().rev() {
            let part = Part::new(self.group, (size < n).then(|| &order[..size]));
            let mut likelihoods = part.likelihoods();
            let mut used = 0;
            let mut objective = |point: &[f64], gradient: &mut [f64]| {
                used += 1;
                self.objective(&mut likelihoods, point, gradient)
            };
            let stop = self.stop(level == 0);
            ends = match curvature.take() {
                None => race(&mut objective, starts, &bounds, stop),
                Some(hessian) => vec![refined(&mut objective, &ends, hessian, &bounds, stop)],
            };
            if level == 0 && sizes.len() > 1 {
                ends.extend(self.search_last(&mut objective, ends.first(), &bounds, stop));
            }
            ends.retain(|end| end.status != Status::Failed);
            ends.sort_by(|a, b| a.value.total_cmp(&b.value));
            ends.truncate(2);
            if let (Some(best), true) = (ends.first(), level > 0) {
                curvature = hessian(&mut objective, &best.point, &bounds);
            }
            evaluations += used;
        }
        let last = || self.group.last[..self.parameters.len()].to_vec();
        let failed = || Minimum::at(last(), f64::INFINITY, 0, Status::Failed);
        (ends.into_iter().next().unwrap_or_else(failed), evaluations)
    }

    /// The search on all data from the parameters of last time, given up when it falls behind the `found` of the parts. None if the parts led
    /// to the same optimum, and nearer to it.
    fn search_last(
        &self,
        objective: &mut Function<'_>,
        found: Option<&Minimum>,
        bounds: &[(f64, f64)],
        stop: Stop,
    ) -> Option<Minimum> {
        let last = &self.group.last[..self.parameters.len()];
        let rival = found.filter(|found| found.status != Status::Failed);
        if let Some(found) = rival.filter(|found| distance(&found.point, last) <= SAME_OPTIMUM) {
            let here = objective(last, &mut vec![0.0; last.len()]);
            if !here.is_some_and(|here| here < found.value) {
                return None;
            }
        }
        Some(minimize_beside(objective, last, bounds, stop, rival))
    }

    /// On a part of the data, the neighbourhood of its optimum is enough.
    fn stop(&self, last: bool) -> Stop {
        let loose = if last { 1.0 } else { 10.0 };
        Stop {
            evaluations: self.settings.max_evaluations,
            gradient: loose * self.settings.gradient_tolerance,
            decrease: loose * self.settings.gain_tolerance,
        }
    }

    /// −(ln p + ln prior) for each measurement, and its gradient.
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

/// Parameters nearer to each other than this (in log space) lead to the same optimum.
const SAME_OPTIMUM: f64 = 0.5;

/// Follows one start after the other, each as long as it may end lower than the best before it.
fn race(
    objective: &mut Function<'_>,
    starts: &[Vec<f64>],
    bounds: &[(f64, f64)],
    stop: Stop,
) -> Vec<Minimum> {
    let mut ends: Vec<Minimum> = Vec::new();
    for start in starts {
        let finite = ends.iter().filter(|end| end.status != Status::Failed);
        let best = finite.min_by(|a, b| a.value.total_cmp(&b.value));
        ends.push(minimize_beside(objective, start, bounds, stop, best));
    }
    ends
}

/// The better of two ends on a smaller part, refined on this one. Should it stall, the search goes on without the curvature.
fn refined(
    objective: &mut Function<'_>,
    ends: &[Minimum],
    hessian: Vec<f64>,
    bounds: &[(f64, f64)],
    stop: Stop,
) -> Minimum {
    let mut gradient = vec![0.0; bounds.len()];
    let mut best = 0;
    if ends.len() > 1 && distance(&ends[0].point, &ends[1].point) > SAME_OPTIMUM {
        let mut value = |i: usize| objective(&ends[i].point, &mut gradient).unwrap_or(f64::INFINITY);
        best = usize::from(value(1) < value(0));
    }
    let refined = refine(objective, &ends[best].point, hessian, bounds, stop);
    if matches!(refined.status, Status::Converged | Status::Budget) {
        return refined;
    }
    let again = minimize(objective, &refined.point, bounds, stop);
    if again.value <= refined.value { again } else { refined }
}

/// Part of the data, or all.
struct Part<'a> {
    own: Option<(Inputs, Vec<Targets>)>,
    group: &'a Group<'a>,
}

impl<'a> Part<'a> {
    fn new(group: &'a Group<'a>, indices: Option<&[usize]>) -> Self {
        let own = indices.map(|i| {
            (group.inputs.select(i), group.targets.iter().map(|targets| targets.select(i)).collect())
        });
        Part { own, group }
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

/// 0, …, n − 1 in random order.
fn permutation(n: usize, stream: Stream) -> Vec<usize> {
    let (mut order, mut rng): (Vec<usize>, _) = ((0..n).collect(), stream.child("parts").rng());
    for i in (1..n).rev() {
        order.swap(i, rng.below(i + 1));
    }
    order
}
