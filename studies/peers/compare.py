#!/usr/bin/env python3
"""Times Crocoddyl (and pydiffsol) beside this project, in one interleaved session on one core, and prints one table.

Needs Python 3.9 or later, g++ and, for the peers, pip with access to a package index. Nothing outside the build
directory is written. See README.md beside this file.
"""

import argparse
import json
import math
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OURS = "cargo bench -p ocorl --bench peers"
# cmeel-eigen has the headers Crocoddyl's wheel was compiled with; pip does not install them with the wheel.
CROCODDYL = ["crocoddyl==3.2.1", "cmeel-eigen==3.4.1"]
PYDIFFSOL = ["pydiffsol==0.6.2"]
KEYS = ("peer", "problem", "iters", "directions", "cost", "cpu_us_median", "cpu_us_min", "us_per_iter")
BASELINE = "crocoddyl-ddp"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


class Skipped(Exception):
    """A peer that cannot be measured; the text says why."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def failure(done):
    """Why a program failed, in one line: its first line with `error`, or else its last line."""
    lines = [line.strip() for line in (done.stderr.strip() or done.stdout.strip()).splitlines()]
    line = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")
    ended = f"exit code {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
    return Skipped(f"{ended}: {line}")


def run(command, **options):
    """Runs at low priority and returns the standard output; raises Skipped if it fails."""
    command = [str(word) for word in command]
    if shutil.which("nice"):
        command = ["nice", "-n", "10", *command]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        raise failure(done)
    return done.stdout


# --- building the peers ---------------------------------------------------------------------------------------------


def python_of(build):
    return build / "venv" / "bin" / "python"


def install(build, requirements):
    """Creates the virtual environment if needed and installs what is missing."""
    python = python_of(build)
    if not python.exists():
        say("creating the virtual environment")
        venv.create(build / "venv", with_pip=True)
    asked = [requirement.split("==") for requirement in requirements]
    test = "from importlib.metadata import version as v; import sys; sys.exit(any(v(n) != w for n, w in %r))" % asked
    if subprocess.run([python, "-c", test], stderr=subprocess.DEVNULL).returncode != 0:
        say(f"installing {' '.join(requirements)}")
        run([python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", *requirements])


def compile_bench(build, name, flags, sources=(), link=()):
    """Compiles crocoddyl_bench.cpp (if it or the command changed) and lets it check itself."""
    source = HERE / "crocoddyl_bench.cpp"
    binary, stamp = build / name, build / f"{name}.command"
    site = run([python_of(build), "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]).strip()
    prefix = Path(site) / "cmeel.prefix"
    command = ["g++", "-std=c++17", "-O3", "-DNDEBUG", *flags]
    command += ["-isystem", prefix / "include", "-isystem", prefix / "include" / "eigen3", source, *sources]
    # The libraries find each other through the program's RPATH, which RUNPATH (the newer tag) would not give them.
    command += [word.format(lib=prefix / "lib") for word in link] + ["-o", binary]
    text = shlex.join(map(str, command))
    fresh = binary.exists() and stamp.exists() and stamp.read_text() == text
    if not fresh or binary.stat().st_mtime < source.stat().st_mtime:
        say(f"compiling {name}")
        run(command)
        stamp.write_text(text)
    run([binary, "--check"])
    return binary


def build_crocoddyl(build, source):
    """The programs to time, as a list of (name, command)."""
    install(build, CROCODDYL)
    # The definitions are those of the wheel's own CMake configuration; without them set_nthreads does nothing.
    threads = ["-DCROCODDYL_WITH_MULTITHREADING", "-DCROCODDYL_WITH_NTHREADS=2"]
    link = ["-L{lib}", "-lcrocoddyl", "-Wl,--disable-new-dtags,-rpath,{lib}"]
    # Eigen must allocate and align as in the wheel (16 bytes, plain malloc), or the first vector freed crashes.
    native = ["-march=native", "-DEIGEN_MAX_ALIGN_BYTES=16", "-DEIGEN_MALLOC_ALREADY_ALIGNED=1"]
    variants = [("crocoddyl", "", threads, [], link)]
    variants.append(("crocoddyl-native-model", "native-model", threads + native, [], link))
    if source:
        names = ["solver-base", "solvers/ddp", "solvers/fddp", "utils/exception", "utils/stop-watch"]
        files = [source / "src" / "core" / f"{name}.cpp" for name in names]
        variants.append(("crocoddyl-native", "native", ["-march=native", "-DNATIVE_SOLVER"], files, []))
    programs = []
    for name, suffix, flags, files, libraries in variants:
        try:
            binary = compile_bench(build, f"{name}-bench", flags, files, libraries)
            programs.append((name, [str(binary), *(["--suffix", suffix] if suffix else [])]))
        except (Skipped, OSError) as reason:
            say(f"skipping {name}: {reason}")
    return programs


# --- the simulation peer: runs inside the virtual environment -------------------------------------------------------


def time_pydiffsol(repeats):
    """θ̈ = (9.81 / 5) sin θ + u, u = −(4 θ + 3 θ̇), from (π, 0) for 10 s at rtol = atol = 1e-8."""
    import numpy
    import pydiffsol

    code = "in_i { unused = 0 }\nu_i { x = 3.141592653589793, v = 0.0 }\nF_i { v, 1.962*sin(x) - 4.0*x - 3.0*v }\n"
    ode = pydiffsol.Ode(code, matrix_type=pydiffsol.nalgebra_dense, ode_solver=pydiffsol.tsit45)
    ode.rtol = ode.atol = 1e-8
    parameters = numpy.array([0.0])
    states = numpy.array(ode.solve(parameters, 10.0).ys)
    times = []
    for index in range(repeats + 10):
        start = time.thread_time_ns()
        ode.solve(parameters, 10.0)
        if index >= 10:
            times.append(1e-3 * (time.thread_time_ns() - start))
    steps, median = states.shape[1] - 1, statistics.median(times)
    values = ("pydiffsol-tsit45", "simulate-pendulum", steps, steps, float(states[0, -1]), median, min(times))
    print(json.dumps(dict(zip(KEYS, (*values, median / steps)))))


def build_pydiffsol(build):
    install(build, PYDIFFSOL)
    return [("pydiffsol", [str(python_of(build)), str(Path(__file__).resolve()), "--time-pydiffsol"])]


# --- measuring ------------------------------------------------------------------------------------------------------


def measure(command, pinned):
    """Runs one program and returns the JSON objects of its standard output; other lines are ignored."""
    done = subprocess.run(
        [*pinned, *command], text=True, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if done.returncode != 0:
        raise failure(done)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for row in rows:
        missing = [key for key in KEYS if key not in row]
        if missing:
            raise Skipped(f"a line lacks {', '.join(missing)}")
    if not rows:
        raise Skipped("it printed no result")
    return rows


def interleave(programs, rounds, pinned):
    """{(problem, peer): [row of each round]}; a program that fails once is left out from then on."""
    results, names, alive = {}, {}, list(programs)
    for number in range(rounds):
        for program in list(alive):
            name, command = program
            say(f"round {number + 1} of {rounds}: {name}")
            try:
                rows = measure(command, pinned)
            except (Skipped, OSError, ValueError) as reason:
                say(f"skipping {name}: {reason}")
                alive.remove(program)
                continue
            for row in rows:
                results.setdefault((row["problem"], row["peer"]), []).append(row)
                names[row["peer"]] = name
    return results, names


# --- the table ------------------------------------------------------------------------------------------------------


def summarize(rows):
    medians = [row["cpu_us_median"] for row in rows]
    return {
        **{key: rows[-1][key] for key in ("iters", "directions", "cost")},
        "median": statistics.median(medians),
        "range": f"{min(medians):.1f}-{max(medians):.1f}",
        "min": min(row["cpu_us_min"] for row in rows),
        "per_iter": statistics.median(row["us_per_iter"] for row in rows),
    }


def print_table(results, names):
    problems = list(dict.fromkeys(problem for problem, _ in results))
    head = ("problem", "peer", "iters", "directions", "cost", "median us", "[rounds]", "min us", "us/iter")
    lines = [(*head, "total x", "min x", "per iter x", "")]
    for problem in problems:
        rows = {peer: summarize(rounds) for (p, peer), rounds in results.items() if p == problem}
        ours = [peer for peer in rows if names[peer] == "ours"]
        reference = next(iter(ours), BASELINE if BASELINE in rows else next(iter(rows)))
        base, truth = rows[reference], rows.get(BASELINE, rows[reference])
        for peer, row in rows.items():
            ratios = [f"{row[key] / base[key]:.2f}" for key in ("median", "min", "per_iter")]
            # A time to converge says nothing if the end is another one.
            tolerance = dict(rel_tol=1e-6) if problem != "simulate-pendulum" else dict(abs_tol=1e-8)
            remark = "" if math.isclose(row["cost"], truth["cost"], **tolerance) else "cost differs"
            numbers = (str(row["iters"]), str(row["directions"]), f"{row['cost']:.10g}", f"{row['median']:.1f}")
            spread = (row["range"], f"{row['min']:.1f}", f"{row['per_iter']:.3f}")
            lines.append((problem, peer, *numbers, *spread, *ratios, remark))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) + 4)]
    for line in lines:
        cells = [text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())
    print("\nratios: the row / the first row of ours in the same problem; without ours / crocoddyl-ddp or the first row")


def processor():
    try:
        lines = run(["lscpu"], env={**os.environ, "LC_ALL": "C"}).splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("Model name"))
    except (Skipped, OSError, StopIteration):
        return platform.processor() or platform.machine()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "target" / "peers", help="default: target/peers")
    parser.add_argument("--ours", default=OURS, help=f"prints our JSON lines; empty: none (default: {OURS})")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=301, help="solves per round and problem, for the peers")
    parser.add_argument("--core", type=int, help="core to pin to (default: the last one allowed)")
    parser.add_argument("--crocoddyl-source", type=Path, metavar="DIR", help="also build its solvers from DIR")
    parser.add_argument("--no-crocoddyl", action="store_true")
    parser.add_argument("--no-simulation", action="store_true", help="leave out pydiffsol")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every line measured to FILE")
    parser.add_argument("--time-pydiffsol", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    if options.time_pydiffsol:
        time_pydiffsol(options.repeats)
        return 0
    build = options.build_dir.resolve()
    build.mkdir(parents=True, exist_ok=True)

    programs, repeats = [], ["--repeats", str(options.repeats)]
    builders = []
    if not options.no_crocoddyl:
        source = options.crocoddyl_source
        builders.append(("crocoddyl", lambda: build_crocoddyl(build, source.resolve() if source else None)))
    if not options.no_simulation:
        builders.append(("pydiffsol", lambda: build_pydiffsol(build)))
    for name, builder in builders:
        try:
            programs += [(peer, [*command, *repeats]) for peer, command in builder()]
        except (Skipped, OSError) as reason:
            say(f"skipping {name}: {reason}")
    if options.ours:
        say(f"building ours: {options.ours}")
        try:
            run(shlex.split(options.ours), cwd=ROOT, env=ENVIRONMENT)  # compiles; the result is not used
            programs.insert(0, ("ours", shlex.split(options.ours)))
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
    results, names = interleave(programs, options.rounds, pinned)
    load.append(os.getloadavg()[0])
    if not results:
        say("nothing was measured")
        return 1
    if options.json:
        lines = [json.dumps(row) for rounds in results.values() for row in rounds]
        options.json.write_text("\n".join(lines) + "\n")
    print(f"{processor()}; load {load[0]:.1f} before and {load[1]:.1f} after; CPU time, {options.rounds} rounds\n")
    print_table(results, names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
