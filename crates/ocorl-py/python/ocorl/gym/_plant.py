"""Any Gymnasium environment with continuous actions as something to learn and control."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .._errors import MistakeError, PlantError
from .._ocorl import Plan
from .._system import System
from ._canvas import Array

Controller = Callable[[float, Array], npt.ArrayLike]

#: Steps of the trial run that the checks look at.
_TRIAL = 60
#: dt is coarse if a derivative is uncertain by more than this share of its size: nine steps for a swing of a sine.
_COARSE = 0.02


@dataclass(frozen=True)
class Check:
    """What was found when an environment was looked at."""

    #: Which of the four: ``write``, ``state``, ``deterministic``, ``dt``.
    name: str
    #: Whether it is as one would wish.
    ok: bool
    #: What was found, and what to do about it.
    words: str

    def __str__(self) -> str:
        return f"{'ok' if self.ok else 'attention'}: {self.words}"


@dataclass(frozen=True)
class Measured:
    """What a run of an environment gave. ``study.tell(plan, **measured.told())`` tells it."""

    #: When was measured: in the middle of a step.
    t: Array
    #: The state then, a row for each time.
    x: Array
    #: The input then.
    u: Array
    #: The derivative then: the difference over the step.
    x_dot: Array
    #: How uncertain each derivative is, as far as neighbouring steps tell.
    x_dot_std: Array
    #: What the run cost: the running cost over all steps and the terminal cost.
    cost: float
    #: The environment's own return: the sum of its rewards.
    reward: float
    #: ``completed``, or why it ended before.
    outcome: str
    #: The largest difference between an asked time and the time it was measured at.
    rounding: float
    #: How many asked times fell into a step that was measured already, or after the end.
    missed: int
    #: Times of all steps, one more than there are inputs.
    path_t: Array
    #: All states.
    path_x: Array
    #: All inputs.
    path_u: Array

    def told(self) -> dict[str, Any]:
        """What `Study.tell` takes."""
        kept = {"t": self.t, "x": self.x, "u": self.u, "x_dot": self.x_dot}
        return kept | {"cost": self.cost, "outcome": self.outcome}


@dataclass
class GymPlant:
    """An environment that can be run by a controller. Made by `from_gym`.

    `system` is what `ocorl` knows of it: names, limits, horizon, cost, noise, no equations. `system.text` is that as text.
    """

    env: gymnasium.Env[Any, Any]
    #: What is to be learned.
    system: System
    #: Time between two actions.
    dt: float
    #: Steps of an episode.
    steps: int
    #: Where every episode begins.
    x0: Array
    #: What was found when the environment was looked at.
    checks: list[Check]
    #: Estimated standard deviation of a measured derivative.
    noise: Array
    _reader: _Reader = field(repr=False)
    _goal: bool = field(default=False, repr=False)
    #: Runs so far.
    episodes: int = 0
    #: Steps so far.
    interactions: int = 0
    #: Measurements so far.
    measurements: int = 0
    #: What the runs gave, in their order.
    runs: list[Measured] = field(default_factory=list, repr=False)

    def execute(
        self, controller: Any, measure_at: npt.ArrayLike | None = None, x0: npt.ArrayLike | None = None
    ) -> Measured:
        """Runs one episode.

        Args:
            controller: A plan, or a function of time and state that returns the input.
            measure_at: When to measure; of a plan its own times. Each is rounded to the middle of a step.
            x0: Where to begin, if not where all begin; only if states can be written.
        """
        if measure_at is None:
            measure_at = getattr(controller, "measure_at", [])
        law: Controller = controller.controller(mpc=True) if isinstance(controller, Plan) else controller
        asked = np.asarray(measure_at, dtype=np.float64).reshape(-1)
        states, inputs, reward, outcome = self._follow(law, x0)
        run = self._measured(asked, states, inputs, reward, outcome)
        self.episodes += 1
        self.interactions += len(inputs)
        self.measurements += len(run.t)
        self.runs.append(run)
        return run

    def run(self, controller: Any, measure_at: npt.ArrayLike) -> Measured:
        """Runs one episode, as `ocorl.run` wants it: from ``controller.x0``."""
        x0 = np.asarray(getattr(controller, "x0", self.x0), dtype=np.float64)
        return self.execute(controller, measure_at, None if np.array_equal(x0, self.x0) else x0)

    def _follow(self, law: Controller, x0: npt.ArrayLike | None) -> tuple[Array, Array, float, str]:
        x = self._reader.begin(self.x0 if x0 is None else np.asarray(x0, dtype=np.float64), x0 is not None)
        states, inputs, reward = [x], [], 0.0
        for step in range(self.steps):
            u = np.asarray(law(step * self.dt, x), dtype=np.float64).reshape(-1)
            if u.shape != self._reader.low.shape or not np.isfinite(u).all():
                raise PlantError(f"the controller returned {u.tolist()} at t = {step * self.dt:g}")
            u = np.clip(u, self._reader.low, self._reader.high)
            x, gained, terminated, truncated = self._reader.step(u)
            states.append(x)
            inputs.append(u)
            reward += gained
            if not np.isfinite(x).all():
                return np.array(states[:-1]), np.array(inputs[:-1]), reward, f"not finite at t = {step * self.dt:g}"
            if terminated and not self._goal:
                return np.array(states), np.array(inputs), reward, f"stopped at t = {(step + 1) * self.dt:g}"
            if terminated or truncated:
                break
        return np.array(states), np.array(inputs), reward, "completed"

    def _measured(self, asked: Array, states: Array, inputs: Array, reward: float, outcome: str) -> Measured:
        """What a run looks like at the asked times."""
        dt, count = self.dt, len(inputs)
        times: Array = dt * np.arange(count + 1, dtype=np.float64)
        places = np.unique(np.clip(np.floor(asked / dt + 1e-9), 0, self.steps - 1).astype(int))
        places = places[places < count]
        t = (places + 0.5) * dt
        nearest = [float(np.min(np.abs(t - a))) for a in asked if a <= times[-1]] if len(t) else []
        slopes, spread = differences(states, dt)
        middles = (states[:-1] + states[1:]) / 2.0
        running = np.asarray(self.system.cost(times[:-1], states[:-1], inputs)) if count else np.zeros(0)
        cost = float(dt * running.sum()) + float(self.system.terminal_cost(states[-1]))
        return Measured(
            t=t,
            x=middles[places],
            u=inputs[places],
            x_dot=slopes[places],
            x_dot_std=spread[places],
            cost=cost,
            reward=reward,
            outcome=outcome,
            rounding=max(nearest, default=0.0),
            missed=len(asked) - len(t),
            path_t=times,
            path_x=states,
            path_u=inputs,
        )

    @property
    def seconds(self) -> float:
        """Time the environment was run for, in its own unit."""
        return self.interactions * self.dt

    @property
    def rounding(self) -> float:
        """The largest difference so far between an asked time and the time it was measured at."""
        return max((run.rounding for run in self.runs), default=0.0)

    def __repr__(self) -> str:
        name = getattr(self.env.spec, "id", None) or type(self.env.unwrapped).__name__
        return f"<{name} as a plant: {len(self.x0)} states, {len(self._reader.low)} inputs, dt {self.dt:g}, {self.steps} steps>"


def differences(states: Array, dt: float) -> tuple[Array, Array]:
    """Derivatives in the middle of each step, and how uncertain they are.

    The difference over a step is a central difference around its middle, with the input that was held in it. The one over three steps has nine
    times its error, so an eighth of what they differ by is what the first one is wrong by. Single precision adds what it rounds off.

    >>> slopes, spread = differences(np.array([[0.0], [1.0], [4.0], [9.0]]), 1.0)
    >>> slopes.ravel().tolist(), bool(spread.max() < 1e-5)
    ([1.0, 3.0, 5.0], True)
    """
    slopes = np.diff(states, axis=0) / dt
    spread = np.zeros_like(slopes)
    if len(slopes) >= 3:
        wide = (states[3:] - states[:-3]) / (3.0 * dt)
        spread[1:-1] = np.abs(wide - slopes[1:-1]) / 8.0
        spread[0], spread[-1] = spread[1], spread[-2]
    rounded = float(np.finfo(np.float32).eps) * np.abs(states[1:]) / dt
    return slopes, np.hypot(spread, rounded)


class _Reader:
    """How the state of an environment is read and written; angles are followed over whole turns."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        state: Callable[[Any], npt.ArrayLike] | None,
        write: Callable[[Any, Array], None] | None,
        action: Callable[[Array], npt.ArrayLike] | None,
        angles: Sequence[int],
        limits: tuple[Array, Array],
        seed: int,
    ) -> None:
        self.env, self._state, self._write, self._action = env, state, write, action
        self._angles, self._seed = list(angles), seed
        self.low, self.high = limits
        self._last: Array | None = None

    @property
    def writable(self) -> bool:
        """Whether somebody said how to write a state."""
        return self._write is not None

    def begin(self, x0: Array | None = None, needed: bool = False) -> Array:
        """Resets, and writes the state if that can be done."""
        observation, _ = self.env.reset(seed=self._seed)
        if x0 is not None and self._write is not None:
            self._write(self.env.unwrapped, x0.copy())
        elif needed:
            raise MistakeError("the state of this environment cannot be written; give from_gym a function: write=lambda env, x: ...")
        self._last = x0
        if self._state is None and x0 is not None and self._write is not None:
            # What was observed before the state was written is not where it is now.
            return np.array(x0)
        return self.read(observation)

    def read(self, observation: Any) -> Array:
        """The state, near the last one by whole turns of its angles."""
        value = observation if self._state is None else self._state(self.env.unwrapped)
        x = np.array(value, dtype=np.float64).reshape(-1)
        if self._last is not None and self._last.shape == x.shape:
            for i in self._angles:
                x[i] -= 2.0 * np.pi * np.round((x[i] - self._last[i]) / (2.0 * np.pi))
        self._last = x.copy()
        return x

    def step(self, u: Array) -> tuple[Array, float, bool, bool]:
        """Applies an input: the state after it, its reward, and whether the environment ended."""
        action = u if self._action is None else np.asarray(self._action(u))
        space = self.env.action_space
        action = np.asarray(action).astype(space.dtype or np.float64).reshape(space.shape or (-1,))
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return self.read(observation), float(reward), bool(terminated), bool(truncated)

    def follow(self, x0: Array | None, inputs: Array) -> Array:
        """The states under some inputs."""
        states = [self.begin(x0)]
        for u in inputs:
            x, _, terminated, truncated = self.step(u)
            states.append(x)
            if terminated or truncated:
                break
        return np.array(states)


