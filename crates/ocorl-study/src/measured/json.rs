//! Reads measurements as JSON.
//!
//! ```text
//! { "episode": 4, "legs": [ { "start": 0, "cost": 12.3, "outcome": "completed",
//!   "measurements": [ { "t": 0.5, "x": {"theta": 3.1, "omega": 0.0}, "u": [0.1], "x_dot": [0.0, 0.1] } ] } ] }
//! ```
//!
//! With one initial state, the contents of the rollout may stand at the top level. A vector is a list, or an object by names.

use super::{Columns, Measured, finite};
use crate::study::{Applied, End, Row};
use crate::user_error::{Place, UserError, nearest};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with 'measurements', or with 'legs'")]
struct Document {
    episode: Option<usize>,
    #[serde(rename = "legs")]
    rollouts: Option<Vec<Rollout>>,
    cost: Option<f64>,
    outcome: Option<String>,
    measurements: Option<Vec<Measurement>>,
    #[serde(default)]
    controls: Vec<Control>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with 'measurements'")]
struct Rollout {
    #[serde(default)]
    start: usize,
    cost: Option<f64>,
    outcome: Option<String>,
    #[serde(default)]
    measurements: Vec<Measurement>,
    /// Applied controls, each with its start time.
    #[serde(default)]
    controls: Vec<Control>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with 't' and 'u'")]
struct Control {
    t: f64,
    u: Vector,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with 't', 'x' and 'u'")]
struct Measurement {
    t: f64,
    x: Option<Vector>,
    u: Vector,
    x_dot: Option<Vector>,
    asked_t: Option<f64>,
    interval: Option<f64>,
}

enum Vector {
    List(Vec<f64>),
    Named(BTreeMap<String, f64>),
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor)
    }
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = Vector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, or an object with a number for each name")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vector, A::Error> {
        let mut numbers = Vec::new();
        while let Some(number) = list.next_element()? {
            numbers.push(number);
        }
        Ok(Vector::List(numbers))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vector, A::Error> {
        let mut named = BTreeMap::new();
        while let Some((name, number)) = map.next_entry::<String, f64>()? {
            if named.insert(name.clone(), number).is_some() {
                return Err(A::Error::custom(format!("the name '{name}' is there twice")));
            }
        }
        Ok(Vector::Named(named))
    }
}

pub(super) fn read(text: &str, name: &str, columns: &Columns) -> Result<Measured, UserError> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let at = (error.line() > 0).then(|| (error.line(), error.column()));
        let refused = UserError::new(format!("'{name}' is not a file of measurements"))
            .detail("place", Place { file: name.into(), at }.to_string())
            .detail("cause", error.to_string());
        if ["NaN", "nan", "Infinity"].iter().any(|word| text.contains(word)) {
            refused.hint("JSON has no NaN: leave out a measurement that failed")
        } else {
            refused
        }
    })?;
    let Document { episode, rollouts, cost, outcome, measurements, controls } = document;
    let rollouts = match (rollouts, measurements) {
        (Some(_), Some(_)) => {
            return Err(UserError::new(format!("'{name}' has both 'legs' and 'measurements'"))
                .detail("place", format!("{name}, key 'measurements'"))
                .hint("with several initial states each rollout has its own measurements"));
        }
        (Some(rollouts), None) => rollouts,
        (None, measurements) => {
            vec![Rollout {
                start: 0,
                cost,
                outcome,
                measurements: measurements.unwrap_or_default(),
                controls,
            }]
        }
    };
    let mut measured = Measured { episode, ..Measured::default() };
    for rollout in rollouts {
        if rollout.cost.is_some() || rollout.outcome.is_some() {
            measured.ends.push(End { start: rollout.start, cost: rollout.cost, outcome: rollout.outcome });
        }
        for (i, Control { t, u }) in rollout.controls.into_iter().enumerate() {
            let u = ordered(u, &columns.controls, "u").map_err(|cause| {
                UserError::new(format!("control {} refused: {cause}", i + 1))
                    .detail("place", format!("{name}, rollout {}, control {}", rollout.start, i + 1))
            })?;
            measured.controls.push(Applied { start: rollout.start, t, u });
        }
        for (i, m) in rollout.measurements.into_iter().enumerate() {
            let place =
                |what: &str| format!("{name}, rollout {}, measurement {}, {what}", rollout.start, i + 1);
            match row(m, rollout.start, columns) {
                Ok(Some(row)) => measured.rows.push(row),
                Ok(None) => measured.notes.push(format!("{} is skipped: it has no state", place("x"))),
                Err((what, cause)) => {
                    return Err(UserError::new(format!("measurement {} refused: {cause}", i + 1))
                        .detail("place", place(what)));
                }
            }
        }
    }
    Ok(measured)
}

fn row(m: Measurement, start: usize, columns: &Columns) -> Result<Option<Row>, (&'static str, String)> {
    let Measurement { t, x, u, x_dot, asked_t, interval } = m;
    let Some(x) = x else { return Ok(None) };
    let vector = |v: Vector, names: &[String], what: &'static str| {
        ordered(v, names, what).map_err(|cause| (what, cause))
    };
    Ok(Some(Row {
        start,
        t: finite(t, "t").map_err(|cause| ("t", cause))?,
        x: vector(x, &columns.states, "x")?,
        u: vector(u, &columns.controls, "u")?,
        x_dot: x_dot.map(|v| vector(v, &columns.states, "x_dot")).transpose()?,
        asked_t,
        interval,
    }))
}

fn ordered(vector: Vector, names: &[String], what: &str) -> Result<Vec<f64>, String> {
    let list = match vector {
        Vector::List(list) => list,
        Vector::Named(mut map) => {
            let mut list = Vec::with_capacity(names.len());
            for name in names {
                list.push(map.remove(name).ok_or_else(|| format!("'{name}' is missing in '{what}'"))?);
            }
            if let Some(other) = map.keys().next() {
                let meant = nearest(other, names.iter().map(String::as_str));
                let hint = meant.map_or(String::new(), |m| format!("; did you mean '{m}'?"));
                return Err(format!("'{what}' has no key '{other}'{hint}"));
            }
            list
        }
    };
    if list.len() != names.len() {
        return Err(format!("'{what}' has {} entries, the system has {}", list.len(), names.len()));
    }
    let named = list.iter().zip(names);
    named.map(|(value, name)| finite(*value, name)).collect()
}
