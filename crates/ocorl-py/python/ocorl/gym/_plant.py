"""Adapter that makes a Gymnasium environment with continuous actions a plant to learn and control."""

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
from ._checks import Check, look
from ._reader import Reader, differences

Controller = Callable[[float, Array], npt.ArrayLike]


@dataclass(frozen=True)
class Measured:
    """Measurements of one run of an environment. ``study.tell(plan, **measured.told())`` records them."""

    #: Measurement times: in the middle of a step.
    t: Array
    #: States at the measurement times, one row each.
    x: Array
    #: Inputs at the measurement times.
    u: Array
    #: Derivatives at the measurement times: the difference over the step.
    x_dot: Array
    #: Uncertainty of each derivative, estimated from neighbouring steps.
    x_dot_std: Array
    #: Cost of the run: the running cost over all steps, and the terminal cost. For an aborted run the terminal cost is replaced by the cost
    #: rate at the stop times the remaining time, as in a simulation, so that an early end is not cheaper.
    cost: float
    #: Return of the environment: the sum of its rewards.
    reward: float
    #: ``completed``, or the reason of an early end.
    outcome: str
    #: Largest difference between a requested and an actual measurement time.
    rounding: float
    #: Number of requested times in a step that was measured already, or after the end.
    missed: int
    #: Times of all steps, one more than there are inputs.
    path_t: Array
    #: States at all steps.
    path_x: Array
    #: Inputs of all steps.
    path_u: Array

    def told(self) -> dict[str, Any]:
        """Returns the arguments of `Study.tell`."""
        kept = {"t": self.t, "x": self.x, "u": self.u, "x_dot": self.x_dot}
        return kept | {"cost": self.cost, "outcome": self.outcome}


