"""Plans, controllers, the planner on its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import own

import ocorl


@pytest.fixture(scope="module")
def plan(told: Path) -> ocorl.Plan:
    with ocorl.Study.open(told, read_only=True) as study:
        pending = study.pending
    assert pending is not None
    return pending


def test_a_plan_is_arrays(plan: ocorl.Plan) -> None:
    n = len(plan.t) - 1
    assert plan.x.shape == (n + 1, 2) and plan.u.shape == (n, 1) and plan.gains.shape == (n, 1, 2)
    assert (plan.episode, plan.rollouts, plan.valid_for, plan.rule) == (2, 1, 10.0, None)
    assert len(plan.measure_at) == 10 and plan.planned_cost > 0 and "episode 2" in repr(plan)
    assert ocorl.Plan.parse(plan.text).text == plan.text
    html = plan._repr_html_()
    assert "<table>" in html and "<svg" in html
    x = plan.x
    x[:] = 0  # a copy: the plan stays as it is
    assert plan.x.any()


@pytest.mark.parametrize("mpc", [False, True])
def test_controls_are_finite_and_within_limits_whatever_comes(plan: ocorl.Plan, mpc: bool) -> None:
    controller = plan.controller(mpc=mpc)
    random = np.random.default_rng(0)
    assert controller.level is None and controller(0.0, plan.x0).shape == (1,)
    assert controller.level == ("fresh" if mpc else "planned")
    for i in range(100):
        x = plan.x0 + random.normal(size=2) * 10.0 ** random.integers(-2, 7)
        if i % 10 == 0:
            x[random.integers(2)] = np.nan
        u = controller(0.05 * i, x)
        assert np.isfinite(u).all() and (u >= plan.lower).all() and (u <= plan.upper).all()
    # States outside their limits are latched until the next run.
    np.testing.assert_array_equal(controller(plan.valid_for, plan.x0), plan.safe_control)
    assert controller.level == "safe" and controller.why == "a state left its limits"
    assert sum(controller.counts) == 102
    controller.reset()
    np.testing.assert_array_equal(controller(plan.valid_for, plan.x0), plan.safe_control)
    assert controller.level == "safe" and controller.why == "the plan is not valid any more"
    np.testing.assert_array_equal(controller(np.nan, plan.x0), plan.safe_control)
    assert sum(controller.counts) == 2
    controller.reset()
    assert controller.counts == [0, 0, 0, 0] and controller(0.0, plan.x0) is not None


def test_a_controller_says_what_it_needs(plan: ocorl.Plan) -> None:
    controller = plan.controller()
    for x, message in [(None, "not None"), ([1.0], r"expected \(2,\)"), ("up", "dtype")]:
        with pytest.raises(ocorl.UserError, match=message):
            controller(0.0, x)  # type: ignore[arg-type]
    with pytest.raises(ocorl.UserError, match="no rollout 4"):
        plan.controller(4)
    with pytest.raises(ocorl.UserError, match="'budget' is -1"):
        plan.controller(mpc=True, budget=-1)
    with pytest.raises(ocorl.UserError, match="not a plan"):
        ocorl.Plan.parse("{}")
    assert plan.controller(mpc=True, budget=5.0)(0.0, plan.x0).shape == (1,)


def test_the_planner_works_alone() -> None:
    best = ocorl.optimal("pendulum")
    assert best.tracked == pytest.approx(best.cost, rel=0.05) and best.held > best.cost
    for system in ("pendulum", own()):
        plan = ocorl.plan(system, intervals=60)
        assert plan.outcome == "converged" and plan.planned_cost == pytest.approx(best.cost, rel=0.02)
    controller = plan.controller()
    run = own().simulate(controller, period=0.05)
    assert run.cost == pytest.approx(plan.planned_cost, rel=0.1)
    shorter = ocorl.plan("pendulum", x0=[0.5, 0.0], horizon=2.0, intervals=40)
    assert shorter.horizon == 2.0 and shorter.x0[0] == 0.5 and shorter.planned_cost < plan.planned_cost


def test_the_planner_works_on_a_model() -> None:
    random = np.random.default_rng(1)
    X = random.uniform([-4, -4], [4, 4], size=(120, 2))
    U = random.uniform(-5, 5, size=(120, 1))
    dots = ocorl.System("pendulum").derivative(X, U)
    model = ocorl.GpDynamics(noise=0.01, angles=[0]).fit(X, dots, U=U)
    best = ocorl.optimal("pendulum").cost
    for explore in ("mean", "optimistic"):
        plan = ocorl.plan(model, task="pendulum", explore=explore, intervals=60)
        assert plan.planned_cost == pytest.approx(best, rel=0.1)
    alone = ocorl.plan(
        model, cost=ocorl.quadratic(Q=[1, 1], R=[1]), x0=[np.pi, 0], horizon=10, limits=(-5, 5), intervals=60
    )
    assert alone.states == ["x0", "x1"] and alone.controls == ["u0"] and np.abs(alone.u).max() <= 5
    for options, message in [
        ({"task": "tank"}, "no system 'tank'"),
        ({"cost": "x0^2"}, "'x0' is needed"),
        ({"task": "cart-pole"}, "the model has 2 states"),
        ({"task": "pendulum", "explore": "blind"}, "no exploration 'blind'"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            ocorl.plan(model, **options)  # type: ignore[arg-type]


def test_a_plans_controller_is_begun_anew_by_every_simulation() -> None:
    system = ocorl.System("pendulum")
    controller = ocorl.plan(system, intervals=100).controller()
    first, second = system.simulate(controller).cost, system.simulate(controller).cost
    assert first == second and first < 20.3
    assert controller.counts[3] == 0


def test_a_controller_is_pickled_as_its_plan(study: ocorl.Study) -> None:
    import pickle

    best = ocorl.plan("pendulum", intervals=50)
    assert pickle.loads(pickle.dumps(best)).outcome == best.outcome == "converged"
    for plan, mpc in ((best, False), (study.ask(), True)):
        controller = plan.controller(mpc=mpc)
        again = pickle.loads(pickle.dumps(controller))
        assert (again(0.0, plan.x0) == controller(0.0, plan.x0)).all()


def test_a_controller_with_a_solver_stays_in_its_process(study: ocorl.Study) -> None:
    import multiprocessing
    import warnings

    controller = study.ask().controller(mpc=True)

    def child(answers: multiprocessing.SimpleQueue[str]) -> None:
        try:
            controller(0.0, [0.0, 0.0])
            answers.put("worked")
        except ocorl.UserError as error:
            answers.put(error.message)

    context = multiprocessing.get_context("fork")
    answers: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process = context.Process(target=child, args=(answers,))
        process.start()
    process.join(60)
    assert process.exitcode == 0 and "another process" in answers.get()


#: Gymnasium's pendulum over its ten seconds: too weak to be lifted at once, and unstable where it ends.
WEAK = """
[system]
name = "weak"
states = ["theta", "omega"]
inputs = { torque = [-2.0, 2.0] }
x0 = [3.141592653589793, 0.0]
horizon = 10
angles = ["theta"]
[equations]
theta = "omega"
omega = "15*sin(theta) + 3*torque"
[cost]
running = "20*(atan2(sin(theta), cos(theta))^2 + 0.1*omega^2 + 0.001*torque^2)"
"""


def test_a_horizon_that_grows_leads_to_a_better_plan() -> None:
    weak = ocorl.System.parse(WEAK, "weak.toml")
    at_once, grown = ocorl.plan(weak), ocorl.plan(weak, stages=5)
    # Four seconds cost 296 and standing upright costs nothing.
    assert grown.planned_cost < 297.0 and at_once.planned_cost > 2.0 * grown.planned_cost
    # What stands for long falls in open loop: the best run is the one that is followed.
    best = ocorl.optimal(weak, stages=5)
    assert best.cost == pytest.approx(grown.planned_cost, rel=0.01)
    assert abs(np.cos(best.x[-1, 0]) - 1.0) < 1e-3


@pytest.mark.parametrize("stages", [0, 101])
def test_stages_are_looked_at(stages: int) -> None:
    for plan in (ocorl.plan, ocorl.optimal):
        with pytest.raises(ocorl.UserError, match="'stages' must be between 1 and 100"):
            plan("pendulum", stages=stages)


def test_what_is_not_used_is_not_taken() -> None:
    for name, value in {"cost": "theta^2", "limits": [(-0.1, 0.1)], "task": "pendulum", "explore": "optimistic"}.items():
        with pytest.raises(ocorl.UserError, match=f"'{name}' does not go with a system"):
            ocorl.plan("pendulum", **{name: value})
    model = ocorl.GpDynamics().fit(np.eye(4, 2), np.eye(4, 2), U=np.ones((4, 1)))
    with pytest.raises(ocorl.UserError, match="'limits' does not go with task="):
        ocorl.plan(model, task="pendulum", limits=(-0.1, 0.1))
