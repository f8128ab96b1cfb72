"""The pure function of a plan, for solvers that call it in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ocorl
from ._arguments import array

Array = npt.NDArray[np.float64]


class Policy:
    """The law u = policy(t, x) of a plan: u_k + K_k (x − x̄(t)), within limits, the safe input after the plan.

    It has no memory: equal arguments give equal inputs, in any order of times, for one point or for many rows. Use it in
    ``scipy.integrate.solve_ivp``. On hardware use :meth:`Plan.controller`, which also bridges missing samples and limits rates.

    Parameters
    ----------
    plan : Plan
        The plan.
    rollout : int, default 0
        Index of the initial state.

    Examples
    --------
    >>> import numpy as np, ocorl
    >>> best = ocorl.plan("pendulum", intervals=50)
    >>> policy = best.policy
    >>> policy(1.0, best.x0).shape, policy([0.0, 1.0], [best.x0, best.x0]).shape
    ((1,), (2, 1))
    >>> bool(np.array_equal(policy(1.0, best.x0), policy([0.0, 1.0], [best.x0, best.x0])[1]))
    True
    """

    def __init__(self, plan: _ocorl.Plan, rollout: int = 0) -> None:
        #: The plan.
        self.plan = plan
        #: Index of the initial state.
        self.rollout = rollout

    def __call__(self, t: Any, x: Any) -> Array:
        """Return the input at time t and state x, or one row for each row of x."""
        states = array(x, "x")
        one = states.ndim < 2
        rows = states.reshape(1, -1) if one else states
        times = array(t, "t", (len(rows),))
        controls = self.plan.evaluate(times, rows, self.rollout)
        return controls[0] if one else controls

    def __repr__(self) -> str:
        return f"Policy({self.plan!r})"
