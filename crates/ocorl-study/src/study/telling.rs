//! Validation of measurements before they are recorded: every number and every time is checked against the task and the plan.

use super::event::{Applied, CostFrom, End, Row};
use super::history::sort;
use crate::plan_file::PlanFile;
use crate::user_error::{Hint, UserError};
use ocorl::linalg::Points;
use ocorl::system::Task;
use std::collections::HashMap;

/// Times that deviate by less than this fraction of the horizon are corrected.
const SNAP: f64 = 1e-9;
/// Measurements that deviate by less than this fraction of the horizon are on time.
const ON_TIME: f64 = 1e-6;
/// Relative tolerance on limits, for rounding errors.
const ROUNDING: f64 = 1e-9;

/// Comparison of recorded with requested measurement times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// Number of measurements at the requested time.
    pub on_time: usize,
    /// Number of measurements at another time than requested.
    pub late: usize,
    /// Number of requested measurements that were not taken.
    pub missed: usize,
    /// Number of measurements that were not requested.
    pub extra: usize,
}

/// Validates every number of `rows`, corrects times that deviate by rounding, and sorts the rows.
pub(super) fn checked(
    task: &Task,
    legs: usize,
    mut rows: Vec<Row>,
) -> Result<(Vec<Row>, Vec<String>), UserError> {
    let (count, mut notes) = (rows.len(), Vec::new());
    for (i, row) in rows.iter_mut().enumerate() {
        let snapped = row_checked(task, legs, row).map_err(|cause| {
            UserError::new(format!("measurement {} of {count} refused: {cause}", i + 1))
                .detail("note", format!("none of the {count} was stored"))
        })?;
        notes.extend(snapped.map(|note| format!("measurement {}: {note}", i + 1)));
    }
    sort(&mut rows);
    Ok((rows, notes))
}

/// Validates one row; returns a note if its time was corrected.
fn row_checked(task: &Task, legs: usize, row: &mut Row) -> Result<Option<String>, String> {
    let dims = task.dims();
    let empty = Vec::new();
    let x_dot = row.x_dot.as_ref().unwrap_or(&empty);
    for (what, vector, names, expected) in [
        ("x", &row.x, &task.states, dims.state),
        ("u", &row.u, &task.controls, dims.control),
        ("x_dot", x_dot, &task.states, if row.x_dot.is_some() { dims.state } else { 0 }),
    ] {
        if vector.len() != expected {
            return Err(format!("'{what}' has {} entries, the system has {expected}", vector.len()));
        }
        if let Some(j) = vector.iter().position(|v| !v.is_finite()) {
            return Err(format!("{what}[{j}] ('{}') is {} at t = {}", names[j].name, vector[j], row.t));
        }
    }
    if !row.t.is_finite() || row.asked_t.is_some_and(|t| !t.is_finite()) {
        return Err(format!("its time is {}", row.t));
    }
    if row.interval.is_some_and(|i| !(i > 0.0 && i.is_finite())) {
        return Err("its interval must be positive and finite".into());
    }
    if row.start >= legs {
        return Err(format!("it starts from initial state {}; the plan has {legs}", row.start));
    }
    for (vector, names, bounds) in
        [(&row.x, &task.states, &task.state_bounds), (&row.u, &task.controls, &task.control_bounds)]
    {
        for (j, value) in vector.iter().enumerate() {
            let (lower, upper) = (bounds.lower[j], bounds.upper[j]);
            let room = |limit: f64| if limit.is_finite() { ROUNDING * (1.0 + limit.abs()) } else { 0.0 };
            if *value < lower - room(lower) || *value > upper + room(upper) {
                let name = &names[j].name;
                return Err(format!(
                    "'{name}' = {value} lies outside its limits [{lower}, {upper}] at t = {}",
                    row.t
                ));
            }
        }
    }
    let (horizon, time) = (task.horizon, row.t);
    if time < -SNAP * horizon || time > horizon * (1.0 + SNAP) {
        return Err(format!("t = {time} lies outside the episode [0, {horizon}]"));
    }
    row.t = time.clamp(0.0, horizon);
    Ok((row.t != time).then(|| format!("t = {time} counts as {}", row.t)))
}

/// Validates and sorts the applied controls.
pub(super) fn checked_controls(
    task: &Task,
    legs: usize,
    mut controls: Vec<Applied>,
) -> Result<Vec<Applied>, UserError> {
    let dim = task.controls.len();
    let sound = |c: &Applied| {
        c.t.is_finite() && c.start < legs && c.u.len() == dim && c.u.iter().all(|u| u.is_finite())
    };
    if let Some(bad) = controls.iter().find(|c| !sound(c)) {
        return Err(UserError::new(format!(
            "the control at t = {} is not {dim} finite numbers of a leg",
            bad.t
        ))
        .detail("note", "nothing was stored"));
    }
    controls.sort_by(|a, b| a.start.cmp(&b.start).then(a.t.total_cmp(&b.t)));
    Ok(controls)
}

