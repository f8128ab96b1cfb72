//! Parses one input line of the controller protocol: a JSON object with a state and optionally its time.

use crate::plan_file::PlanFile;
use crate::user_error::nearest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A state and, if the line states it, its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Time t of the state; `None` means now.
    pub time: Option<f64>,
    /// State x in the order of the plan; NaN where the line has null.
    pub state: Vec<f64>,
}

/// Reason why a line cannot be read as a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError(pub String);

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    t: Option<f64>,
    x: Numbers,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "x must be a list of numbers, or names with numbers")]
enum Numbers {
    List(Vec<Option<f64>>),
    Named(BTreeMap<String, Option<f64>>),
}

impl State {
    /// Parses `{"t": 0.02, "x": [1.5, 0.0]}`; `x` may also be an object by state names, and `t` may be missing. A state that is not
    /// measured is null, or missing in the object.
    pub fn parse(text: &str, plan: &PlanFile) -> Result<Self, LineError> {
        let Line { t, x } = serde_json::from_str(text).map_err(|error| {
            let cause = error.to_string();
            // The input is a single line, so the line number is dropped.
            LineError(cause.replace(" at line 1 column ", " at column "))
        })?;
        let known = &plan.states;
        let state = match x {
            Numbers::List(x) if x.len() != known.len() => {
                let (found, expected) = (x.len(), known.len());
                return Err(LineError(format!("x has {found} numbers, the plan has {expected} states")));
            }
            Numbers::List(x) => x.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect(),
            Numbers::Named(mut x) => {
                let states = plan.learner.as_ref().map(|learner| &learner.settings.states);
                let mut take = |(j, name): (usize, &str)| match x.remove(name) {
                    Some(value) => Ok(value.unwrap_or(f64::NAN)),
                    None if states.is_some_and(|states| !states.is_measured(j)) => Ok(f64::NAN),
                    None => Err(LineError(format!("x has no '{name}'"))),
                };
                let state: Result<Vec<_>, _> =
                    known.iter().enumerate().map(|(j, s)| take((j, s.name.as_str()))).collect();
                if let Some(name) = x.keys().next() {
                    let meant = nearest(name, known.iter().map(|s| s.name.as_str()));
                    let hint = meant.map_or(String::new(), |meant| format!("; did you mean '{meant}'?"));
                    return Err(LineError(format!("'{name}' is no state of the plan{hint}")));
                }
                state?
            }
        };
        Ok(State { time: t, state })
    }
}
