"""Adapter that makes a Gymnasium environment with continuous actions a plant to learn and control."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .._arguments import array, real
from .._errors import PlantError, UserError
from .._ocorl import Plan
from .._settings import Settings
from .._system import System
from ._canvas import Array
from ._checks import Check, look
from ._reader import AnglePairs, Reader, differences, mujoco_state
from ._reward import fit_reward

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
    #: Cost of the run: the running cost over all steps, and the terminal cost. For an aborted run, the cost rate at the
    #: stop times the remaining time replaces the terminal cost, as in a simulation, so that an early end is not cheaper.
    cost: float
    #: Return of the environment: the sum of its rewards.
    reward: float
    #: ``completed``, or the reason of an early end.
    outcome: str
    #: Largest difference between a requested and an actual measurement time.
    rounding: float
    #: Number of requested times for which the run had no more steps.
    missed: int
    #: Times of all steps, one more than there are inputs.
    path_t: Array
    #: States at all steps.
    path_x: Array
    #: Inputs of all steps.
    path_u: Array

    def told(self) -> dict[str, Any]:
        """Return the arguments of `Study.tell`."""
        kept = {"t": self.t, "x": self.x, "u": self.u, "x_dot": self.x_dot}
        return kept | {"cost": self.cost, "outcome": self.outcome}


@dataclass
class GymPlant:
    """An environment that can be run under a controller; made by `from_gym`.

    `system` describes it for `ocorl`: names, limits, horizon, cost and noise, without equations. `system.text` is the
    text of that description.
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
        """Run one episode.

        The first episode is reset with the seed. Later ones continue with the environment's random numbers, because
        noise that is the same in every episode would be learned as dynamics. Two plants that are created and run in
        the same way give identical results.

        Parameters
        ----------
        controller : Plan or callable
            A plan, or a function of time and state that returns the input.
        measure_at : array_like, optional
            Measurement times; by default those of the plan. Each is rounded to the middle of the nearest step that is not
            measured yet. After an early end the times that were missed are spread over the run.
        x0 : array_like, optional
            Initial state, if it differs from the default; only if states can be written.

        Returns
        -------
        Measured
            The measurements.

        Raises
        ------
        UserError
            The plan has several runs, or `x0` cannot be written.
        """
        if isinstance(controller, Plan) and controller.rollouts > 1:
            raise UserError(
                f"the plan has {controller.rollouts} runs from different states; execute does one run",
                hint="let ocorl do them all: ocorl.run(plant.system, plant=plant)",
            )
        if measure_at is None:
            measure_at = getattr(controller, "measure_at", [])
        law: Controller = controller.controller(mpc=bool(controller.study)) if isinstance(controller, Plan) else controller
        asked = np.asarray(measure_at, dtype=np.float64).reshape(-1)
        states, inputs, reward, outcome = self._follow(law, x0)
        run = self._measured(asked, states, inputs, reward, outcome)
        self.episodes += 1
        self.interactions += len(inputs)
        self.measurements += len(run.t)
        self.runs.append(run)
        return run

    def run(self, controller: Any, measure_at: npt.ArrayLike) -> Measured:
        """Run one episode from ``controller.x0``, as the plant interface requires it."""
        x0 = np.asarray(getattr(controller, "x0", self.x0), dtype=np.float64)
        return self.execute(controller, measure_at, None if np.array_equal(x0, self.x0) else x0)

    def _follow(self, law: Controller, x0: npt.ArrayLike | None) -> tuple[Array, Array, float, str]:
        """Return states, applied inputs, return and outcome of a run.

        The inputs include the last one, which may have failed.
        """
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
        """Extract the measurements at the requested times from a run."""
        dt, count = self.dt, len(states) - 1
        held, inputs = inputs[-1], inputs[:count]
        times: Array = dt * np.arange(count + 1, dtype=np.float64)
        places = _places(asked, dt, count)
        t: Array = (places + 0.5).astype(np.float64) * dt
        nearest = [float(np.min(np.abs(t - a))) for a in asked if a <= times[-1]] if len(t) else []
        slopes, spread = differences(states, dt)
        middles = (states[:-1] + states[1:]) / 2.0
        running = np.asarray(self.system.cost(times[:-1], states[:-1], inputs)) if count else np.zeros(0)
        # What a diverging environment costs cannot be represented; it costs what its worst step does.
        running = np.where(np.isfinite(running), running, running[np.isfinite(running)].max(initial=0.0))
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
        """Return the cost of the end of a run.

        It is the terminal cost, or for an aborted run its last cost rate times the remaining time.
        """
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


