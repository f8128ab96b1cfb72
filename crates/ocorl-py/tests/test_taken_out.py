"""What a user takes out of a run or a study, and uses for something else; settings, receipts, ends of a run."""

from __future__ import annotations

import logging
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ocorl

from conftest import QUICK, measured, own, pendulum


@pytest.fixture(scope="module")
def result() -> ocorl.Result:
    return ocorl.run("pendulum", episodes=4, quiet=True)


def test_a_run_gives_its_model_plan_policy_and_controller(result: ocorl.Result) -> None:
    model = result.model
    t, x, u, dots = (np.concatenate([getattr(e, f"measured_{name}") for e in result.episodes]) for name in ("t", "x", "u", "x_dot"))
    assert model.n_points_ == len(t) == 40
    mean, std = model.predict(np.hstack([x, u]), return_std=True)
    assert (np.abs(mean - dots) < 0.05).all() and (std < 0.05).all()
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(np.hstack([x, u])), mean)
    system = ocorl.System("pendulum")
    assert result.best.cost == result.costs[1:].min() and result.plan is result.best.plan
    for law in (result.controller(), result.plan):
        # Without the solutions of model predictive control the held gains cost a little more.
        assert system.simulate(law).cost == pytest.approx(result.best.cost, rel=2e-2)
    assert result.policy(0.0, system.x0).shape == (1,)
    assert pickle.loads(pickle.dumps(result)).plan.text == result.plan.text


def test_a_model_of_a_run_and_of_its_study_are_the_same(tmp_path: Path) -> None:
    kept = ocorl.run("pendulum", episodes=2, quiet=True, out=tmp_path / "kept", set=QUICK)
    free = ocorl.run("pendulum", episodes=2, quiet=True, set=QUICK)
    z = np.random.default_rng(0).normal(size=(20, 3))
    assert np.array_equal(kept.model.predict(z), free.model.predict(z))


@pytest.mark.parametrize("goal", [0.5, -1.0])
def test_another_goal_is_reached_at_the_first_try_with_old_data(result: ocorl.Result, goal: float) -> None:
    cost = f"2*(1 - cos(theta - {goal})) + omega^2 + tau^2"
    new = own(cost=cost)
    first = ocorl.run(new, episodes=1, model=result, quiet=True)
    best = ocorl.plan(new, random_starts=2).planned_cost
    assert first.episodes[0].plan is not None
    assert first.final_cost < 1.02 * best, (first.final_cost, best)


def test_a_study_hands_its_measurements_to_one_of_another_goal(told: Path, tmp_path: Path) -> None:
    text = "[system]\nname = 'p'\nstates = ['theta', 'omega']\ninputs = { torque = [-5, 5] }\nx0 = [3, 0]\nhorizon = 5\n[cost]\nstate = { theta = 1 }\n"
    with ocorl.Study.open(told, read_only=True) as old:
        with old.transfer(tmp_path / "new", ocorl.System.parse(text), set=QUICK, episodes=2) as new:
            plan = new.ask()
            assert plan is not None and plan.planned_cost is not None, "planned at once"
        with pytest.raises(ocorl.UserError, match="different states"):
            old.transfer(tmp_path / "other", own())
        assert old.model().n_points_ == 20


def test_studies_are_iterated_over_and_receipts_have_fields(tmp_path: Path) -> None:
    with ocorl.Study.create(tmp_path / "lab", "pendulum", episodes=2, measurements=5, set=QUICK) as study:
        for plan in study:
            receipt = study.tell(plan, **measured(plan))
            assert receipt.stored == receipt["stored"] == 5 and {**receipt}["episode"] == plan.episode
        assert study.done
    with ocorl.Study.create(tmp_path / "idle", "pendulum", episodes=2, set=QUICK) as study:
        with pytest.raises(ocorl.StudyError, match="still pending"):
            list(study)


def test_a_run_ends_when_it_is_good_enough() -> None:
    assert len(ocorl.run("pendulum", episodes=9, quiet=True, set=QUICK, until=40.0).costs) < 9
    patient = ocorl.run("pendulum", episodes=9, quiet=True, set=QUICK, until=ocorl.Until(patience=2, tolerance=0.5))
    assert 3 <= len(patient.costs) < 9
    seen: list[int] = []

    def enough(event: dict[str, Any]) -> object:
        if event["event"] == "episode":
            seen.append(event["record"]["episode"])
            return ocorl.STOP if len(seen) == 2 else None
        return None

    assert len(ocorl.run("pendulum", episodes=9, quiet=True, set=QUICK, callback=enough).costs) == 2 == len(seen)
    assert len(ocorl.run("pendulum", episodes=9, quiet=True, set=QUICK, until=lambda r: r["episode"] == 1).costs) == 2


