"""Plants of one's own."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import QUICK, pendulum

import ocorl


class Rig:
    """A pretend pendulum."""

    def __init__(self, answer: object = None, as_object: bool = False) -> None:
        self.system = ocorl.System("pendulum")
        self.answer, self.as_object, self.runs = answer, as_object, 0

    def run(self, controller: ocorl.Controller, measure_at: np.ndarray) -> object:
        self.runs += 1
        if callable(self.answer):
            return self.answer(controller, measure_at)
        run = self.system.simulate(controller, period=0.05, dt=0.05, x0=controller.x0)
        x = np.array([np.interp(measure_at, run.t, run.x[:, i]) for i in range(2)]).T
        u = np.array([np.interp(measure_at, run.t, run.u[:, 0])]).T
        data = {"t": measure_at, "x": x, "u": u, "x_dot": self.system.derivative(x, u), "cost": run.cost}
        return SimpleNamespace(**data) if self.as_object else data


@pytest.mark.parametrize("as_object", [False, True])
def test_an_object_is_learned(as_object: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events: list[dict[str, object]] = []
    rig = Rig(as_object=as_object)
    result = ocorl.run(
        "pendulum", plant=rig, episodes=3, out=tmp_path / "lab", callback=events.append, set=QUICK
    )
    assert rig.runs == 3 and np.isfinite(result.costs).all() and result.optimum is None
    assert "on an external plant" in capsys.readouterr().out
    assert sum(event["event"] == "episode" for event in events) == 3
    assert result.episodes[1].measured_x_dot.shape == (10, 2) and "<svg" in result._repr_html_()
    assert len(result.to_dict("measurements")["t"]) == 30
    with ocorl.Study.open(tmp_path / "lab", read_only=True) as study:
        assert study.done
    # What is over is not run again.
    again = ocorl.run("pendulum", plant=rig, episodes=3, out=tmp_path / "lab", quiet=True, set=QUICK)
    assert rig.runs == 3
    np.testing.assert_array_equal(again.costs, result.costs)


def test_states_alone_are_enough() -> None:
    def states_only(controller: ocorl.Controller, measure_at: np.ndarray) -> dict[str, object]:
        data = Rig().run(controller, measure_at)
        del data["x_dot"], data["cost"]
        return data

    result = ocorl.run(
        "pendulum", plant=Rig(states_only), episodes=2, quiet=True, set={**QUICK, "measured": "states"}
    )
    assert result.episodes[0].measured_x_dot is None and np.isfinite(result.costs).all()


def test_a_function_as_plant_takes_the_place_of_the_equations() -> None:
    weaker = ocorl.run("pendulum", plant=lambda x, u: pendulum(x, 0.5 * u), episodes=2, quiet=True, set=QUICK)
    same = ocorl.run("pendulum", plant=pendulum, episodes=2, quiet=True, set=QUICK)
    usual = ocorl.run("pendulum", episodes=2, quiet=True, set=QUICK)
    np.testing.assert_allclose(same.costs, usual.costs, rtol=1e-6)
    assert abs(weaker.costs[0] - usual.costs[0]) > 1e-3


def good(controller: ocorl.Controller, measure_at: np.ndarray) -> dict[str, object]:
    return Rig().run(controller, measure_at)


@pytest.mark.parametrize(
    ("answer", "message", "expected"),
    [
        (lambda c, t: None, "returned None", "t, x, u and x_dot"),
        (lambda c, t: 3.0, "a float without t, x and u", "dictionary"),
        (lambda c, t: {"t": t, "x": np.zeros((len(t), 2))}, "no 'u'", "t, x, u"),
        (lambda c, t: {**good(c, t), "x": np.zeros((3, 3))}, r"'x' of shape \(3, 3\)", "(10, 2)"),
        (lambda c, t: {**good(c, t), "x_dot": np.full((10, 2), np.nan)}, r"x_dot\[0, 0\] = nan", "finite"),
        (lambda c, t: {**good(c, t), "u": "none"}, "'u' as a str", "(10, 1)"),
        (lambda c, t: {**good(c, t), "t": t + 100}, "lies outside the episode", None),
        (lambda c, t: {**good(c, t), "cost": "cheap"}, "'cheap' as cost", "a number"),
    ],
)
def test_what_a_plant_returns_is_looked_at(
    answer: object, message: str, expected: str | None, tmp_path: Path
) -> None:
    with pytest.raises(ocorl.PlantError, match=message) as caught:
        ocorl.run("pendulum", plant=Rig(answer), episodes=2, quiet=True, out=tmp_path / "lab", set=QUICK)
    if expected is None:
        assert isinstance(caught.value.__cause__, ocorl.UserError)
    else:
        assert expected in dict(caught.value.details)["expected"]
    # The study is usable, the episode still pending.
    with ocorl.Study.open(tmp_path / "lab") as study:
        assert study.pending.episode == 0 and len(study.measurements()["t"]) == 0


def test_exceptions_of_a_plant_come_through_with_their_line(tmp_path: Path) -> None:
    def fails(controller: ocorl.Controller, measure_at: np.ndarray) -> object:
        raise ConnectionError("the rig does not answer")

    with pytest.raises(ConnectionError, match="does not answer") as caught:
        ocorl.run("pendulum", plant=Rig(fails), episodes=2, quiet=True, out=tmp_path / "lab", set=QUICK)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"
    if hasattr(caught.value, "__notes__"):
        assert "still pending" in caught.value.__notes__[0]
    result = ocorl.run("pendulum", plant=Rig(), episodes=2, quiet=True, out=tmp_path / "lab", set=QUICK)
    assert len(result.costs) == 2


def test_an_episode_without_measurements_has_failed() -> None:
    def nothing(controller: ocorl.Controller, measure_at: np.ndarray) -> dict[str, object]:
        return {"t": [], "x": np.zeros((0, 2)), "u": np.zeros((0, 1))}

    result = ocorl.run("pendulum", plant=Rig(nothing), episodes=2, quiet=True, set=QUICK)
    assert [episode.outcome for episode in result.episodes] == ["nothing was measured"] * 2


def test_several_initial_states_are_several_runs() -> None:
    rig = Rig()
    starts = [[3.0, 0.0], [1.0, 0.0]]
    result = ocorl.run("pendulum", plant=rig, episodes=2, quiet=True, set={**QUICK, "initial_states": starts})
    assert rig.runs == 4 and len(result.episodes[0].rollouts) == 2


def test_what_is_no_plant_is_refused() -> None:
    with pytest.raises(ocorl.UserError, match="'plant' cannot be a str"):
        ocorl.run("pendulum", plant="rig", quiet=True)  # type: ignore[arg-type]
    with pytest.raises(ocorl.UserError, match="decides measurement times"):
        ocorl.run("pendulum", plant=Rig(), strategy="oracle", episodes=2, quiet=True, set=QUICK)
    hardware = ocorl.System(
        states=["x"], inputs={"u": (-1, 1)}, x0=[1], horizon=1, cost=ocorl.quadratic(Q=[1], R=[1])
    )
    assert not hardware.has_equations
    with pytest.raises(ocorl.UserError, match="the equations of .* are not known"):
        ocorl.run(hardware, quiet=True)


def test_parts_that_nobody_knows_are_refused() -> None:
    class Rig:
        def run(self, controller: ocorl.Controller, measure_at: np.ndarray) -> dict[str, object]:
            rows = np.zeros((len(measure_at), 2))
            return {"t": measure_at, "x": rows, "u": rows[:, :1], "xdot": rows}

    with pytest.raises(ocorl.PlantError, match="'xdot', which is not a known name"):
        ocorl.run("pendulum", plant=Rig(), episodes=1, quiet=True, set=QUICK)


def test_exceptions_of_several_threads_do_not_wait_for_each_other() -> None:
    """The exceptions that are not raised are let go of without a lock: what they hold may take its time."""
    code = """