def _places(asked: Array, dt: float, count: int) -> npt.NDArray[np.intp]:
    """Return the steps that are measured: the nearest free one for each requested time within a run of `count` steps.

    Times after the end are placed in the middles of the largest gaps.

    Examples
    --------
    >>> _places(np.array([0.12, 0.13, 9.0]), 0.1, 9).tolist()
    [0, 1, 5]
    """
    free = set(range(count))
    late = 0
    for time in asked:
        if time > dt * count * (1 + 1e-9) or not free:
            late += 1
            continue
        step = min(free, key=lambda k: (round(abs(k + 0.5 - time / dt), 9), -k))
        free.remove(step)
    for _ in range(min(late, len(free))):
        taken = sorted(set(range(count)) - free)
        ends = [-1, *taken, count]
        low, high = max(zip(ends, ends[1:], strict=False), key=lambda gap: gap[1] - gap[0])
        free.remove((low + high) // 2)
    return np.array(sorted(set(range(count)) - free), dtype=np.intp)


def _environment(env: Any, dt: float | None, make: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    """Return the environment; keywords go to ``gymnasium.make``."""
    if not isinstance(env, str):
        if isinstance(env, type):
            raise UserError(f"'env' is the class {env.__name__}", hint=f"make an environment of it: from_gym({env.__name__}(), ...)")
        if isinstance(env, gymnasium.vector.VectorEnv):
            raise UserError("'env' is a vector of environments; a plant is one", hint="gymnasium.make(id) instead of make_vec")
        if not isinstance(env, gymnasium.Env):
            raise UserError(f"'env' cannot be a {type(env).__name__}", hint="the id of an environment, or a gymnasium.Env")
        if make:
            raise _misspelt(next(iter(make)))
        return env
    for name in make:
        if difflib.get_close_matches(name, _KEYWORDS, n=1, cutoff=0.75) and name not in _taken_by(env):
            raise _misspelt(name)
    # The step length of this package's environments can be chosen.
    if "ocorl/" in env and dt is not None:
        make["dt"] = dt
    try:
        return gymnasium.make(env, **make)
    except TypeError as error:
        if make and "keyword" in str(error):
            given = ", ".join(make)
            raise UserError(f"neither from_gym nor '{env}' takes these keywords", [("given", given), ("cause", str(error))]) from error
        raise


def _taken_by(id: str) -> set[str]:
    """Return the keywords that an environment names in its constructor."""
    package, _, name = id.rpartition(":")
    if package:
        import_module(package)
    entry: Any = gymnasium.spec(name).entry_point
    if isinstance(entry, str):
        module, _, name = entry.partition(":")
        entry = getattr(import_module(module), name)
    return set(inspect.signature(entry).parameters) - {"kwargs"}


def _misspelt(name: str) -> UserError:
    close = difflib.get_close_matches(name, _KEYWORDS, n=1)
    return UserError(f"from_gym has no argument '{name}'", hint=f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(_KEYWORDS)}")


def from_gym(
    env: str | gymnasium.Env[Any, Any],
    *,
    dt: float | None = None,
    state: Callable[[Any], npt.ArrayLike] | Literal["mujoco", "angles"] | None = None,
    action: Callable[[Array], npt.ArrayLike] | None = None,
    write: Callable[[Any, Array], None] | None = None,
    states: Sequence[str] | None = None,
    inputs: Mapping[str, tuple[float, float]] | Sequence[str] | None = None,
    angles: Sequence[str | int] = (),
    x0: npt.ArrayLike | None = None,
    horizon: float | None = None,
    cost: Any = None,
    noise: npt.ArrayLike | None = None,
    learning: Mapping[str, Any] | Settings | None = None,
    goal: bool = False,
    seed: int = 0,
    name: str | None = None,
    **make: Any,
) -> GymPlant:
    """Convert an environment to a plant that `ocorl` can learn to control.

    Parameters
    ----------
    env : str or gymnasium.Env
        An environment, or the id of one (made with all other keywords).
    dt : float, optional
        Time between two actions; by default the environment's own ``dt``.
    state : callable, "mujoco" or "angles", optional
        Reads the state from the unwrapped environment; by default the observation is the state. ``"mujoco"``: positions and
        velocities of the joints. ``"angles"``: the observation, with each pair of cosine and sine as one angle.
    action : callable, optional
        Converts the inputs to an action; by default the inputs are the action.
    write : callable, optional
        Writes the state into the unwrapped environment; by default to its attribute ``state``, if there is one, or
        with MuJoCo's ``set_state``.
    states : sequence of str, optional
        Names of the states.
    inputs : sequence of str or mapping, optional
        Names of the inputs, or names with limits; by default the limits of the action.
    angles : sequence of str or int, optional
        States with period 2π.
    x0 : array_like, optional
        Initial state of every episode; by default that of ``reset(seed=seed)``.
    horizon : float, optional
        Duration of an episode; by default the time limit of the environment.
    cost : Quadratic, str, callable or mapping
        Cost to be minimised, as in `ocorl.System`. ``"reward"``: minus the reward, fitted by a formula of states and
        inputs in trial runs; the check ``reward`` says how well.
    noise : float or array_like, optional
        Standard deviation of a measured derivative; by default estimated by a trial run.
    learning : mapping, optional
        Settings, as in the section ``[learning]`` of a system.
    goal : bool, default False
        Whether the environment terminates at its goal (and not at a failure).
    seed : int, default 0
        Seed of the first `reset` and of the trial run.
    name : str, optional
        Name of the system; by default derived from the id.
    **make
        Further arguments of ``gymnasium.make``.

    Returns
    -------
    GymPlant
        The plant.

    Raises
    ------
    UserError
        An argument is missing or invalid; the message says what to give.

    Examples
    --------
    >>> plant = from_gym("ocorl.gym:ocorl/Pendulum-v0", dt=0.05, cost="x0^2 + u0^2")
    >>> plant.steps, plant.checks[2].ok
    (200, True)
    >>> run = plant.execute(lambda t, x: [0.1], measure_at=[1.0, 2.0])
    >>> run.t.round(3).tolist(), round(run.rounding, 3)
    ([1.025, 2.025], 0.025)
    """
    spec = getattr(env, "spec", None)
    identity = str(env if isinstance(env, str) else getattr(spec, "id", None) or type(getattr(env, "unwrapped", env)).__name__)
    if cost is None:
        raise UserError(
            "no cost is given",
            hint=f"give cost=ocorl.quadratic(...), or cost='reward'; or try ocorl.gym.known('{identity}')",
        )
    env = _environment(env, dt, make)
    space = env.action_space
    for what, given in (("states", states), ("inputs", inputs), ("angles", angles)):
        if given is not None and (isinstance(given, str) or not isinstance(given, Sequence | Mapping)):
            raise UserError(f"'{what}' must be a list of names, not {given!r}")
    if not isinstance(space, spaces.Box):
        raise UserError(f"the actions of this environment are {space}; ocorl needs continuous ones (a Box)")
    limits = _input_limits(space, inputs, action)
    step = _step_length(env, dt)
    convert = None
    if isinstance(state, str):
        if state == "mujoco":
            read = mujoco_state(env)
            angles = angles or [read.names.index(angle) for angle in read.angles]
            states = read.names if states is None else states
            state = read
        elif state == "angles":
            convert = AnglePairs.of(env, seed)
            angles = angles or [convert.names.index(angle) for angle in convert.angles]
            states = convert.names if states is None else states
            state = None
        else:
            raise UserError(f"no state '{state}'", hint="a function of the environment, 'mujoco' or 'angles'")
    if state is None and not isinstance(env.observation_space, spaces.Box):
        kind = type(env.observation_space).__name__
        raise UserError(f"the observation is a {kind}, not a vector; say how to read the state: state=lambda env: ...")
    start = Reader(env, state, None, action, [], limits, seed, convert).begin(seed=seed)
    names = [str(s) for s in states] if states is not None else [f"x{i}" for i in range(len(start))]
    if len(names) != len(start):
        raise UserError(f"{len(names)} names for {len(start)} states")
    turning = [_index(angle, names) for angle in angles]
    usual = None if convert is not None else usual_writer(env, len(start))
    reader = Reader(env, state, write or usual, action, turning, limits, seed, convert)
    begin = array(start if x0 is None else x0, "x0").reshape(-1).copy()
    if begin.shape != start.shape:
        raise UserError(f"x0 has {len(begin)} numbers; there are {len(start)} states: {', '.join(names)}")
    checks, spread = look(reader, begin, x0 is not None, state is None and convert is None, names, step)
    own = _own_step(env)
    if own is not None and abs(own - step) > 1e-6 * own:
        said = f"dt is {step:g}, but the environment says that its steps are {own:g}: if that is right, derivatives are wrong by that much"
        checks[3] = Check("dt", False, said)
    steps = _steps(env, step, horizon)
    names_of_inputs = list(inputs) if inputs is not None else [f"u{i}" for i in range(len(limits[0]))]
    if isinstance(cost, str) and cost == "reward":
        fit = fit_reward(reader, begin, names, names_of_inputs, turning, step, steps)
        checks.append(Check("reward", fit.good, fit.words))
        cost = fit.text
    for check in checks:
        if not check.ok:
            warnings.warn(check.words, stacklevel=2)
    if noise is None:
        sigma = spread
    else:
        sigma = array(noise, "noise", begin.shape)
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
        learning=_learning(learning, step),
    )
    return GymPlant(env, system, step, steps, begin, checks, sigma, reader, goal)


#: Keywords of `from_gym`.
_KEYWORDS = [name for name in inspect.signature(from_gym).parameters if name not in ("env", "make")]


def _learning(learning: Mapping[str, Any] | Settings | None, step: float) -> dict[str, Any]:
    """Return the settings: those of a simulation, with at most one measurement in a step."""
    given = learning.nested() if isinstance(learning, Settings) else dict(learning or {})
    return {"caution": "off", **given, "select": {"spacing": step, **given.get("select", {})}}


def _index(angle: str | int, names: Sequence[str]) -> int:
    if isinstance(angle, int | np.integer) and 0 <= angle < len(names):
        return int(angle)
    if angle in names:
        return names.index(str(angle))
    raise UserError(f"no state '{angle}' among {', '.join(names)}")


def _name(identity: str) -> str:
    letters = [letter.lower() if letter.isalnum() else "-" for letter in identity]
    return "".join(letters).strip("-")


def _own_step(env: gymnasium.Env[Any, Any]) -> float | None:
    """Return the step length that the environment states, if any."""
    dt = getattr(env.unwrapped, "dt", None)
    return float(dt) if isinstance(dt, float | int | np.floating) else None


def _step_length(env: gymnasium.Env[Any, Any], dt: float | None) -> float:
    if dt is None:
        dt = _own_step(env)
        if dt is None:
            raise UserError("this environment does not say how long a step is; give dt=")
    if not (np.isfinite(real(dt, "dt") or 0.0) and dt > 0):
        raise UserError(f"dt is {dt}; it must be positive")
    return float(dt)


def _most_steps(env: gymnasium.Env[Any, Any]) -> int | None:
    """Return the number of steps after which the environment or a wrapper truncates an episode."""
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
            raise UserError("this environment has no time limit; give horizon=")
    steps = max(1, round(float(real(horizon, "horizon") or 0.0) / dt))
    if most is not None and steps > most:
        raise UserError(f"a horizon of {horizon:g} is {steps} steps; the environment ends after {most}")
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
        raise UserError(f"{len(inputs)} names for {len(low)} inputs")
    if action is None and len(low) != int(np.prod(space.shape)):
        raise UserError(f"{len(low)} inputs for an action of shape {space.shape}; say how: action=lambda u: ...")
    if action is None:
        slack = 1e-6 * np.maximum(np.abs(low), np.abs(high))
        if (low < box[0] - slack).any() or (high > box[1] + slack).any():
            raise UserError(
                f"the inputs go from {low.tolist()} to {high.tolist()}, the actions only from {box[0].tolist()} to {box[1].tolist()}",
                hint="narrower limits, or say how an input becomes an action: action=lambda u: ...",
            )
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise UserError("the actions have no limits; give them: inputs={'force': (-1.0, 1.0)}")
    return low, high


def usual_writer(env: gymnasium.Env[Any, Any], size: int) -> Callable[[Any, Array], None] | None:
    """Return a standard function to write a state of this size; None if the environment offers none."""
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
