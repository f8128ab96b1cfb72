"""Learning to control unknown continuous-time systems from few, costly measurements.

    >>> import ocorl
    >>> result = ocorl.run("pendulum", episodes=3, quiet=True)
    >>> len(result.costs)
    3

=====================  =================================================================================
``run``                learn a system, in simulation or on your own plant
``System``             a plant with its task: by name, from a file, or from a function f(x, u)
``Study``              persistent ask/tell interface for learning on hardware
``optimal``, ``plan``  optimal control of a known system; the planner alone, also on a model
``GpDynamics``         Gaussian process model of dx/dt = f(x, u) with the interface of scikit-learn
``choose_times``       selects measurement times
``sweep``              many runs, on threads or on a cluster
``from_gym``           Gymnasium environments as plants; ``ocorl.gym`` has the paper's systems
=====================  =================================================================================

Every error of this package is an :class:`OcorlError`; exceptions of your own code are passed on unchanged.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._errors import (
    BusyError,
    DamagedError,
    DiskError,
    InternalError,
    NotFittedError,
    OcorlError,
    PlantError,
    StudyError,
    UserError,
    WorkersError,
)
from ._ocorl import __version__

if TYPE_CHECKING:
    from ._cost import Quadratic, quadratic
    from ._figure import Figure
    from ._jax import jax
    from ._model import GpDynamics, choose_times
    from ._ocorl import Controller, Draw, Plan
    from ._plant import Plant, Simulated
    from ._result import Episode, Rollout, Optimal, Result
    from ._policy import Policy
    from ._run import STOP, Until, optimal, plan, report, run
    from ._settings import ModelSettings, PlanSettings, SelectSettings, Settings, TrackSettings
    from ._simulation import Simulation
    from ._study import Receipt, Study
    from ._symbolic import text
    from ._system import System, strategies, systems
    from .gym import from_gym
    from .sweep import sweep

#: Module of each public name. Modules, including NumPy, are imported on first use.
_HOMES = {
    "Controller": "_ocorl",
    "Draw": "_ocorl",
    "Episode": "_result",
    "Figure": "_figure",
    "GpDynamics": "_model",
    "ModelSettings": "_settings",
    "Rollout": "_result",
    "Optimal": "_result",
    "Plan": "_ocorl",
    "PlanSettings": "_settings",
    "Plant": "_plant",
    "Policy": "_policy",
    "Quadratic": "_cost",
    "Receipt": "_study",
    "Result": "_result",
    "STOP": "_run",
    "SelectSettings": "_settings",
    "Settings": "_settings",
    "Simulated": "_plant",
    "Simulation": "_simulation",
    "Study": "_study",
    "System": "_system",
    "TrackSettings": "_settings",
    "Until": "_run",
    "choose_times": "_model",
    "from_gym": "gym",
    "jax": "_jax",
    "optimal": "_run",
    "plan": "_run",
    "quadratic": "_cost",
    "report": "_run",
    "run": "_run",
    "strategies": "_system",
    "sweep": "sweep",
    "systems": "_system",
    "text": "_symbolic",
}

__all__ = [
    "BusyError",
    "Controller",
    "DamagedError",
    "DiskError",
    "Draw",
    "Episode",
    "Figure",
    "GpDynamics",
    "InternalError",
    "Rollout",
    "ModelSettings",
    "NotFittedError",
    "OcorlError",
    "Optimal",
    "Plan",
    "PlanSettings",
    "Plant",
    "PlantError",
    "Policy",
    "Quadratic",
    "Receipt",
    "Result",
    "STOP",
    "SelectSettings",
    "Settings",
    "Simulated",
    "Simulation",
    "Study",
    "StudyError",
    "System",
    "TrackSettings",
    "Until",
    "UserError",
    "WorkersError",
    "__version__",
    "choose_times",
    "from_gym",
    "jax",
    "optimal",
    "plan",
    "quadratic",
    "report",
    "run",
    "strategies",
    "sweep",
    "systems",
    "text",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ocorl' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    # A submodule of the same name has just taken the place: the name means what it holds.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
