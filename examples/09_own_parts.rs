//! User-defined components of the learner: a model, a schedule, and a plant given by f alone.
//!
//! `cargo run --release -p ocorl --example 09_own_parts`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use ocorl::model::{Settings as ModelSettings, TrainingReport};
use ocorl::prelude::*;

/// A Gaussian process whose confidence intervals are three times as wide. Everything else is passed on.
struct Cautious(Box<dyn StatisticalModel>, Vec<f64>);

impl StatisticalModel for Cautious {
    fn dims(&self) -> Dims {
        self.0.dims()
    }
    fn update(&mut self, new: &Measurements) -> Result<(), ModelError> {
        self.0.update(new)
    }
    fn train(&mut self, stream: Stream) -> Result<TrainingReport, ModelError> {
        let report = self.0.train(stream)?;
        self.1 = self.0.confidence_scale().iter().map(|beta| 3.0 * beta).collect();
        Ok(report)
    }
    fn posterior(&self, z: Points<'_>, query: Query, out: &mut Posterior) {
        self.0.posterior(z, query, out);
    }
    fn covariance(&self, z: Points<'_>, out: &mut Blocks) {
        self.0.covariance(z, out);
    }
    fn confidence_scale(&self) -> &[f64] {
        &self.1
    }
    fn sample(&self, rng: &mut Rng) -> Box<dyn Dynamics> {
        self.0.sample(rng)
    }
    fn fork(&self) -> Box<dyn StatisticalModel> {
        Box::new(Cautious(self.0.fork(), self.1.clone()))
    }
}

/// So many measurements, half a second apart; a fifth of that while the pendulum is fast.
struct WhileFast(usize, f64);

impl Schedule for WhileFast {
    fn next(&mut self, time: f64, state: &[f64], _control: &[f64]) -> Option<Request> {
        let WhileFast(left, due) = self;
        if *due <= time {
            *left = left.checked_sub(1)?;
            *due = time + if state[1].abs() > 2.0 { 0.1 } else { 0.5 };
            return Some(Request { time, purpose: Purpose::Learn });
        }
        Some(Request { time: *due, purpose: Purpose::Learn })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let KnownSystem { task, .. } = Benchmark::find("pendulum")?;
    let model = GaussianProcess::for_task(&task, ModelSettings::default())?;
    let mut learner = Learner::builder(task.clone())
        .model(Box::new(Cautious(Box::new(model), vec![3.0; 2])))
        .schedule(|_| Box::new(WhileFast(15, 0.2)))
        .seed(1)
        .build()?;

    // θ̇ = ω, ω̇ = g/l sin θ + u: no derivatives of it are written down.
    let pendulum = NumericJacobian::new(task.dims(), |x: &[f64], u: &[f64], derivative: &mut [f64]| {
        derivative.copy_from_slice(&[x[1], 1.962 * x[0].sin() + u[0]]);
    });
    let mut plant = SimulatedPlant::new(task, Box::new(pendulum), Stream::root(1));
    for episode in 0..4 {
        let mut proposal = learner.propose(&mut ());
        let results: Vec<_> = proposal.rollouts.iter_mut().map(|rollout| plant.run(rollout)).collect();
        learner.observe(&results, &mut ());
        println!(
            "episode {episode}: cost {:.3}, {} measurements",
            results[0].cost,
            results[0].readings.len()
        );
    }
    Ok(())
}
