//! How long it takes to tell, and to open a study with very many measurements.
//!
//! ```text
//! cargo bench -p ocorl-study --bench store -- [measurements]
//! ```

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "a bench prints")]

use ocorl::learn::Settings;
use ocorl::random::Stream;
use ocorl_study::measured::Measured;
use ocorl_study::price::Prices;
use ocorl_study::store::Access;
use ocorl_study::study::{Row, Study, Telling};
use ocorl_study::system::System;
use std::time::Instant;

fn main() {
    let wanted = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(100_000);
    let folder = tempfile::tempdir().unwrap();
    let system = System::find("pendulum").unwrap();
    let settings = Settings { measurements: 1000, ..system.settings.clone() };
    let mut study = Study::create(folder.path(), &system, settings, 0, Prices::default()).unwrap();
    study.ask(&mut ()).unwrap();
    let mut rng = Stream::root(1).rng();
    let mut row = |t: f64| Row {
        start: 0,
        t,
        x: vec![rng.normal(), rng.normal()],
        u: vec![rng.normal()],
        x_dot: Some(vec![rng.normal(), rng.normal()]),
        asked_t: None,
        interval: None,
    };
    let begin = Instant::now();
    let batch = 10_000.min(wanted);
    for i in 0..wanted / batch {
        let rows = (0..batch).map(|j| row((i * batch + j) as f64)).collect();
        study.import(Measured { rows, ..Measured::default() }, "bench").unwrap();
    }
    println!("{wanted} measurements imported in {:.2} s", begin.elapsed().as_secs_f64());
    // Ten rows at a time, as an episode of the paper has.
    let mut times: Vec<f64> = (0..400)
        .map(|i| {
            let rows = (0..10).map(|j| row(f64::from(10 * i + j) * 2e-3)).collect();
            let begin = Instant::now();
            study.tell(None, Measured { rows, ..Measured::default() }, "bench", Telling::More).unwrap();
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("tell of 10: p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms", at(50), at(99), at(100));
    drop(study);
    let size = std::fs::metadata(folder.path().join("study.db")).unwrap().len();
    let mut opened: Vec<f64> = (0..5)
        .map(|_| {
            let begin = Instant::now();
            let study = Study::open(folder.path(), Access::Write).unwrap();
            assert_eq!(study.history().measurements(), wanted);
            begin.elapsed().as_secs_f64()
        })
        .collect();
    opened.sort_by(f64::total_cmp);
    println!(
        "open: {:.3} s (median of 5, most {:.3} s), file {:.1} MB",
        opened[2],
        opened[4],
        size as f64 / 1e6
    );
}
