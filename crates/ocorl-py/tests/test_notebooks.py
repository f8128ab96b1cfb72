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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
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
