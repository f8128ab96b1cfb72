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

    def __init__(
        self,
        hidden: float = 0.0,
        noise: float = 0.0,
        luck: float = 0.0,
        wander: float = 0.0,
        limited: bool = True,
        writable: bool = True,
        fall: float = np.inf,
        patience: float = np.inf,
        dt: float = 0.05,
    ) -> None:
        top = 1.0 if limited else np.inf
        self.action_space = spaces.Box(-top, top, shape=(1,), dtype=np.float64)
        self.observation_space = spaces.Box(-100.0, 100.0, shape=(2,), dtype=np.float64)
        self.dt, self._hidden, self._memory = dt, hidden, 0.0
        #: Noise from the environment's own random numbers, noise from elsewhere, and how much starts differ.
        self._noise, self._luck, self._wander = noise, luck, wander
        #: Where it is terminated, after how many steps it is truncated.
        self._fall, self._patience, self._steps = fall, patience, 0
        self._inner = np.zeros(2)
        self._writable = writable
        if writable:
            self.state = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._memory, self._steps, start = 0.0, 0, np.array([0.5, 0.0])
        if self._wander:
            start = start + self._wander * self.np_random.standard_normal(2)
        if self._writable:
            self.state = start
        self._inner = start
        return start.copy(), {}

    def step(self, action: Any) -> Any:
        x = np.asarray(self.state if self._writable else self._inner, dtype=np.float64)
        self._memory = 0.9 * self._memory + float(action[0])
        push = float(action[0]) + self._hidden * self._memory
        if self._noise:
            push += self._noise * float(self.np_random.standard_normal())
        push += self._luck * float(np.random.standard_normal())
        x = x + self.dt * np.array([x[1], -x[0] + push])
        if self._writable:
            self.state = x
        self._inner, self._steps = x, self._steps + 1
        return x.copy(), -float(x @ x), abs(float(x[0])) > self._fall, self._steps >= self._patience, {}


#: What is said to the environment, and not to `from_gym`, by its name here.
FAULTS = {name: name for name in ("hidden", "luck", "wander", "limited", "writable", "fall", "patience")} | {"noise_of": "noise"}


def oscillator(**settings: Any) -> Any:
    settings = {"horizon": 5.0, "cost": COST, **settings}
    faults = {FAULTS[name]: settings.pop(name) for name in FAULTS if name in settings}
    return from_gym(Oscillator(**faults), **settings)


