#!/usr/bin/env python3
"""Times Gaussian-process libraries beside this project's model, in one interleaved session on one core, and prints one
table for each task.

Needs Python 3.11 or later and, for the peers, pip with access to a package index. Nothing outside the build
directory is written. See README.md beside this file.
"""

import argparse
import json
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import compare
from compare import ROOT, Skipped, failure, install, processor, python_of, run, say

OURS = "cargo bench -p ocorl --bench model_peers"
NUMPY = ["numpy==2.4.6", "scipy==1.17.1"]
# Every program runs gp_peers.py in one virtual environment, so NumPy is the same for all.
REQUIREMENTS = {
    "limits": NUMPY,
    "numpy": NUMPY,
    "scikit-learn": [*NUMPY, "scikit-learn==1.9.1"],
    "gpytorch": [*NUMPY, "torch==2.15.0", "gpytorch==1.15.2"],
    "jax": [*NUMPY, "jax==0.10.2", "jaxlib==0.10.2", "tinygp==0.3.1"],
    "gpy": [*NUMPY, "GPy==1.15.0"],
}
KEYS = ("peer", "task", "n", "cpu_ms_median", "cpu_ms_min")
TASKS = ("mean_std", "all", "mean_jacobian", "train", "append")
BASELINE = "numpy"
ENVIRONMENT = {
    **compare.ENVIRONMENT,
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
}

POINTS, OUTPUTS, INPUTS = 100, 4, 5
# The optimum from the common start, as negative log marginal likelihood per point, and how near counts as reached.
TARGETS = {
    100: (-3.64451, -0.15616, -3.45894, -1.35392),
    200: (-3.69066, -2.38877, -3.54278, -2.43372),
    500: (-3.72285, -3.32933, -3.66052, -3.13043),
    1000: (-3.69215, -3.75087, -3.66950, -3.39957),
}
TOLERANCE = 1e-2


def build(directory, asked):
    """The programs to time, as a list of (name, command)."""
    program, programs = Path(__file__).resolve().parent / "gp_peers.py", []
    for name, requirements in REQUIREMENTS.items():
        if name not in asked:
            continue
        try:
            install(directory, requirements)
            if name == BASELINE:
                run([python_of(directory), program, "check"], env=ENVIRONMENT)
            programs.append((name, [str(python_of(directory)), str(program), name]))
        except (Skipped, OSError) as reason:
            say(f"skipping {name}: {reason}")
    return programs


# --- measuring ------------------------------------------------------------------------------------------------------