def test_progress_goes_where_it_is_asked_to(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ocorl"):
        ocorl.run("pendulum", episodes=2, progress="log", set=QUICK)
    assert [r.message for r in caplog.records if r.levelno == logging.INFO][0].startswith("episode 0: cost ")
    assert capsys.readouterr().out == ""
    with pytest.raises(ocorl.UserError, match="no progress 'bars'"):
        ocorl.run("pendulum", progress="bars")  # type: ignore[arg-type]


def test_a_notebook_shows_a_run_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ocorl.UserError, match="needs a notebook"):
        ocorl.run("pendulum", episodes=2, progress="live", set=QUICK)
    shown: list[str] = []

    class Handle:
        def update(self, html: str) -> None:
            shown.append(html)

    def display(html: str, display_id: bool) -> Handle:
        shown.append(html)
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    for plant in (None, ocorl.Simulated(ocorl.System("pendulum"))):
        shown.clear()
        result = ocorl.run("pendulum", episodes=2, progress="live", set=QUICK, plant=plant)
        assert "begins" in shown[0] and any("episode 1: planning" in html for html in shown)
        assert f"{result.episodes[1].cost:.4f}" in shown[-1] and "<svg" in shown[-1] and "<b>over</b>" in shown[-1]


def test_typed_settings_are_settings_by_path() -> None:
    typed = ocorl.Settings(episodes=2, plan=ocorl.PlanSettings(intervals=20, random_starts=0), more={"track.policy": "feedback", "model.restarts": 0})
    assert typed.paths() == {"episodes": 2, **QUICK}
    a, b = (ocorl.run("pendulum", quiet=True, set=s) for s in (typed, {"episodes": 2, **QUICK}))
    assert a.costs.tolist() == b.costs.tolist()
    known = a.settings
    for part in ("plan", "track", "model", "select"):
        names = set(getattr(typed, part).__dataclass_fields__)
        assert names <= set(known[part]), names - set(known[part])


def test_missing_derivatives_are_missing_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ocorl.Study.create(tmp_path / "lab", "pendulum", episodes=2, measurements=5, set=QUICK) as study:
        plan = study.ask()
        assert plan is not None
        data = measured(plan)
        data["x_dot"][2, 1] = np.nan
        # From here on another input was applied; the state was not measured.
        more = {"t": [9.9], "x": [[np.nan, np.nan]], "u": [[0.5]], "x_dot": [[np.nan, np.nan]]}
        data = {name: np.concatenate([data[name], np.asarray(more[name])]) for name in data}
        with caplog.at_level(logging.WARNING, "ocorl"):
            assert study.tell(plan, **data).stored == 4
        assert "row 2" in caplog.text


def test_frames_of_pandas_are_measurements(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    with ocorl.Study.create(tmp_path / "lab", "pendulum", episodes=2, measurements=5, set=QUICK) as study:
        plan = study.ask()
        assert plan is not None
        data = measured(plan)
        frames = {name: pandas.Series(part) if part.ndim == 1 else pandas.DataFrame(part) for name, part in data.items()}
        frames["x_dot"] = frames["x_dot"].convert_dtypes()
        frames["x_dot"].iloc[1, 0] = pandas.NA
        assert study.tell(plan, **frames).stored == 4
        controller = plan.controller()
        assert controller(0.0, pandas.Series(plan.x0)).shape == (1,)
    system = ocorl.System("pendulum")
    assert np.array_equal(system.derivative(frames["x"], frames["u"]), system.derivative(data["x"], data["u"]))


def test_a_model_speaks_in_the_units_of_its_data() -> None:
    rng = np.random.default_rng(1)
    x, u = rng.uniform(-3, 3, (60, 1)), rng.uniform(-1, 1, (60, 1))
    models = [ocorl.GpDynamics(noise=0.01 * k).fit(s * x, k * (u - np.sin(x)), U=u) for s, k in ((1.0, 1.0), (1000.0, 50.0))]
    first, second = models
    assert second.lengthscale_[0, 0] == pytest.approx(1000 * first.lengthscale_[0, 0], rel=1e-3)
    assert second.variance_ == pytest.approx(2500 * first.variance_, rel=1e-3)
    assert np.array_equal(first.hyperparameters_["lengthscale"] * first.scales_["input_std"], first.lengthscale_)
    with pytest.raises(ocorl.NotFittedError):
        ocorl.GpDynamics().predict([[0.0]])
    with pytest.raises(ocorl.UserError, match=r"measurement 13 refused: derivative\[0\] is .* every number") as caught:
        bad = np.sin(x)
        bad[13] = np.inf
        ocorl.GpDynamics().fit(x, bad, U=u)
    assert "t = 13" not in str(caught.value)


def test_functions_may_be_vectorised_and_have_jacobians() -> None:
    def many(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.stack([x[..., 1], 9.81 / 5.0 * np.sin(x[..., 0]) + u[..., 0]], axis=-1)

    def jac(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a = np.zeros((*x.shape[:-1], 2, 2))
        a[..., 0, 1], a[..., 1, 0] = 1.0, 9.81 / 5.0 * np.cos(x[..., 0])
        return a, np.broadcast_to(np.array([[0.0], [1.0]]), (*x.shape[:-1], 2, 1))

    plain = ocorl.plan(own(), intervals=40, random_starts=0)
    for system in (own(many, vectorized=True), own(many, jac=jac, vectorized=True), own(many, jac=jac)):
        found = ocorl.plan(system, intervals=40, random_starts=0)
        assert found.planned_cost == pytest.approx(plain.planned_cost, rel=1e-6)
        again = pickle.loads(pickle.dumps(ocorl.System("pendulum")))
        assert again.name == "pendulum"
    with pytest.raises(ocorl.PlantError, match="jac"):
        ocorl.plan(own(pendulum, jac=lambda x, u: np.zeros((2, 2))), intervals=40, random_starts=0)


def test_costs_have_full_matrices_and_moving_targets() -> None:
    q, r = np.array([[2.0, 0.5], [0.5, 1.0]]), [0.1]
    cost = ocorl.quadratic(Q=q, R=r, target={"theta": "sin(t)", "tau": 0.5}, terminal=q)
    system = own(cost=cost)
    t, x, u = 0.7, np.array([0.3, -0.2]), np.array([0.4])
    off = x - [np.sin(t), 0.0]
    assert system.cost([t], x[None], u[None])[0] == pytest.approx(off @ q @ off + 0.1 * (u[0] - 0.5) ** 2, rel=1e-12)
    with pytest.raises(ocorl.UserError, match="symmetric"):
        own(cost=ocorl.quadratic(Q=[[1, 2], [0, 1]], R=1))


def test_misunderstandings_are_explained() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"states": 2}, "'states' must be a list of names"),
        ({"f": lambda t, x, u: x}, r"not f\(t, x, u\)"),
        ({"f": ocorl.Study}, "the class Study"),
        ({"cost": lambda x, u: 0.0}, r"not cost\(x, u\)"),
        ({"equations": {"theta": "omega"}}, "one is enough"),
    ]
    for more, expected in cases:
        f = more.pop("f", pendulum)
        with pytest.raises(ocorl.UserError, match=expected):
            own(f, **more)
    with pytest.raises(TypeError, match="anlges"):
        own(anlges=["theta"])
    with pytest.raises(ocorl.UserError, match="the class"):
        ocorl.run(own(), plant=type("Rig", (), {"run": lambda self, c, m: None}))


