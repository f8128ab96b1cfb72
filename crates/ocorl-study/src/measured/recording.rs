//! Recordings of other programs: a mapping names their columns, and derivatives are estimated from the recorded positions and velocities.
//!
//! A recorded position x without a recorded velocity is smoothed by a spline (`spline`), whose derivatives are those of the state. If
//! the velocity v is recorded too, a cubic polynomial in s = t′ − t is fitted to both around each kept time t, over a window:
//!
//! ```text
//! x(s) = a + b s + c s²/2 + d s³/6,   v(s) = b + c s + d s²/2
//! ```
//!
//! by least squares, weighted with the noise of both. The estimates are x = a, ẋ = v = b and v̇ = c. The window must be short compared with
//! the motion, and long compared with the sampling interval.
//!
//! The highest derivative and the control of a row are averages over the window with the weights (1 − (s/window)²)², because controls may
//! jump within it. A fitted polynomial averages its second derivative in nearly this way by itself.

use super::Measured;
use super::spline::Spline;
use crate::study::Row;
use crate::user_error::UserError;
use ocorl::system::Task;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How the columns of a recording relate to a system.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mapping {
    /// Column of the file for each state, control and the time `t`; by default the column of the same name. An empty name ignores the column
    /// of a velocity.
    pub columns: BTreeMap<String, String>,
    /// For each state that is the velocity of another state, the name of that state. Its column may be missing in the file.
    pub velocities: BTreeMap<String, String>,
    /// Standard deviation of the noise of each recorded state; by default 1, which weights positions and velocities equally.
    pub noise: BTreeMap<String, f64>,
    /// Half of the width of the fitted window, in the unit of time; at least three samples are used to each side.
    pub window: f64,
    /// Number of rows that are kept, equally spaced in time; without it all.
    pub rows: Option<usize>,
    /// Values of the controls between two samples.
    pub controls: Between,
    /// For some states the smallest magnitude of a kept row. A body that dry friction holds tells nothing about the forces on it; its rows
    /// are left out by the smallest speed of a moving body.
    pub least: BTreeMap<String, f64>,
}

/// The control between two samples of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Interpolated linearly.
    #[default]
    Linear,
    /// The value of the sample before: a recorded command that is held.
    Previous,
    /// The value of the sample after: the measured effect of a command that was held since the sample before.
    Next,
}

/// A recording: raw columns, and estimates of states and derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    times: Vec<f64>,
    /// For each state its column; `None` if it was not recorded.
    states: Vec<Option<Vec<f64>>>,
    controls: Vec<Vec<f64>>,
    /// For each state the index of the state whose velocity it is.
    position_of: Vec<Option<usize>>,
    noise: Vec<f64>,
    window: f64,
    rows: Option<usize>,
    between: Between,
    /// For each state the smallest magnitude of a kept row.
    least: Vec<f64>,
    /// For each position without a recorded velocity its spline.
    splines: Vec<Option<Spline>>,
}

/// Samples to each side of a fitted window, at least.
const LEAST_SAMPLES: usize = 3;
/// Points at which a control is averaged over a window.
const AVERAGED: u32 = 24;
/// Time scale of the smoothing spline as a fraction of the window.
const SMOOTHED: f64 = 0.1;

impl Mapping {
    /// Reads a mapping from a TOML file.
    pub fn load(path: &Path) -> Result<Self, UserError> {
        let wrong = |cause: String| {
            UserError::new(format!("cannot read the mapping '{}'", path.display())).detail("cause", cause)
        };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        toml::from_str(&text).map_err(|error| wrong(error.to_string()))
    }
}