def quietly(**settings: Any) -> Any:
    """An oscillator whose faults are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return oscillator(**settings)


def broken(env: Any, x: Any) -> None:
    raise RuntimeError("a joint is stuck")


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


def test_each_time_is_measured_in_a_step_of_its_own() -> None:
    run = oscillator().execute(lambda t, x: [0.0], measure_at=[1.02, 1.01, 1.0, 99.0])
    assert run.t.round(3).tolist() == [0.975, 1.025, 1.075, 3.025] and run.missed == 0


@pytest.mark.parametrize(
    ("faults", "check", "words"),
    [
        ({"hidden": 0.5}, "deterministic", "not in the state"),
        ({"luck": 0.5}, "deterministic", "give another path"),
        ({"noise_of": 0.5}, "deterministic", "give another path"),
        ({"noise_of": 1e-4}, "deterministic", "give another path"),
        ({"noise_of": 0.5, "wander": 0.1}, "deterministic", "give another path"),
        ({"noise_of": 0.5, "writable": False}, "deterministic", "give another path"),
        ({"noise_of": 0.5, "writable": False, "wander": 0.1}, "deterministic", "draw random numbers"),
        ({"noise_of": 0.5, "writable": False, "wander": 0.1}, "write", "reset begins elsewhere"),
        ({"write": broken}, "write", "raised RuntimeError: a joint is stuck; every episode begins where reset"),
        ({"write": lambda env, x: None}, "write", "does not change"),
    ],
)
def test_what_is_odd_is_warned_about(faults: dict[str, Any], check: str, words: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plant = oscillator(**faults)
    assert any(words in str(warning.message) for warning in caught)
    assert check in [c.name for c in plant.checks if not c.ok]


@pytest.mark.parametrize("faults", [{"wander": 0.1}, {"writable": False}, {"writable": False, "wander": 0.1}])
def test_a_start_by_chance_is_no_noise(faults: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plant = oscillator(**faults)
    assert all(check.ok for check in plant.checks)
    one, two = (plant.execute(lambda t, x: [np.sin(t)]) for _ in range(2))
    assert one.path_x[0].tolist() == plant.x0.tolist()
    assert one.path_x.tobytes() == two.path_x.tobytes()


@pytest.mark.parametrize("faults", [{}, {"wander": 0.1}, {"writable": False}, {"writable": False, "wander": 0.1}])
def test_noise_is_another_in_each_episode(faults: dict[str, Any]) -> None:
    plant, twin = (quietly(noise_of=0.3, **faults) for _ in range(2))
    runs, same = ([each.execute(lambda t, x: [np.sin(t)]) for _ in range(3)] for each in (plant, twin))
    ends = np.array([run.path_x[-1] for run in runs])
    assert all(np.abs(ends[i] - ends[j]).max() > 1e-3 for i, j in ((0, 1), (0, 2), (1, 2)))
    for run, again in zip(runs, same, strict=True):
        assert run.path_x.tobytes() == again.path_x.tobytes()
    if faults.keys() != {"writable", "wander"}:
        assert all(run.path_x[0].tolist() == plant.x0.tolist() for run in runs)


def test_learning_with_noise_is_the_same_for_the_same_seed(tmp_path: Any) -> None:
    found = []
    for number, seed in enumerate((0, 0, 1)):
        plant = quietly(noise_of=0.3, seed=seed, cost=ocorl.quadratic(Q=[10.0, 1.0], R=[1.0]))
        folder = str(tmp_path / str(number))
        result = ocorl.run(plant.system, plant=plant, episodes=3, measurements=8, out=folder, quiet=True)
        found.append(b"".join(np.concatenate([e.measured_x, e.measured_x_dot]).tobytes() for e in result.episodes))
    assert found[0] == found[1] != found[2]


def test_a_writer_that_raises_is_not_called_again() -> None:
    plant = quietly(write=broken)
    assert plant.execute(lambda t, x: [0.0]).path_x[0].tolist() == [0.5, 0.0]
    result = ocorl.run(plant.system, plant=plant, episodes=1, measurements=4, quiet=True)
    assert len(result.episodes) == 1 and plant.episodes == 2
    with pytest.raises(ocorl.UserError, match="cannot be written"):
        plant.execute(lambda t, x: [0.0], x0=[1.0, 1.0])


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
        (lambda: oscillator(writable=False, x0=[1.0, 0.0]), "cannot be written\n.*write="),
        (lambda: oscillator(write=broken, x0=[1.0, 0.0]), "a joint is stuck\n.*write=.* or leave x0 out"),
        (lambda: oscillator(write=lambda env, x: None, x0=[1.0, 0.0]), "does not change .*\n.*write="),
        (lambda: oscillator(odd=1), "no argument 'odd'"),
        (lambda: from_gym("Pendulum-v1", **{**known("Pendulum-v1"), "horizon": 99.0}), "ends after 200"),
        (lambda: known("Ant-v5"), "Pendulum-v1"),
    ],
)
def test_what_is_missing_is_said(make: Any, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ocorl.UserError, match=words):
            make()


def test_without_writing_episodes_begin_where_reset_does() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plant = oscillator(writable=False)
    assert plant.execute(lambda t, x: [0.0]).path_x[0].tolist() == [0.5, 0.0]
    with pytest.raises(ocorl.UserError, match="cannot be written"):
        plant.execute(lambda t, x: [0.0], x0=[1.0, 1.0])


def test_a_controller_that_is_not_finite_is_named() -> None:
    with pytest.raises(ocorl.PlantError, match="at t = 0"):
        oscillator().execute(lambda t, x: [np.nan])


def test_the_known_pendulum_costs_minus_its_return() -> None:
    plant = from_gym("Pendulum-v1", **known("Pendulum-v1"))
    assert all(check.ok for check in plant.checks)
    run = plant.execute(lambda t, x: [2.0 * np.sin(3.0 * t)])
    assert run.path_x[0].tolist() == [np.pi, 0.0] and len(run.path_u) == 200
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


def test_falling_early_does_not_cost_less() -> None:
    plant = oscillator(fall=0.8, cost="x0^2 + 0.01*u0^2")
    kept = plant.execute(lambda t, x: [0.0])
    fell = plant.execute(lambda t, x: [1.0])
    assert kept.outcome == "completed" and fell.outcome == f"stopped at t = {fell.path_t[-1]:g}"
    on_the_way = 0.05 * (fell.path_x[:-1, 0] ** 2 + 0.01 * fell.path_u[:, 0] ** 2).sum()
    # The simulator's rule: the cost rate at the stop, for the time that was left.
    rest = (fell.path_x[-1, 0] ** 2 + 0.01) * (5.0 - fell.path_t[-1])
    assert fell.cost == pytest.approx(on_the_way + rest)
    assert fell.cost > kept.cost > on_the_way


def test_a_stopped_run_is_charged_its_rate_and_no_terminal_cost() -> None:
    cost = {"running": COST, "terminal": "1000*x0^2"}
    plant = oscillator(fall=0.8, cost=cost)
    fell = plant.execute(lambda t, x: [1.0])
    assert fell.outcome.startswith("stopped") and fell.cost == pytest.approx(oscillator(fall=0.8).execute(lambda t, x: [1.0]).cost)
    # At its goal nothing is left to be charged.
    goal = oscillator(fall=0.8, cost=cost, goal=True).execute(lambda t, x: [1.0])
    on_the_way = 0.05 * (goal.path_x[:-1, 0] ** 2 + goal.path_u[:, 0] ** 2).sum()
    assert goal.outcome == "completed" and len(goal.path_u) == len(fell.path_u)
    assert goal.cost == pytest.approx(on_the_way + 1000.0 * goal.path_x[-1, 0] ** 2)


def test_who_is_truncated_before_the_horizon_was_stopped() -> None:
    early = oscillator(patience=61).execute(lambda t, x: [0.5])
    assert early.outcome == "stopped at t = 3.05"
    assert oscillator(patience=100).execute(lambda t, x: [0.5]).outcome == "completed"


def test_a_state_that_is_not_finite_ends_the_run() -> None:
    class Cracked(Oscillator):
        def step(self, action: Any) -> Any:
            x, *rest = super().step(action)
            return np.where(float(action[0]) > 0.9, np.nan, x), *rest

    plant = from_gym(Cracked(), horizon=5.0, cost=COST)
    late = plant.execute(lambda t, x: [1.0 if t > 0.975 else 0.0], measure_at=[0.5, 2.0])
    assert late.outcome == "not finite at t = 1" and late.path_x.shape == (21, 2) and late.path_u.shape == (20, 1)
    assert late.cost == pytest.approx(0.05 * (late.path_x[:-1, 0] ** 2).sum() + 4.0 * (late.path_x[-1, 0] ** 2 + 1.0))
    # Even in the first step: nothing was measured, and it is not for nothing.
    none = plant.execute(lambda t, x: [1.0], measure_at=[0.5])
    assert none.x.shape == (0, 2) and none.missed == 1 and none.cost == pytest.approx(5.0 * 1.25)


def test_a_plan_of_several_runs_is_refused(tmp_path: Any) -> None:
    plant = oscillator()
    settings = {"initial_states": [[0.5, 0.0], [-0.5, 0.0]], "episodes": 2, "measurements": 4}
    with ocorl.Study.create(tmp_path / "lab", plant.system, set=settings) as study:
        plan = study.ask()
        assert plan is not None and plan.rollouts == 2
        with pytest.raises(ocorl.UserError, match=r"2 runs.*\n.*ocorl.run\(plant.system, plant=plant\)"):
            plant.execute(plan)
    assert plant.episodes == 0
    ocorl.run(plant.system, plant=plant, quiet=True, set=settings)
    assert plant.episodes == 4
    assert [run.path_x[0, 0] for run in plant.runs] == [0.5, -0.5, 0.5, -0.5]


def test_another_length_of_a_step_than_the_environment_says_is_spoken_of() -> None:
    settings = {key: value for key, value in known("Pendulum-v1").items() if key != "dt"}
    with pytest.warns(UserWarning, match="its steps are 0.05"):
        from_gym("Pendulum-v1", dt=0.1, **settings)


def test_steps_of_ours_are_as_long_as_is_said() -> None:
    plant = from_gym("ocorl.gym:ocorl/Pendulum-v0", dt=0.02, actions="physical", cost="x0^2 + u0^2")
    assert all(check.ok for check in plant.checks)
    run = plant.execute(lambda t, x: [1.0], measure_at=[2.0, 5.0])
    truth = np.array(ocorl.System("pendulum").derivative(run.x, run.u))
    np.testing.assert_allclose(run.x_dot, truth, atol=1e-3)


def test_limits_of_the_environment_hold() -> None:
    with pytest.raises(ocorl.UserError, match="the actions only from"):
        oscillator(inputs={"push": (-50.0, 50.0)})
    wrapped = gymnasium.wrappers.TimeLimit(Oscillator(), 40)
    assert from_gym(wrapped, cost=COST).steps == 40
    with pytest.raises(ocorl.UserError, match="ends after 40"):
        from_gym(wrapped, cost=COST, horizon=1000.0)
    assert oscillator(angles=[np.int64(0)]).system.angles == oscillator(angles=[0]).system.angles


def test_only_measurements_are_drawn_where_nothing_else_is_known() -> None:
    plant = oscillator(cost=ocorl.quadratic(Q=[10.0, 1.0], R=[1.0]))
    result = ocorl.run(plant.system, plant=plant, episodes=2, measurements=8, quiet=True)
    assert result.episodes[-1].rollouts[0].measured_only
    assert "executed" not in result.plot("phase").csv and "executed" not in result.plot("states").csv


def test_misuse_is_explained() -> None:
    class Words(gymnasium.Env):
        observation_space = gymnasium.spaces.Dict({"x": gymnasium.spaces.Box(-1, 1, (1,))})
        action_space = gymnasium.spaces.Box(-1, 1, (1,))

        def reset(self, *, seed=None, options=None):
            return {"x": np.zeros(1)}, {}

    for env, more, message in [
        ("Pendulum-v1", {"dt": 0.05, "anlges": ["x0"]}, "no argument 'anlges'"),
        ("Pendulum-v1", {"dt": 0.05, "colour": 3}, "neither from_gym nor"),
        (Words, {"dt": 0.1}, "the class Words"),
        (Words(), {"dt": 0.1}, "the observation is a Dict"),
        (7, {"dt": 0.1}, "'env' cannot be a int"),
        ("Pendulum-v1", {"dt": 0.05, "state": "muj"}, "no state 'muj'"),
        ("Pendulum-v1", {"dt": 0.05, "state": "mujoco"}, "needs an environment of MuJoCo"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            from_gym(env, cost="x0^2", **more)
    vector = gymnasium.make_vec("Pendulum-v1", num_envs=2)
    with pytest.raises(ocorl.UserError, match="a vector of environments"):
        from_gym(vector, dt=0.05, cost="x0^2")


def test_pairs_of_cosine_and_sine_are_read_as_angles() -> None:
    plant = from_gym("Pendulum-v1", dt=0.05, state="angles", horizon=2.0, cost="1 - cos(angle0)")
    assert plant.system.states == ["angle0", "x2"] and plant.system.angles == [0]
    named = from_gym("Pendulum-v1", dt=0.05, state="angles", states=["theta", "omega"], horizon=2.0, cost="1 - cos(theta)")
    assert named.system.states == ["theta", "omega"] and named.system.angles == [0]
    run = plant.execute(lambda t, x: [2.0], measure_at=[0.5])
    # The observed rate is the derivative of the angle (the environment integrates by symplectic Euler steps).
    assert np.allclose(np.diff(run.path_x[:, 0]) / 0.05, run.path_x[1:, 1], atol=1e-4)


def test_the_noise_of_a_state_has_its_unit() -> None:
    """The position in millionths of its unit: the noise of the rate must not change."""

    def at(env: Any) -> Any:
        return env.state * [1e6, 1.0]

    def write(env: Any, x: Any) -> None:
        env.state = np.asarray(x) / [1e6, 1.0]

    plain, scaled = oscillator().noise, oscillator(state=at, write=write, cost="u0^2").noise
    assert scaled == pytest.approx(plain * [1e6, 1.0], rel=0.05)


def test_a_reward_becomes_a_formula() -> None:
    description = known("Pendulum-v1")
    right = from_gym("Pendulum-v1", **description)
    plant = from_gym("Pendulum-v1", **{**description, "cost": "reward"})
    t, x, u = np.zeros(9), np.random.default_rng(0).normal(scale=3.0, size=(9, 2)), np.linspace(-2, 2, 9)[:, None]
    assert plant.system.cost(t, x, u) == pytest.approx(right.system.cost(t, x, u), rel=1e-4)
    assert plant.checks[-1].name == "reward" and plant.checks[-1].ok
    with pytest.raises(ocorl.UserError, match="does not depend on the state"):
        from_gym("MountainCarContinuous-v0", **{**known("MountainCarContinuous-v0"), "cost": "reward"})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"noise": [1, 2, 3]}, "'noise' has the shape"),
        ({"noise": "much"}, "'noise' must be numbers"),
        ({"x0": "here"}, "'x0' must be numbers"),
        ({"horizon": "long"}, "'horizon' must be a number"),
        ({"dt": "short"}, "'dt' must be a number"),
        ({"states": 3}, "'states' must be a list"),
        ({"angles": 0}, "'angles' must be a list"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ocorl.UserError, match=words):
        from_gym("Pendulum-v1", **{"dt": 0.05, "state": "angles", "cost": "angle0^2", **more})