def measure(command, pinned):
    """Runs one program and returns the JSON objects of its standard output; other lines are ignored."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run([*pinned, *command], text=True, cwd=ROOT, env=ENVIRONMENT, **pipes)
    if done.returncode != 0:
        raise failure(done)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    missing = sorted({key for row in rows for key in KEYS if key not in row})
    if missing or not rows:
        raise Skipped(f"a line lacks {', '.join(missing)}" if missing else "it printed no result")
    return rows


def interleave(programs, rounds, pinned):
    """Every row, with its round and program; a program that fails once is left out from then on."""
    results, alive = [], list(programs)
    for number in range(1, rounds + 1):
        for program in list(alive):
            name, command = program
            say(f"round {number} of {rounds}: {name}")
            try:
                results += [{**row, "round": number, "program": name} for row in measure(command, pinned)]
            except (Skipped, OSError, ValueError) as reason:
                say(f"skipping {name}: {reason}")
                alive.remove(program)
    return results


# --- the tables -----------------------------------------------------------------------------------------------------


def print_columns(lines, left):
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        cells = [text.ljust(w) if i < left else text.rjust(w) for i, (text, w) in enumerate(zip(line[:-1], widths))]
        print("  ".join([*cells, line[-1]]).rstrip())


def limit_ms(task, n, rates, evaluations):
    """What the flops (and exponentials) of a task take at the best rates measured here; None if there is no limit."""
    flop, exp = rates.get("flop"), rates.get("exp")
    if flop and task == "mean_std":
        return 1e3 * flop * OUTPUTS * POINTS * n**2
    if flop and task == "all":
        return 1e3 * flop * 2 * OUTPUTS * POINTS * n**2
    if flop and exp and task == "mean_jacobian":
        return 1e3 * OUTPUTS * POINTS * n * (flop * (4 * INPUTS + 2) + exp)
    if flop and task == "train" and evaluations:
        return 1e3 * flop * n**3 * sum(evaluations)
    return None


def print_limits(rows):
    """Prints the rates of this machine and the limits that follow; returns the seconds per flop and exponential."""
    rates, best = {}, {}
    for row in rows:
        what = (row["what"], row["peer"], row["n"])
        value = row["gflops"] if row["what"] == "dgemm" else -row["ns"]
        best[what] = max(best.get(what, -math.inf), value)
    for (what, peer, n), value in best.items():
        if what == "dgemm":
            print(f"DGEMM, n = {n}, {peer}: {value:.1f} GFLOP/s")
            rates["flop"] = min(rates.get("flop", math.inf), 1e-9 / value)
        else:
            print(f"exp of {n} numbers, {peer}: {-value:.2f} ns each")
            rates["exp"] = min(rates.get("exp", math.inf), -1e-9 * value)
            if peer == "numpy":
                rates["numpy exp"] = -1e-9 * value
    if "flop" not in rates:
        return rates
    print("\nlimits at the best of these rates, in ms\n")
    sizes = (200, 500, 1000, 2000)
    lines = [("task", "flops", *(f"n = {n}" for n in sizes), "")]
    for task, text in (("mean_std", "4 100 n^2"), ("all", "8 100 n^2")):
        lines.append((task, text, *(f"{limit_ms(task, n, rates, None):.3f}" for n in sizes), ""))
    for note, exp in (("", "exp"), (", exp of numpy", "numpy exp")):
        if exp in rates:
            own = {"flop": rates["flop"], "exp": rates[exp]}
            values = [f"{limit_ms('mean_jacobian', n, own, None):.3f}" for n in sizes]
            lines.append(("mean_jacobian" + note, f"4 100 n {4 * INPUTS + 2} + 400 n exp", *values, ""))
    lines.append(("one evaluation in train", "n^3", *(f"{1e3 * rates['flop'] * n**3:.3f}" for n in sizes), ""))
    print_columns(lines, 2)
    return rates


def digits(value):
    return f"{value:.{max(0, min(3, 3 - math.floor(math.log10(value))))}f}" if value > 0.0 else "0"


def remark(row, truth):
    """A time says nothing if the end is another one."""
    if row["task"] == "train" and "nll" in row and row["n"] in TARGETS:
        short = [value - target for value, target in zip(row["nll"], TARGETS[row["n"]])]
        missed = [f"{output} by {gap:.3f}" for output, gap in enumerate(short) if not gap <= TOLERANCE]
        return "not reached: output " + ", ".join(missed) if missed else ""
    sums, true = row.get("checksum"), truth.get("checksum")
    if sums and true:
        close = [math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-5) for a, b in zip(sums, true)]
        return "" if len(sums) == len(true) and all(close) else "values differ"
    return ""


def print_tasks(results, rates):
    head = ("task", "n", "peer", "median ms", "[rounds]", "min ms", "median x", "min x", "x limit", "evals")
    groups = {}
    for row in results:
        groups.setdefault((row["task"], row["n"]), {}).setdefault(row["peer"], []).append(row)
    order = lambda key: (TASKS.index(key[0]) if key[0] in TASKS else len(TASKS), *key)
    lines = [(*head, "")]
    for task, n in sorted(groups, key=order):
        peers = groups[task, n]
        ours = [peer for peer, rows in peers.items() if rows[0]["program"] == "ours"]
        middle = {peer: statistics.median(row["cpu_ms_median"] for row in rows) for peer, rows in peers.items()}
        least = {peer: min(row["cpu_ms_min"] for row in rows) for peer, rows in peers.items()}
        base = next(iter(ours), BASELINE if BASELINE in peers else None)
        truth = peers.get(BASELINE, peers[next(iter(peers))])[-1]
        for peer in sorted(peers, key=lambda peer: (peer not in ours, middle[peer])):
            last, medians = peers[peer][-1], [row["cpu_ms_median"] for row in peers[peer]]
            ratios = [f"{times[peer] / times[base]:.2f}" if base else "" for times in (middle, least)]
            limit = limit_ms(task, n, rates, last.get("evals"))
            above = f"{middle[peer] / limit:.2f}" if limit else ""
            spread = f"{digits(min(medians))}-{digits(max(medians))}"
            times = (digits(middle[peer]), spread, digits(least[peer]))
            evaluations = str(sum(last["evals"])) if "evals" in last else ""
            lines.append((task, str(n), peer, *times, *ratios, above, evaluations, remark(last, truth)))
    print_columns(lines, 3)
    print(f"\nmedian x, min x: the row / our row of the same task and n; without ours / {BASELINE}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    home = ROOT / "target" / "peers" / "gp"
    parser.add_argument("--build-dir", type=Path, default=home, help="default: target/peers/gp")
    parser.add_argument("--ours", default=OURS, help=f"prints our JSON lines; empty: none (default: {OURS})")
    parser.add_argument("--peers", help=f"only these, separated by commas, of {', '.join(REQUIREMENTS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="of the peers, only numpy trains with 1000 points")
    parser.add_argument("--budget", type=float, default=0.5, help="CPU seconds per measurement of a peer, about")
    parser.add_argument("--core", type=int, help="core to pin to (default: the last one allowed)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every line measured to FILE")
    return parser.parse_args()


def main():
    options = arguments()
    directory = options.build_dir.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    extras = ["--budget", str(options.budget), *(["--quick"] if options.quick else [])]
    asked = options.peers.split(",") if options.peers else list(REQUIREMENTS)
    unknown = [name for name in asked if name not in REQUIREMENTS]
    if unknown:
        say(f"no peer named {', '.join(unknown)}")
        return 1
    programs = [(name, [*command, *extras]) for name, command in build(directory, asked)]
    if options.ours:
        command = shlex.split(options.ours)
        try:
            if command[:2] == ["cargo", "bench"]:
                say(f"building ours: {options.ours}")
                run([*command[:2], "--no-run", *command[2:]], cwd=ROOT, env=ENVIRONMENT)
            programs.insert(0, ("ours", command))
        except (Skipped, OSError) as reason:
            say(f"skipping ours: {reason}")
    if not programs:
        say("nothing to compare")
        return 1

    pinned = []
    if shutil.which("taskset") and hasattr(os, "sched_getaffinity"):
        core = options.core if options.core is not None else max(os.sched_getaffinity(0))
        pinned = ["taskset", "-c", str(core)]
    else:
        say("taskset is missing: not pinned to one core")
    load = [os.getloadavg()[0]]
    results = interleave(programs, options.rounds, pinned)
    load.append(os.getloadavg()[0])
    if not results:
        say("nothing was measured")
        return 1
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in results))
    print(f"{processor()}; load {load[0]:.1f} before and {load[1]:.1f} after; CPU time, {options.rounds} rounds\n")
    rates = print_limits([row for row in results if row["task"] == "limits" and "what" in row])
    print()
    print_tasks([row for row in results if row["task"] != "limits"], rates)
    return 0


if __name__ == "__main__":
    sys.exit(main())
