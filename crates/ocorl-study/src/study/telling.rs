//! Validation of measurements before they are recorded: every number and every time is checked against the task and the plan.

use super::event::{Applied, CostFrom, End, Row};
use super::history::sort;
use crate::plan_file::PlanFile;
use crate::user_error::{Hint, UserError};
use ocorl::linalg::Points;
use ocorl::states::StateSettings;
use ocorl::system::{Bounds, Quantity, Task};
use std::collections::{BTreeMap, HashMap};

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

/// Sets the states that the rig does not measure to 0, which is how they are stored. A learner never uses them.
pub(super) fn without_unmeasured(settings: &StateSettings, rows: &mut [Row]) {
    for row in rows {
        for (_, x) in row.x.iter_mut().enumerate().filter(|(j, _)| !settings.is_measured(*j)) {
            *x = 0.0;
        }
    }
}

/// Validates every number of `rows`, corrects times that deviate by rounding, and sorts the rows.
pub(super) fn checked(
    task: &Task,
    rollouts: usize,
    mut rows: Vec<Row>,
) -> Result<(Vec<Row>, Vec<String>), UserError> {
    let (count, mut notes) = (rows.len(), Vec::new());
    for (i, row) in rows.iter_mut().enumerate() {
        let snapped = row_checked(task, rollouts, row).map_err(|cause| {
            UserError::new(format!("measurement {} of {count} refused: {cause}", i + 1))
                .detail("note", format!("none of the {count} was stored"))
        })?;
        notes.extend(snapped.map(|note| format!("measurement {}: {note}", i + 1)));
    }
    sort(&mut rows);
    Ok((rows, notes))
}

