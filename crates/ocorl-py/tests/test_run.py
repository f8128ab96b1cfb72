"""`ocorl.run`, beside the program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICK, own

import ocorl

ARGUMENTS = ["--episodes", "3", "--measurements", "6", "--seed", "3"]


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("done in", "saved"))]


def test_the_same_seed_is_the_same_study_and_the_same_table(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "theirs"
    said = subprocess.run(
        [program, "run", "pendulum", *ARGUMENTS, "--out", str(theirs)],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
    )
    ours = tmp_path / "ours"
    result = ocorl.run("pendulum", episodes=3, measurements=6, seed=3, out=ours)
    assert lines(capsys.readouterr().out) == lines(said.stdout)
    with ocorl.Study.open(theirs, read_only=True) as a, ocorl.Study.open(ours, read_only=True) as b:
        assert a.head == b.head
        assert a.check()["checksum"] == b.head[1]
    alone = ocorl.run("pendulum", episodes=3, measurements=6, seed=3, quiet=True, threads=1)
    np.testing.assert_array_equal(alone.costs, result.costs)
    assert capsys.readouterr().out == ""


def test_a_kept_run_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = ocorl.run("pendulum", episodes=3, quiet=True, out=tmp_path / "whole", set=QUICK)
    ocorl.run("pendulum", episodes=2, quiet=True, out=tmp_path / "parts", set=QUICK)
    parts = ocorl.run("pendulum", episodes=3, quiet=True, out=tmp_path / "parts", set=QUICK)
    np.testing.assert_array_equal(whole.costs, parts.costs)
    with pytest.raises(ocorl.UserError, match="another seed"):
        ocorl.run("pendulum", episodes=3, quiet=True, out=tmp_path / "parts", set=QUICK, seed=1)


def test_a_result_has_everything() -> None:
    events: list[dict[str, object]] = []
    result = ocorl.run("pendulum", episodes=3, measurements=4, quiet=True, callback=events.append, set=QUICK)
    assert {"known", "episode_began", "planned", "proposed", "executed", "updated", "trained", "episode"} <= {
        str(event["event"]) for event in events
    }
    assert sum(event["event"] == "episode" for event in events) == 3
    assert result.costs.dtype == np.float64 and result.costs.shape == (3,)
    assert result.optimum is not None and result.paper is not None and result.held is not None
    np.testing.assert_allclose(result.regret, result.costs - result.optimum)
    assert np.isnan(result.planned_costs[0]) and np.isfinite(result.planned_costs[1:]).all()
    last = result.episodes[-1]
    assert (last.number, last.outcome) == (2, "completed")
    assert last.t.shape == (1001,) and last.x.shape == (1001, 2) and last.u.shape == (1001, 1)
    assert last.measured_x_dot is not None and last.measured_x_dot.shape == (4, 2)
    np.testing.assert_array_equal(last.measured_t, last.measurement_times)
    assert last.rollouts[0].plan is not None and result.episodes[0].rollouts[0].plan is None
    assert 0 < last.uncertainty and repr(last).startswith("Episode(2,")


def test_tables_are_frames_or_dictionaries() -> None:
    pandas = pytest.importorskip("pandas")
    result = ocorl.run("pendulum", episodes=2, measurements=4, quiet=True, set=QUICK)
    for table, rows in [("episodes", 2), ("measurements", 8), ("trajectories", 2002), ("plans", 21)]:
        plain = result.to_dict(table)
        assert {len(column) for column in plain.values()} == {rows}
        frame = result.to_pandas(table)
        assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == list(plain)
    assert list(plain)[:4] == ["episode", "start", "t", "theta"]
    with pytest.raises(ocorl.UserError, match="no table 'cost'"):
        result.to_dict("cost")


def test_pictures_are_svg() -> None:
    result = ocorl.run("pendulum", episodes=2, measurements=4, quiet=True, set=QUICK)
    for what in ocorl.Result.PLOTS:
        figure = result.plot(what)
        assert figure._repr_svg_().startswith("<svg") and "," in figure.csv
    html = result._repr_html_()
    assert "<table>" in html and "<svg" in html
    with pytest.raises(ocorl.UserError, match="there is no episode 9"):
        result.plot("states", episode=9)


def test_settings_are_looked_at() -> None:
    for options, message in [
        ({"set": {"plan.intervls": 3}}, "no setting 'plan.intervls'"),
        ({"strategy": "orcale"}, "cannot be"),
        ({"episodes": 0}, "episodes is 0"),
        ({"threads": 0}, "threads must be"),
        ({"settings": "missing.toml"}, "cannot read"),
        ({"set": {"episodes": object()}}, "cannot be a object"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            ocorl.run("pendulum", quiet=True, **options)  # type: ignore[arg-type]
    text = ocorl.System("pendulum").settings(episodes=7)
    assert "episodes = 7" in text and "# set" in text
    discrete = ocorl.run("pendulum", quiet=True, episodes=1, set={"time": "discrete"})
    assert discrete.settings["strategy"] == "equidistant"


def test_a_function_is_learned_as_the_built_in_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = own(noise=0.01, learning={"excitation": {"scale": 1.0}})
    result = ocorl.run(system, episodes=3, measurements=6, out=tmp_path / "own", set=QUICK)
    said = capsys.readouterr().out
    assert "theta" not in said and "system: 2 states, 1 input" in said
    assert result.optimum is None and np.isnan(result.regret).all()
    assert np.isfinite(result.costs).all() and result.episodes[-1].outcome == "completed"
    again = ocorl.run(system, episodes=3, measurements=6, quiet=True, set=QUICK)
    np.testing.assert_array_equal(result.costs, again.costs)
    longer = ocorl.run(system, episodes=4, measurements=6, quiet=True, out=tmp_path / "own", set=QUICK)
    np.testing.assert_array_equal(longer.costs[:3], result.costs)


def test_a_callback_that_raises_ends_the_run(tmp_path: Path) -> None:
    def callback(event: dict[str, object]) -> None:
        if event["event"] == "planned":
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        ocorl.run("pendulum", episodes=3, quiet=True, out=tmp_path / "run", callback=callback, set=QUICK)
    # The folder is let go of: the same run goes on.
    assert len(ocorl.run("pendulum", episodes=3, quiet=True, out=tmp_path / "run", set=QUICK).costs) == 3


def test_names_whose_columns_would_be_equal_are_refused() -> None:
    description: dict[str, object] = {"x0": [1, 0], "horizon": 2, "cost": ocorl.quadratic(Q=1, R=1)}
    with pytest.raises(ocorl.UserError, match="called 'start': the control 'start'"):
        ocorl.System(lambda x, u: [x[1], u[0]], states=["x", "v"], inputs={"start": (-1, 1)}, **description)
    with pytest.raises(ocorl.UserError, match="called 'x_dot': the derivative of 'x'"):
        ocorl.System(lambda x, u: [x[1], u[0]], states=["x", "x_dot"], inputs={"u": (-1, 1)}, **description)