def from_gym(
    env: str | gymnasium.Env[Any, Any],
    *,
    dt: float | None = None,
    state: Callable[[Any], npt.ArrayLike] | None = None,
    action: Callable[[Array], npt.ArrayLike] | None = None,
    write: Callable[[Any, Array], None] | None = None,
    states: Sequence[str] | None = None,
    inputs: Mapping[str, tuple[float, float]] | Sequence[str] | None = None,
    angles: Sequence[str | int] = (),
    x0: npt.ArrayLike | None = None,
    horizon: float | None = None,
    cost: Any = None,
    noise: npt.ArrayLike | None = None,
    learning: Mapping[str, Any] | None = None,
    goal: bool = False,
    seed: int = 0,
    name: str | None = None,
    **make: Any,
) -> GymPlant:
    """An environment as a plant: something that `ocorl` can learn to control.

    Args:
        env: An environment, or the id of one (made with all other keywords).
        dt: Time between two actions; by default the environment's own ``dt``.
        state: Reads the state, from the bare environment; by default the observation is the state.
        action: Makes an action of the inputs; by default the inputs are the action.
        write: Writes the state into the bare environment; by default its attribute ``state``, if there is one, or MuJoCo's ``set_state``.
        states: Names of the states.
        inputs: Names of the inputs, or names with limits; by default the limits of the action.
        angles: States that are the same after a whole turn.
        x0: Where every episode begins; by default where ``reset(seed=seed)`` begins.
        horizon: How long an episode is; by default as long as the environment allows.
        cost: What is to be made small, as `ocorl.System` takes it: `ocorl.quadratic`, or expressions.
        noise: Standard deviation of a measured derivative; by default estimated by a trial run.
        learning: Settings, as in the section ``[learning]`` of a system.
        goal: Whether the environment ends where it should (and not where it must not be).
        seed: Of `reset`, and of the trial run.
        name: Of the system; by default made of the id.

    Raises:
        MistakeError: Something is missing or does not fit; the message says what to give.

    >>> plant = from_gym("ocorl.gym:ocorl/Pendulum-v0", dt=0.05, cost="x0^2 + u0^2")
    >>> plant.steps, plant.checks[2].ok
    (200, True)
    >>> run = plant.execute(lambda t, x: [0.1], measure_at=[1.0, 2.0])
    >>> run.t.round(3).tolist(), round(run.rounding, 3)
    ([1.025, 2.025], 0.025)
    """
    identity = str(env if isinstance(env, str) else getattr(env.spec, "id", None) or type(env.unwrapped).__name__)
    if cost is None:
        raise MistakeError(
            "what should be made small?",
            hint=f"give cost=ocorl.quadratic(...), or see whether ocorl.gym.known('{identity}') knows",
        )
    if isinstance(env, str):
        env = gymnasium.make(env, **make)
    elif make:
        raise MistakeError(f"from_gym has no argument '{next(iter(make))}'")
    space = env.action_space
    if not isinstance(space, spaces.Box):
        raise MistakeError(f"the actions of this environment are {space}; ocorl needs continuous ones (a Box)")
    limits = _input_limits(space, inputs, action)
    step = _step_length(env, dt)
    start = _Reader(env, state, None, action, [], limits, seed).begin()
    if state is None and (not isinstance(env.observation_space, spaces.Box) or start.ndim != 1):
        raise MistakeError("the observation is not a vector; say how to read the state: state=lambda env: ...")
    names = [str(s) for s in states] if states is not None else [f"x{i}" for i in range(len(start))]
    if len(names) != len(start):
        raise MistakeError(f"{len(names)} names for {len(start)} states")
    turning = [_index(angle, names) for angle in angles]
    reader = _Reader(env, state, write or usual_writer(env, len(start)), action, turning, limits, seed)
    begin = np.array(start if x0 is None else x0, dtype=np.float64).reshape(-1)
    if begin.shape != start.shape:
        raise MistakeError(f"x0 has {len(begin)} numbers; there are {len(start)} states: {', '.join(names)}")
    checks, spread = _look(reader, begin, x0 is not None, state is None, names, step, seed)
    for check in checks:
        if not check.ok:
            warnings.warn(check.words, stacklevel=2)
    steps = _steps(env, step, horizon)
    if noise is None:
        sigma = spread
    else:
        sigma = np.broadcast_to(np.asarray(noise, dtype=np.float64), begin.shape).copy()
    words = list(inputs) if inputs is not None else [f"u{i}" for i in range(len(limits[0]))]
    system = System(
        name=name or _name(identity),
        states=names,
        inputs={word: (low, high) for word, low, high in zip(words, *limits, strict=True)},
        x0=begin,
        horizon=steps * step,
        angles=[names[i] for i in turning],
        cost=cost,
        noise=dict(zip(names, sigma, strict=True)),
        period=step,
        learning=learning,
    )
    return GymPlant(env, system, step, steps, begin, checks, sigma, reader, goal)


