"""Plants of one's own: whatever can be run under a controller and measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from . import _ocorl
from ._errors import MistakeError, PlantError
from ._study import Study

Array = npt.NDArray[np.float64]


@runtime_checkable
class Plant(Protocol):
    """Something that can be run: hardware, a simulator, an environment.

    ``run(controller, measure_at)`` runs one episode: it applies ``u = controller(t, x)`` from ``controller.x0`` for
    ``controller.horizon``, and measures at the times ``measure_at``. It gives back a dictionary or an object with
    ``t`` (n), ``x`` (n, states), ``u`` (n, inputs), ``x_dot`` (n, states; leave it out if only states are measured), and
    optionally ``cost`` and ``outcome``.
    """

    def run(self, controller: _ocorl.Controller, measure_at: Array) -> Any:
        """Runs one episode and gives back what was measured."""
        ...


#: What a plant may give back.
PARTS = ("t", "x", "u", "x_dot", "cost", "outcome")


def _part(data: Any, name: str) -> Any:
    if isinstance(data, Mapping):
        return data.get(name)
    return getattr(data, name, None)


def _array(value: Any, name: str, shape: tuple[str, int | None], count: int | None) -> Array:
    """A measured array, with its shape looked at."""
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
    """What a plant measured, checked.

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
        raise PlantError(f"plant.run returned '{strange[0]}', which nobody knows", [("known", ", ".join(PARTS))])
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
    outcome = _part(data, "outcome")
    return {"t": t, "x": x, "u": u, "x_dot": x_dot, "cost": cost, "outcome": None if outcome is None else str(outcome)}


def run_episode(study: Study, plan: _ocorl.Plan, plant: Plant, kept: bool) -> dict[str, Any] | None:
    """Runs the plan on the plant and tells the study; what became of it. None if nothing was measured. `kept`: the study stays."""
    if plan.rule is not None:
        raise MistakeError(
            f"the strategy '{plan.rule}' decides on the way when to measure; a plant of your own is told before",
            hint="choose another: strategy='max-determinant'",
        )
    told = study.measurements()
    here = np.asarray(told["episode"]) == plan.episode
    done = {int(start) for start in np.asarray(told["start"])[here]}
    todo = [leg for leg in range(plan.legs) if leg not in done]
    receipt: dict[str, Any] | None = None
    for leg in todo:
        controller = plan.controller(leg, mpc=True)
        try:
            data = plant.run(controller, controller.measure_at)
        except Exception as error:
            note = f"while running episode {plan.episode}"
            if kept:
                note += f" of '{study.folder}'; nothing was told of this run, the episode is still pending"
            if hasattr(error, "add_note"):
                error.add_note(note)
            raise
        found = measured(data, len(plan.states), len(plan.controls))
        if len(found["t"]) == 0:
            continue
        try:
            receipt = study.tell(plan, start=leg, more=leg != todo[-1], **found)
        except MistakeError as error:
            raise PlantError(
                f"what plant.run returned cannot be kept: {error.message}", error.details, error.hint
            ) from error
    if receipt is None or receipt["closed"] is None:
        study.fail("nothing was measured" if receipt is None else "the last run measured nothing")
        return None
    return receipt
