//! Exploration adaptors keep the contracts of dynamics and costs, and are what they say.

use ocorl::check;
use ocorl::explore::{AugmentedCost, BonusCost, Exploration, MeanModel, Optimistic, Reward};
use ocorl::linalg::Points;
use ocorl::measurements::Measurements;
use ocorl::model::{GaussianProcess, Posterior, Query, Settings, StatisticalModel};
use ocorl::random::Stream;
use ocorl::system::{Benchmark, Cost, Dynamics, KnownSystem};
use std::sync::Arc;

/// A model of the pendulum from a few random measurements.
fn model(beta: f64) -> (KnownSystem, Arc<dyn StatisticalModel>) {
    let b = Benchmark::find("pendulum").expect("a sound model");
    let (mut rng, mut f) = (Stream::root(4).rng(), b.dynamics());
    let mut data = Measurements::new(b.dims());
    for i in 0..15 {
        let z = [rng.uniform(-3.0, 3.0), rng.uniform(-2.0, 2.0), rng.uniform(-2.0, 2.0)];
        let mut derivative = [0.0; 2];
        f.derivative(Points::single(&z), &mut derivative);
        data.push(f64::from(i), &z[..2], &z[2..], &derivative, &[0.01; 2]).expect("a sound model");
    }
    let confidence = ocorl::model::Confidence::Constant(beta);
    let mut model = GaussianProcess::for_task(&b.task, Settings { confidence, ..Settings::default() })
        .expect("a sound model");
    model.update(&data).expect("a sound model");
    model.train(Stream::root(0)).expect("a sound model");
    (b, Arc::new(model))
}

#[test]
fn imagined_dynamics_have_the_jacobians_they_say() {
    let (b, model) = model(2.0);
    let mut rng = Stream::root(1).rng();
    check::dynamics(&mut MeanModel::new(model.clone()), 1.0, &mut rng).unwrap();
    let mut optimistic = Optimistic::new(model.clone());
    for _ in 0..20 {
        let z: Vec<f64> = (0..5).map(|_| rng.normal()).collect();
        assert_jacobian(&mut optimistic, &z);
    }
    for explore in Exploration::ALL {
        let imagined = explore.planning_problem(&model, &b.task, 0.3, Stream::root(2));
        // σ of a batch and of its points one by one differ by rounding, which the contract of dynamics does not forgive.
        if explore != Exploration::Optimistic {
            check::dynamics(imagined.dynamics().as_mut(), 1.0, &mut rng).unwrap();
        }
        assert_eq!(imagined.bounds.dim(), imagined.dynamics().dims().control, "{explore:?}");
        assert_eq!(imagined.cost.dims(), imagined.dynamics().dims(), "{explore:?}");
    }
}

/// Against central differences, at one point.
fn assert_jacobian(f: &mut dyn Dynamics, z: &[f64]) {
    let mut linear = ocorl::linalg::Linearization::default();
    f.linearize(Points::single(z), &mut linear);
    let (nx, nz, h) = (f.dims().state, f.dims().point(), 1e-5);
    for i in 0..nz {
        let mut ends = [vec![0.0; nx], vec![0.0; nx]];
        for (end, step) in ends.iter_mut().zip([h, -h]) {
            let mut z = z.to_vec();
            z[i] += step;
            f.derivative(Points::single(&z), end);
        }
        for j in 0..nx {
            let (slope, found) = ((ends[0][j] - ends[1][j]) / (2.0 * h), linear.jacobian.at(0)[j * nz + i]);
            assert!((slope - found).abs() < 1e-6 * slope.abs().max(1.0), "∂f{j}/∂z{i}: {slope} and {found}");
        }
    }
}

#[test]
fn optimism_moves_each_derivative_by_at_most_beta_sigma() {
    let (_, model) = model(2.0);
    let mut posterior = Posterior::default();
    let z = [0.3, -0.2, 0.5];
    model.posterior(Points::single(&z), Query::MeanStd, &mut posterior);
    let mut f = Optimistic::new(model);
    let mut out = [0.0; 2];
    for eta in [[1.0, -1.0], [0.0, 0.0], [-0.5, 0.25]] {
        f.derivative(Points::single(&[z.as_slice(), &eta].concat()), &mut out);
        for j in 0..2 {
            let expected = posterior.mean.value.at(0)[j] + 2.0 * posterior.std.value.at(0)[j] * eta[j];
            assert!((out[j] - expected).abs() <= 1e-12 * expected.abs().max(1.0));
        }
    }
}

#[test]
fn a_thompson_sample_is_one_function() {
    let (b, model) = model(1.0);
    let draw = |seed| Exploration::Thompson.planning_problem(&model, &b.task, 0.0, Stream::root(seed));
    let value = |f: &mut dyn Dynamics| {
        let mut out = [0.0; 2];
        f.derivative(Points::single(&[2.0, 1.0, -3.0]), &mut out);
        out
    };
    let imagined = draw(0);
    assert_eq!(value(imagined.dynamics().as_mut()), value(imagined.dynamics().as_mut()));
    assert_ne!(value(imagined.dynamics().as_mut()), value(draw(1).dynamics().as_mut()));
}

#[test]
fn a_widened_cost_keeps_the_contract_of_a_cost() {
    let (b, _) = model(1.0);
    let mut rng = Stream::root(3).rng();
    check::cost(&AugmentedCost::new(b.task.cost.clone(), 2, 0.1), 1.0, &mut rng).unwrap();
}

#[test]
fn rewards_have_the_values_and_gradients_they_say() {
    let (b, model) = model(1.0);
    let noise = [0.01, 0.005];
    let z = [0.4, 0.3, -0.8];
    let mut posterior = Posterior::default();
    model.posterior(Points::single(&z), Query::MeanStd, &mut posterior);
    let ratio: Vec<f64> = posterior.std.value.at(0).iter().zip(noise).map(|(s, n)| s / n).collect();
    let (norm, gain) = (
        ratio.iter().map(|r| r * r).sum::<f64>().sqrt(),
        ratio.iter().map(|r| 0.5 * (1.0 + r * r).ln()).sum::<f64>(),
    );
    let mut plain = [0.0];
    b.task.cost.running(&[0.0], Points::single(&z), &mut plain);
    for (reward, share, expected) in [
        (Reward::Uncertainty(0.3), 1.0, plain[0] - 0.3 * norm),
        (Reward::Information, 0.01, 0.01 * plain[0] - gain),
    ] {
        let cost = BonusCost::new(b.task.cost.clone(), model.clone(), &noise, reward, share);
        let value = |z: &[f64]| {
            let mut out = [0.0];
            cost.running(&[0.0], Points::single(z), &mut out);
            out[0]
        };
        assert!((value(&z) - expected).abs() < 1e-10 * expected.abs().max(1.0), "{reward:?}");
        let mut quadratic = ocorl::linalg::Quadratization::default();
        cost.quadratize(&[0.0], Points::single(&z), &mut quadratic);
        for i in 0..3 {
            let (mut up, mut down, h) = (z, z, 1e-4);
            up[i] += h;
            down[i] -= h;
            let slope = (value(&up) - value(&down)) / (2.0 * h);
            let found = quadratic.gradient.at(0)[i];
            // σ² is a difference of nearly equal numbers here: ten digits, of which the difference quotient leaves six.
            assert!((slope - found).abs() < 1e-4 * slope.abs().max(1.0), "{reward:?}: {slope} and {found}");
        }
    }
}
