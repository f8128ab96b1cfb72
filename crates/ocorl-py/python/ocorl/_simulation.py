"""A run of a system under somebody's control."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Simulation:
    """A run: rows are moments.

    >>> import ocorl
    >>> run = ocorl.System("pendulum").simulate(lambda t, x: [0.0], horizon=1.0, dt=0.5)
    >>> run.t, run.x.shape, run.u.shape, run.outcome
    (array([0. , 0.5, 1. ]), (3, 2), (3, 1), 'completed')
    """

    #: Times.
    t: npt.NDArray[np.float64]
    #: States.
    x: npt.NDArray[np.float64]
    #: Controls, as they were applied.
    u: npt.NDArray[np.float64]
    #: Running cost up to each time.
    costs: npt.NDArray[np.float64]
    #: The whole cost, with what the end costs.
    cost: float
    #: How it ended: ``completed``, or what happened.
    outcome: str

    def __repr__(self) -> str:
        return f"Simulation({len(self.t)} moments, cost {self.cost:.6g}, {self.outcome})"
