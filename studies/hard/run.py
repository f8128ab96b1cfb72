"""Runs `ocorl optimal` or `ocorl run` with default settings on the hard tasks over several seeds, and prints a table beside reference.csv.

    python studies/hard/run.py optimal --seeds 5 --program target/release/ocorl [TASK ...]
    python studies/hard/run.py learned --seeds 3 --episodes 8 cart-pole

A seed counts as solved if its cost is at most 1 % above the best known cost: the least of reference.csv and of all seeds of the table.
"""

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def reference():
    path = FOLDER / "reference.csv"
    if not path.exists():
        return {}
    with path.open() as file:
        return {row["task"]: float(row["best"]) for row in csv.DictReader(file)}


def cpu(command):
    """The JSON answer of a command, and its processor time; None if it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (json.loads(done.stdout) if done.stdout.strip() else None), seconds, done.stderr.strip()


def optimal(options, path, seed):
    answer, seconds, error = cpu([options.program, "optimal", str(path), "--json", "--seed", str(seed), *options.extra])
    if not answer or "error" in answer:
        return float("nan"), seconds, error
    answer = answer[0]
    return answer["plan_cost"], seconds, f"{answer['searches']} searches, {answer['basins']} basins"


def learned(options, path, seed):
    command = [options.program, "run", str(path), "--json", "--no-save", "--seed", str(seed)]
    answer, seconds, error = cpu([*command, "--episodes", str(options.episodes), *options.extra])
    if not answer or not answer.get("episodes"):
        return float("nan"), seconds, error
    return answer["final_cost"], seconds, " ".join(f"{e['cost']:.4g}" for e in answer["episodes"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["optimal", "learned"])
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--program", default="ocorl")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--extra", nargs=argparse.REMAINDER, default=[], help="options for the program; must come last")
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"
    best = reference()
    print("| task | reference | best | solved | median cost | worst | CPU s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for path in sorted(FOLDER.glob("*.toml")):
        if options.tasks and path.stem not in options.tasks:
            continue
        one = optimal if options.what == "optimal" else learned
        results = [one(options, path, seed) for seed in range(options.seeds)]
        costs = [cost for cost, _, _ in results if cost == cost]
        known = best.get(path.stem, float("nan"))
        least = min([*costs, *([known] if known == known else [])], default=float("nan"))
        solved = sum(cost <= least + 0.01 * abs(least) for cost in costs)
        shown = [f"{value:.5g}" for value in (statistics.median(costs), max(costs))] if costs else ["-", "-"]
        seconds = statistics.median(seconds for _, seconds, _ in results)
        row = [path.stem, f"{known:.5g}", f"{least:.5g}", f"{solved}/{options.seeds}", *shown, f"{seconds:.1f}"]
        print("| " + " | ".join(row) + " |", flush=True)
        for seed, (cost, _, remark) in enumerate(results):
            if not cost <= least + 0.01 * abs(least) or options.what == "learned":
                print(f"  seed {seed}: {cost:.6g} ({remark})", flush=True)


if __name__ == "__main__":
    main()
