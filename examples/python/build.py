"""Converts the scripts in this folder to notebooks (.ipynb): ``python examples/python/build.py``.

A line that begins with ``# %%`` starts a cell. After ``# %% [markdown]`` the comments are text. With ``--check`` the
program writes nothing, and its exit code is 1 if a notebook differs from its script.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def cells(script: str) -> list[tuple[str, list[str]]]:
    """Return kind and lines of each cell; lines before the first cell are ignored."""
    found: list[tuple[str, list[str]]] = []
    for line in script.splitlines():
        if line.startswith("# %%"):
            found.append(("markdown" if "[markdown]" in line else "code", []))
        elif found:
            found[-1][1].append(line)
    return found


def notebook(script: str) -> dict[str, Any]:
    """Convert a script to a notebook."""
    made = []
    for number, (kind, lines) in enumerate(cells(script)):
        if kind == "markdown":
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        text = "\n".join(lines).strip("\n")
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = text.splitlines(keepends=True)
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def main() -> int:
    """Write or check every notebook."""
    wrong = 0
    for script in sorted(Path(__file__).parent.glob("[0-9][0-9]_*.py")):
        text = json.dumps(notebook(script.read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"
        target = script.with_suffix(".ipynb")
        if "--check" in sys.argv[1:]:
            if not target.exists() or target.read_text(encoding="utf-8") != text:
                print(f"{target.name} differs from {script.name}", file=sys.stderr)
                wrong = 1
        else:
            target.write_text(text, encoding="utf-8")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
