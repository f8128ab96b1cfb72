"""ocorl beside SAC on environments of Gymnasium: how much interaction each needs. See README.md in this folder.

    python studies/gymnasium/compare.py ocorl            # learns every task, three seeds
    python studies/gymnasium/compare.py sac              # 10, 100 and 1000 times the interaction; goes on where it was
    python studies/gymnasium/compare.py report           # results/results.md

Everything it finds is in results/*.json; what is there is not done again. Checkpoints of SAC are in checkpoints/, which is not kept in git.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium
import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
CHECKPOINTS = HERE / "checkpoints"
FACTORS = (10, 100, 1000)
#: Steps between two checkpoints of SAC.
PORTION = 20_000


@dataclass(frozen=True)
class Task:
    """An environment, and how each side learns it."""

    id: str
    episodes: int
    measurements: int
    #: Beside, or instead of, what `ocorl.gym.known` says.
    description: dict[str, Any] = field(default_factory=dict)
    #: Of ocorl: settings by path.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Of SAC: those that the zoo of Stable-Baselines3 recommends for this environment.
    sac: dict[str, Any] = field(default_factory=dict)


TASKS: dict[str, Task] = {
    # Four seconds: long enough to swing it up and hold it, and short enough for a thousand times as much.
    "pendulum": Task(
        "Pendulum-v1",
        episodes=6,
        measurements=20,
        description={"horizon": 4.0, "learning": None},
        sac={"learning_rate": 1e-3},
    ),
    # The environment's own length.
    "long-pendulum": Task("Pendulum-v1", episodes=6, measurements=20, sac={"learning_rate": 1e-3}),
    "mountain-car": Task(
        "MountainCarContinuous-v0",
        episodes=6,
        measurements=20,
        sac={
            "learning_rate": 3e-4,
            "buffer_size": 50_000,
            "batch_size": 512,
            "ent_coef": 0.1,
            "train_freq": 32,
            "gradient_steps": 32,
            "gamma": 0.9999,
            "tau": 0.01,
            "learning_starts": 0,
            "use_sde": True,
            "policy_kwargs": {"log_std_init": -3.67, "net_arch": [64, 64]},
        },
    ),
    # MuJoCo's: pip install 'gymnasium[mujoco]'. A step is rewarded by 1 until the pole leans by 0.2 and all is over.
    "inverted-pendulum": Task(
        "InvertedPendulum-v5",
        episodes=10,
        measurements=20,
        description={
            "dt": 0.04,
            "state": lambda env: np.concatenate([env.data.qpos, env.data.qvel]),
            "states": ["cart", "angle", "speed", "rate"],
            "inputs": {"force": (-3.0, 3.0)},
            "x0": [0.0, 0.05, 0.0, 0.0],
            "horizon": 4.0,
            "cost": "cart^2 + 10*angle^2 + 0.1*speed^2 + 0.1*rate^2 + 0.01*force^2",
        },
    ),
}


def cpu_seconds() -> float:
    """Processor time of this process and of what it started."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def described(task: Task) -> dict[str, Any]:
    """The keywords of `from_gym`."""
    from ocorl import UserError
    from ocorl.gym import known

    try:
        return known(task.id) | task.description
    except UserError:
        return task.description


def save(path: Path, document: dict[str, Any]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".tmp")
    new.write_text(json.dumps(document, indent=1) + "\n")
    new.replace(path)


def load(path: Path) -> dict[str, Any] | None:
    """What was found before."""
    return json.loads(path.read_text()) if path.exists() else None