impl Recording {
    /// Reads a recording from a CSV file.
    pub fn load(path: &Path, mapping: &Mapping, task: &Task) -> Result<Self, UserError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            UserError::new(format!("cannot read '{name}'")).detail("cause", error.to_string())
        })?;
        Recording::parse(&text, mapping, task)
            .map_err(|error| error.detail("file", name).detail("note", "nothing was stored"))
    }

    /// Parses the text of a CSV file.
    pub fn parse(text: &str, mapping: &Mapping, task: &Task) -> Result<Self, UserError> {
        let (names, columns) = table(text)?;
        let quantities: Vec<&str> =
            task.states.iter().chain(&task.controls).map(|q| q.name.as_str()).collect();
        let named =
            mapping.columns.keys().chain(mapping.velocities.keys()).chain(mapping.velocities.values());
        if let Some(wrong) = named
            .chain(mapping.noise.keys())
            .chain(mapping.least.keys())
            .find(|n| *n != "t" && !quantities.contains(&n.as_str()))
        {
            let message = format!("the mapping names '{wrong}', which is no state or control of the system");
            return Err(UserError::new(message).detail("system", quantities.join(", ")));
        }
        let find = |quantity: &str| {
            let column = mapping.columns.get(quantity).map_or(quantity, String::as_str);
            let at = names.iter().position(|n| n == column);
            at.map(|i| columns[i].clone()).ok_or_else(|| {
                UserError::new(format!("the column '{column}' for '{quantity}' is missing"))
                    .detail("columns", names.join(", "))
                    .hint("name it in the section [columns] of the mapping")
            })
        };
        let index = |name: &str| task.states.iter().position(|q| q.name == *name);
        let position_of: Vec<Option<usize>> =
            task.states.iter().map(|q| index(mapping.velocities.get(&q.name)?)).collect();
        let states: Result<Vec<_>, UserError> = task
            .states
            .iter()
            .zip(&position_of)
            .map(|(q, position)| match (find(&q.name), position) {
                (Err(_), Some(_)) => Ok(None),
                (_, Some(_)) if mapping.columns.get(&q.name).is_some_and(String::is_empty) => Ok(None),
                (found, _) => found.map(Some),
            })
            .collect();
        let states = states?;
        let controls = task.controls.iter().map(|q| find(&q.name)).collect::<Result<Vec<_>, _>>()?;
        let times = find("t")?;
        if times.len() <= 2 * LEAST_SAMPLES || times.windows(2).any(|t| !(t[0] < t[1])) {
            let need = format!("a recording needs more than {} rows with ascending times", 2 * LEAST_SAMPLES);
            return Err(UserError::new(need));
        }
        let noise = |q: &ocorl::system::Quantity| mapping.noise.get(&q.name).copied().unwrap_or(1.0);
        let noise: Vec<f64> = task.states.iter().map(noise).collect();
        if noise.iter().chain([&mapping.window]).any(|v| !(*v >= 0.0 && v.is_finite()))
            || noise.contains(&0.0)
        {
            return Err(UserError::new("noise must be positive, and the window zero or positive"));
        }
        let (window, rows, between) = (mapping.window, mapping.rows, mapping.controls);
        let least = |q: &ocorl::system::Quantity| mapping.least.get(&q.name).copied().unwrap_or(0.0);
        let least = task.states.iter().map(least).collect();
        let splines = states.iter().enumerate().map(|(j, column)| {
            let speed = position_of.iter().position(|p| *p == Some(j));
            let alone = position_of[j].is_none() && speed.is_none_or(|v| states[v].is_none());
            column.as_ref().filter(|_| alone).map(|y| Spline::fit(&times, y, SMOOTHED * window))
        });
        let splines = splines.collect();
        Ok(Recording { times, states, controls, position_of, noise, window, rows, between, least, splines })
    }

    /// The recorded times.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The recorded values of a state; `None` if it was not recorded.
    pub fn state(&self, state: usize) -> Option<&[f64]> {
        self.states[state].as_deref()
    }

    /// The control at a time.
    pub fn control(&self, time: f64, out: &mut [f64]) {
        let next = self.times.partition_point(|t| match self.between {
            Between::Next => *t < time,
            Between::Linear | Between::Previous => *t <= time,
        });
        let next = next.clamp(1, self.times.len() - 1);
        let (from, to) = (self.times[next - 1], self.times[next]);
        let w = match self.between {
            Between::Linear => ((time - from) / (to - from)).clamp(0.0, 1.0),
            Between::Previous => f64::from(u8::from(time >= to)),
            Between::Next => f64::from(u8::from(time > from)),
        };
        for (out, column) in out.iter_mut().zip(&self.controls) {
            *out = column[next - 1] + w * (column[next] - column[next - 1]);
        }
    }

    /// The weights of an average over the window around sample `i`, with their times.
    fn weights(&self, i: usize) -> impl Iterator<Item = (f64, f64)> {
        let (time, half) = (self.times[i], self.half_window(i));
        let weight = |k: u32| {
            let s = (f64::from(k) + 0.5) / f64::from(AVERAGED) * 2.0 - 1.0;
            (s, (1.0 - s * s).powi(2))
        };
        let sum: f64 = (0..AVERAGED).map(|k| weight(k).1).sum();
        (0..AVERAGED).map(weight).map(move |(s, w)| (time + half * s, w / sum))
    }

    /// Half of the width of the window around sample `i`: at least that of one sampling interval.
    fn half_window(&self, i: usize) -> f64 {
        let last = self.times.len() - 1;
        let spacing = (self.times[(i + 1).min(last)] - self.times[i.saturating_sub(1)]) / 2.0;
        self.window.max(spacing)
    }

    /// The control averaged over the window around sample `i`.
    fn mean_control(&self, i: usize) -> Vec<f64> {
        let (mut mean, mut now) = (vec![0.0; self.controls.len()], vec![0.0; self.controls.len()]);
        for (time, weight) in self.weights(i) {
            self.control(time, &mut now);
            for (mean, now) in mean.iter_mut().zip(&now) {
                *mean += weight * now;
            }
        }
        mean
    }

    /// Estimates of the state and its derivative at the sample with index `i`; `None` at the ends of the recording, and if the samples do
    /// not determine them.
    pub fn estimate(&self, i: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = self.states.len();
        let (mut state, mut derivative) = (vec![f64::NAN; n], vec![f64::NAN; n]);
        let low = (0..=i).rev().take_while(|&k| self.within(i, k)).last()?;
        let high = (i..self.times.len()).take_while(|&k| self.within(i, k)).last()?;
        if low == 0 || high + 1 == self.times.len() {
            return None;
        }
        for j in (0..n).filter(|&j| self.position_of[j].is_none()) {
            let velocity = (0..n).find(|&v| self.position_of[v] == Some(j));
            if let Some(spline) = &self.splines[j] {
                let ([x, slope, _], mut mean) = (spline.at(self.times[i]), [0.0; 2]);
                for (time, weight) in self.weights(i) {
                    let [_, slope, bend] = spline.at(time);
                    mean = [mean[0] + weight * slope, mean[1] + weight * bend];
                }
                (state[j], derivative[j]) = (x, mean[0]);
                if let Some(v) = velocity {
                    (derivative[j], state[v], derivative[v]) = (slope, slope, mean[1]);
                }
                continue;
            }
            let fit = self.fit(i, low..high + 1, j, velocity)?;
            (state[j], derivative[j]) = (fit[0], fit[1]);
            if let Some(v) = velocity {
                (state[v], derivative[v]) = (fit[1], fit[2]);
            }
        }
        state.iter().chain(&derivative).all(|v| v.is_finite()).then_some((state, derivative))
    }

    /// Whether sample `k` belongs to the window around sample `i`.
    fn within(&self, i: usize, k: usize) -> bool {
        i.abs_diff(k) <= LEAST_SAMPLES || (self.times[k] - self.times[i]).abs() <= self.window
    }

    /// The coefficients a, b, c, d of the fit of state `j` and its velocity over `window` around sample `i`.
    fn fit(
        &self,
        i: usize,
        window: std::ops::Range<usize>,
        j: usize,
        velocity: Option<usize>,
    ) -> Option<[f64; 4]> {
        let position = self.states[j].as_deref()?;
        let speed = velocity.and_then(|v| Some((self.states[v].as_deref()?, self.noise[v])));
        // Times in units of the window keep the normal equations well conditioned.
        let width = (self.times[window.end - 1] - self.times[window.start]).max(f64::MIN_POSITIVE);
        let (mut a, mut b) = ([[0.0; 4]; 4], [0.0; 4]);
        let mut add = |phi: [f64; 4], y: f64, std: f64| {
            let weight = 1.0 / (std * std);
            for r in 0..4 {
                b[r] += weight * phi[r] * y;
                for c in 0..4 {
                    a[r][c] += weight * phi[r] * phi[c];
                }
            }
        };
        for k in window {
            let s = (self.times[k] - self.times[i]) / width;
            add([1.0, s, s * s / 2.0, s * s * s / 6.0], position[k], self.noise[j]);
            if let Some((speed, std)) = speed {
                add([0.0, 1.0, s, s * s / 2.0], width * speed[k], width * std);
            }
        }
        let x = solve(a, b)?;
        Some([x[0], x[1] / width, x[2] / width.powi(2), x[3] / width.powi(3)])
    }

    /// The rows to learn from: estimates at equally spaced samples.
    pub fn measured(&self) -> Measured {
        let n = self.times.len();
        let wanted = self.rows.unwrap_or(n).clamp(1, n);
        let mut rows: Vec<Row> = Vec::with_capacity(wanted);
        let moving = |x: &[f64]| x.iter().zip(&self.least).all(|(x, least)| x.abs() >= *least);
        let inside: Vec<usize> =
            (0..n).filter(|&i| self.estimate(i).is_some_and(|(x, _)| moving(&x))).collect();
        for k in 0..wanted.min(inside.len()) {
            let i = inside[k * inside.len() / wanted.min(inside.len())];
            let Some((x, x_dot)) = self.estimate(i) else { continue };
            let u = self.mean_control(i);
            rows.push(Row {
                start: 0,
                t: self.times[i],
                x,
                u,
                x_dot: Some(x_dot),
                asked_t: None,
                interval: None,
            });
        }
        Measured { rows, ..Measured::default() }
    }
}

