//! Solvers on their own thread, on the machine's clock.

use crate::support;
use ocorl::linalg::Blocks;
use ocorl::simulate::Trajectory;
use ocorl::track::{FallbackLevel, FallbackReason, Reference, SolveError, SolveRequest, Solver};
use ocorl_study::control::{Controller, Deadline, Effort, Maker, Settings, reference};
use ocorl_study::plan_file::PlanFile;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Solves at once, or sleeps, or panics, as its number says.
struct Sleepy<F>(F);

impl<F: FnMut(f64) -> Duration> Solver for Sleepy<F> {
    fn solve(
        &mut self,
        _: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        let SolveRequest { time, state, .. } = *request;
        std::thread::sleep((self.0)(time));
        out.times = vec![time, time + 0.1];
        out.states = Blocks::from_vec(state.repeat(2), 2);
        out.controls = Blocks::from_vec(vec![0.1], 1);
        out.gains = Blocks::from_vec(vec![0.0; 2], 2);
        Ok(())
    }
}

fn controller(plan: &PlanFile, effort: Effort, budget: Duration, make: Maker) -> Controller {
    let settings = Settings { budget, max_fallbacks: usize::MAX, ..Settings::of(plan) };
    let solver = Deadline::new(reference(plan, 0).unwrap(), effort, make);
    Controller::new(plan, 0).unwrap().with_solver(Box::new(solver)).with_settings(settings)
}

#[test]
fn a_solver_that_hangs_is_left_alone_and_replaced_a_stated_number_of_times() {
    let plan = support::plan_file("pendulum", 100);
    let made = Arc::new(AtomicUsize::new(0));
    let counter = made.clone();
    let make: Maker = Arc::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        Box::new(Sleepy(|t| Duration::from_secs(if t < 0.1 { 0 } else { 10 })))
    });
    // Hung after four budgets without an answer, that is at the fourth step after the one that was late.
    let effort = Effort { patience: 4, restarts: 2 };
    let budget = Duration::from_millis(25);
    let mut controller = controller(&plan, effort, budget, make);
    assert!(controller.warm_up(Duration::from_secs(5)));
    let (mut u, mut slowest, mut reasons) = ([0.0], Duration::ZERO, Vec::new());
    for k in 0..40 {
        let begin = Instant::now();
        let status = controller.step(f64::from(k) * 0.02, &[3.0, 0.0], &mut u);
        slowest = slowest.max(begin.elapsed());
        reasons.push(status.reason);
        assert_eq!(status.level == FallbackLevel::Fresh, k < 5, "{k}: {status:?}");
        if k >= 5 {
            std::thread::sleep(budget.saturating_sub(begin.elapsed()));
        }
    }
    // The solver sleeps for ten seconds; `how_late_an_answer_is` measures.
    assert!(slowest < Duration::from_secs(5), "the controller waited for the solver: {slowest:?}");
    let count = |reason: FallbackReason| reasons.iter().filter(|r| **r == Some(reason)).count();
    assert_eq!(
        (reasons[5], reasons[6], reasons[39]),
        (Some(FallbackReason::Late), Some(FallbackReason::Busy), Some(FallbackReason::Gone))
    );
    assert_eq!(count(FallbackReason::Late), 3, "{reasons:?}");
    assert!((4..=9).contains(&count(FallbackReason::Busy)), "{reasons:?}");
    assert_eq!(made.load(Ordering::Relaxed), 3);
}

#[test]
fn a_panic_is_a_failed_step_and_the_solver_is_made_anew() {
    let plan = support::plan_file("pendulum", 100);
    let made = Arc::new(AtomicUsize::new(0));
    let counter = made.clone();
    let make: Maker = Arc::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        Box::new(Sleepy(|t: f64| {
            assert!((t - 0.1).abs() > 1e-6, "injected");
            Duration::ZERO
        }))
    });
    let mut controller = controller(&plan, Effort::default(), Duration::from_secs(5), make);
    let mut u = [0.0];
    crate::control::faults::quietly(|| {
        for k in 0..10 {
            let status = controller.step(f64::from(k) * 0.02, &[3.0, 0.0], &mut u);
            assert_eq!(status.reason, (k == 5).then_some(FallbackReason::Failed), "{k}");
        }
    });
    assert_eq!(made.load(Ordering::Relaxed), 2);
}

