"""Result of a simulation of a system under a controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated run; rows are times.

    Examples
    --------
    >>> import ocorl
    >>> run = ocorl.System("pendulum").simulate(lambda t, x: [0.0], horizon=1.0, dt=0.5)
    >>> run.t, run.x.shape, run.u.shape, run.outcome
    (array([0. , 0.5, 1. ]), (3, 2), (3, 1), 'completed')
    """

    #: Sample times.
    t: npt.NDArray[np.float64]
    #: States at the sample times.
    x: npt.NDArray[np.float64]
    #: Applied controls at the sample times.
    u: npt.NDArray[np.float64]
    #: Running cost accumulated up to each time.
    costs: npt.NDArray[np.float64]
    #: Total cost, including the terminal cost.
    cost: float
    #: ``completed``, or a description of what happened.
    outcome: str
    #: Whether the error was controlled; False for a discontinuous or extremely stiff system or controller.
    accurate: bool

    def __repr__(self) -> str:
        return f"Simulation({len(self.t)} moments, cost {self.cost:.6g}, {self.outcome})"