def test_expressions_of_sympy_and_casadi_have_a_text() -> None:
    sympy = pytest.importorskip("sympy")
    x, u = sympy.symbols("theta tau")
    text = ocorl.text(1.962 * sympy.sin(x) ** 2 / (1 + sympy.exp(-x)) + u - sympy.sqrt(x**2 + sympy.Rational(1, 3)) * sympy.pi)
    system = own(None, equations={"theta": "omega", "omega": text})
    value = 1.962 * np.sin(0.3) ** 2 / (1 + np.exp(-0.3)) + 0.5 - np.sqrt(0.09 + 1 / 3) * np.pi
    assert system.derivative([0.3, 0.1], [0.5])[0, 1] == pytest.approx(value, rel=1e-12)


def test_measurement_strategies_and_trackers_of_ones_own() -> None:
    system, counts = ocorl.System("pendulum"), []

    def most_uncertain(model: ocorl.GpDynamics, t: np.ndarray, z: np.ndarray, count: int) -> np.ndarray:
        counts.append(count)
        std = model.predict(z, return_std=True)[1].sum(axis=1)
        return np.argsort(std)[::-1][:count]

    def gains(plan: ocorl.Plan, model: ocorl.GpDynamics) -> Any:
        return lambda t, x: plan.policy(t, x) * 1e9 if t > 9.9 else plan.policy(t, x)

    plant = ocorl.Simulated(system)
    result = ocorl.run(system, plant=plant, strategy=most_uncertain, tracker=gains, episodes=3, quiet=True, set=QUICK)
    assert counts == [10, 10] and np.isfinite(result.costs).all()
    assert (np.abs(result.episodes[-1].u) <= system.upper).all()
    with pytest.raises(ocorl.PlantError, match="the strategy returned"):
        ocorl.run(system, plant=plant, strategy=lambda *a: [5, 5], episodes=2, quiet=True, set=QUICK)
    with pytest.raises(ocorl.UserError, match="needs a plant"):
        ocorl.run(system, strategy=most_uncertain)


def power(base: float, exponent: int) -> float:
    if exponent < 0:
        raise ValueError("negative")
    return base**exponent


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_functions_are_swept_over(backend: str) -> None:
    calls = ocorl.sweep(power, {"base": [2.0, 3.0], "exponent": [2, -1]}, backend, jobs=2, quiet=True)
    assert [call.value for call in calls] == [4.0, None, 9.0, None]
    assert isinstance(calls[1].error, ValueError) and calls[1].arguments == {"base": 2.0, "exponent": -1}
    with pytest.raises(ocorl.UserError, match="must have a list"):
        ocorl.sweep(power, {"base": 2.0})


def test_figures_are_drawn_into_axes(result: ocorl.Result, tmp_path: Path) -> None:
    assert result.plan.plot().svg.startswith("<svg") and result.model.plot(1, 0).csv
    shapes = pytest.importorskip("matplotlib.figure")
    axes = shapes.Figure().subplots(1, 2)
    assert result.model.plot(1, 0, ax=axes[0]) is axes[0] and axes[0].lines
    result.plot("cost", ax=axes[1])
    for name in ("plan.pdf", "plan.png"):
        result.plan.plot().save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