/// Assigns to each row the requested time it belongs to: the nearest pairs first.
pub(super) fn match_asked(plan: &PlanFile, rows: &mut [Row]) -> Punctuality {
    let mut against = Punctuality::default();
    for leg in &plan.legs {
        let mine: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].start == leg.start).collect();
        if leg.rule.is_some() {
            against.on_time += mine.len();
            continue;
        }
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for &i in &mine {
            // A row can only belong to requested times next to its position among them.
            let near = leg.measure_at.partition_point(|&t| t < rows[i].t);
            for a in near.saturating_sub(NEIGHBOURS)..(near + NEIGHBOURS).min(leg.measure_at.len()) {
                pairs.push(((rows[i].t - leg.measure_at[a]).abs(), i, a));
            }
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut free = vec![true; leg.measure_at.len()];
        for &i in &mine {
            rows[i].asked_t = None;
        }
        for (distance, i, a) in pairs {
            if free[a] && rows[i].asked_t.is_none() {
                free[a] = false;
                rows[i].asked_t = Some(leg.measure_at[a]);
                if distance <= ON_TIME * plan.horizon { against.on_time += 1 } else { against.late += 1 }
            }
        }
        against.extra += mine.iter().filter(|&&i| rows[i].asked_t.is_none()).count();
        against.missed += free.iter().filter(|free| **free).count();
    }
    against
}

/// Number of requested times on each side of a measurement that it may belong to.
const NEIGHBOURS: usize = 8;

/// Separates new measurements from those recorded before; a measurement that contradicts a recorded one is an error.
pub(super) fn new_rows<'a>(
    known: impl Iterator<Item = &'a Row>,
    told: Vec<Row>,
) -> Result<(Vec<Row>, usize), UserError> {
    let place = |row: &Row| (row.start, row.t.to_bits());
    let same = |a: &Row, b: &Row| (&a.x, &a.u, &a.x_dot, a.interval) == (&b.x, &b.u, &b.x_dot, b.interval);
    let mut left: HashMap<(usize, u64), Vec<&Row>> = HashMap::new();
    for row in known {
        left.entry(place(row)).or_default().push(row);
    }
    let (mut new, mut again) = (Vec::new(), 0);
    for row in told {
        // Of several measurements at one time, each matches one.
        let there = left.get_mut(&place(&row)).filter(|there| !there.is_empty());
        match there.map(|there| (there.iter().position(|known| same(known, &row)), there)) {
            Some((Some(i), there)) => {
                there.swap_remove(i);
                again += 1;
            }
            Some((None, _)) => {
                return Err(UserError::new(format!(
                    "the measurement at t = {} was recorded before with other values",
                    row.t
                ))
                .detail("note", "nothing was stored")
                .hint(Hint::Correct));
            }
            None => new.push(row),
        }
    }
    Ok((new, again))
}

/// Cost C(π, f*) of a leg: as reported, or by the trapezoidal rule over the measurements, from x(0) to T.
pub(super) fn cost_of(
    task: &Task,
    initial_state: &[f64],
    rows: &[&Row],
    end: Option<&End>,
) -> (Option<f64>, CostFrom) {
    if let Some(cost) = end.and_then(|end| end.cost) {
        return (Some(cost), CostFrom::Reported);
    }
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return (None, CostFrom::Unknown) };
    let mut moments: Vec<(f64, Vec<f64>)> = vec![(0.0, [initial_state, &first.u].concat())];
    moments.extend(rows.iter().map(|row| (row.t, [row.x.as_slice(), &row.u].concat())));
    moments.push((task.horizon, [last.x.as_slice(), &last.u].concat()));
    let rate = |(t, z): &(f64, Vec<f64>)| {
        let mut rate = [0.0];
        task.cost.running(&[*t], Points::single(z), &mut rate);
        rate[0]
    };
    let rates: Vec<f64> = moments.iter().map(rate).collect();
    let areas =
        moments.windows(2).zip(rates.windows(2)).map(|(m, r)| 0.5 * (r[0] + r[1]) * (m[1].0 - m[0].0));
    let cost = areas.sum::<f64>() + task.cost.terminal(task.horizon, &last.x);
    if cost.is_finite() { (Some(cost), CostFrom::Estimated) } else { (None, CostFrom::Unknown) }
}
