"""Runs `ocorl run PLANT --seed S` with default settings and collects the cost of every episode.

    OCORL=path/to/ocorl python study.py [--seeds 5] [--out results.csv] [PLANT ...]

The program is the environment variable OCORL, or `ocorl` on the PATH. A plant and seed that results.csv already has
is not run again. Also writes planner.csv: the answer of `ocorl optimal PLANT` for the same seeds.
"""

import argparse
import csv
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT_IN = ["van-der-pol", "lotka-volterra", "acrobot", "race-car"]
OWN = ["cstr", "crane", "two-tanks", "ball-and-beam", "reaction-wheel", "epidemic"]
RESULTS = ["plant", "seed", "episode", "cost", "outcome", "planned_cost", "reported_optimum", "exit", "elapsed_s"]
PLANNER = ["plant", "seed", "open_loop", "tracked", "plan_cost", "zoh", "zoh_reference", "plan_outcome", "seconds",
           "message"]
PROGRAM = os.environ.get("OCORL", "ocorl")


def ask(*arguments, folder, limit):
    """The document the program answers with, its exit code and its last words."""
    begun = time.time()
    try:
        done = subprocess.run([PROGRAM, *arguments, "--json"], cwd=folder, capture_output=True, text=True,
                              timeout=limit)
    except subprocess.TimeoutExpired:
        return None, "timeout", f"not done after {limit} s", time.time() - begun
    words = done.stderr.strip().splitlines()
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        document = None
    return document, str(done.returncode), words[-1] if words else "", time.time() - begun


def rows_of(path, fields):
    """The rows that are there, and a function that adds some."""
    old = list(csv.DictReader(path.open())) if path.exists() else []
    if not path.exists():
        path.write_text(",".join(fields) + "\n")

    def add(rows):
        with path.open("a", newline="") as file:
            csv.DictWriter(file, fields, lineterminator="\n").writerows(rows)
    return old, add


def short(text):
    """No folders of this machine in what is kept."""
    return text.replace(str(HERE) + "/", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plants", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1200, help="seconds for one run")
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    parser.add_argument("--planner-out", type=Path, default=HERE / "planner.csv")
    arguments = parser.parse_args()
    learned, add = rows_of(arguments.out, RESULTS)
    planned, add_plan = rows_of(arguments.planner_out, PLANNER)
    done = {(r["plant"], int(r["seed"])) for r in learned}
    done_plan = {(r["plant"], int(r["seed"])) for r in planned}
    plants = arguments.plants or BUILT_IN + OWN
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seeds):
            for plant in plants:
                name = plant if plant in BUILT_IN else str(HERE / f"{plant}.toml")
                if (plant, seed) not in done_plan:
                    answer, code, words, _ = ask("optimal", name, "--seed", str(seed), folder=folder, limit=300)
                    found = answer[0] if isinstance(answer, list) else answer or {}
                    add_plan([{"plant": plant, "seed": seed, "message": "" if code == "0" else short(words),
                               **{k: found.get(k, "") for k in PLANNER[2:-1]}}])
                if (plant, seed) in done:
                    continue
                answer, code, words, elapsed = ask("run", name, "--seed", str(seed), "--no-save", folder=folder,
                                                   limit=arguments.limit)
                episodes = (answer or {}).get("episodes", [])
                common = {"plant": plant, "seed": seed, "exit": code, "elapsed_s": round(elapsed, 1),
                          "reported_optimum": (answer or {}).get("optimum", "")}
                if not episodes:
                    add([{**common, "episode": "", "cost": "", "planned_cost": "",
                          "outcome": short((answer or {}).get("error", {}).get("message", words)
                                           if isinstance((answer or {}).get("error"), dict) else words)}])
                add([{**common, "episode": e["episode"], "cost": e["cost"], "planned_cost": e["planned_cost"],
                      "outcome": e["outcome"] if isinstance(e["outcome"], str) else json.dumps(e["outcome"])}
                     for e in episodes])
                last = episodes[-1]["cost"] if episodes else words
                print(f"{plant} seed {seed}: {len(episodes)} episodes, {last}, exit {code}, {elapsed:.0f} s",
                      flush=True)


if __name__ == "__main__":
    main()
