"""What docs/python.md shows runs, block after block, in one folder, with NumPy alone; blocks of `ocorl.gym` with Gymnasium."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "python.md"
#: Packages that are used if they are there; a reader may have none of them.
OPTIONAL = ("pandas", "polars", "matplotlib", "jax", "sympy", "casadi", "scipy", "sklearn", "tqdm", "ray", "tensorboard", "mlflow", "wandb", "IPython")


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, contents in re.findall(r'^```toml title="(.*?)"\n(.*?)^```', text, flags=re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(contents)
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 12
    names: dict[str, object] = {}
    for name in OPTIONAL:
        monkeypatch.setitem(sys.modules, name, None)
    for block in blocks:
        with monkeypatch.context() as missing:
            if "ocorl.gym" not in block:
                missing.setitem(sys.modules, "gymnasium", None)
            exec(compile(block, str(DOCUMENT), "exec"), names)
    assert (tmp_path / "lab" / "report" / "index.html").exists()
