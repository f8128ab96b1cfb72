"""Descriptions of Gymnasium environments: state, duration of a step, and the cost that corresponds to the reward."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from .._errors import UserError
from ._canvas import Array


def _pendulum() -> dict[str, Any]:
    return {
        "dt": 0.05,
        "state": lambda env: env.state,
        "states": ["theta", "omega"],
        "inputs": {"torque": (-2.0, 2.0)},
        "angles": ["theta"],
        "x0": [pi, 0.0],
        # The time limit of the environment is 200 steps.
        "horizon": 10.0,
        # -reward of a step is dt times this: theta is taken modulo a turn, as the environment does.
        "cost": {"running": "20*(atan2(sin(theta), cos(theta))^2 + 0.1*omega^2 + 0.001*torque^2)"},
        # A motor too weak to lift it at once can swing it in many ways, most of them poor; and what stands upright for long needs exact steps.
        "learning": {"plan": {"stages": 5, "integrator": "rk4"}, "track": {"integrator": "rk4"}},
    }


def _mountain_car() -> dict[str, Any]:
    # A step has no length of its own. With a tenth of a second, position, velocity and acceleration are of one size.
    dt = 0.1

    def write(env: Any, x: Array) -> None:
        env.state = np.array([x[0], x[1] * dt], dtype=np.float32)

    return {
        "dt": dt,
        "state": lambda env: [env.state[0], env.state[1] / dt],
        "write": write,
        "states": ["position", "velocity"],
        "inputs": {"force": (-1.0, 1.0)},
        "x0": [-0.5, 0.0],
        "horizon": 15.0,
        "goal": True,
        # -reward of a step is dt times force^2; the hundred for the flag is a weight on not being there at the end.
        "cost": {"running": "force^2", "terminal": "1000*max(0, 0.47 - position)^2"},
    }


_KNOWN: dict[str, Callable[[], dict[str, Any]]] = {
    "Pendulum-v1": _pendulum,
    "MountainCarContinuous-v0": _mountain_car,
}


def known(id: str) -> dict[str, Any]:
    """Return the keyword arguments of `from_gym` for an environment of Gymnasium.

    Each can be replaced: ``from_gym(id, **{**known(id), "horizon": 5.0})``.

    - ``Pendulum-v1``: begins hanging, 200 steps; the cost of an episode is minus its return.
    - ``MountainCarContinuous-v0``: begins at -0.5, 150 steps; the running cost is minus the reward, the flag's reward
    is a weight on the end.

    Examples
    --------
    >>> sorted(known("Pendulum-v1"))
    ['angles', 'cost', 'dt', 'horizon', 'inputs', 'learning', 'state', 'states', 'x0']
    """
    if id not in _KNOWN:
        raise UserError(f"there is no description of '{id}'; there are: {', '.join(_KNOWN)}. Use from_gym(env, dt=, cost=, ...)")
    return _KNOWN[id]()
