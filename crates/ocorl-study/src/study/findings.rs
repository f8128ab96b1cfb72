//! The diagnosis of the data in words: what contradicts the model, the evidence, and what cures it.

use super::Study;
use ocorl::diagnosis::{Cause, Column, Finding, Treatment, Verdict};
use serde::Serialize;

/// What the user can do about a finding. A front end knows the command for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cure {
    /// Include a row that is right although the model contradicts it.
    Include {
        /// Number of the episode.
        episode: usize,
        /// Number of the row, from 1.
        row: usize,
    },
    /// Record the corrected measurements of an episode.
    Correct {
        /// Number of the episode.
        episode: usize,
    },
    /// Repair the sensor or the actuator; discard the episode if its other rows are wrong too.
    Discard {
        /// Number of the episode.
        episode: usize,
    },
    /// Declare the noise.
    DeclareNoise {
        /// Name of the state.
        state: String,
        /// Its standard deviation, per unit of time.
        std: f64,
    },
    /// Check the plant; learning continues.
    CheckPlant,
}

/// A finding in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// What was found and what was done about it, in one sentence.
    pub text: String,
    /// What the user can do about it.
    pub cure: Cure,
}

impl Study {
    /// What is wrong with the data after the last episode, the most important first; empty if nothing is.
    pub fn notices(&self) -> Vec<Notice> {
        let diagnosis = &self.history().diagnosis;
        let findings = diagnosis.findings.iter().filter(|f| f.cause != Cause::Outliers);
        let mut notices: Vec<Notice> = findings.map(|f| self.finding(f)).collect();
        let stuck = |v: &&Verdict| v.deviation > 0.0;
        notices.extend(diagnosis.set_aside.iter().filter(stuck).map(|v| self.verdict(v)));
        let told = |j: usize| {
            let noise = |f: &&Finding| matches!(f.cause, Cause::Noise { output, .. } if output == j);
            diagnosis.findings.iter().any(|f| noise(&f))
        };
        let raised = diagnosis.noise_factor.iter().enumerate().filter(|(j, f)| **f > 1.0 && !told(*j));
        notices.extend(raised.map(|(j, f)| self.noise(j, *f)));
        let tails = |f: &Finding| matches!(f.cause, Cause::HeavyTails { .. });
        if !diagnosis.reduced.is_empty() && !diagnosis.findings.iter().any(tails) {
            notices.push(self.heavy_tails(None));
        }
        notices
    }

    /// The weight of a row of an episode: 0 if it is not used for learning, 1 if it counts in full.
    pub fn weight(&self, episode: usize, start: usize, time: f64) -> f64 {
        let history = self.history();
        let excluded = history
            .episodes
            .get(episode)
            .is_some_and(|e| !e.is_used() || e.excluded.contains(&(start, time)));
        let aside = |v: &&Verdict| (v.episode, v.start, v.time) == (episode, start, time);
        let mut known = history.diagnosis.set_aside.iter().chain(&history.diagnosis.reduced);
        if excluded { 0.0 } else { known.find(aside).map_or(1.0, |v| v.weight) }
    }

    fn state(&self, j: usize) -> &str {
        &self.system().task.states[j].name
    }

    fn column(&self, column: Column) -> String {
        match column {
            Column::State(j) => self.state(j).to_owned(),
            Column::Control(c) => self.system().task.controls[c].name.clone(),
            Column::Derivative(j) => format!("{}_dot", self.state(j)),
            Column::StateAndDerivative(j) => format!("{0} and {0}_dot", self.state(j)),
            Column::Derivatives => "all derivatives".into(),
        }
    }

    fn noise(&self, output: usize, factor: f64) -> Notice {
        let (state, declared) = (self.state(output).to_owned(), self.system().task.noise_std[output]);
        let std = declared * factor;
        let text = format!(
            "the noise of {state}_dot is {factor:.1} times the declared {declared}: {std:.3} is used instead"
        );
        Notice { text, cure: Cure::DeclareNoise { state, std } }
    }

    /// Heavy tails, of the noise of one output or of all.
    fn heavy_tails(&self, found: Option<(usize, f64)>) -> Notice {
        let reduced = &self.history().diagnosis.reduced;
        let rows = reduced.len();
        let of = found.map_or(String::new(), |(output, nats)| {
            format!(" of {}_dot (evidence {nats:.0} nats)", self.state(output))
        });
        let worst = reduced.iter().max_by(|a, b| a.deviation.total_cmp(&b.deviation));
        let worst = worst.map_or(String::new(), |v| {
            format!("; the worst: episode {}, t = {:.4}, weight {:.4}", v.episode, v.time, v.weight)
        });
        let text = format!("the noise{of} has heavy tails: {rows} rows count less{worst}");
        Notice { text, cure: Cure::CheckPlant }
    }

    fn verdict(&self, v: &Verdict) -> Notice {
        let episode = &self.history().episodes.get(v.episode);
        let place = |e: &super::EpisodeHistory| {
            e.rows.iter().position(|row| (row.start, row.t) == (v.start, v.time)).map_or(0, |i| i + 1)
        };
        let row = episode.map_or(0, place);
        let text = format!(
            "episode {}, row {row} (t = {:.4}): {}_dot is {:.0} σ from the model of the other rows, weight {:.2}",
            v.episode,
            v.time,
            self.state(v.output),
            v.deviation,
            v.weight
        );
        Notice { text, cure: Cure::Include { episode: v.episode, row } }
    }

    fn finding(&self, finding: &Finding) -> Notice {
        let Finding { episode, rows, nats, .. } = *finding;
        let evidence = if nats > 0.0 { format!(" (evidence {nats:.0} nats)") } else { String::new() };
        let (text, cure) = match finding.cause {
            Cause::Outliers => (
                format!("episode {episode}: {rows} rows contradict all others{evidence}: not used"),
                Cure::Discard { episode },
            ),
            Cause::Scaled { column, factor } => {
                let what = self.column(column);
                let text = if factor == -1.0 {
                    format!("episode {episode}: the sign of {what} is wrong in {rows} rows{evidence}")
                } else {
                    format!(
                        "episode {episode}: {what} is {factor:.4} times what the model and the commands support in {rows} rows{evidence}: wrong unit"
                    )
                };
                (text + "; learned from after correction", Cure::Correct { episode })
            }
            Cause::Stuck { column } => {
                let what = self.column(column);
                let text = format!(
                    "episode {episode}: {what} keeps one value in {rows} rows: the sensor is stuck; not used"
                );
                (text, Cure::Discard { episode })
            }
            Cause::GainChanged { control, factor } => {
                let what = &self.system().task.controls[control].name;
                let done = match finding.treatment {
                    Treatment::Converted => "; earlier rows were converted to the present gain",
                    _ => "",
                };
                let text = format!(
                    "episode {episode}: {what} acts {factor:.3} times as strongly as before{evidence}: the actuator changed{done}"
                );
                (text, Cure::CheckPlant)
            }
            Cause::PlantChanged => (
                format!(
                    "episode {episode}: the plant differs from that of earlier episodes{evidence}: earlier rows count less"
                ),
                Cure::CheckPlant,
            ),
            Cause::Noise { output, factor } => return self.noise(output, factor),
            Cause::HeavyTails { output } => return self.heavy_tails(Some((output, nats))),
            cause => (format!("episode {episode}: {cause:?}{evidence}"), Cure::CheckPlant),
        };
        Notice { text, cure }
    }
}
