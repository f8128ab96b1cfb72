"""Plants that hold a control for a step: plans, measurement times and early ends on such a grid."""

from __future__ import annotations

import logging
import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ocorl
from ocorl.gym import from_gym

from conftest import own

#: Parameters of a stirred tank reactor, and the feed to which it is sensitive.
RATE, ENERGY = 7.2e10, 8750.0


class Reactor(gymnasium.Env[Any, Any]):
    """A stirred tank with an exothermic reaction, sampled every 0.05 minutes: concentration and temperature, scaled."""

    def __init__(self, fails_at: float = math.inf) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float64)
        self.state, self.dt, self.fails_at = np.zeros(2), 0.05, fails_at

    def _rate(self, x: np.ndarray, u: float) -> np.ndarray:
        c, t = 0.5 + 0.5 * x[0], 350.0 + 20.0 * x[1]
        r = RATE * math.exp(-ENERGY / t) * c
        dc = 1.0 - c - r
        dt = 350.0 - t + 209.2 * r + 2.092 * (300.0 + 5.0 * u - t)
        return np.array([2.0 * dc, dt / 20.0])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = np.array([0.6, -1.0])
        return self.state.copy(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        u, x, h = float(np.asarray(action).reshape(-1)[0]), self.state, self.dt / 10
        for _ in range(10):
            a = self._rate(x, u)
            b = self._rate(x + h / 2 * a, u)
            c = self._rate(x + h / 2 * b, u)
            d = self._rate(x + h * c, u)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        self.state = x
        return x.copy(), 0.0, bool(abs(x[1] + 1.0) > self.fails_at), False, {}


#: The reactor is to go to an unstable point.
COST = ocorl.quadratic(Q=[1, 10], R=[0.1], target={"x0": 0.0, "x1": 0.0})


def reactor(**more: Any) -> Any:
    return from_gym(Reactor(), dt=0.05, horizon=2.0, cost=COST, angles=[], **more)


def test_the_plan_of_a_sampled_plant_changes_its_control_at_its_steps_only() -> None:
    plant = reactor(learning=ocorl.Settings(plan=ocorl.PlanSettings(random_starts=0)))
    assert plant.system.hold == 0.05
    result = ocorl.run(plant.system, plant=plant, episodes=2, measurements=8, quiet=True)
    steps = result.plan.t / 0.05
    assert len(steps) == 41 and np.allclose(steps, np.round(steps), atol=1e-9)
    # Each measurement lies in the middle of a step of its own, at the requested time.
    for run in plant.runs:
        places = run.t / 0.05 - 0.5
        assert np.allclose(places, np.round(places)) and len(np.unique(np.round(places))) == 8
        assert run.missed == 0 and run.rounding < 1e-9


@pytest.mark.filterwarnings("ignore")
def test_a_sampled_reactor_is_learned_to_the_cost_of_its_best_holds() -> None:
    plant = reactor()
    result = ocorl.run(plant.system, plant=plant, episodes=5, measurements=12, quiet=True)
    known = plant.system.with_plant(lambda x, u: Reactor()._rate(x, float(u[0])))
    best = ocorl.plan(known, period=0.05, intervals=40, random_starts=1)
    known_dynamics = plant.execute(best).cost
    assert result.costs[-1] < 1.005 * known_dynamics, (result.costs, known_dynamics)


def test_simulating_the_controller_of_a_plan_costs_what_the_plan_says() -> None:
    system = own()
    for period, intervals in ((None, 60), (0.1, 200), (0.07, 200)):
        plan = ocorl.plan(system, period=period, intervals=intervals, random_starts=1)
        run = system.simulate(plan.controller())
        assert run.cost == pytest.approx(plan.planned_cost, rel=2e-3), (period, intervals)
        assert plan.controller().period == pytest.approx(plan.t[1] - plan.t[0])
    with pytest.warns(UserWarning, match="the plan says"):
        heavy = own(lambda x, u: np.array([x[1], 2.5 * np.sin(x[0]) + 0.8 * u[0]]))
        heavy.simulate(plan)


def test_a_policy_is_a_pure_function_that_any_solver_may_call() -> None:
    plan = ocorl.plan("pendulum", intervals=100)
    policy, system = plan.policy, ocorl.System("pendulum")
    rng = np.random.default_rng(0)
    t, x = rng.uniform(-1, 11, 50), rng.normal(0, 2, (50, 2))
    once = policy(t, x)
    assert np.array_equal(once, np.array([policy(t[i], x[i]) for i in reversed(range(50))])[::-1])
    assert (np.abs(once) <= system.upper).all() and not once[(t < 0) | (t > 10)].any()
    # Runge and Kutta ask for stages between the nodes, and for steps that are tried again.
    cost, state, h = 0.0, plan.x0.copy(), 0.005
    for k in range(2000):
        slopes = []
        for fraction, weight in ((0.0, 0.0), (0.5, 0.5), (0.5, 0.5), (1.0, 1.0)):
            here = state + h * weight * (slopes[-1] if slopes else 0.0)
            slopes.append(system.derivative(here, policy((k + fraction) * h, here))[0])
        cost += h * float(system.cost([k * h], state[None], policy(k * h, state)[None])[0])
        state = state + h / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3])
    assert cost == pytest.approx(plan.planned_cost, rel=5e-3)
    with pytest.raises(ocorl.UserError, match="feedback gains only"):
        plan.controller(mpc=True)


@pytest.mark.filterwarnings("ignore")
def test_after_an_early_end_there_are_data_and_another_plan(caplog: pytest.LogCaptureFixture) -> None:
    """The environment ends as soon as the temperature leaves a narrow band."""
    plant = from_gym(Reactor(fails_at=0.1), dt=0.05, horizon=2.0, cost=COST)
    with caplog.at_level(logging.WARNING, "ocorl"):
        result = ocorl.run(plant.system, plant=plant, episodes=4, measurements=6, quiet=True)
    assert not caplog.records, "quiet"
    assert np.isfinite(result.costs).all()
    for run in plant.runs:
        assert len(run.t) == min(6, len(run.path_u)) and (run.t < run.path_t[-1]).all()
    assert any(run.outcome != "completed" for run in plant.runs)
    stops = [run.path_t[-1] for run in plant.runs]
    controls = [run.path_u[: min(3, len(run.path_u))].ravel() for run in plant.runs]
    assert any(len(a) != len(b) or not np.array_equal(a, b) for a, b in zip(controls, controls[1:])), stops
