//! Hot loops allocate nothing after their first pass.

use ocorl::plan::{Guess, Ilqr, Problem, uniform_grid};
use ocorl::simulate::Policy;
use ocorl::system::Benchmark;
use ocorl::track::{LadderSettings, MpcSettings, Reference, mpc};

#[test]
fn solving_again_allocates_nothing() {
    for b in Benchmark::of_the_paper() {
        let times = uniform_grid(b.task.horizon, 40);
        let problem = Problem::of(&b.task, &times);
        let (mut f, mut ilqr) = (b.dynamics(), Ilqr::default());
        let controls = b.task.safe_control.repeat(40);
        let mut solve =
            || ilqr.solve(f.as_mut(), &problem, Guess { controls: &controls, states: None }).unwrap();
        solve();
        let counted = allocation_counter::measure(|| {
            solve();
        });
        assert_eq!(counted.count_total, 0, "{}", b.name);
    }
}

#[test]
fn a_control_step_allocates_nothing_after_warm_up() {
    let b = Benchmark::find("pendulum").unwrap();
    let times = uniform_grid(b.task.horizon, 100);
    let problem = Problem::of(&b.task, &times);
    let guess = Guess { controls: &[0.0; 100], states: None };
    let plan = Ilqr::default().plan(b.dynamics().as_mut(), &problem, guess).unwrap();
    let states = plan.states.clone();
    let reference = Reference::new(plan, b.dynamics().as_mut(), &b.task.angles);
    let settings = MpcSettings::new(b.dims(), b.settings.tracking_horizon);
    let mut policy = mpc(reference, b.dynamics(), settings, LadderSettings::of(&b.task));
    let mut step = |k: usize| {
        let (time, mut u) = (times[k], [0.0]);
        let state = [states.at(k)[0] + 0.01, states.at(k)[1] - 0.02];
        policy.prepare(time, &state).unwrap();
        policy.control(time, &state, &mut u);
    };
    (0..3).for_each(&mut step);
    let counted = allocation_counter::measure(|| (3..60).for_each(&mut step));
    assert_eq!(counted.count_total, 0);
}
