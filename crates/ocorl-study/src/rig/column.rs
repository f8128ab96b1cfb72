//! Faults of one column of the measurements.

use ocorl::plant::Reading;

/// A fault of a sensor. Columns have the names of the measurement file: states, controls, and derivatives as `<state>_dot`.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnFault {
    /// Name of the column.
    pub column: String,
    /// What is wrong with it.
    pub kind: ColumnFaultKind,
}

/// What is wrong with a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnFaultKind {
    /// The numbers are multiplied by this factor; −1 is a wrong sign.
    Scale(f64),
    /// From this time on the column keeps its value.
    Stuck(f64),
    /// The numbers are rounded to multiples of this step.
    Quantised(f64),
    /// The numbers grow by this amount per unit of time.
    Drift(f64),
}

/// A place of a reading.
#[derive(Clone, Copy)]
enum Place {
    State(usize),
    Control(usize),
    Derivative(usize),
}

impl ColumnFault {
    /// Applies the fault to the readings of a run, in order of time. `states` and `controls` are the names of the columns.
    pub(super) fn apply(
        &self,
        states: &[String],
        controls: &[String],
        readings: &mut [Reading],
    ) -> Result<(), String> {
        let place = self.place(states, controls)?;
        let mut held = None;
        for reading in readings {
            let time = reading.time;
            let value = match place {
                Place::State(i) => reading.state.get_mut(i),
                Place::Control(i) => reading.control.get_mut(i),
                Place::Derivative(i) => reading.derivative.as_mut().and_then(|d| d.get_mut(i)),
            };
            let Some(value) = value else { continue };
            match self.kind {
                ColumnFaultKind::Scale(factor) => *value *= factor,
                ColumnFaultKind::Stuck(from) if time >= from => *value = *held.get_or_insert(*value),
                ColumnFaultKind::Stuck(_) => {}
                ColumnFaultKind::Quantised(step) => *value = (*value / step).round() * step,
                ColumnFaultKind::Drift(rate) => *value += rate * time,
            }
        }
        Ok(())
    }

    fn place(&self, states: &[String], controls: &[String]) -> Result<Place, String> {
        let index = |list: &[String], name: &str| list.iter().position(|n| n == name);
        let derivative = || index(states, self.column.strip_suffix("_dot")?).map(Place::Derivative);
        index(states, &self.column)
            .map(Place::State)
            .or_else(|| index(controls, &self.column).map(Place::Control))
            .or_else(derivative)
            .ok_or_else(|| {
                let dots = states.iter().map(|s| format!("{s}_dot"));
                let all: Vec<String> = states.iter().chain(controls).cloned().chain(dots).collect();
                format!("no column is called '{}'; there are {}", self.column, all.join(", "))
            })
    }

    /// Description of an invalid fault; `None` if it is valid.
    pub(super) fn error(&self) -> Option<String> {
        let (option, value, fine) = match self.kind {
            ColumnFaultKind::Scale(v) => ("scale", v, v.is_finite()),
            ColumnFaultKind::Stuck(v) => ("stuck", v, v >= 0.0 && v.is_finite()),
            ColumnFaultKind::Quantised(v) => ("quantise", v, v > 0.0 && v.is_finite()),
            ColumnFaultKind::Drift(v) => ("sensor-drift", v, v.is_finite()),
        };
        (!fine).then(|| format!("--{option} {}={value}: the number is not in its range", self.column))
    }
}
