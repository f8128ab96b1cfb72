//! Every benchmark system keeps its contracts.

use ocorl::check;
use ocorl::learn::Settings;
use ocorl::linalg::{Linearization, Points};
use ocorl::random::Stream;
use ocorl::system::{Benchmark, Dynamics, ExactJacobian, KnownSystem, SystemError, TaskError, VectorField};

#[test]
fn all_thirteen_are_there_with_distinct_names_and_sound_tasks() {
    let all = Benchmark::all();
    assert_eq!(all.len(), 13);
    assert_eq!(Benchmark::of_the_paper().len(), 9);
    for (i, b) in all.iter().enumerate() {
        b.validate().unwrap_or_else(|e| panic!("{}: {e}", b.name));
        assert_eq!(b.dynamics().dims(), b.dims(), "{}", b.name);
        assert!(all[..i].iter().all(|other| other.name != b.name && other.title != b.title));
        for alias in b.benchmark().unwrap().aliases {
            assert_eq!(Benchmark::find(alias).unwrap().name, b.name);
        }
    }
}

#[test]
fn jacobians_agree_with_central_differences() {
    for b in Benchmark::all() {
        // Euler angles are singular at φ = ±π/2, where differences are worthless: stay away from there.
        let scales = if b.name == "quadrotor-3d" { [0.05, 0.1, 0.3] } else { [0.1, 0.5, 1.0] };
        for (i, scale) in scales.into_iter().enumerate() {
            let mut rng = Stream::root(0).child(&b.name).index(i).rng();
            check::dynamics(b.dynamics().as_mut(), scale, &mut rng)
                .unwrap_or_else(|e| panic!("{}: {e}", b.name));
        }
    }
}

#[test]
fn costs_agree_with_central_differences() {
    for b in Benchmark::all() {
        let mut rng = Stream::root(1).child(&b.name).rng();
        check::cost(b.task.cost.as_ref(), 1.0, &mut rng).unwrap_or_else(|e| panic!("{}: {e}", b.name));
    }
}

/// A field whose Jacobian we break on purpose: the check must see it.
struct Wrong(ExactJacobian<Slope, 1, 1>);
struct Slope;
impl VectorField<1, 1> for Slope {
    fn derivative<R: ocorl::real::Real>(&self, [x]: [R; 1], [u]: [R; 1]) -> [R; 1] {
        [x * 2.0 + u]
    }
}
impl Dynamics for Wrong {
    fn dims(&self) -> ocorl::system::Dims {
        self.0.dims()
    }
    fn derivative(&mut self, z: Points<'_>, out: &mut [f64]) {
        self.0.derivative(z, out);
    }
    fn linearize(&mut self, z: Points<'_>, out: &mut Linearization) {
        self.0.linearize(z, out);
        out.jacobian.as_mut_slice()[4] += 1e-3;
    }
}

#[test]
fn the_contract_check_finds_a_wrong_jacobian() {
    let error =
        check::dynamics(&mut Wrong(ExactJacobian(Slope)), 1.0, &mut Stream::root(0).rng()).unwrap_err();
    assert!(matches!(error, check::Violation::Derivative { row: 0, column: 0, .. }), "{error}");
}

#[test]
fn the_paper_is_beside_the_benchmarks_and_defaults_need_none() {
    let pendulum = Benchmark::find("pendulum").unwrap();
    let (paper, defaults) = (pendulum.paper().unwrap(), Settings::new(&pendulum.task));
    assert_eq!(pendulum.published().unwrap().held, 20.59);
    assert_eq!((defaults.episodes, defaults.measurements, defaults.track.horizon), (20, 10, 5.0));
    // A benchmark is learned as the paper did, in those three numbers and with one kind of search only.
    let mut ours = Settings::for_system(&pendulum);
    assert_eq!((ours.episodes, ours.track.horizon, ours.plan.effort), (paper.episodes, 6.0, 0));
    (ours.track.horizon, ours.plan.effort) = (5.0, defaults.plan.effort);
    assert_eq!(ours, defaults);
    // The same task and equations, but somebody's own: the paper says nothing about it, whatever its name.
    let own = KnownSystem::new("pendulum", pendulum.task.clone(), pendulum.build.clone());
    assert!(own.benchmark().is_none() && own.paper().is_none() && own.published().is_none());
    assert_eq!(Settings::for_system(&own), defaults);
    let mut control = [1.0];
    (own.first_control)(0.5, &[0.0; 2], &mut control);
    assert_eq!(control.as_slice(), own.task.safe_control);
}

#[test]
fn bad_settings_are_named() {
    let mut b = Benchmark::find("pendulum").unwrap();
    assert!(Benchmark::find("pendulm").is_err());
    let error = b.set_parameter("mass", 1.0).unwrap_err();
    assert!(error.to_string().contains("gravity, length"), "{error}");
    let error = b.clone().set_parameter("gravity", f64::NAN).unwrap_err();
    assert_eq!(error.to_string(), "parameter 'gravity' of pendulum is NaN; it must be finite");
    assert!(matches!(b.clone().set_parameter("length", 0.0), Err(SystemError::NotFiniteAtStart { .. })));
    let error = b.clone().set_limits("theta", -1.0, 1.0).unwrap_err();
    assert!(matches!(error, SystemError::Task(TaskError::OutsideLimits { .. })), "{error}");
    let error = b.clone().set_limits("torque", 2.0, 1.0).unwrap_err();
    assert!(matches!(error, SystemError::Task(TaskError::EmptyLimits { .. })), "{error}");
    assert!(matches!(b.clone().set_limits("tork", 0.0, 1.0), Err(SystemError::UnknownQuantity { .. })));
    assert!(matches!(b.clone().set_start("omega", f64::INFINITY), Err(SystemError::Task(_))));
    for horizon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        b.task.horizon = horizon;
        assert!(matches!(b.validate(), Err(SystemError::Task(TaskError::Horizon(_)))), "{horizon}");
    }
}
