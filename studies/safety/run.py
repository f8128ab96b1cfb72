#!/usr/bin/env python3
"""Learns the tasks of this folder with and without caution over several seeds, and prints a table of violations and costs.

    cargo build --release
    python3 studies/safety/run.py --seeds 10 --program target/release/ocorl
    python3 studies/safety/run.py --folder studies/safety/plants --seeds 5     # plants for which nothing was tuned
    python3 studies/safety/run.py --table                                      # the table of what is there

A study counts as violated if a state left its limits in any of its episodes, the first one included. Final costs are compared with the
optimum within the limits, by a search with known equations. One line of JSON for each study is kept in studies.jsonl; delete it to have
all of them run again.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VARIANTS = {
    "off": (["caution=off"], True),
    "on": (["caution=on"], True),
    "on, no backup": (["caution=on"], False),
}


def task_file(folder, task, backup):
    """The task's file; without the line of its backup controller if that is not wanted."""
    path = folder / f"{task}.toml"
    if backup:
        return path
    lines = [line for line in path.read_text().splitlines() if not line.startswith("backup")]
    copy = pathlib.Path(tempfile.mkdtemp()) / path.name
    copy.write_text("\n".join(lines) + "\n")
    return copy


def run(options, cell):
    task, variant, seed = cell
    changes, backup = VARIANTS[variant]
    command = [options.program, "run", str(task_file(options.folder, task, backup)), "--seed", str(seed), "--threads", "1", "--no-save", "--quiet", "--json"]
    for change in changes:
        command += ["--set", change]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = {}
    keep = ["cost", "outcome", "planned_cost", "mean_cost"]
    return {
        "task": task, "variant": variant, "seed": seed, "error": done.stderr[-300:] if not answer.get("episodes") else None,
        **{k: answer.get(k) for k in ["version", "optimum", "final_cost", "cpu_seconds"]},
        "episodes": [{k: e.get(k) for k in keep} for e in answer.get("episodes", [])],
    }


def table(studies):
    print("| task | caution | studies | violated | episodes violated | final cost over optimum, median | largest | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    keys = dict.fromkeys((s["task"], s["variant"]) for s in studies)
    for key in sorted(keys):
        group = [s for s in studies if (s["task"], s["variant"]) == key and s["episodes"]]
        left = [[("left its limits" in e["outcome"]) for e in s["episodes"]] for s in group]
        gaps = sorted(s["final_cost"] / s["optimum"] - 1 for s in group)
        share, episodes = sum(map(any, left)), sum(map(sum, left))
        seconds = statistics.median(s["cpu_seconds"] for s in group)
        print(f"| {key[0]} | {key[1]} | {len(group)} | {share} ({share / len(group):.0%}) | {episodes} of {sum(map(len, left))} "
              f"| {statistics.median(gaps):+.2%} | {gaps[-1]:+.2%} | {seconds:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE)
    parser.add_argument("--program", default="target/release/ocorl")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--file", type=pathlib.Path, default=HERE / "studies.jsonl")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    studies = [json.loads(line) for line in options.file.read_text().splitlines()] if options.file.exists() else []
    if not options.table:
        tasks = options.tasks or sorted(path.stem for path in options.folder.glob("*.toml"))
        known = {(s["task"], s["variant"], s["seed"]) for s in studies}
        variants = [v for v in VARIANTS if v in options.variants.split(",")]
        cells = [(t, v, k) for k in range(options.seeds) for t in tasks for v in variants if (t, v, k) not in known]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for study in pool.map(lambda cell: run(options, cell), cells):
                studies.append(study)
                with options.file.open("a") as out:
                    out.write(json.dumps(study) + "\n")
    table(studies)


main()
