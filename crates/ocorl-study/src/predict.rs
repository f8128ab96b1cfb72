//! Prediction errors of a learned model on a recording: from the estimated state at a time, the mean model is integrated with the recorded
//! controls, and compared with the recorded states after one step and after a horizon.

use crate::measured::recording::Recording;
use ocorl::explore::MeanModel;
use ocorl::linalg::Points;
use ocorl::model::StatisticalModel;
use ocorl::system::{Dynamics, Task};
use serde::Serialize;
use std::sync::Arc;

/// Root mean square errors of predictions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictionErrors {
    /// Length of a prediction.
    pub length: f64,
    /// Number of predictions.
    pub count: usize,
    /// Root mean square error of each state; `None` if it was not recorded.
    pub rms: Vec<Option<f64>>,
    /// Median of the absolute errors of each state.
    pub median: Vec<Option<f64>>,
    /// Root mean square error of the prediction that the state does not change.
    pub unchanged: Vec<Option<f64>>,
}

/// Largest step of the integration as a fraction of the length of a prediction.
const STEPS: f64 = 100.0;

/// Predicts over `length` from every `every`, with the classical Runge–Kutta method. Times at which the state cannot be estimated are left
/// out.
pub fn errors(
    model: &Arc<dyn StatisticalModel>,
    task: &Task,
    recording: &Recording,
    length: f64,
    every: f64,
) -> PredictionErrors {
    let (mut f, times, n) = (MeanModel::new(model.clone()), recording.times(), task.states.len());
    let (mut squares, mut still) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    let (mut next, mut count) = (times[0], 0);
    for i in 0..times.len() {
        if times[i] < next {
            continue;
        }
        // The sample nearest to the end of the prediction.
        let end = times.partition_point(|t| *t < times[i] + length - 1e-9);
        let Some((state, _)) = recording.estimate(i).filter(|_| end < times.len()) else { continue };
        next = times[i] + every;
        let predicted = simulate(&mut f, recording, &state, times[i], times[end], length / STEPS);
        count += 1;
        for j in 0..n {
            let Some(column) = recording.state(j) else { continue };
            let difference = |a: f64| {
                let d = a - column[end];
                let turns = if task.angles.contains(&j) { (d / std::f64::consts::TAU).round() } else { 0.0 };
                d - turns * std::f64::consts::TAU
            };
            squares[j].push(difference(predicted[j]).powi(2));
            still[j].push(difference(state[j]).powi(2));
        }
    }
    let mean = |v: &Vec<f64>| (!v.is_empty()).then(|| (v.iter().sum::<f64>() / v.len() as f64).sqrt());
    let middle = |v: &Vec<f64>| {
        let mut sorted = v.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(v.len() / 2).map(|s| s.sqrt())
    };
    PredictionErrors {
        length,
        count,
        rms: squares.iter().map(mean).collect(),
        median: squares.iter().map(middle).collect(),
        unchanged: still.iter().map(mean).collect(),
    }
}

/// The state at `end` from `state` at `begin`, with the recorded controls.
fn simulate(
    f: &mut dyn Dynamics,
    recording: &Recording,
    state: &[f64],
    begin: f64,
    end: f64,
    step: f64,
) -> Vec<f64> {
    let steps = ((end - begin) / step).ceil().max(1.0);
    let (h, controls) = ((end - begin) / steps, f.dims().control);
    let (mut x, mut time) = (state.to_vec(), begin);
    let mut slope = |time: f64, x: &[f64]| {
        let (mut u, mut out) = (vec![0.0; controls], vec![0.0; x.len()]);
        recording.control(time, &mut u);
        let z = [x, &u].concat();
        f.derivative(Points::new(&z, z.len()), &mut out);
        out
    };
    let moved = |x: &[f64], k: &[f64], h: f64| x.iter().zip(k).map(|(x, k)| x + h * k).collect::<Vec<f64>>();
    while time < end - 0.5 * h {
        let a = slope(time, &x);
        let b = slope(time + 0.5 * h, &moved(&x, &a, 0.5 * h));
        let c = slope(time + 0.5 * h, &moved(&x, &b, 0.5 * h));
        let d = slope(time + h, &moved(&x, &c, h));
        for (j, x) in x.iter_mut().enumerate() {
            *x += h / 6.0 * (a[j] + 2.0 * b[j] + 2.0 * c[j] + d[j]);
        }
        time += h;
    }
    x
}
