"""The plant interface: anything that can be run under a controller and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from . import _ocorl
from ._errors import PlantError, UserError
from ._study import NO_DERIVATIVES

Array = npt.NDArray[np.float64]


@runtime_checkable
class Plant(Protocol):
    """A plant that can be run: hardware, a simulator, an environment."""

    def run(self, controller: _ocorl.Controller, measure_at: Array) -> Any:
        """Run one episode.

        Apply ``u = controller(t, x)`` from ``controller.x0`` for ``controller.horizon``, and measure.

        Parameters
        ----------
        controller : Controller
            Policy, with initial state and horizon.
        measure_at : ndarray, shape (n,)
            Requested measurement times.

        Returns
        -------
        mapping or object
            ``t`` (n), ``x`` (n, states), ``u`` (n, inputs), ``x_dot`` (n, states; omit it if only states are
            measured), and optionally ``cost`` and ``outcome``.
        """
        ...


#: Names that a plant may return.
PARTS = ("t", "x", "u", "x_dot", "cost", "outcome")


def _part(data: Any, name: str) -> Any:
    if isinstance(data, Mapping):
        return data.get(name)
    return getattr(data, name, None)


def _array(value: Any, name: str, shape: tuple[str, int | None], count: int | None) -> Array:
    """Convert a measured array and check its shape."""
    expected, width = shape
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise PlantError(
            f"plant.run returned '{name}' as a {type(value).__name__} that is no array of numbers",
            [("expected", expected), ("cause", str(error))],
        ) from error
    if width is not None and array.ndim == 1:
        array = array.reshape(-1, 1) if width == 1 else array.reshape(1, -1) if len(array) == width else array
    right = array.ndim == (1 if width is None else 2) and (width is None or array.shape[1] == width)
    if not right or (count is not None and len(array) != count):
        raise PlantError(f"plant.run returned '{name}' of shape {np.shape(value)}", [("expected", expected)])
    bad = ~np.isfinite(array)
    if name == "x_dot" and np.any(~np.isnan(array).any(axis=1)):
        # A row with a NaN counts as not measured.
        bad = np.isinf(array)
    if np.any(bad):
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise PlantError(
            f"plant.run returned {name}{list(place)} = {array[place]}",
            [("expected", "finite numbers")],
            "leave out the rows of measurements that failed",
        )
    return array


def measured(data: Any, states: int, inputs: int) -> dict[str, Any]:
    """Validate the measurements that a plant returned.

    Examples
    --------
    >>> measured({"t": [0.5], "x": [[1.0, 2.0]], "u": [[0.1]]}, 2, 1)["x_dot"] is None
    True
    >>> measured(None, 2, 1)
    Traceback (most recent call last):
    ...
    ocorl._errors.PlantError: plant.run returned None
      expected  a dictionary or an object with t, x, u and x_dot
    """
    if isinstance(data, tuple):
        data = dict(zip(("t", "x", "u", "x_dot", "cost"), data, strict=False))
    if data is None or all(_part(data, name) is None for name in ("t", "x", "u")):
        what = "None" if data is None else f"a {type(data).__name__} without t, x and u"
        raise PlantError(f"plant.run returned {what}", [("expected", "a dictionary or an object with t, x, u and x_dot")])
    strange = [str(key) for key in data if key not in PARTS] if isinstance(data, Mapping) else []
    if strange:
        raise PlantError(f"plant.run returned '{strange[0]}', which is not a known name", [("known", ", ".join(PARTS))])
    for name in ("t", "x", "u"):
        if _part(data, name) is None:
            raise PlantError(f"plant.run returned no '{name}'", [("expected", "t, x, u and, if measured, x_dot")])
    t = _array(np.atleast_1d(_part(data, "t")), "t", ("(n,)", None), None)
    count = len(t)
    x = _array(_part(data, "x"), "x", (f"({count}, {states})", states), count)
    u = _array(_part(data, "u"), "u", (f"({count}, {inputs})", inputs), count)
    dots = _part(data, "x_dot")
    x_dot = None if dots is None else _array(dots, "x_dot", (f"({count}, {states})", states), count)
    cost = _part(data, "cost")
    try:
        cost = None if cost is None else float(cost)
    except (TypeError, ValueError) as error:
        raise PlantError(f"plant.run returned {cost!r} as cost", [("expected", "a number")]) from error
    if cost is not None and not np.isfinite(cost):
        raise PlantError(f"plant.run returned {cost} as cost", [("expected", "a finite number, or none")])
    outcome = _part(data, "outcome")
    return {"t": t, "x": x, "u": u, "x_dot": x_dot, "cost": cost, "outcome": None if outcome is None else str(outcome)}


class Simulated:
    """A plant that simulates a system: for parts of your own, and to rehearse a loop.

    Parameters
    ----------
    system : System
        System with equations.
    noise : float or array_like, optional
        Standard deviation of the noise of a measured derivative; by default that of the system.
    seed : int, default 0
        Seed of the noise.

    Examples
    --------
    >>> import ocorl
    >>> plant = Simulated(ocorl.System("pendulum"))
    >>> result = ocorl.run("pendulum", plant=plant, episodes=2, quiet=True)
    >>> len(result.costs)
    2
    """

    def __init__(self, system: _ocorl.System, noise: Any = None, seed: int = 0) -> None:
        self._system = system
        self._noise = system.noise_std if noise is None else np.asarray(noise, dtype=float)
        self._rng = np.random.default_rng(seed)

    def run(self, controller: Any, measure_at: Array) -> dict[str, Any]:
        """Run one episode, and measure states, inputs and derivatives.

        Parameters
        ----------
        controller : Controller
            Controller of a plan.
        measure_at : array_like
            Measurement times.

        Returns
        -------
        dict
            Arguments of :meth:`Study.tell`.
        """
        system, horizon = self._system, controller.horizon
        # A step of the record divides the period, so that no sample lies across a change of the input.
        period = getattr(controller, "period", horizon / 200.0)
        run = system.simulate(controller, controller.x0, horizon, dt=period / 8.0, period=period)
        t = np.asarray(measure_at, dtype=float)
        t = t[t <= run.t[-1]]
        x = np.array([np.interp(t, run.t, column) for column in run.x.T]).T.reshape(len(t), -1)
        u = run.u[np.clip(np.searchsorted(run.t, t, side="right") - 1, 0, len(run.u) - 1)]
        x_dot = system.derivative(x, u) + self._noise * self._rng.normal(size=x.shape) if len(t) else x
        return {"t": t, "x": x, "u": u, "x_dot": x_dot, "cost": run.cost, "outcome": run.outcome}


class Strategy(Protocol):
    """A measurement strategy of your own, for ``run(strategy=...)``."""

    def __call__(self, model: Any, t: Array, z: Array, count: int) -> Any:
        """Return the indices of `count` of the candidate times `t`, where the plan has the points `z` = (x, u)."""
        ...


class Tracker(Protocol):
    """A controller of your own, for ``run(tracker=...)``."""

    def __call__(self, plan: _ocorl.Plan, model: Any) -> Callable[[float, Array], Any]:
        """Return the function u(t, x) that follows the plan in the next episode."""
        ...


class _Guarded:
    """A controller of the user's with what a plant needs: its outputs are finite and within limits."""

    def __init__(self, law: Callable[[float, Array], Any], inner: _ocorl.Controller, plan: _ocorl.Plan) -> None:
        self._law, self._inner, self._plan = law, inner, plan
        self.x0, self.horizon, self.period = inner.x0, inner.horizon, inner.period
        self.valid_for, self.measure_at = inner.valid_for, inner.measure_at

    def __call__(self, t: float, x: Any) -> Array:
        u = np.asarray(self._law(t, np.asarray(x, dtype=float)), dtype=float).reshape(-1)
        if u.shape != self._plan.lower.shape:
            raise PlantError(f"the tracker's law returned {u.size} inputs", [("expected", str(len(self._plan.lower)))])
        usable = t <= self.valid_for and bool(np.isfinite(u).all())
        return np.clip(u, self._plan.lower, self._plan.upper) if usable else np.array(self._plan.safe_control)