import faulthandler, time
faulthandler.dump_traceback_later(60, exit=True)
import numpy as np, ocorl
class Held:
    def __del__(self):
        time.sleep(0.05)
calls = [0]
def f(x, u):
    calls[0] += 1
    if calls[0] > 500:
        held = Held()
        time.sleep(0.001)
        raise RuntimeError("mine")
    return np.array([x[1], np.sin(x[0]) + u[0]])
system = ocorl.System(f, states=["a", "b"], inputs={"u": (-1, 1)}, x0=[1, 0], horizon=5, cost=ocorl.quadratic(Q=[1, 1], R=[1]))
try:
    ocorl.optimal(system, threads=8)
except RuntimeError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 0 and out.stdout.strip() == "mine", out.stderr


def test_costs_have_one_unit() -> None:
    """Mountain car's table is in hundredths: rows, events and results agree."""
    system = ocorl.System("mountain-car")

    class Rig:
        def run(self, controller: ocorl.Controller, measure_at: np.ndarray) -> dict[str, object]:
            run = system.simulate(controller)
            x = np.array([np.interp(measure_at, run.t, run.x[:, i]) for i in range(2)]).T
            u = np.interp(measure_at, run.t, run.u[:, 0])[:, None]
            return {"t": measure_at, "x": x, "u": u, "x_dot": system.derivative(x, u), "cost": run.cost}

    events: list[dict[str, object]] = []
    result = ocorl.run("mountain-car", plant=Rig(), episodes=1, quiet=True, callback=events.append, set=QUICK)
    (record,) = [event["record"] for event in events if event["event"] == "episode"]
    assert record["cost"] == result.final_cost  # type: ignore[index]
    assert result.final_cost > 30
    events.clear()
    simulated = ocorl.run("mountain-car", episodes=2, quiet=True, callback=events.append, set=QUICK)
    executed = [event["cost"] for event in events if event["event"] == "executed"]
    np.testing.assert_allclose(executed, simulated.costs)
