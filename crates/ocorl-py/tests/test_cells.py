"""Cells of sweeps: JSON in, the bytes of `ocorl sweep` out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import ocorl
from ocorl import _ocorl

GRID = """
systems = "pendulum"
seeds = 2
[set]
episodes = 2
plan.intervals = 20
plan.random_starts = 0
[vary]
strategy = ["max-determinant", "equidistant"]
"""


def test_a_cell_gives_what_the_program_stores(program: str, tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(GRID)
    described = _ocorl.Grid(GRID)
    cells = described.cells
    assert len(cells) == 4 and json.loads(cells[0])["system"] == "pendulum"
    results = [_ocorl.run_cell(cell)[0] for cell in cells]
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    subprocess.run([program, "sweep", str(grid), "--out", str(theirs)], check=True, capture_output=True)
    sweep = _ocorl.Sweep(str(ours), described)
    sweep.begins()
    for index, result in enumerate(results):
        sweep.keep(index, result)
    sweep.save("python", "here")
    for name in ("results.csv", "episodes.csv", "grid.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    other = _ocorl.Sweep(str(theirs), described)
    assert [other.result(i) for i in range(4)] == results and other.todo() == []
    assert _ocorl.Grid((ours / "grid.json").read_text(), "grid.json").cells == cells


def test_grids_that_come_with_the_program_are_there() -> None:
    assert "table1" in _ocorl.studies()
    assert len(_ocorl.Grid.study("table1").cells) == 9 * 3 * 10
    with pytest.raises(ocorl.UserError, match="did you mean 'table1'"):
        _ocorl.Grid.study("tabel1")


def test_a_sweep_is_run_on_threads_and_goes_on(tmp_path: Path) -> None:
    grid = _ocorl.Grid(GRID)
    cells = grid.cells
    heard: list[tuple[str, int]] = []
    sweep = _ocorl.Sweep(str(tmp_path), grid)
    todo = sweep.todo()
    assert sweep.run(todo[:2], jobs=2, hear=lambda kind, index, _: heard.append((kind, index)))
    assert [kind for kind, _ in heard].count("ended") == 2 and sweep.todo() == todo[2:]
    result, cpu, wall = _ocorl.run_cell(cells[todo[2]])
    sweep.keep(todo[2], result, cpu, wall)
    sweep.save("python", "here")
    assert cpu > 0 and wall > 0 and (tmp_path / "timings.csv").exists() and (tmp_path / "about.toml").exists()
    for index, text, message in [
        (9, result, "there is no cell 9"),
        (todo[3], result, "of another cell"),
        (0, "{}", "not the result of a cell"),
        (todo[2], result.replace('"version":"', '"version":"9.'), "is of version 9"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            sweep.keep(index, text)


def test_cells_are_looked_at() -> None:
    for cell, message in [
        ("{", "not a cell"),
        ('{"system":"pendulm","settings":"default","set":{},"seed":0}', "no system 'pendulm'"),
        ('{"system":"pendulum","settings":"default","set":{"episods":1},"seed":0}', "no setting"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            _ocorl.run_cell(cell)
    with pytest.raises(ocorl.UserError, match="did you mean 'seeds'"):
        _ocorl.Grid("systems = 'pendulum'\nseds = 1\n")
    late = json.loads(_ocorl.run_cell('{"system":"quadrotor-3d","settings":"default","set":{},"seed":0}', budget=0.2)[0])
    assert late["failure"].startswith("out of time") and late["episodes"] == []
