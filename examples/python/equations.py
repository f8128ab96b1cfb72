"""The CPU time of a plan by the kind of equations: text, or functions of several kinds. JAX is used if it is installed.

    python examples/python/equations.py
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from typing import Any

import numpy as np

import ocorl

TASK: dict[str, Any] = {
    "states": ["theta", "omega"],
    "inputs": {"tau": (-5, 5)},
    "x0": [np.pi, 0],
    "horizon": 10,
    "cost": ocorl.quadratic(Q=[1, 1], R=[1]),
}


def f(x: Any, u: Any) -> Any:
    """dx/dt at one point."""
    return np.array([x[1], 9.81 / 5.0 * np.sin(x[0]) + u[0]])


def jac(x: Any, u: Any) -> Any:
    """The Jacobian of f at one point."""
    return np.array([[0.0, 1.0, 0.0], [9.81 / 5.0 * np.cos(x[0]), 0.0, 1.0]])


def many(x: Any, u: Any) -> Any:
    """dx/dt at many points, one per row."""
    return np.stack([x[..., 1], 9.81 / 5.0 * np.sin(x[..., 0]) + u[..., 0]], axis=-1)


def main() -> None:
    """Print a line for each kind."""
    kinds = {
        "text": ocorl.System(equations={"theta": "omega", "omega": "9.81/5*sin(theta) + tau"}, **TASK),
        "function written as text": ocorl.System(equations=f, **TASK),
        "function of many points": ocorl.System(many, vectorized=True, **TASK),
        "function with Jacobian": ocorl.System(f, jac=jac, **TASK),
        "function": ocorl.System(f, **TASK),
    }
    if importlib.util.find_spec("jax"):
        import jax.numpy as jnp

        kinds["function of JAX"] = ocorl.System(ocorl.jax(lambda x, u: jnp.stack([x[1], 9.81 / 5.0 * jnp.sin(x[0]) + u[0]])), **TASK)
    for name, system in kinds.items():
        times = []
        for _ in range(10):
            begin = time.process_time()
            plan = ocorl.plan(system, intervals=200, random_starts=0)
            times.append(time.process_time() - begin)
        print(f"{name:<26} cost {plan.planned_cost:.4f}  {1e3 * statistics.median(times[1:]):8.1f} ms")


if __name__ == "__main__":
    main()