@dataclass
class GymPlant:
    """An environment that can be run under a controller. Made by `from_gym`.

    `system` is its description for `ocorl`: names, limits, horizon, cost and noise, without equations. `system.text` is the text of it.
    """

    env: gymnasium.Env[Any, Any]
    #: The system to be learned.
    system: System
    #: Time between two actions.
    dt: float
    #: Number of steps of an episode.
    steps: int
    #: Initial state of every episode, if states can be written or `reset` always starts there; see `checks`.
    x0: Array
    #: Results of the checks of the environment.
    checks: list[Check]
    #: Estimated standard deviation of a measured derivative.
    noise: Array
    _reader: Reader = field(repr=False)
    _goal: bool = field(default=False, repr=False)
    #: Number of runs so far.
    episodes: int = 0
    #: Number of steps so far.
    interactions: int = 0
    #: Number of measurements so far.
    measurements: int = 0
    #: Measurements of the runs, in order.
    runs: list[Measured] = field(default_factory=list, repr=False)

    def execute(
        self, controller: Any, measure_at: npt.ArrayLike | None = None, x0: npt.ArrayLike | None = None
    ) -> Measured:
        """Runs one episode.

        The first episode is reset with the seed; later ones continue with the environment's random numbers, because noise that is the same
        in every episode would be learned as dynamics. Two plants that are created and run in the same way give identical results.

        Args:
            controller: A plan, or a function of time and state that returns the input.
            measure_at: Measurement times; by default those of the plan. Each is rounded to the middle of a step.
            x0: Initial state, if it differs from the usual one; only if states can be written.

        Raises:
            MistakeError: The plan has several runs, or `x0` cannot be written.
        """
        if isinstance(controller, Plan) and controller.legs > 1:
            raise MistakeError(
                f"the plan has {controller.legs} runs from different states; execute does one run",
                hint="let ocorl do them all: ocorl.run(plant.system, plant=plant)",
            )
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
        """Runs one episode from ``controller.x0``, as the plant interface requires it."""
        x0 = np.asarray(getattr(controller, "x0", self.x0), dtype=np.float64)
        return self.execute(controller, measure_at, None if np.array_equal(x0, self.x0) else x0)

    def _follow(self, law: Controller, x0: npt.ArrayLike | None) -> tuple[Array, Array, float, str]:
        """Returns the states of a run, the applied inputs (including the last, which may have failed), the return, and the outcome."""
        seed = self._reader.seed if self.episodes == 0 or self._reader.repeats else None
        start = self.x0 if x0 is None else np.asarray(x0, dtype=np.float64)
        x = self._reader.begin(start, x0 is not None, seed=seed)
        states, inputs, reward, outcome = [x], [], 0.0, "completed"
        for step in range(self.steps):
            u = np.asarray(law(step * self.dt, x), dtype=np.float64).reshape(-1)
            if u.shape != self._reader.low.shape or not np.isfinite(u).all():
                raise PlantError(f"the controller returned {u.tolist()} at t = {step * self.dt:g}")
            u = np.clip(u, self._reader.low, self._reader.high)
            x, gained, terminated, truncated = self._reader.step(u)
            inputs.append(u)
            reward += gained
            if not np.isfinite(x).all():
                outcome = f"not finite at t = {step * self.dt:g}"
                break
            states.append(x)
            if terminated and self._goal:
                break
            # Truncation at the last step means that the horizon was reached; before it, it is an error.
            if terminated or (truncated and step + 1 < self.steps):
                outcome = f"stopped at t = {(step + 1) * self.dt:g}"
                break
        return np.array(states), np.array(inputs), reward, outcome

    def _measured(self, asked: Array, states: Array, inputs: Array, reward: float, outcome: str) -> Measured:
        """Extracts the measurements at the requested times from a run."""
        dt, count = self.dt, len(states) - 1
        held, inputs = inputs[-1], inputs[:count]
        times: Array = dt * np.arange(count + 1, dtype=np.float64)
        places = np.unique(np.clip(np.floor(asked / dt + 1e-9), 0, self.steps - 1).astype(int))
        places = places[places < count]
        t = (places + 0.5) * dt
        nearest = [float(np.min(np.abs(t - a))) for a in asked if a <= times[-1]] if len(t) else []
        slopes, spread = differences(states, dt)
        middles = (states[:-1] + states[1:]) / 2.0
        running = np.asarray(self.system.cost(times[:-1], states[:-1], inputs)) if count else np.zeros(0)
        cost = float(dt * running.sum()) + self._end_cost(float(times[-1]), states[-1], held, outcome)
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

    def _end_cost(self, t: float, x: Array, u: Array, outcome: str) -> float:
        """Returns the cost of the end of a run: the terminal cost, or for an aborted run its last cost rate times the remaining time."""
        if outcome == "completed":
            return float(self.system.terminal_cost(x))
        rate = float(self.system.cost([t], x[None, :], u[None, :])[0])
        return rate * max(self.steps * self.dt - t, 0.0) if np.isfinite(rate) else 0.0

    @property
    def seconds(self) -> float:
        """Total simulated time of the environment, in its own unit."""
        return self.interactions * self.dt

    @property
    def rounding(self) -> float:
        """Largest difference so far between a requested and an actual measurement time."""
        return max((run.rounding for run in self.runs), default=0.0)

    def __repr__(self) -> str:
        name = getattr(self.env.spec, "id", None) or type(self.env.unwrapped).__name__
        return f"<{name} as a plant: {len(self.x0)} states, {len(self._reader.low)} inputs, dt {self.dt:g}, {self.steps} steps>"


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
    """Makes an environment a plant that `ocorl` can learn to control.

    Args:
        env: An environment, or the id of one (made with all other keywords).
        dt: Time between two actions; by default the environment's own ``dt``.
        state: Reads the state, from the bare environment; by default the observation is the state.
        action: Makes an action of the inputs; by default the inputs are the action.
        write: Writes the state into the bare environment; by default its attribute ``state``, if there is one, or MuJoCo's ``set_state``.
        states: Names of the states.
        inputs: Names of the inputs, or names with limits; by default the limits of the action.
        angles: States that are the same after a whole turn.
        x0: Initial state of every episode; by default that of ``reset(seed=seed)``.
        horizon: Duration of an episode; by default the time limit of the environment.
        cost: The cost to be minimized, as in `ocorl.System`: `ocorl.quadratic`, or expressions.
        noise: Standard deviation of a measured derivative; by default estimated by a trial run.
        learning: Settings, as in the section ``[learning]`` of a system.
        goal: Whether the environment terminates at its goal (and not at a failure).
        seed: Seed of the first `reset` and of the trial run.
        name: Name of the system; by default derived from the id.

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
            "no cost is given",
            hint=f"give cost=ocorl.quadratic(...), or try ocorl.gym.known('{identity}')",
        )
    if isinstance(env, str):
        # The step length of this package's environments can be chosen.
        if "ocorl/" in env and dt is not None:
            make["dt"] = dt
        env = gymnasium.make(env, **make)
    elif make:
        raise MistakeError(f"from_gym has no argument '{next(iter(make))}'")
    space = env.action_space
    if not isinstance(space, spaces.Box):
        raise MistakeError(f"the actions of this environment are {space}; ocorl needs continuous ones (a Box)")
    limits = _input_limits(space, inputs, action)
    step = _step_length(env, dt)
    start = Reader(env, state, None, action, [], limits, seed).begin(seed=seed)
    if state is None and (not isinstance(env.observation_space, spaces.Box) or start.ndim != 1):
        raise MistakeError("the observation is not a vector; say how to read the state: state=lambda env: ...")
    names = [str(s) for s in states] if states is not None else [f"x{i}" for i in range(len(start))]
    if len(names) != len(start):
        raise MistakeError(f"{len(names)} names for {len(start)} states")
    turning = [_index(angle, names) for angle in angles]
    reader = Reader(env, state, write or usual_writer(env, len(start)), action, turning, limits, seed)
    begin = np.array(start if x0 is None else x0, dtype=np.float64).reshape(-1)
    if begin.shape != start.shape:
        raise MistakeError(f"x0 has {len(begin)} numbers; there are {len(start)} states: {', '.join(names)}")
    checks, spread = look(reader, begin, x0 is not None, state is None, names, step)
    own = _own_step(env)
    if own is not None and abs(own - step) > 1e-6 * own:
        said = f"dt is {step:g}, but the environment says that its steps are {own:g}: if that is right, derivatives are wrong by that much"
        checks[-1] = Check("dt", False, said)
    for check in checks:
        if not check.ok:
            warnings.warn(check.words, stacklevel=2)
    steps = _steps(env, step, horizon)
    if noise is None:
        sigma = spread
    else:
        sigma = np.broadcast_to(np.asarray(noise, dtype=np.float64), begin.shape).copy()
    names_of_inputs = list(inputs) if inputs is not None else [f"u{i}" for i in range(len(limits[0]))]
    system = System(
        name=name or _name(identity),
        states=names,
        inputs={word: (low, high) for word, low, high in zip(names_of_inputs, *limits, strict=True)},
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
    if isinstance(angle, int | np.integer) and 0 <= angle < len(names):
        return int(angle)
    if angle in names:
        return names.index(str(angle))
    raise MistakeError(f"no state '{angle}' among {', '.join(names)}")


def _name(identity: str) -> str:
    letters = [letter.lower() if letter.isalnum() else "-" for letter in identity]
    return "".join(letters).strip("-")


def _own_step(env: gymnasium.Env[Any, Any]) -> float | None:
    """Returns the step length that the environment states, if any."""
    dt = getattr(env.unwrapped, "dt", None)
    return float(dt) if isinstance(dt, float | int | np.floating) else None


def _step_length(env: gymnasium.Env[Any, Any], dt: float | None) -> float:
    if dt is None:
        dt = _own_step(env)
        if dt is None:
            raise MistakeError("this environment does not say how long a step is; give dt=")
    if not (np.isfinite(dt) and dt > 0):
        raise MistakeError(f"dt is {dt}; it must be positive")
    return float(dt)


def _most_steps(env: gymnasium.Env[Any, Any]) -> int | None:
    """Returns the number of steps after which the environment or a wrapper truncates an episode."""
    found = [getattr(env.spec, "max_episode_steps", None)]
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            found.append(env._max_episode_steps)
        env = env.env
    return min((int(steps) for steps in found if steps is not None), default=None)


def _steps(env: gymnasium.Env[Any, Any], dt: float, horizon: float | None) -> int:
    most = _most_steps(env)
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
    box = space.low.astype(np.float64).reshape(-1), space.high.astype(np.float64).reshape(-1)
    if isinstance(inputs, Mapping):
        low = np.array([pair[0] for pair in inputs.values()], dtype=np.float64)
        high = np.array([pair[1] for pair in inputs.values()], dtype=np.float64)
    else:
        low, high = box
    if inputs is not None and len(inputs) != len(low):
        raise MistakeError(f"{len(inputs)} names for {len(low)} inputs")
    if action is None and len(low) != int(np.prod(space.shape)):
        raise MistakeError(f"{len(low)} inputs for an action of shape {space.shape}; say how: action=lambda u: ...")
    if action is None:
        slack = 1e-6 * np.maximum(np.abs(low), np.abs(high))
        if (low < box[0] - slack).any() or (high > box[1] + slack).any():
            raise MistakeError(
                f"the inputs go from {low.tolist()} to {high.tolist()}, the actions only from {box[0].tolist()} to {box[1].tolist()}",
                hint="narrower limits, or say how an input becomes an action: action=lambda u: ...",
            )
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise MistakeError("the actions have no limits; give them: inputs={'force': (-1.0, 1.0)}")
    return low, high


def usual_writer(env: gymnasium.Env[Any, Any], size: int) -> Callable[[Any, Array], None] | None:
    """Returns a standard function to write a state of this size; None if the environment offers none."""
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