def _index(angle: str | int, names: Sequence[str]) -> int:
    if isinstance(angle, int) and 0 <= angle < len(names):
        return angle
    if angle in names:
        return names.index(str(angle))
    raise MistakeError(f"no state '{angle}' among {', '.join(names)}")


def _name(identity: str) -> str:
    letters = [letter.lower() if letter.isalnum() else "-" for letter in identity]
    return "".join(letters).strip("-")


def _step_length(env: gymnasium.Env[Any, Any], dt: float | None) -> float:
    if dt is None:
        dt = getattr(env.unwrapped, "dt", None)
        if not isinstance(dt, float | int | np.floating):
            raise MistakeError("this environment does not say how long a step is; give dt=")
    if not (np.isfinite(dt) and dt > 0):
        raise MistakeError(f"dt is {dt}; it must be positive")
    return float(dt)


def _steps(env: gymnasium.Env[Any, Any], dt: float, horizon: float | None) -> int:
    most = getattr(env.spec, "max_episode_steps", None)
    if horizon is None:
        own = getattr(env.unwrapped, "system", None)
        horizon = most * dt if most is not None else getattr(own, "horizon", None)
        if horizon is None:
            raise MistakeError("this environment has no time limit; give horizon=")
    steps = max(1, round(float(horizon) / dt))
    if most is not None and steps > most:
        raise MistakeError(f"a horizon of {horizon:g} is {steps} steps; the environment ends after {most}")
    return steps