/// Names and columns of a CSV text of numbers.
fn table(text: &str) -> Result<(Vec<String>, Vec<Vec<f64>>), UserError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let broken = |error: csv::Error| {
        UserError::new("the recording is no CSV table").detail("cause", error.to_string())
    };
    let names: Vec<String> = reader.headers().map_err(broken)?.iter().map(str::to_owned).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for (number, record) in reader.records().enumerate() {
        for ((cell, column), name) in record.map_err(broken)?.iter().zip(&mut columns).zip(&names) {
            let value = cell.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| {
                UserError::new(format!(
                    "row {} refused: '{name}' is '{cell}', not a finite number",
                    number + 1
                ))
            })?;
            column.push(value);
        }
    }
    Ok((names, columns))
}

/// Solves A x = b by elimination with pivots; `None` if A is singular.
fn solve(mut a: [[f64; 4]; 4], mut b: [f64; 4]) -> Option<[f64; 4]> {
    for i in 0..4 {
        let pivot = (i..4).max_by(|&r, &s| a[r][i].abs().total_cmp(&a[s][i].abs()))?;
        a.swap(i, pivot);
        b.swap(i, pivot);
        if !(a[i][i].abs() > 1e-12 * a[0][0].abs()) {
            return None;
        }
        for r in i + 1..4 {
            let factor = a[r][i] / a[i][i];
            for c in i..4 {
                a[r][c] -= factor * a[i][c];
            }
            b[r] -= factor * b[i];
        }
    }
    for i in (0..4).rev() {
        for c in i + 1..4 {
            b[i] -= a[i][c] * b[c];
        }
        b[i] /= a[i][i];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    /// θ = sin 3t, ω = 3 cos 3t, u = cos t, sampled irregularly, with other column names.
    fn text(velocity: bool) -> String {
        let mut text = String::from(if velocity { "time,a,b,m\n" } else { "time,a,m\n" });
        for i in 0..400 {
            let t = 0.005 * f64::from(i) + 0.001 * f64::from(i).sin();
            let (a, b) = ((3.0 * t).sin(), 3.0 * (3.0 * t).cos());
            let speed = if velocity { format!("{b},") } else { String::new() };
            let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{t},{a},{speed}{}\n", t.cos()));
        }
        text
    }

    fn mapping() -> Mapping {
        toml::from_str(
            "window = 0.02\nrows = 50\n[columns]\nt = \"time\"\ntheta = \"a\"\nomega = \"b\"\nu = \"m\"\n\
             [velocities]\nomega = \"theta\"\n[noise]\ntheta = 0.001\nomega = 0.01\n",
        )
        .unwrap()
    }

    fn task() -> Task {
        let mut task = System::find("pendulum").unwrap().task;
        task.controls[0].name = "u".into();
        task
    }

    #[test]
    fn states_and_derivatives_are_estimated_with_and_without_recorded_velocities() {
        for velocity in [true, false] {
            let measured = Recording::parse(&text(velocity), &mapping(), &task()).unwrap().measured();
            assert_eq!(measured.rows.len(), 50);
            for row in &measured.rows {
                let (sin, cos) = (3.0 * row.t).sin_cos();
                let x_dot = row.x_dot.as_ref().unwrap();
                assert!((row.x[0] - sin).abs() < 1e-4 && (row.x[1] - 3.0 * cos).abs() < 3e-3, "{row:?}");
                assert!(x_dot[0] == row.x[1] && (x_dot[1] + 9.0 * sin).abs() < 0.02, "{row:?}");
                // The average over a window of 0.02 differs from the value by its curvature.
                assert!((row.u[0] - row.t.cos()).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn wrong_names_and_numbers_are_refused() {
        let refuse =
            |text: &str, mapping: &Mapping| Recording::parse(text, mapping, &task()).unwrap_err().message;
        let mut wrong = mapping();
        wrong.velocities.insert("speed".into(), "theta".into());
        assert!(refuse(&text(true), &wrong).contains("'speed', which is no state or control"));
        let mut wrong = mapping();
        wrong.columns.insert("theta".into(), "angle".into());
        assert!(refuse(&text(true), &wrong).contains("'angle' for 'theta' is missing"));
        assert!(refuse("time,a,b,m\n0,1,2,x\n", &mapping()).contains("row 1 refused: 'm' is 'x'"));
        assert!(refuse("time,a,b,m\n0,1,2,3\n", &mapping()).contains("ascending times"));
    }
}
