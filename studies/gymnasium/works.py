"""Which environments ocorl learns with its defaults: a table, made by

    python studies/gymnasium/works.py                # runs what is missing, three seeds each
    python studies/gymnasium/works.py CSTR --seed 0  # only environments of this name, only this seed
    python studies/gymnasium/works.py report         # writes results/works.md

Environments with known equations are plants sampled by Runge-Kutta steps; beside them stands the cost of a plan with
holds of the same step on these equations, executed on the environment. The others are MuJoCo's. Each result is in
results/works.json; what is there is not run again.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import ocorl
from ocorl.gym import from_gym

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "works.json"
SEEDS = (0, 1, 2)

Array = np.ndarray


class Ode(gymnasium.Env[Any, Any]):
    """x' = f(x, u), with u held for a step."""

    def __init__(self, f: Callable[[Array, Array], Array], x0: list[float], low: list[float], high: list[float], dt: float) -> None:
        self.f, self.start, self.dt = f, np.array(x0), dt
        self.observation_space = spaces.Box(-np.inf, np.inf, (len(x0),), np.float64)
        self.action_space = spaces.Box(np.array(low), np.array(high), dtype=np.float64)
        self.state = self.start.copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.start.copy()
        return self.state.copy(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        u, h, f = np.asarray(action, dtype=float), self.dt / 10, self.f
        x = self.state
        for _ in range(10):
            a = f(x, u)
            b = f(x + h / 2 * a, u)
            c = f(x + h / 2 * b, u)
            x = x + h / 6 * (a + 2 * b + 2 * c + f(x + h * c, u))
        self.state = x
        return x.copy(), 0.0, False, False, {}


def reactor(x: Array, u: Array) -> Array:
    """PC-Gym's stirred tank: concentration in mol/L, temperature in units of 100 K; the input is the coolant's, in K."""
    c, t = x[0], 100.0 * x[1]
    r = 7.2e10 * math.exp(-8750.0 / max(t, 100.0)) * c
    return np.array([1.0 - c - r, (350.0 - t + 5e4 / 239.0 * r + 5e4 / 23900.0 * (u[0] - t)) / 100.0])


def four_tank(x: Array, u: Array) -> Array:
    """PC-Gym's four tanks in minutes: levels in m, inputs are the voltages of two pumps."""
    root = np.sqrt(2 * 9.8 * np.maximum(x, 1e-6))
    a, area, g, k = [0.00233, 0.00242, 0.00128, 0.00127], 0.0730, (0.2, 0.2), (0.00085, 0.00095)
    out = [ai * ri for ai, ri in zip(a, root)]
    return 60.0 / 10 * np.array([
        (-out[0] + out[2] + g[0] * k[0] * u[0]) / area, (-out[1] + out[3] + g[1] * k[1] * u[1]) / area,
        (-out[2] + (1 - g[1]) * k[1] * u[1]) / area, (-out[3] + (1 - g[0]) * k[0] * u[0]) / area,
    ])  # fmt: skip


def two_heaters(x: Array, u: Array) -> Array:
    """The temperature control lab: two heaters in tens of kelvin above the room, inputs in hundredths of full power; time in minutes."""
    kelvin = 296.0 + 10.0 * x
    loss = 10.0 * 1.2e-3 * (kelvin - 296.0) + 0.9 * 5.67e-8 * 1.2e-3 * (kelvin**4 - 296.0**4)
    between = 10.0 * 2e-4 * (kelvin[1] - kelvin[0])
    heat = np.array([0.01, 0.0075]) * u - loss + np.array([between, -between])
    return 60.0 * heat / (4.0e-3 * 500.0) / 10.0


def cart_pole(x: Array, u: Array) -> Array:
    """A cart of 1 kg with a pole of 0.1 kg and 0.5 m: position, angle from above, and their rates."""
    s, c = math.sin(x[1]), math.cos(x[1])
    acceleration = (9.81 * s - c * (u[0] + 0.05 * x[3] ** 2 * s) / 1.1) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
    force = (u[0] + 0.05 * (x[3] ** 2 * s - acceleration * c)) / 1.1
    return np.array([x[2], x[3], force, acceleration])


def van_der_pol(x: Array, u: Array) -> Array:
    """Van der Pol's oscillator."""
    return np.array([x[1], (1.0 - x[0] ** 2) * x[1] - x[0] + u[0]])


def duffing(x: Array, u: Array) -> Array:
    """A buckled beam with two rests; the input carries it from one to the other."""
    return np.array([x[1], x[0] - x[0] ** 3 - 0.1 * x[1] + u[0]])


@dataclass
class Task:
    """An environment and how it is described to `from_gym`."""

    make: Callable[[], Any]
    describe: dict[str, Any]
    episodes: int = 8
    measurements: int = 20
    f: Callable[[Array, Array], Array] | None = None
    more: dict[str, Any] = field(default_factory=dict)


def ode(f: Callable[[Array, Array], Array], x0: list[float], limits: list[tuple[float, float]], dt: float, **describe: Any) -> Task:
    low, high = [list(ends) for ends in zip(*limits)]
    return Task(lambda: Ode(f, x0, low, high, dt), {"dt": dt, "x0": x0, **describe}, f=f)


def mujoco(id: str, **describe: Any) -> Task:
    return Task(lambda: id, {"state": "mujoco", **describe})


TASKS = {
    "CSTR (PC-Gym)": ode(reactor, [0.8, 3.3], [(290.0, 310.0)], 0.05, horizon=5.0, cost="100*(x0 - 0.5)^2 + 0.001*(u0 - 300)^2"),
    "four tanks (PC-Gym)": ode(
        four_tank, [0.14, 0.13, 0.1, 0.1], [(0.1, 10.0), (0.1, 10.0)], 0.5, horizon=20.0, cost="100*((x2 - 0.5)^2 + (x3 - 0.2)^2) + 0.001*(u0^2 + u1^2)"
    ),
    "two heaters (TCLab)": ode(
        two_heaters, [0.0, 0.0], [(0.0, 100.0), (0.0, 100.0)], 0.2, horizon=10.0, cost="(x0 - 3)^2 + (x1 - 2)^2 + 0.00001*(u0^2 + u1^2)"
    ),
    "cart-pole swing-up": ode(
        cart_pole, [0.0, math.pi, 0.0, 0.0], [(-10.0, 10.0)], 0.05, horizon=4.0, angles=["x1"],
        cost="x0^2 + 10*(1 - cos(x1)) + 0.1*x2^2 + 0.1*x3^2 + 0.01*u0^2",
    ),  # fmt: skip
    "Van der Pol": ode(van_der_pol, [1.0, 1.0], [(-1.0, 1.0)], 0.2, horizon=8.0, cost="x0^2 + x1^2 + u0^2"),
    "Duffing": ode(duffing, [-1.0, 0.0], [(-0.3, 0.3)], 0.2, horizon=16.0, cost="(x0 - 1)^2 + 0.1*x1^2 + 0.1*u0^2"),
    "InvertedDoublePendulum-v5": mujoco(
        "InvertedDoublePendulum-v5", states=["x", "a", "b", "vx", "va", "vb"], x0=[0.0, 0.05, -0.03, 0, 0, 0], horizon=3.0,
        cost="x^2 + 10*(a^2 + b^2) + 0.1*(vx^2 + va^2 + vb^2) + 0.1*u0^2",
    ),  # fmt: skip
    "InvertedPendulum-v5": mujoco(
        "InvertedPendulum-v5", states=["x", "a", "vx", "va"], x0=[0.0, 0.1, 0, 0], horizon=3.0, cost="x^2 + 10*a^2 + 0.1*(vx^2 + va^2) + 0.1*u0^2"
    ),
    "Swimmer-v5": mujoco("Swimmer-v5", states=["x", "y", "r", "p", "q", "vx", "vy", "vr", "vp", "vq"], horizon=2.0, cost="10*(x - 0.3)^2 + 0.001*(u0^2 + u1^2)"),
    "HalfCheetah-v5": mujoco("HalfCheetah-v5", horizon=2.0, cost="u0^2"),
    "Hopper-v5": mujoco("Hopper-v5", horizon=1.0, cost="u0^2"),
    "Ant-v5": mujoco("Ant-v5", horizon=1.0, cost="u0^2"),
}


def run(name: str, seed: int) -> dict[str, Any]:
    """Learn one environment with one seed."""
    task, begin = TASKS[name], time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            plant = from_gym(task.make(), name="task", **task.describe)
        except ocorl.UserError as error:
            return {"refused": error.message}
    contacts = [check.words for check in plant.checks if check.name == "smooth"]
    if contacts:
        return {"warned": contacts[0]}
    result = ocorl.run(plant.system, plant=plant, seed=seed, episodes=task.episodes, measurements=task.measurements, quiet=True)
    found: dict[str, Any] = {
        "costs": result.costs.tolist(),
        "outcomes": [r.outcome for r in plant.runs],
        "steps": plant.interactions,
        "measurements": plant.measurements,
        "warnings": [str(w.message) for w in said],
        "best": None,
        "cpu": time.process_time() - begin,
    }
    if task.f is not None:
        known = plant.system.with_plant(task.f)
        plan = ocorl.plan(known, intervals=plant.steps, period=plant.dt, random_starts=5, stages=3 if "pole" in name else 1)
        found["best"] = plant.execute(plan).cost
    return found


def report(results: dict[str, Any]) -> str:
    """The table, in the order of the tasks."""
    lines = [
        "# Environments learned with the defaults",
        "",
        "Made by `python studies/gymnasium/works.py` and `... works.py report` on 18 and 19 November 2026: median [least, greatest] of",
        "the cost of the last episode over the seeds that were run. *Within 2 %* is the first episode from which all costs stay",
        "within 2 % of the last one. A plan on the equations is a local optimum; where it is above the last cost, its search",
        "ended in a worse one. Environments of `works.py` that are not in the table were not run.",
        "",
        "| environment | last cost | least cost | plan on the equations, six starts | within 2 % from episode | steps | measurements | CPU s | seeds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in TASKS:
        runs = [results[key] for key in (f"{name} {seed}" for seed in SEEDS) if key in results]
        if not runs:
            continue
        refusal = runs[0].get("refused") or runs[0].get("warned")
        if refusal:
            lines.append(f"| {name} | not learned: {refusal} | | | | | | | |")
            continue
        last = [r["costs"][-1] for r in runs]
        settled = []
        for r in runs:
            near = [abs(c - r["costs"][-1]) <= 0.02 * abs(r["costs"][-1]) for c in r["costs"]]
            settled.append(len(near) - next((i for i, ok in enumerate(reversed(near)) if not ok), len(near)))
        ended = sum(r["outcomes"][len(r["costs"]) - 1] != "completed" for r in runs)
        note = f" ({ended} of {len(runs)} ended early)" if ended else ""
        best = "" if runs[0]["best"] is None else f"{runs[0]['best']:.4g}"
        lines.append(
            f"| {name} | {np.median(last):.4g} [{min(last):.4g}, {max(last):.4g}]{note} | {min(min(r['costs']) for r in runs):.4g} | {best} | {int(np.median(settled))} "
            f"| {runs[0]['steps']} | {runs[0]['measurements']} | {np.median([r['cpu'] for r in runs]):.0f} | {len(runs)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, or write the table."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if sys.argv[1:] == ["report"]:
        (HERE / "results" / "works.md").write_text(report(results))
        print(report(results))
        return
    only, seeds = sys.argv[1:], SEEDS
    if "--seed" in only:
        at = only.index("--seed")
        seeds = (int(only[at + 1]),)
        del only[at : at + 2]
    for seed in seeds:
        for name in TASKS:
            key = f"{name} {seed}"
            if key in results or (only and not any(word in name for word in only)):
                continue
            begin = time.monotonic()
            results[key] = run(name, seed)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            shown = results[key].get("costs", results[key])
            print(key, shown if isinstance(shown, dict) else [round(c, 3) for c in shown], results[key].get("best"), f"{time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
