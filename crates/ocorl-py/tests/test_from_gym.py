"""Gymnasium's environments as plants."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import ocorl  # noqa: E402
from gymnasium import spaces  # noqa: E402
from ocorl.gym import from_gym, known  # noqa: E402

COST = "x0^2 + u0^2"


class Oscillator(gymnasium.Env):  # type: ignore[misc, name-defined]
    """x'' = -x + u, in steps of Euler; its faults can be chosen."""

    def __init__(self, hidden: float = 0.0, noise: float = 0.0, limited: bool = True, writable: bool = True, dt: float = 0.05) -> None:
        top = 1.0 if limited else np.inf
        self.action_space = spaces.Box(-top, top, shape=(1,), dtype=np.float64)
        self.observation_space = spaces.Box(-100.0, 100.0, shape=(2,), dtype=np.float64)
        self.dt, self._hidden, self._noise, self._memory = dt, hidden, noise, 0.0
        self._inner = np.zeros(2)
        self._writable = writable
        if writable:
            self.state = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._memory, start = 0.0, np.array([0.5, 0.0])
        if self._writable:
            self.state = start
        self._inner = start
        return start.copy(), {}

    def step(self, action: Any) -> Any:
        x = np.asarray(self.state if self._writable else self._inner, dtype=np.float64)
        self._memory = 0.9 * self._memory + float(action[0])
        push = float(action[0]) + self._hidden * self._memory
        push += self._noise * float(np.random.standard_normal())
        x = x + self.dt * np.array([x[1], -x[0] + push])
        if self._writable:
            self.state = x
        self._inner = x
        return x.copy(), -float(x @ x), False, False, {}


def oscillator(**settings: Any) -> Any:
    settings = {"horizon": 5.0, "cost": COST, **settings}
    faults: dict[str, Any] = {key: settings.pop(key) for key in ("hidden", "noise_of", "limited", "writable") if key in settings}
    if "noise_of" in faults:
        faults["noise"] = faults.pop("noise_of")
    return from_gym(Oscillator(**faults), **settings)


def test_a_good_environment_passes_all_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plant = oscillator()
    assert [check.ok for check in plant.checks] == [True] * 4
    assert [check.name for check in plant.checks] == ["write", "state", "deterministic", "dt"]
    assert plant.system.horizon == 5.0 and plant.steps == 100
    assert not plant.system.has_equations
    assert plant.x0.tolist() == [0.5, 0.0]


def test_measured_derivatives_are_those_of_the_dynamics() -> None:
    plant = oscillator()
    run = plant.execute(lambda t, x: [np.sin(t)], measure_at=np.linspace(0.0, 5.0, 10))
    assert len(run.t) == 10 and run.outcome == "completed"
    assert run.rounding <= plant.dt / 2 + 1e-12 and run.missed == 0
    truth = np.stack([run.x[:, 1], -run.x[:, 0] + run.u[:, 0]], axis=1)
    # Steps of Euler are wrong by dt/2 times the second derivative, which is the environment's own dynamics here.
    assert np.abs(run.x_dot - truth).max() < 0.06
    assert np.abs(run.path_x[-1]).max() > 0.0 and plant.seconds == pytest.approx(5.0)
    assert run.cost == pytest.approx(0.05 * (run.path_x[:-1, 0] ** 2 + run.path_u[:, 0] ** 2).sum())


def test_times_of_one_step_are_measured_once() -> None:
    run = oscillator().execute(lambda t, x: [0.0], measure_at=[1.0, 1.01, 1.02, 99.0])
    assert run.t.round(3).tolist() == [1.025, 4.975] and run.missed == 2


@pytest.mark.parametrize(
    ("faults", "check", "words"),
    [
        ({"hidden": 0.5}, "deterministic", "not in the state"),
        ({"noise_of": 0.5}, "deterministic", "give another path"),
    ],
)
def test_what_is_odd_is_warned_about(faults: dict[str, Any], check: str, words: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plant = oscillator(**faults)
    assert any(words in str(warning.message) for warning in caught)
    assert check in [c.name for c in plant.checks if not c.ok]


def test_steps_that_are_too_long_are_warned_about() -> None:
    with pytest.warns(UserWarning, match="steps are long"):
        from_gym(Oscillator(dt=1.0), horizon=20.0, cost=COST)


def test_cosine_and_sine_are_noticed() -> None:
    settings = {key: value for key, value in known("Pendulum-v1").items() if key in ("dt", "horizon")}
    with pytest.warns(UserWarning, match="cosine and sine"):
        plant = from_gym("Pendulum-v1", cost=COST, **settings)
    assert [check.name for check in plant.checks if not check.ok] == ["state"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_gym("CartPole-v1", dt=0.02, cost=COST), "continuous"),
        (lambda: from_gym("MountainCarContinuous-v0", cost=COST), "give dt="),
        (lambda: oscillator(cost=None), "ocorl.quadratic"),
        (lambda: oscillator(limited=False), "no limits"),
        (lambda: oscillator(horizon=None), "horizon="),
        (lambda: oscillator(states=["a"]), "1 names for 2 states"),
        (lambda: oscillator(inputs=["a", "b"]), "2 names for 1 inputs"),
        (lambda: oscillator(angles=["phi"]), "no state 'phi'"),
        (lambda: oscillator(x0=[1.0]), "2 states"),
        (lambda: oscillator(writable=False, x0=[1.0, 0.0]), "write="),
        (lambda: oscillator(odd=1), "no argument 'odd'"),
        (lambda: from_gym("Pendulum-v1", **{**known("Pendulum-v1"), "horizon": 99.0}), "ends after 200"),
        (lambda: known("Ant-v5"), "Pendulum-v1"),
    ],
)
def test_what_is_missing_is_said(make: Any, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ocorl.MistakeError, match=words):
            make()


def test_without_writing_episodes_begin_where_reset_does() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plant = oscillator(writable=False)
    assert plant.execute(lambda t, x: [0.0]).path_x[0].tolist() == [0.5, 0.0]
    with pytest.raises(ocorl.MistakeError, match="cannot be written"):
        plant.execute(lambda t, x: [0.0], x0=[1.0, 1.0])


def test_a_controller_that_is_not_finite_is_named() -> None:
    with pytest.raises(ocorl.PlantError, match="at t = 0"):
        oscillator().execute(lambda t, x: [np.nan])


def test_the_known_pendulum_costs_minus_its_return() -> None:
    plant = from_gym("Pendulum-v1", **known("Pendulum-v1"))
    assert all(check.ok for check in plant.checks)
    run = plant.execute(lambda t, x: [2.0 * np.sin(3.0 * t)])
    assert run.path_x[0].tolist() == [np.pi, 0.0] and len(run.path_u) == 80
    assert run.cost == pytest.approx(-run.reward, rel=1e-5)


def test_the_known_mountain_car_costs_minus_its_reward_on_the_way() -> None:
    plant = from_gym("MountainCarContinuous-v0", **known("MountainCarContinuous-v0"))
    assert all(check.ok for check in plant.checks)
    run = plant.execute(lambda t, x: [1.0 if x[1] > 0 else -1.0])
    # Energy is pumped in: it reaches the flag and ends well.
    assert run.outcome == "completed" and len(run.path_u) < 150 and run.path_x[-1, 0] >= 0.45
    assert 0.1 * len(run.path_u) == pytest.approx(100.0 - run.reward)
    assert run.cost - float(plant.system.terminal_cost(run.path_x[-1])) == pytest.approx(100.0 - run.reward)


def test_a_study_learns_an_environment(tmp_path: Any) -> None:
    plant = oscillator(cost=ocorl.quadratic(Q=[10.0, 1.0], R=[1.0]))
    result = ocorl.run(plant.system, plant=plant, episodes=3, measurements=8, out=str(tmp_path / "study"), quiet=True)
    assert result.costs[-1] < result.costs[0]
    assert plant.episodes == 3
