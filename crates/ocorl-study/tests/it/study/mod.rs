//! Studies on disk: nothing told is lost, nothing damaged is hidden, and whoever comes back finds everything as it was.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "helpers of tests; numbers are drawn in range; long versions say what they did"
)]

mod bad_data;
mod earlier_versions;
pub(crate) mod files;
mod hardening;
mod journal;
mod rates;
mod resuming;
mod store;
mod telling;

use ocorl::learn::Settings;
use ocorl_study::measured::Measured;
use ocorl_study::plan_file::PlanFile;
use ocorl_study::price::Prices;
use ocorl_study::rig::{self, Faults};
use ocorl_study::study::{Study, Telling};
use ocorl_study::system::System;
use std::path::Path;

/// A system that is learned quickly.
fn system() -> System {
    System::find("van-der-pol").unwrap()
}

/// Small enough for tests.
fn small(system: &System) -> Settings {
    let mut settings = Settings { episodes: 4, measurements: 5, ..system.settings.clone() };
    settings.plan.intervals = 40;
    settings.plan.random_starts = 1;
    settings.model.restarts = 1;
    settings
}

fn begin(folder: &Path) -> Study {
    let system = system();
    Study::create(folder, &system, small(&system), 7, Prices::default()).unwrap()
}

/// What the pretend laboratory measures, without faults.
fn measure(plan: &PlanFile) -> Measured {
    rig::run(&system(), plan, &Faults::default(), 7).unwrap()
}

/// Asks, runs and tells one episode.
fn episode(study: &mut Study) {
    let plan = study.ask(&mut ()).unwrap().unwrap();
    study.tell(None, measure(&plan), "rig", Telling::Whole).unwrap();
}
