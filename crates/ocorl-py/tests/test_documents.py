"""What docs/python.md shows runs, block after block, in one folder."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ocorl

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "python.md"

TANK = """
[system]
name = "tank"
states = ["level"]
inputs = { valve = [0, 1] }
x0 = [0.2]
horizon = 5
[equations]
level = "valve - 0.5*level"
[cost]
state = { level = 1 }
target = { level = 1 }
input = { valve = 0.1 }
[learning]
episodes = 2
measurements = 4
"""


class Rig:
    """A tank that pretends."""

    def execute(self, controller: ocorl.Controller, measure_at: np.ndarray) -> SimpleNamespace:
        tank = ocorl.System("tank.toml")
        run = tank.simulate(controller)
        x, u = (np.interp(measure_at, run.t, part[:, 0])[:, None] for part in (run.x, run.u))
        return SimpleNamespace(t=measure_at, x=x, u=u, x_dot=tank.derivative(x, u), cost=run.cost)


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tank.toml").write_text(TANK)
    (tmp_path / "grid.toml").write_text('systems = ["glucose-in-blood"]\nseeds = 1\n[set]\nepisodes = 1\n')
    X = np.random.default_rng(0).normal(size=(30, 2))
    U = np.random.default_rng(1).normal(size=(30, 1))
    Z = np.hstack([X, U])
    names = {"rig": Rig(), "X": X, "U": U, "X_dot": np.sin(X) + U, "Z": Z, "t": np.linspace(0.0, 1.0, 30)}
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    for block in blocks:
        # There is no cluster here.
        lines = [line for line in block.splitlines() if 'address="auto"' not in line]
        exec(compile("\n".join(lines), str(DOCUMENT), "exec"), names)
    assert (tmp_path / "lab" / "report" / "index.html").exists()