def _input_limits(
    space: spaces.Box, inputs: Mapping[str, tuple[float, float]] | Sequence[str] | None, action: Any
) -> tuple[Array, Array]:
    if isinstance(inputs, Mapping):
        low = np.array([pair[0] for pair in inputs.values()], dtype=np.float64)
        high = np.array([pair[1] for pair in inputs.values()], dtype=np.float64)
    else:
        low, high = space.low.astype(np.float64).reshape(-1), space.high.astype(np.float64).reshape(-1)
    if inputs is not None and len(inputs) != len(low):
        raise MistakeError(f"{len(inputs)} names for {len(low)} inputs")
    if action is None and len(low) != int(np.prod(space.shape)):
        raise MistakeError(f"{len(low)} inputs for an action of shape {space.shape}; say how: action=lambda u: ...")
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise MistakeError("the actions have no limits; give them: inputs={'force': (-1.0, 1.0)}")
    return low, high


def usual_writer(env: gymnasium.Env[Any, Any], size: int) -> Callable[[Any, Array], None] | None:
    """The usual ways to write a state of so many numbers; none if there is no such way."""
    bare: Any = env.unwrapped
    if hasattr(bare, "set_state") and hasattr(bare, "model") and bare.model.nq + bare.model.nv == size:
        places = int(bare.model.nq)

        def write_mujoco(bare: Any, x: Array) -> None:
            bare.set_state(x[:places], x[places:])

        return write_mujoco
    for attribute in ("state", "_x"):
        value: Any = getattr(bare, attribute, None)
        if value is not None and np.size(value) == size:

            def write(bare: Any, x: Array, attribute: str = attribute) -> None:
                old = getattr(bare, attribute)
                setattr(bare, attribute, tuple(x) if isinstance(old, tuple) else x)

            return write
    return None


