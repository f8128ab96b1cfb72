"""The interpreter stays free while we work, and Ctrl-C is heard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import QUICK, own, pendulum

import ocorl
from ocorl import _ocorl


def counted(act: Callable[[], object]) -> float:
    """How fast a thread counts while something is done."""
    count, over = [0], threading.Event()

    def counting() -> None:
        while not over.is_set():
            for _ in range(1000):
                count[0] += 1

    thread = threading.Thread(target=counting)
    begin = time.monotonic()
    thread.start()
    try:
        act()
    finally:
        over.set()
        thread.join()
    return count[0] / (time.monotonic() - begin)


def test_the_interpreter_is_free_during_a_run() -> None:
    code = "import ocorl; ocorl.run('pendulum', episodes=8, threads=1, quiet=True)"

    def elsewhere() -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    def here() -> None:
        ocorl.run("pendulum", episodes=8, threads=1, quiet=True)

    # The same work by another process leaves this interpreter alone, and takes as much of the machine.
    shares = []
    for _ in range(6):
        shares.append(counted(here) / counted(elsewhere))
        if shares[-1] >= 0.9:
            break
    print(f"share of the idle rate: {max(shares):.2f}")
    assert max(shares) >= 0.9, shares


def interrupted(act: Callable[[], object], after: float) -> float | None:
    """Seconds from Ctrl-C to its exception; none if the work was over before."""
    sent: list[float] = []

    def strike() -> None:
        time.sleep(after)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        act()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        try:
            thread.join()
            # It may come after the work.
            time.sleep(0.01)
        except KeyboardInterrupt:
            pass
    return None


def check(latencies: list[float | None], median: float = 0.5, most: float = 5.0) -> None:
    """Much longer than promised, for machines with other things to do: what is promised is looked at by the long test."""
    heard = sorted(latency for latency in latencies if latency is not None)
    assert heard, latencies
    print(f"Ctrl-C heard {len(heard)} times: median {heard[len(heard) // 2]:.3f} s, at most {heard[-1]:.3f} s")
    assert heard[len(heard) // 2] <= median and heard[-1] <= most, heard


def test_ctrl_c_is_heard_in_a_run_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def act() -> None:
        ocorl.run("cart-pole", quiet=True, out=folder, set={"plan.intervals": 200})

    check([interrupted(act, after) for after in (0.7, 1.3, 2.0)])
    # Whoever opens the folder now waits for the work that was given up.
    with ocorl.Study.open(folder) as study:
        before = study.status()["episodes"]
        assert study.check()["measurements"] == len(study.measurements()["t"])
    with ocorl.Study.open(folder, read_only=True) as study:
        assert study.status()["episodes"] == before


def test_ctrl_c_is_heard_in_ask_and_leaves_the_block_too(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    heavy = {"plan.intervals": 800, "plan.random_starts": 4}
    ocorl.run("quadrotor-2d", episodes=1, quiet=True, out=folder, set=heavy)
    with ocorl.Study.open(folder, read_only=True) as study:
        told = len(study.measurements()["t"])

    def act() -> None:
        with ocorl.Study.open(folder, episodes=2) as study:
            study.ask()

    check([interrupted(act, 0.4)])
    # What was begun is finished behind the scenes, and the next one waits for it.
    with ocorl.Study.open(folder, episodes=2) as study:
        plan = study.ask()
        assert plan.episode == 1 and study.ask().text == plan.text
        assert len(study.measurements()["t"]) == told


def test_ctrl_c_is_heard_everywhere_else() -> None:
    cell = '{"system":"cart-pole","settings":"default","set":{},"seed":0}'
    check(
        [
            interrupted(lambda: ocorl.optimal("quadrotor-3d"), 0.2),
            interrupted(lambda: _ocorl.run_cell(cell), 0.3),
            interrupted(lambda: ocorl.plan("quadrotor-3d", intervals=2000), 0.2),
            interrupted(lambda: own().simulate(lambda t, x: time.sleep(0.01) or [0.0]), 0.3),
        ]
    )


def test_ctrl_c_is_heard_while_a_function_is_slow(tmp_path: Path) -> None:
    slow = [False]

    def f(x, u):  # type: ignore[no-untyped-def]
        if slow[0]:
            time.sleep(0.005)
        return pendulum(x, u)

    system = own(f)
    slow[0] = True
    check([interrupted(lambda: ocorl.run(system, episodes=2, quiet=True, set=QUICK), after) for after in (0.3, 0.5)])
    slow[0] = False


def test_ctrl_c_reaches_a_plant_at_once(tmp_path: Path) -> None:
    class Slow:
        def run(self, controller, measure_at):  # type: ignore[no-untyped-def]
            time.sleep(30)

    def act() -> None:
        ocorl.run("pendulum", plant=Slow(), quiet=True, out=tmp_path / "lab", set=QUICK)

    check([interrupted(act, 1.0), interrupted(act, 1.0)])
    with ocorl.Study.open(tmp_path / "lab") as study:
        assert study.pending.episode == 0


def test_several_runs_go_on_side_by_side() -> None:
    costs: dict[int, float] = {}

    def work(seed: int) -> None:
        costs[seed] = ocorl.run("pendulum", seed=seed, episodes=2, quiet=True, set=QUICK).final_cost

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    alone = [ocorl.run("pendulum", seed=seed, episodes=2, quiet=True, set=QUICK).final_cost for seed in range(4)]
    assert [costs[seed] for seed in range(4)] == alone


@pytest.mark.slow
def test_ctrl_c_at_a_hundred_moments(tmp_path: Path) -> None:
    latencies = [
        interrupted(lambda: ocorl.run("pendulum", quiet=True, out=tmp_path / f"run-{i}"), 0.02 * i) for i in range(100)
    ]
    check(latencies, median=0.2, most=1.0)
    for folder in tmp_path.iterdir():
        with ocorl.Study.open(folder, read_only=True) as study:
            study.check()


SLOW = """
import os, signal, sys, threading, time
import ocorl

def f(x, u):
    time.sleep(0.02)
    return [x[1], u[0]]

system = ocorl.System(f, states=["a", "b"], inputs={"u": (-5, 5)}, x0=[3.0, 0.0], horizon=10, cost=ocorl.quadratic(Q=1, R=1))
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    if sys.argv[1] == "run":
        ocorl.run(system, quiet=True)
    else:
        system.simulate(lambda t, x: [time.sleep(0.02) or 0.0])
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.parametrize("what", ["run", "simulate"])
def test_the_interpreter_ends_whole_though_a_function_is_being_called(what: str) -> None:
    """Work that was given up may be in a Python function when the interpreter ends."""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", SLOW, what], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "heard\n", "")
