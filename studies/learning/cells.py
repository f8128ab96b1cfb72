#!/usr/bin/env python3
"""Runs cells (system, strategy, exploration, seed) of a study with the ocorl program and keeps one line of JSON for each.

    cargo build --release
    python3 studies/learning/cells.py quality  --jobs 2      # Table 1: nine systems, three strategies, five seeds
    python3 studies/learning/cells.py pendulum --jobs 2      # all strategies, optimistic and greedy, ten seeds
    python3 studies/learning/tables.py quality               # a table of what is there

Cells that are there already are not run again; delete their lines (or the file) to have them run anew.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SYSTEMS = [
    "cancer-treatment", "glucose-in-blood", "pendulum", "mountain-car", "cart-pole", "bicycle",
    "furuta-pendulum", "quadrotor-2d", "quadrotor-3d",
]
TABLE = ["max-kernel-distance", "max-determinant", "equidistant"]
ALL = TABLE + ["equidistant-growing", "receding-horizon", "oracle", "uncertainty-trigger"]


def cells(study):
    """What a study runs, cheap systems first."""
    if study == "quality":
        return [(s, m, "optimistic", k, []) for s in SYSTEMS for k in range(5) for m in TABLE]
    if study == "pendulum":
        return [("pendulum", m, e, k, []) for m in ALL for e in ["optimistic", "mean"] for k in range(10)]
    if study == "excitation":
        return [("pendulum", m, "optimistic", k, [f"excitation.scale={x}"])
                for x in ["1.0", "100.0"] for m in TABLE for k in range(5)]
    if study == "explore":
        return [(s, "max-determinant", e, k, []) for s in ["pendulum", "mountain-car", "cart-pole"]
                for e in ["optimistic", "mean", "thompson", "bonus", "explore"] for k in range(5)]
    if study == "track":
        return [(s, "max-determinant", "optimistic", k, list(c))
                for s in ["cancer-treatment", "pendulum", "bicycle"]
                for c in [("track.policy=mpc",), ("track.policy=mpc", "track.period=0.02", "track.gains=false"),
                          ("track.policy=feedback",), ("track.policy=replan",)] for k in range(3)]
    if study == "coverage":
        return [(s, "max-determinant", "optimistic", k, [f"model.confidence={c}", "episodes=10"])
                for s in SYSTEMS[:8] for c in ["information-gain", "calibrated"] for k in range(2)]
    if study == "reference":
        return [(s, m, "optimistic", k, ["reference"]) for s in ["cancer-treatment", "glucose-in-blood", "pendulum"]
                for m in TABLE for k in range(2)]
    sys.exit(f"no study '{study}'")


def run(program, cell):
    system, strategy, explore, seed, changes = cell
    command = [program, "run", system, "--strategy", strategy, "--explore", explore, "--seed", str(seed),
               "--threads", "1", "--no-save", "--quiet", "--json"]
    for change in changes:
        command += ["--settings", "reference"] if change == "reference" else ["--set", change]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    result = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
    keep = ["cost", "regret", "planned_cost", "mean_cost", "measurements", "coverage", "coverage_95", "uncertainty", "outcome"]
    return {
        "system": system, "strategy": strategy, "explore": explore, "seed": seed, "changes": changes,
        **{k: result.get(k) for k in ["version", "optimum", "exact_zoh", "final_cost", "cpu_seconds", "error"]},
        "episodes": [{k: e.get(k) for k in keep} for e in result.get("episodes", [])],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--program", default="target/release/ocorl")
    parser.add_argument("--only", default="", help="systems, comma separated")
    options = parser.parse_args()
    file = HERE / f"{options.study}.jsonl"
    key = lambda c: (c["system"], c["strategy"], c["explore"], c["seed"], tuple(c["changes"]))
    done = {key(json.loads(line)) for line in file.read_text().splitlines()} if file.exists() else set()
    todo = [c for c in cells(options.study) if (*c[:4], tuple(c[4])) not in done]
    if options.only:
        todo = [c for c in todo if c[0] in options.only.split(",")]
    print(f"{len(todo)} cells to run, {len(done)} there", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda c: run(options.program, c), todo):
            with file.open("a") as out:
                out.write(json.dumps(result) + "\n")
            print(result["system"], result["strategy"], result["explore"], result["seed"], *result["changes"],
                  result["final_cost"], result["cpu_seconds"], result["error"] or "", flush=True)


main()