def learn(name: str, task: Task, seed: int) -> dict[str, Any]:
    """Learns a task with ocorl from nothing."""
    import ocorl
    from ocorl.gym import from_gym

    plant = from_gym(task.id, **described(task))
    rows: list[dict[str, Any]] = []
    begin, cpu = time.monotonic(), cpu_seconds()

    def note(event: dict[str, Any]) -> None:
        if event.get("event") != "episode":
            return
        run = plant.runs[-1]
        rows.append(
            {
                "episode": len(rows),
                "return": run.reward,
                "cost": run.cost,
                "outcome": run.outcome,
                "measured": len(run.t),
                "steps": plant.interactions,
                "seconds": plant.seconds,
                "cpu_seconds": round(cpu_seconds() - cpu, 2),
                "wall_seconds": round(time.monotonic() - begin, 2),
            }
        )
        print(f"{name}, seed {seed}, episode {rows[-1]['episode']}: return {run.reward:.1f}, {run.outcome}", flush=True)

    changes = {"episodes": task.episodes, "measurements": task.measurements, **task.settings}
    ocorl.run(plant.system, plant=plant, seed=seed, set=changes, quiet=True, callback=note)
    return {
        "task": name,
        "environment": task.id,
        "learner": "ocorl",
        "version": ocorl.__version__,
        "seed": seed,
        "noise": plant.noise.tolist(),
        "rounding": plant.rounding,
        "episodes": rows,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


class FixedStart(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The same task for both: every episode begins at x0 and lasts as long."""

    def __init__(self, task: Task) -> None:
        from ocorl.gym._plant import usual_writer

        told = described(task)
        super().__init__(gymnasium.make(task.id, max_episode_steps=round(told["horizon"] / told["dt"])))
        self._x0 = np.array(told["x0"], dtype=np.float64)
        self.env.reset(seed=0)
        writer: Callable[[Any, Any], None] | None = told.get("write") or usual_writer(self.env, len(self._x0))
        assert writer is not None
        self._write = writer

    def reset(self, **settings: Any) -> tuple[Any, dict[str, Any]]:
        """Resets, writes the state, and observes it."""
        observation, info = self.env.reset(**settings)
        self._write(self.env.unwrapped, self._x0.copy())
        bare: Any = self.env.unwrapped
        if hasattr(bare, "_get_obs"):
            observation = bare._get_obs()
        else:
            observation = np.asarray(bare.state, dtype=observation.dtype)
        return observation, info


def evaluated(model: Any, task: Task) -> float:
    """The return of one episode from x0, without noise in the actions."""
    env = FixedStart(task)
    observation, _ = env.reset(seed=0)
    total, ended = 0.0, False
    while not ended:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, ended = total + float(reward), terminated or truncated
    return total


def steps_of(name: str) -> int:
    """What ocorl needed: steps until the median of its seeds had its best return, to a twentieth of what was to be gained."""
    needed = []
    for path in sorted(RESULTS.glob(f"ocorl-{name}-*.json")):
        rows = json.loads(path.read_text())["episodes"]
        first, best = rows[0]["return"], max(row["return"] for row in rows)
        good = best - 0.05 * (best - first)
        needed.append(next(row["steps"] for row in rows if row["return"] >= good))
    if not needed:
        sys.exit(f"first: compare.py ocorl --task {name}")
    return int(statistics.median(needed))


def at_steps(rows: list[dict[str, Any]], steps: int) -> dict[str, Any]:
    """The last episode that was over after so many steps; the first one, if none was."""
    return ([row for row in rows if row["steps"] <= steps] or rows[:1])[-1]


def reinforce(name: str, task: Task, seed: int, factors: tuple[int, ...], until: float) -> None:
    """Trains SAC on and on, and looks at it at each multiple of ocorl's steps. Stops at the time `until`."""
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    path, base = RESULTS / f"sac-{name}-{seed}.json", steps_of(name)
    found = load(path) or {"task": name, "environment": task.id, "learner": "SAC", "seed": seed, "steps": 0, "points": []}
    found |= {"base": base, "version": stable_baselines3.__version__, "torch": str(torch.__version__)}
    stem = CHECKPOINTS / f"{name}-{seed}"
    env = FixedStart(task)
    if found["steps"] and stem.with_suffix(".zip").exists():
        model = stable_baselines3.SAC.load(stem.with_suffix(".zip"), env=env, device="cpu")
        model.load_replay_buffer(stem.with_suffix(".pkl"))
    else:
        found |= {"steps": 0, "points": []}
        model = stable_baselines3.SAC("MlpPolicy", env, seed=seed, device="cpu", **task.sac)
    spent = found.get("cpu_seconds", 0.0)
    begin = cpu_seconds()
    CHECKPOINTS.mkdir(exist_ok=True)
    for factor in factors:
        goal = factor * base
        while found["steps"] < goal:
            if time.time() > until:
                print(f"{name}, seed {seed}: stopped at {found['steps']} steps; the same command goes on", flush=True)
                return
            count = min(PORTION, goal - found["steps"])
            model.learn(count, reset_num_timesteps=False, log_interval=None)
            found["steps"] += count
            found["cpu_seconds"] = round(spent + cpu_seconds() - begin, 1)
            model.save(stem.with_suffix(".zip"))
            model.save_replay_buffer(stem.with_suffix(".pkl"))
            save(path, found)
        if all(point["factor"] != factor for point in found["points"]):
            point = {"factor": factor, "steps": found["steps"], "return": evaluated(model, task)}
            found["points"].append(point | {"cpu_seconds": found["cpu_seconds"]})
            save(path, found)
            print(f"{name}, seed {seed}: {factor} x = {found['steps']} steps, return {point['return']:.1f}", flush=True)


def report() -> str:
    """Everything that was found, as Markdown."""
    lines = ["# Results", "", "Written by `compare.py report`; method and commands in [README.md](../README.md).", ""]
    for name, task in TASKS.items():
        ours = [json.loads(path.read_text()) for path in sorted(RESULTS.glob(f"ocorl-{name}-*.json"))]
        theirs = [json.loads(path.read_text()) for path in sorted(RESULTS.glob(f"sac-{name}-*.json"))]
        if not ours:
            continue
        told = described(task)
        steps = round(told["horizon"] / told["dt"])
        lines += [f"## {task.id}, {steps} steps", "", f"ocorl {ours[0]['version']}, return of each episode:", ""]
        lines += ["| seed | " + " | ".join(str(row["episode"]) for row in ours[0]["episodes"]) + " | measurements | CPU s |"]
        lines += ["|---" * (len(ours[0]["episodes"]) + 3) + "|"]
        for run in ours:
            rows = run["episodes"]
            returns = " | ".join(f"{row['return']:.1f}" for row in rows)
            measured = sum(row["measured"] for row in rows)
            lines.append(f"| {run['seed']} | {returns} | {measured} | {rows[-1]['cpu_seconds']:.0f} |")
        base = steps_of(name)
        lines += ["", f"Interaction that ocorl needed (median): {base} steps, {base * told['dt']:g} s.", ""]
        lines += ["| learner | interaction | steps | return: median (each seed) | CPU s |", "|---|---|---|---|---|"]
        # What each seed had by then, not the best it ever had; and what it came to in the end, with all its steps.
        then = [at_steps(run["episodes"], base) for run in ours]
        last = [run["episodes"][-1] for run in ours]
        for words, rows in (("1 x", then), ("to its end", last)):
            each = ", ".join(f"{row['return']:.1f}" for row in rows)
            middle, cpu = (statistics.median(row[key] for row in rows) for key in ("return", "cpu_seconds"))
            steps = int(statistics.median(row["steps"] for row in rows))
            lines.append(f"| ocorl | {words} | {steps} | {middle:.1f} ({each}) | {cpu:.1f} |")
        for factor in FACTORS:
            points = [p for run in theirs for p in run["points"] if p["factor"] == factor]
            if points:
                each = ", ".join(f"{p['return']:.1f}" for p in points)
                middle = statistics.median(p["return"] for p in points)
                cpu = statistics.median(p["cpu_seconds"] for p in points)
                lines.append(f"| SAC | {factor} x | {points[0]['steps']} | {middle:.1f} ({each}) | {cpu:.0f} |")
            else:
                lines.append(f"| SAC | {factor} x | {factor * base} | not run | |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["ocorl", "sac", "report"])
    parser.add_argument("--task", choices=list(TASKS), action="append", help="only this one")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--factors", default=",".join(map(str, FACTORS)), help="multiples of ocorl's interaction")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop SAC after these; it goes on later")
    given = parser.parse_args()
    tasks = {name: TASKS[name] for name in given.task or TASKS}
    if "inverted-pendulum" in tasks and (find_spec("mujoco") is None or TASKS["inverted-pendulum"].id not in gymnasium.registry):
        print("without MuJoCo, or with a Gymnasium that is too old for it: the inverted pendulum is left out", file=sys.stderr)
        del tasks["inverted-pendulum"]
    until = time.time() + 60.0 * given.minutes
    factors = tuple(int(factor) for factor in given.factors.split(","))
    seeds = [int(seed) for seed in given.seeds.split(",")]
    if given.what == "ocorl":
        for name, task in tasks.items():
            for seed in seeds:
                path = RESULTS / f"ocorl-{name}-{seed}.json"
                if load(path) is None:
                    save(path, learn(name, task, seed))
    elif given.what == "sac":
        # First the small multiples of all, then the large ones.
        for count in range(1, len(factors) + 1):
            for name, task in tasks.items():
                for seed in seeds:
                    reinforce(name, task, seed, factors[:count], until)
    else:
        (RESULTS / "results.md").write_text(report() + "\n")
        print(report())


if __name__ == "__main__":
    main()
