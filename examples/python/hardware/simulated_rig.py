"""A pendulum that pretends to be hardware: it advances by one control period at a time, and measures with noise."""

from __future__ import annotations

import numpy as np

import ocorl

PERIOD = 0.05

#: The task; hardware has no [equations], so the learner cannot see them.
TASK = ocorl.System(
    states=["theta", "omega"],
    inputs={"torque": (-5, 5)},
    angles=["theta"],
    x0=[np.pi, 0],
    horizon=5,
    cost=ocorl.quadratic(Q=[1, 1], R=[1]),
    period=PERIOD,
    safe_input={"torque": 0.0},
    learning=ocorl.Settings(episodes=3, measurements=10, select=ocorl.SelectSettings(spacing=PERIOD)),
    name="rig",
)


class Rig:
    """One axis: `reset`, then `step` once per period."""

    def __init__(self, seed: int = 0) -> None:
        self._truth, self._rng, self.x = ocorl.System("pendulum"), np.random.default_rng(seed), np.zeros(2)

    def reset(self) -> np.ndarray:
        """Return to the initial state and read it."""
        self.x = np.array([np.pi, 0.0])
        return self.x.copy()

    def step(self, u: float) -> np.ndarray:
        """Hold the torque for one period and read the state."""
        self.x, _, _ = self._truth.step(self.x, [u], PERIOD)
        return self.x + 1e-4 * self._rng.normal(size=2)


class Record:
    """States before each period and the inputs held in it; gives the rows that the study asked for."""

    def __init__(self) -> None:
        self.x: list[np.ndarray] = []
        self.u: list[float] = []

    def told(self, measure_at: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arguments of `Study.tell`: differences over a period, in its middle."""
        x, u = np.array(self.x), np.array(self.u)
        k = np.unique(np.clip(np.floor(measure_at / PERIOD).astype(int), 0, len(u) - 1))
        t, middle = (k + 0.5) * PERIOD, (x[k] + x[k + 1]) / 2
        return {"t": t, "x": middle, "u": u[k, None], "x_dot": (x[k + 1] - x[k]) / PERIOD}
