"""The plant interface: anything that can be run under a controller and measured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from . import _ocorl
from ._errors import MistakeError, PlantError
from ._study import NO_DERIVATIVES

Array = npt.NDArray[np.float64]

_log = logging.getLogger("ocorl")


@runtime_checkable
class Plant(Protocol):
    """A plant that can be run: hardware, a simulator, an environment.

    ``run(controller, measure_at)`` runs one episode: it applies ``u = controller(t, x)`` from ``controller.x0`` for
    ``controller.horizon``, and measures at the times ``measure_at``. It returns a dictionary or an object with
    ``t`` (n), ``x`` (n, states), ``u`` (n, inputs), ``x_dot`` (n, states; leave it out if only states are measured), and
    optionally ``cost`` and ``outcome``.
    """

    def run(self, controller: _ocorl.Controller, measure_at: Array) -> Any:
        """Runs one episode and returns the measurements."""
        ...


#: Names that a plant may return.
PARTS = ("t", "x", "u", "x_dot", "cost", "outcome")


def _part(data: Any, name: str) -> Any:
    if isinstance(data, Mapping):
        return data.get(name)
    return getattr(data, name, None)


def _array(value: Any, name: str, shape: tuple[str, int | None], count: int | None) -> Array:
    """Converts a measured array and checks its shape."""
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
    if not np.all(np.isfinite(array)):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise PlantError(
            f"plant.run returned {name}{list(place)} = {array[place]}",
            [("expected", "finite numbers")],
            "leave out the rows of measurements that failed",
        )
    return array


def measured(data: Any, states: int, inputs: int) -> dict[str, Any]:
    """Validates the measurements that a plant returned.

    >>> measured({"t": [0.5], "x": [[1.0, 2.0]], "u": [[0.1]]}, 2, 1)["x_dot"] is None
    True
    >>> measured(None, 2, 1)
    Traceback (most recent call last):
    ...
    ocorl._errors.PlantError: plant.run returned None
      expected  a dictionary or an object with t, x, u and x_dot
    """
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


#: Measurements of one run: t, x, u, x_dot, cost, outcome.
Run = tuple[Array, Array, Array, "Array | None", "float | None", "str | None"]


def runner(plant: Plant, folder: str | None, derivatives: bool) -> Callable[[_ocorl.Plan, int], Run]:
    """Runs one rollout of a plan on the plant, as `Study.run_episode` requires it.

    `folder` is the folder of a stored study; `derivatives` states whether derivatives are expected."""

    def execute(plan: _ocorl.Plan, leg: int) -> Run:
        if plan.rule is not None:
            raise MistakeError(
                f"the strategy '{plan.rule}' decides measurement times during the run; an external plant needs them in advance",
                hint="choose another: strategy='max-determinant'",
            )
        controller = plan.controller(leg, mpc=True)
        try:
            data = plant.run(controller, controller.measure_at)
        except Exception as error:
            note = f"while running episode {plan.episode}"
            if folder is not None:
                note += f" of '{folder}'; nothing of this run was recorded, the episode is still pending"
            if hasattr(error, "add_note"):
                error.add_note(note)
            raise
        found = measured(data, len(plan.states), len(plan.controls))
        if derivatives and found["x_dot"] is None and len(found["t"]):
            _log.warning("episode %s: %s", plan.episode, NO_DERIVATIVES)
        return found["t"], found["x"], found["u"], found["x_dot"], found["cost"], found["outcome"]

    return execute
