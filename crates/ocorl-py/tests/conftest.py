"""What tests share."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ocorl

# Whoever starts the tests behind the scenes has SIGINT ignored; here it is looked at.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: A system that is learned in a blink.
QUICK = {"plan.intervals": 20, "plan.random_starts": 0, "track.policy": "feedback", "model.restarts": 0}


def pendulum(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """dx/dt of the built-in pendulum."""
    return np.array([x[1], 9.81 / 5.0 * np.sin(x[0]) + u[0]])


def own(f: object = pendulum, **more: object) -> ocorl.System:
    """A system of somebody's own."""
    description: dict[str, object] = {
        "states": ["theta", "omega"],
        "inputs": {"tau": (-5, 5)},
        "x0": [np.pi, 0],
        "horizon": 10,
        "cost": ocorl.quadratic(Q=[1, 1], R=[1]),
    }
    return ocorl.System(f, **{**description, **more})


@pytest.fixture
def program() -> str:
    """The program `ocorl`."""
    found = os.environ.get("OCORL_BIN") or shutil.which("ocorl")
    if not found:
        pytest.skip("OCORL_BIN does not say where the program is")
    return found


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study with two episodes of three, the third pending."""
    folder = tmp_path_factory.mktemp("studies") / "told"
    ocorl.run("pendulum", episodes=2, quiet=True, out=folder, set={**QUICK, "track.policy": "mpc"})
    with ocorl.Study.open(folder, episodes=3) as study:
        assert study.ask() is not None
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Iterator[ocorl.Study]:
    """A study that has just begun."""
    with ocorl.Study.create(tmp_path / "lab", "pendulum", episodes=3, measurements=5, set=QUICK) as study:
        yield study


def measured(plan: ocorl.Plan) -> dict[str, np.ndarray]:
    """What a laboratory might measure for a plan."""
    system = ocorl.System("pendulum")
    run = system.simulate(plan.controller(), period=0.05, dt=0.05)
    x = np.array([np.interp(plan.measure_at, run.t, run.x[:, i]) for i in range(2)]).T
    u = np.array([np.interp(plan.measure_at, run.t, run.u[:, 0])]).T
    return {"t": plan.measure_at, "x": x, "u": u, "x_dot": system.derivative(x, u)}
