"""Runs `ocorl optimal` or `ocorl run` on the hard tasks over several seeds, and makes the tables of docs/design-notes/hard-tasks.md.

    python studies/hard/run.py optimal --seeds 20 --seconds 60 --program target/release/ocorl [TASK ...]
    python studies/hard/run.py optimal --seeds 5 --variant effort-0 [TASK ...]
    python studies/hard/run.py learned --seeds 10 --episodes 8 cart-pole
    python studies/hard/run.py table

The first three append one row for each seed to optimal.csv or learned.csv; `table` prints both as Markdown. A seed counts as solved if its
cost is at most 1 % above the best known cost: the least of reference.csv (collocation.py) and of all rows of the task.
"""

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# `before` are the default settings of an earlier program, given by --program.
VARIANTS = {"default": [], "before": [], "effort-0": ["--effort", "0"], "stages-5": ["--effort", "0", "--stages", "5"]}


def rows(name):
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def append(name, row):
    with (FOLDER / f"{name}.csv").open("a", newline="") as file:
        writer = csv.DictWriter(file, row)
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(row)


def cpu(command):
    """The JSON answer of a command (None if it has none), its processor time, and its error output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (json.loads(done.stdout) if done.stdout.strip() else None), seconds, done.stderr.strip()


def optimal(options, path, seed):
    command = [options.program, "optimal", str(path), "--json", "--seed", str(seed), *VARIANTS[options.variant]]
    answer, seconds, error = cpu(command)
    row = {"task": path.stem, "variant": options.variant, "seed": seed, "cost": "", "searches": "", "basins": ""}
    if isinstance(answer, list):
        row |= {"cost": f"{answer[0]['plan_cost']:.6g}"} | {key: answer[0][key] for key in ("searches", "basins")}
        error = ""
    return row | {"cpu_seconds": f"{seconds:.2f}", "error": error.split("\n")[0]}


def learned(options, path, seed):
    command = [options.program, "run", str(path), "--json", "--no-save", "--seed", str(seed)]
    answer, seconds, error = cpu([*command, "--episodes", str(options.episodes)])
    episodes = (answer or {}).get("episodes") or []
    costs = " ".join(f"{episode['cost']:.5g}" for episode in episodes)
    error = "" if episodes else error.split("\n")[0]
    return {"task": path.stem, "seed": seed, "costs": costs, "cpu_seconds": f"{seconds:.2f}", "error": error}


def measure(options, one):
    os.environ["RAYON_NUM_THREADS"] = "1"
    version = subprocess.run([options.program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    for path in sorted(FOLDER.glob("*.toml")):
        if options.tasks and path.stem not in options.tasks:
            continue
        spent = 0.0
        for seed in range(options.first, options.first + options.seeds):
            row = one(options, path, seed) | {"version": version, "build": options.build, "date": time.strftime("%Y-%m-%d")}
            append(options.what, row)
            print(*row.values(), flush=True)
            spent += float(row["cpu_seconds"])
            if spent > options.seconds:
                break


def median(values):
    return statistics.median(values) if values else float("nan")


def table():
    reference = {row["task"]: row for row in rows("reference")}
    found = rows("optimal")
    variants = [variant for variant in VARIANTS if any(row["variant"] == variant for row in found)]
    heads = [f"{variant}: solved | costs | CPU s" for variant in variants]
    print("| task | collocation | starts | within 1 % | CPU s | best known | " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (5 + 3 * len(variants)))
    missed = []
    for task in sorted({row["task"] for row in found} | set(reference)):
        mine = [row for row in found if row["task"] == task]
        other = reference.get(task)
        costs = [float(row["cost"]) for row in mine if row["cost"]]
        known = min(costs + ([float(other["best"])] if other else []), default=float("nan"))
        cells = ["-", "-", "-", "-"]
        if other:
            total = int(other["starts"]) * float(other["cpu_seconds_a_start"])
            cells = [f"{float(other['best']):.5g}", other["starts"], other["within_1_percent"], f"{total:.0f}"]
        for variant in variants:
            runs = [row for row in mine if row["variant"] == variant]
            fine = [row for row in runs if row["cost"] and float(row["cost"]) <= known + 0.01 * abs(known)]
            costs = [float(row["cost"]) for row in runs if row["cost"]]
            spread = sorted({f"{cost:.5g}" for cost in costs}, key=float)
            shown = spread[0] + (f" to {spread[-1]}" if len(spread) > 1 else "") if spread else "-"
            cells += [f"{len(fine)}/{len(runs)}" if runs else "-", shown, f"{median([float(row['cpu_seconds']) for row in runs]):.1f}" if runs else "-"]
            missed += [(task, variant, row["seed"], row["cost"] or row["error"]) for row in runs if row not in fine]
        print(f"| {task} | " + " | ".join([*cells[:4], f"{known:.5g}", *cells[4:]]) + " |")
    print("\nMissed:\n")
    for task, variant, seed, cost in missed:
        print(f"- {task}, {variant}, seed {seed}: {cost}")
    print("\n| learned task | version | seed | cost of episodes 0, 1, ... | within 1 % from episode | CPU s |\n|---|---|---:|---|---:|---:|")
    for row in rows("learned"):
        costs = [float(cost) for cost in row["costs"].split()]
        known = min([float(reference[row["task"]]["best"]), *costs]) if row["task"] in reference else min(costs, default=0.0)
        near = [cost <= known + 0.01 * abs(known) for cost in costs]
        first = len(near) - next((i for i, good in enumerate(reversed(near)) if not good), len(near))
        print(f"| {row['task']} | {row['version']} | {row['seed']} | {row['costs']} | {first if first < len(near) else '-'} | {row['cpu_seconds']} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["optimal", "learned", "table"])
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--program", default="ocorl")
    parser.add_argument("--build", default="release", help="profile of the program, for the record")
    parser.add_argument("--variant", choices=VARIANTS, default="default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no new seed of a task after so much processor time")
    parser.add_argument("--episodes", type=int, default=8)
    options = parser.parse_args()
    if options.what == "table":
        table()
    else:
        measure(options, optimal if options.what == "optimal" else learned)


if __name__ == "__main__":
    main()
