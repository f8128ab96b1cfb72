"""The notebooks run, and are the same in both forms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "python"
SCRIPTS = sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def test_there_are_notebooks() -> None:
    assert len(SCRIPTS) >= 5


@pytest.mark.parametrize("script", [*SCRIPTS, FOLDER / "equations.py"], ids=lambda path: path.stem)
def test_a_notebook_runs(script: Path, tmp_path: Path) -> None:
    if "gymnasium" in script.read_text():
        pytest.importorskip("gymnasium")
    # Off the screen, if something can draw.
    out = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert out.returncode == 0, out.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_both_forms_are_the_same(script: Path) -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        from build import notebook
    finally:
        sys.path.remove(str(FOLDER))
    written = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert written == notebook(script.read_text(encoding="utf-8")), "run: python examples/python/build.py"


@pytest.mark.parametrize("name", ["asyncio_loop", "serial_line"])
def test_a_rig_is_learned_through_its_interface(name: str, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("there are no pseudo-terminals")
    script = FOLDER / "hardware" / f"{name}.py"
    out = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "lab")], capture_output=True, text=True, check=False, timeout=300
    )
    assert out.returncode == 0, out.stderr
    assert out.stdout.splitlines() == [f"episode {n}: 10 measurements" for n in range(3)]