def _look(
    reader: _Reader, x0: Array, given: bool, observed: bool, names: Sequence[str], dt: float, seed: int
) -> tuple[list[Check], Array]:
    """The four checks, and the noise of a derivative."""
    rng = np.random.default_rng(seed)
    middle, half = (reader.low + reader.high) / 2.0, (reader.high - reader.low) / 2.0
    phases, speeds = rng.uniform(0.0, 2.0 * np.pi, (3, len(middle))), rng.uniform(0.02, 0.15, (3, len(middle)))
    swing = np.sin(phases[None] + speeds[None] * np.arange(_TRIAL)[:, None, None]).mean(axis=1)
    inputs = middle + 0.8 * half * swing
    checks = [_written(reader, x0, given, inputs)]
    start = x0 if checks[0].ok else None
    if given and start is None:
        raise MistakeError("x0 is given, but the state cannot be written; give write=lambda env, x: ..., or leave x0 out")
    path = reader.follow(start, inputs)
    checks.append(_is_state(path, observed, names))
    again = reader.follow(start, inputs)
    same = path.shape == again.shape and bool(np.allclose(path, again, rtol=1e-9, atol=1e-12))
    hidden = _hidden(reader, path, inputs) if reader.writable and checks[0].ok and same else None
    if not same:
        said = "the same inputs from the same start give another path: its noise is not in the estimate, raise noise="
        checks.append(Check("deterministic", False, said))
    elif hidden is not None:
        said = f"from the same state the next one differs by {hidden:.2g}: something about this environment is not in the state"
        checks.append(Check("deterministic", False, said))
    else:
        checks.append(Check("deterministic", True, "the same inputs from the same start give the same path"))
    slopes, spread = differences(path, dt)
    size, error = np.sqrt((slopes**2).mean(axis=0)), np.sqrt((spread**2).mean(axis=0))
    share = float(np.max(error / np.maximum(size, 1e-12)))
    coarse = f"a derivative is known to {100 * share:.2g} % from steps of {dt:g}"
    if share > _COARSE:
        coarse += ": the steps are long for these dynamics; a shorter dt, if the environment has one, would do better"
    checks.append(Check("dt", share <= _COARSE, coarse))
    # One size for what is not moved by the trial, so that no noise is zero.
    floor = 1e-3 * max(float(size.max()), 1e-6)
    return checks, np.maximum(error, floor)