/// Validates one row; returns a note if its time was corrected.
fn row_checked(task: &Task, rollouts: usize, row: &mut Row) -> Result<Option<String>, String> {
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
        if what == "x"
            && let Some(j) = vector.iter().position(|v| v.is_nan())
        {
            return Err(format!("x[{j}] ('{}') has no value at t = {}", names[j].name, row.t));
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
    if row.start >= rollouts {
        return Err(format!("it starts from initial state {}; the plan has {rollouts}", row.start));
    }
    within(&row.u, &task.controls, &task.control_bounds, row.t)?;
    let time = row.t;
    row.t = snapped(time, task.horizon)?;
    Ok((row.t != time).then(|| format!("t = {time} counts as {}", row.t)))
}

/// Measurements outside the limits of the states, which are kept: the data of a run that ended at a limit are the most valuable. Returns a
/// note for each rollout, and its end unless one was reported.
pub(super) fn beyond_limits(task: &Task, rows: &[Row], ends: &[End]) -> (Vec<String>, Vec<End>) {
    let mut found: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    for row in rows {
        if let Err(cause) = within(&row.x, &task.states, &task.state_bounds, row.t) {
            found.entry(row.start).or_insert((0, cause)).0 += 1;
        }
    }
    let unreported = |start: &usize| ends.iter().all(|end| end.start != *start || end.outcome.is_none());
    let end = |start: &usize, cause: &String| End {
        start: *start,
        cost: ends.iter().find(|end| end.start == *start).and_then(|end| end.cost),
        outcome: Some(cause.clone()),
    };
    let notes = found.values().map(|(count, cause)| {
        let rows = if *count == 1 { "1 measurement is".into() } else { format!("{count} measurements are") };
        format!("{rows} outside the limits and kept: {cause}")
    });
    let ends =
        found.iter().filter(|(start, _)| unreported(start)).map(|(start, (_, cause))| end(start, cause));
    (notes.collect(), ends.collect())
}

/// Validates the applied controls like measurements: finite, of an existing rollout, within the limits of the controls and the times of the
/// episode. Corrects times that deviate by rounding, and sorts the controls.
pub(super) fn checked_controls(
    task: &Task,
    rollouts: usize,
    mut controls: Vec<Applied>,
) -> Result<(Vec<Applied>, Vec<String>), UserError> {
    let (count, mut notes) = (controls.len(), Vec::new());
    for (i, control) in controls.iter_mut().enumerate() {
        let snapped = control_checked(task, rollouts, control).map_err(|cause| {
            UserError::new(format!("applied control {} of {count} refused: {cause}", i + 1))
                .detail("note", "nothing was stored")
        })?;
        notes.extend(snapped.map(|note| format!("applied control {}: {note}", i + 1)));
    }
    controls.sort_by(|a, b| a.start.cmp(&b.start).then(a.t.total_cmp(&b.t)));
    Ok((controls, notes))
}

/// Validates one applied control; returns a note if its time was corrected.
fn control_checked(task: &Task, rollouts: usize, control: &mut Applied) -> Result<Option<String>, String> {
    let (dim, time) = (task.controls.len(), control.t);
    if !time.is_finite() {
        return Err(format!("its time is {time}"));
    }
    if control.u.len() != dim {
        return Err(format!("'u' has {} entries, the system has {dim}", control.u.len()));
    }
    if let Some(j) = control.u.iter().position(|u| !u.is_finite()) {
        return Err(format!("u[{j}] ('{}') is {} at t = {time}", task.controls[j].name, control.u[j]));
    }
    if control.start >= rollouts {
        return Err(format!("it starts from initial state {}; the plan has {rollouts}", control.start));
    }
    within(&control.u, &task.controls, &task.control_bounds, time)?;
    control.t = snapped(time, task.horizon)?;
    Ok((control.t != time).then(|| format!("t = {time} counts as {}", control.t)))
}

/// Checks that `values` lie within their limits, up to rounding.
fn within(values: &[f64], names: &[Quantity], bounds: &Bounds, time: f64) -> Result<(), String> {
    for (j, value) in values.iter().enumerate() {
        let (lower, upper) = (bounds.lower[j], bounds.upper[j]);
        let room = |limit: f64| if limit.is_finite() { ROUNDING * (1.0 + limit.abs()) } else { 0.0 };
        if *value < lower - room(lower) || *value > upper + room(upper) {
            let name = &names[j].name;
            return Err(format!(
                "'{name}' = {} lies outside its limits [{lower}, {upper}] at t = {time}",
                written(*value)
            ));
        }
    }
    Ok(())
}

/// A number for a message: as it is usually written, or with an exponent if that would be long.
fn written(value: f64) -> String {
    if value != 0.0 && !(1e-6..1e15).contains(&value.abs()) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// The time, moved into the episode if it deviates by rounding.
fn snapped(time: f64, horizon: f64) -> Result<f64, String> {
    if time < -SNAP * horizon || time > horizon * (1.0 + SNAP) {
        return Err(format!("t = {time} lies outside the episode [0, {horizon}]"));
    }
    Ok(time.clamp(0.0, horizon))
}

/// The controls that are not known; one that contradicts a known one is an error.
pub(super) fn new_controls<'a>(
    known: impl Iterator<Item = &'a Applied>,
    told: Vec<Applied>,
) -> Result<Vec<Applied>, UserError> {
    let place = |control: &Applied| (control.start, control.t.to_bits());
    let mut there: HashMap<(usize, u64), Vec<&Applied>> = HashMap::new();
    for control in known {
        there.entry(place(control)).or_default().push(control);
    }
    let mut new = Vec::new();
    for control in told {
        match there.get(&place(&control)) {
            Some(same) if same.contains(&&control) => {}
            Some(_) => {
                return Err(UserError::new(format!(
                    "the control applied at t = {} was recorded before with other values",
                    control.t
                ))
                .detail("note", "nothing was stored")
                .hint(Hint::Correct));
            }
            None => new.push(control),
        }
    }
    Ok(new)
}

/// Assigns to each row the requested time it belongs to: the nearest pairs first.
pub(super) fn match_asked(plan: &PlanFile, rows: &mut [Row]) -> Punctuality {
    let mut against = Punctuality::default();
    for rollout in &plan.rollouts {
        let mine: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].start == rollout.start).collect();
        if rollout.rule.is_some() {
            against.on_time += mine.len();
            continue;
        }
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for &i in &mine {
            // A row can only belong to requested times next to its position among them.
            let near = rollout.measure_at.partition_point(|&t| t < rows[i].t);
            for a in near.saturating_sub(NEIGHBOURS)..(near + NEIGHBOURS).min(rollout.measure_at.len()) {
                pairs.push(((rows[i].t - rollout.measure_at[a]).abs(), i, a));
            }
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut free = vec![true; rollout.measure_at.len()];
        for &i in &mine {
            rows[i].asked_t = None;
        }
        for (distance, i, a) in pairs {
            if free[a] && rows[i].asked_t.is_none() {
                free[a] = false;
                rows[i].asked_t = Some(rollout.measure_at[a]);
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

/// Whether two rows hold the same values.
fn same(a: &Row, b: &Row) -> bool {
    (&a.x, &a.u, &a.x_dot, a.interval) == (&b.x, &b.u, &b.x_dot, b.interval)
}

/// Number of `rows` that are in `known`, with the same time and values.
pub(super) fn count_known(known: &[Row], rows: &[Row]) -> usize {
    let is_in = |row: &&Row| {
        let from = known.partition_point(|k| (k.start, k.t) < (row.start, row.t));
        known[from..].iter().take_while(|k| (k.start, k.t) == (row.start, row.t)).any(|k| same(k, row))
    };
    rows.iter().filter(is_in).count()
}

/// Rows of all imported logs, to find those that come again.
#[derive(Default)]
pub(super) struct ImportedRows {
    /// By time: the rows, and the source of each.
    at: HashMap<u64, Vec<(String, Row)>>,
}

impl ImportedRows {
    /// Adds the rows of a log.
    pub(super) fn add(&mut self, source: &str, rows: &[Row]) {
        for row in rows {
            self.at.entry(row.t.to_bits()).or_default().push((source.into(), row.clone()));
        }
    }

    /// The rows of a log that are not known, which are known from then on. A log of the same name with other values is an error.
    pub(super) fn new_rows(&mut self, source: &str, rows: Vec<Row>) -> Result<Vec<Row>, UserError> {
        let mut taken: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut new = Vec::new();
        for row in rows {
            let there = self.at.get(&row.t.to_bits()).map_or(&[][..], Vec::as_slice);
            let taken = taken.entry(row.t.to_bits()).or_default();
            // Of several rows at one time, each matches one.
            let again = (0..there.len()).find(|i| !taken.contains(i) && same(&there[*i].1, &row));
            if let Some(i) = again {
                taken.push(i);
            } else if there.iter().any(|(other, _)| other == source) {
                return Err(UserError::new(format!(
                    "'{source}' was imported before with other values at t = {}",
                    row.t
                ))
                .detail("note", "nothing was stored")
                .hint("an imported log cannot be replaced; if this is another log, give it another name"));
            } else {
                new.push(row);
            }
        }
        self.add(source, &new);
        Ok(new)
    }
}

/// A reported cost below minus this multiple of what the measured and planned points suggest is rejected.
const ABSURD: f64 = 1e9;

/// Checks a reported cost against the cost rates at all measured and planned points. A value that is far too low would count as the lowest
/// cost of the study for ever. Returns a note if the cost is negative although no point has a negative rate.
pub(super) fn checked_cost(
    task: &Task,
    plan: &PlanFile,
    rows: &[Row],
    end: &End,
) -> Result<Option<String>, UserError> {
    let Some(cost) = end.cost.filter(|cost| !(*cost >= 0.0)) else { return Ok(None) };
    let refused = |cause: String| {
        UserError::new(format!("the reported cost {} was refused: {cause}", written(cost)))
            .detail("note", "nothing was stored")
            .hint("report the cost of the whole run in the unit of the task, or none: then it is estimated")
    };
    if !cost.is_finite() {
        return Err(refused("it is not finite".into()));
    }
    let mut points: Vec<(f64, Vec<f64>)> = Vec::new();
    for rollout in plan.rollouts.iter().filter(|rollout| rollout.start == end.start) {
        let nodes = rollout.times.iter().zip(rollout.states.iter().zip(&rollout.controls));
        points.extend(nodes.map(|(t, (x, u))| (*t, [x.as_slice(), u].concat())));
    }
    let mine = rows.iter().filter(|row| row.start == end.start);
    points.extend(mine.map(|row| (row.t, [row.x.as_slice(), &row.u].concat())));
    let (mut largest, mut lowest) = (0.0_f64, 0.0_f64);
    for (t, z) in &points {
        let mut rate = [0.0];
        task.cost.running(&[*t], Points::single(z), &mut rate);
        let terminal = task.cost.terminal(task.horizon, &z[..task.states.len()]);
        let each = [rate[0] * task.horizon, terminal];
        for value in each.into_iter().filter(|value| value.is_finite()) {
            (largest, lowest) = (largest.max(value.abs()), lowest.min(value));
        }
    }
    if cost < -ABSURD * (1.0 + largest) {
        let cause = format!(
            "no cost at the {} measured and planned points is larger than {largest:.3e}",
            points.len()
        );
        return Err(refused(cause));
    }
    let odd =
        format!("the reported cost {cost} is negative, the cost at every measured and planned point is not");
    Ok((lowest >= 0.0).then_some(odd))
}

/// Cost C(π, f*) of a rollout: as reported, or by the trapezoidal rule over the measurements, from x(0) to T.
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
