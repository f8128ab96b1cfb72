//! Step times of the controller with MPC on a Gaussian process of 200 points, against the period of 20 ms.
//!
//! ```text
//! cargo bench -p ocorl-study --bench control -- [steps] [system ...]
//! ```
//!
//! For each system two rows: what a step takes on the clock, which other programs lengthen, and what the solver takes of the processor.
//!
//! The loop is closed over the true equations, with noise on the state; each run begins anew off the plan. The budget is the whole period, so
//! that times are seen and not cut off.

#![allow(clippy::print_stdout, missing_docs, reason = "a bench prints")]

#[path = "../tests/it/support/mod.rs"]
mod support;

use cpu_time::ThreadTime;
use ocorl::random::Stream;
use ocorl::simulate::Trajectory;
use ocorl::system::Benchmark;
use ocorl::track::{Reference, SolveError, SolveRequest, Solver};
use ocorl_study::control::Maker;
use ocorl_study::control::{Controller, Deadline, Effort, Settings, reference};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PERIOD: f64 = 0.02;

/// Notes what a solver takes of the processor, and what it allocates.
struct Watched {
    solver: Box<dyn Solver>,
    times: Arc<Mutex<Vec<f64>>>,
    allocated: Arc<AtomicU64>,
}

impl Solver for Watched {
    fn solve(
        &mut self,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        let (begin, mut result) = (ThreadTime::now(), Ok(()));
        let counted = allocation_counter::measure(|| {
            result = self.solver.solve(reference, request, out);
        });
        let took = begin.elapsed().as_secs_f64() * 1e3;
        self.allocated.fetch_add(counted.count_total, Ordering::Relaxed);
        if let Ok(mut times) = self.times.lock() {
            times.push(took);
        }
        result
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let steps = arguments.first().and_then(|a| a.parse().ok()).unwrap_or(2_000);
    let named: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let all = ["pendulum", "cart-pole", "quadrotor-2d"];
    println!("{steps} steps each, period 20 ms, times in ms");
    println!(
        "system           p50     p99   p99.9     max  misses  fresh shifted planned    safe  allocated"
    );
    for name in if named.is_empty() { &all[..] } else { &named[..] } {
        measure(name, steps);
    }
}

fn measure(name: &str, steps: usize) {
    let b = Benchmark::find(name).expect("a system");
    let mut file = support::plan_file(name, 200);
    file.period = PERIOD;
    let model = support::model(&file, 200);
    let table = reference(&file, 0).expect("a plan");
    let (inner, taken, there) =
        (support::solvers(&file, &model), Arc::default(), Arc::new(AtomicU64::new(0)));
    let taken: Arc<Mutex<Vec<f64>>> = taken;
    let (times, allocated) = (taken.clone(), there.clone());
    let make: Maker = Arc::new(move || {
        Box::new(Watched { solver: inner(), times: times.clone(), allocated: allocated.clone() })
    });
    let solver = Deadline::new(table, Effort { patience: 100, restarts: 2 }, make);
    let settings = Settings {
        budget: Duration::from_secs_f64(PERIOD),
        max_fallbacks: usize::MAX,
        ..Settings::of(&file)
    };
    let mut controller =
        Controller::new(&file, 0).expect("a plan").with_solver(Box::new(solver)).with_settings(settings);
    controller.warm_up(Duration::from_secs(5));
    taken.lock().expect("a list").clear();
    taken.lock().expect("a list").reserve(steps + 10);
    there.store(0, Ordering::Relaxed);
    let (mut f, mut rng) = (b.dynamics(), Stream::root(1).child("noise").rng());
    let mut u = vec![0.0; b.dims().control];
    let (mut times, mut levels, mut misses, mut allocated) = (Vec::with_capacity(steps), [0; 4], 0, 0);
    while times.len() < steps {
        controller.reset();
        let mut state: Vec<f64> = b.task.initial_state.iter().map(|x| x + 0.02 * rng.normal()).collect();
        let mut time = 0.0;
        while time < b.task.horizon - 1e-9 && times.len() < steps {
            let seen: Vec<f64> = state.iter().map(|x| x + 1e-3 * rng.normal()).collect();
            let (begin, mut late) = (Instant::now(), false);
            let counted = allocation_counter::measure(|| {
                let status = controller.step(time, &seen, &mut u);
                late = status.missed;
            });
            let took = begin.elapsed();
            times.push(took.as_secs_f64() * 1e3);
            (misses, allocated) = (misses + usize::from(late), allocated + counted.count_total);
            if late {
                // As in real time, so that the solver has a period more.
                std::thread::sleep(Duration::from_secs_f64(PERIOD).saturating_sub(took));
            }
            support::advance(f.as_mut(), PERIOD, &mut state, &u);
            time += PERIOD;
        }
        for (sum, count) in levels.iter_mut().zip(controller.counts().levels) {
            *sum += count;
        }
    }
    let [fresh, shifted, planned, safe] = levels;
    let counts = format!("{misses:>7} {fresh:>6} {shifted:>7} {planned:>7} {safe:>7} {allocated:>10}");
    row(name, &mut times, &counts);
    let mut taken = taken.lock().expect("a list");
    row("  processor", &mut taken, &format!("{:>50}", there.load(Ordering::Relaxed)));
    histogram(&times);
}

fn row(name: &str, times: &mut [f64], rest: &str) {
    times.sort_by(f64::total_cmp);
    // All but one in `share`.
    let at = |share: usize| times[times.len() - 1 - (times.len() - 1) / share];
    println!("{name:<12} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {rest}", at(2), at(100), at(1000), at(usize::MAX));
}

/// Steps in bins whose edges double.
fn histogram(times: &[f64]) {
    let mut low = 0.0;
    for edge in [0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 21.0, f64::INFINITY] {
        let count = times.iter().filter(|t| **t >= low && **t < edge).count();
        if count > 0 {
            let bar = "#".repeat((count * 50).div_ceil(times.len()));
            println!("    {low:>6.2} ..{edge:>6.2} {count:>8} {bar}");
        }
        low = edge;
    }
}