def _written(reader: _Reader, x0: Array, given: bool, inputs: Array) -> Check:
    if not reader.writable:
        return Check("write", not given, "states cannot be written; every episode begins where reset(seed) does")
    try:
        here = reader.follow(x0, inputs[:1])
        there = reader.follow(x0 + 1e-3 * np.maximum(np.abs(x0), 1.0), inputs[:1])
    except Exception as error:
        return Check("write", False, f"writing a state raised {type(error).__name__}: {error}")
    if len(here) < 2 or len(there) < 2 or np.allclose(here[1], there[1], rtol=0.0, atol=1e-9):
        return Check("write", False, "writing a state does not change where the environment goes next")
    return Check("write", True, "states can be written; every episode begins at x0")


def _is_state(path: Array, observed: bool, names: Sequence[str]) -> Check:
    if not observed:
        return Check("state", True, "the state is read as you said")
    for i in range(path.shape[1]):
        for j in range(i + 1, path.shape[1]):
            circle = np.hypot(path[:, i], path[:, j])
            if np.ptp(path[:, i]) > 1e-3 and np.allclose(circle, 1.0, atol=1e-4):
                said = f"{names[i]} and {names[j]} look like cosine and sine of an angle: read the angle with state=, name it in angles="
                return Check("state", False, said)
    return Check("state", True, "the observation is taken for the state")


def _hidden(reader: _Reader, path: Array, inputs: Array) -> float | None:
    """By how much the next state differs if the same state is written; none if it does not."""
    worst = 0.0
    for k in (len(path) // 3, 2 * len(path) // 3):
        if k + 1 < len(path):
            once = reader.follow(path[k], inputs[k : k + 1])
            if len(once) > 1:
                scale = np.maximum(np.abs(path[k + 1]), 1.0)
                worst = max(worst, float(np.max(np.abs(once[1] - path[k + 1]) / scale)))
    # Environments that keep their state in single precision give it back rounded.
    return worst if worst > 1e-5 else None
