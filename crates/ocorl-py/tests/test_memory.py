"""Nothing is kept that nobody holds."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ocorl

#: More than this is a leak.
MOST = 5e6


def resident() -> float:
    """Bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(act: Callable[[], object], times: int) -> float:
    """By how much doing something so often makes the process grow, after a warm-up."""
    for _ in range(max(times // 20, 5)):
        act()
    before = resident()
    for _ in range(times):
        act()
    return resident() - before


def look(what: str, act: Callable[[], object], times: int) -> None:
    grown = growth(act, times)
    print(f"{times} x {what}: {grown / 1e6:+.2f} MB")
    assert grown < MOST


def predicting() -> Callable[[], object]:
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = ocorl.GpDynamics().fit(X, np.sin(X))
    z = X[:1].copy()
    return lambda: model.predict(z, return_std=True)


def test_predicting_does_not_grow() -> None:
    look("predict", predicting(), 100_000)


def test_making_systems_and_plans_does_not_grow(told: Path) -> None:
    look("System", lambda: ocorl.System("pendulum"), 10_000)
    with ocorl.Study.open(told, read_only=True) as study:
        text = study.plan(1).text
    look("Plan", lambda: ocorl.Plan.parse(text).controller()(0.0, [0.0, 0.0]), 1_000)


def test_opening_studies_does_not_grow(told: Path) -> None:
    def act() -> None:
        ocorl.Study.open(told, read_only=True)

    look("Study", act, 500)


def test_functions_are_let_go_of() -> None:
    import weakref

    class Equations:
        def __call__(self, x: np.ndarray, u: np.ndarray) -> list[float]:
            return [0.0]

    f = Equations()
    alive = weakref.ref(f)
    system = ocorl.System(f, states=["x"], inputs={"u": (-1, 1)}, x0=[1], horizon=1, cost="x^2")
    system.simulate(lambda t, x: [0.0])
    del f, system
    gc.collect()
    # What was used on another thread is let go of at the next call.
    ocorl.systems()
    gc.collect()
    assert alive() is None


@pytest.mark.slow
def test_nothing_grows_in_the_long_run(told: Path) -> None:
    look("predict", predicting(), 1_000_000)
    look("System", lambda: ocorl.System("pendulum"), 100_000)

    def act() -> None:
        ocorl.Study.open(told, read_only=True)

    look("Study", act, 100_000)