#[test]
fn an_answer_of_another_run_is_not_used() {
    let plan = support::plan_file("pendulum", 100);
    let make: Maker = Arc::new(|| Box::new(Sleepy(|_| Duration::from_millis(60))));
    let mut controller = controller(&plan, Effort::default(), Duration::from_millis(5), make);
    let mut u = [0.0];
    assert_eq!(controller.step(0.5, &[3.0, 0.0], &mut u).reason, Some(FallbackReason::Late));
    controller.reset();
    std::thread::sleep(Duration::from_millis(300));
    // The answer for 0.5 is there and reaches to 0.55.
    assert_eq!(controller.step(0.55, &[3.0, 0.0], &mut u).level, FallbackLevel::Planned);
    std::thread::sleep(Duration::from_millis(300));
    let status = controller.step(0.6, &[3.0, 0.0], &mut u);
    assert_eq!((status.level, status.missed), (FallbackLevel::Shifted, true));
}

/// Counts what the solver allocates on its thread.
struct Counted(Box<dyn Solver>, Arc<AtomicU64>);

impl Solver for Counted {
    fn solve(
        &mut self,
        reference: &Reference,
        request: &SolveRequest<'_>,
        out: &mut Trajectory,
    ) -> Result<(), SolveError> {
        let mut result = Ok(());
        let counted = allocation_counter::measure(|| {
            result = self.0.solve(reference, request, out);
        });
        self.1.fetch_add(counted.count_total, Ordering::Relaxed);
        result
    }
}

#[test]
fn a_healthy_step_allocates_nothing_on_either_thread() {
    for name in ["pendulum", "cart-pole"] {
        let plan = support::plan_file(name, 100);
        let model = support::model(&plan, 50);
        let (inner, there) = (support::solvers(&plan, &model), Arc::new(AtomicU64::new(0)));
        let counter = there.clone();
        let make: Maker = Arc::new(move || Box::new(Counted(inner(), counter.clone())));
        let mut controller = controller(&plan, Effort::default(), Duration::from_secs(10), make);
        assert!(controller.warm_up(Duration::from_secs(10)));
        let rollout = &plan.rollouts[0];
        let mut u = vec![0.0];
        let mut step = |k: usize| {
            // Between the nodes too, where the grid has one node more.
            let time = rollout.times[k / 2] + 0.37 * (k % 2) as f64 * (rollout.times[1] - rollout.times[0]);
            let mut x = [0.0; 4];
            let x = &mut x[..rollout.states[0].len()];
            x.iter_mut().zip(&rollout.states[k / 2]).for_each(|(x, s)| *x = s + 0.01);
            let status = controller.step(time, x, &mut u);
            assert_eq!(status.level, FallbackLevel::Fresh, "{name} {k}: {status:?}");
        };
        (0..4).for_each(&mut step);
        there.store(0, Ordering::Relaxed);
        let here = allocation_counter::measure(|| (4..190).for_each(&mut step));
        assert_eq!((here.count_total, there.load(Ordering::Relaxed)), (0, 0), "{name}");
    }
}

#[test]
#[ignore = "measures: how late an answer is while the solver hangs"]
#[expect(clippy::print_stdout, reason = "its figures are wanted")]
fn how_late_an_answer_is() {
    let plan = support::plan_file("pendulum", 100);
    for budget in [10, 20] {
        let make: Maker = Arc::new(|| Box::new(Sleepy(|_| Duration::from_secs(10))));
        let effort = Effort { patience: 0, restarts: 250 };
        let mut controller = controller(&plan, effort, Duration::from_millis(budget), make);
        let (mut u, mut times) = ([0.0], Vec::new());
        for k in 0..250 {
            let begin = Instant::now();
            let status = controller.step(f64::from(k) * 0.02, &[3.0, 0.0], &mut u);
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            assert_eq!(status.reason, Some(FallbackReason::Late));
        }
        times.sort_by(f64::total_cmp);
        let over = times.iter().filter(|t| **t > 21.0).count();
        let [p50, p90, p99, most] = [125, 225, 247, 249].map(|i| times[i]);
        println!(
            "budget {budget} ms: p50 {p50:.3} p90 {p90:.3} p99 {p99:.3} max {most:.3} ms; over 21 ms: {over} of 250"
        );
    }
}