@dataclass
class OwnParts:
    """The user's measurement strategy and controller, and the model that they get."""

    strategy: Strategy | None = None
    tracker: Tracker | None = None
    #: The model learned so far; None before the second episode.
    model: Any = None
    #: Number of candidate times.
    candidates: int = 300

    def apply(self, plan: _ocorl.Plan, controller: _ocorl.Controller) -> tuple[Any, Array]:
        """Return the controller and the measurement times of the next rollout."""
        times = controller.measure_at
        if self.model is None or plan.planned_cost is None:
            return controller, times
        if self.strategy is not None:
            t = np.linspace(0.0, plan.horizon, self.candidates)
            x = np.array([np.interp(t, plan.t, column) for column in plan.x.T]).T
            u = plan.u[np.clip(np.searchsorted(plan.t, t, side="right") - 1, 0, len(plan.u) - 1)]
            chosen = np.asarray(self.strategy(self.model, t, np.hstack([x, u]), len(times)), dtype=int).reshape(-1)
            inside = ((chosen >= 0) & (chosen < self.candidates)).all()
            if len(chosen) > len(times) or not inside or len(set(chosen.tolist())) < len(chosen):
                expected = f"at most {len(times)} different indices of {self.candidates} candidates"
                raise PlantError(f"the strategy returned {chosen.tolist()}", [("expected", expected)])
            times = np.sort(t[chosen])
        law = controller if self.tracker is None else _Guarded(self.tracker(plan, self.model), controller, plan)
        return law, times


#: Measurements of one run: t, x, u, x_dot, cost, outcome.
Run = tuple[Array, Array, Array, "Array | None", "float | None", "str | None"]


def runner(
    plant: Plant, folder: str | None, derivatives: bool, warn: Callable[[str], object], parts: OwnParts
) -> Callable[[_ocorl.Plan, int], Run]:
    """Return a function that runs one rollout of a plan on the plant, as `Study.run_episode` requires it.

    Parameters
    ----------
    plant : Plant
        The plant.
    folder : str or None
        Folder of a stored study.
    derivatives : bool
        Whether derivatives are expected.
    warn : callable
        Receives warnings.
    parts : OwnParts
        The user's measurement strategy and controller.
    """

    def execute(plan: _ocorl.Plan, rollout: int) -> Run:
        if plan.rule is not None:
            raise UserError(
                f"the strategy '{plan.rule}' decides measurement times during the run; an external plant needs them in advance",
                hint="choose another: strategy='max-determinant'",
            )
        controller = plan.controller(rollout, mpc=True)
        try:
            law, times = parts.apply(plan, controller)
            data = plant.run(law, times)
        except Exception as error:
            note = f"while running episode {plan.episode}"
            if folder is not None:
                note += f" of '{folder}'; nothing of this run was recorded, the episode is still pending"
            if hasattr(error, "add_note"):
                error.add_note(note)
            raise
        found = measured(data, len(plan.states), len(plan.controls))
        if derivatives and found["x_dot"] is None and len(found["t"]):
            warn(f"episode {plan.episode}: {NO_DERIVATIVES}")
        return found["t"], found["x"], found["u"], found["x_dot"], found["cost"], found["outcome"]

    return execute
