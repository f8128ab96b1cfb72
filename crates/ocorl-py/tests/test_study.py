"""Studies: ask, run, tell."""

from __future__ import annotations

import multiprocessing
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICK, measured

import ocorl


def test_asked_and_told_to_the_end(study: ocorl.Study) -> None:
    while (plan := study.ask()) is not None:
        assert study.ask().text == plan.text and study.pending.episode == plan.episode
        receipt = study.tell(plan, **measured(plan))
        assert (receipt["stored"], receipt["on_time"], receipt["missed"]) == (5, 5, 0)
    assert study.done and study.pending is None
    assert [episode["status"] for episode in study.episodes] == ["complete"] * 3
    status = study.status()
    assert status["episodes"] == 3 and status["measurements"] == 15 and status["over"] == "episodes-used"
    assert study.check()["records"] == study.head[0]
    table = study.to_dict()
    assert list(table)[:4] == ["episode", "start", "t", "theta"] and len(table["t"]) == 15 and table["used"].all()
    assert study.to_dict("episodes")["cost"].shape == (3,)
    html = study._repr_html_()
    assert "<table>" in html and "<svg" in html
    report = Path(study.report())
    assert report.name == "index.html" and report.parent.name == "report" and report.stat().st_size > 0
    assert study.plot("cost").svg.startswith("<svg") and study.plot("states", episode=2).svg.startswith("<svg")


def test_telling_is_looked_at_and_nothing_is_half_kept(study: ocorl.Study) -> None:
    plan = study.ask()
    good, head = measured(plan), study.head
    for change, message in [
        ({"x": good["x"][:-1]}, "'t' has 5 entries, 'x' has 4 rows"),
        ({"x": good["x"][:, :1]}, r"'x' has the shape \(5, 1\), expected \(n, 2\)"),
        ({"x_dot": np.full((5, 2), np.nan)}, "x_dot"),
        ({"u": np.full((5, 1), np.inf)}, "is inf"),
        ({"t": good["t"] + 20}, "lies outside the episode"),
        ({"t": "now"}, "'t' must be an array"),
        ({"start": 3}, "initial state 3"),
        ({"cost": np.nan}, "the cost is NaN"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            study.tell(plan, **{**good, **change})
        assert study.head == head
    with pytest.raises(ocorl.UserError, match="there is no episode 7"):
        study.tell(7, **good)
    with pytest.raises(ocorl.UserError, match="contradict"):
        study.tell(plan, **good, more=True, correct=True)


def test_halves_corrections_failures_and_notes(study: ocorl.Study) -> None:
    plan = study.ask()
    all_of = measured(plan)
    first = {key: value[:2] for key, value in all_of.items()}
    rest = {key: value[2:] for key, value in all_of.items()}
    assert study.tell(plan, **first, more=True)["closed"] is None
    assert study.tell(plan, **rest)["closed"]["status"] == "complete"
    assert study.tell(plan, **all_of)["known"] == 5
    moved = {**all_of, "x_dot": all_of["x_dot"] + 0.1}
    with pytest.raises(ocorl.UserError, match="other values"):
        study.tell(plan, **moved)
    assert study.tell(plan, **moved, correct=True)["stored"] == 5
    study.note("the belt slipped")
    assert study.status()["notes"] == ["the belt slipped"]
    study.ask()
    assert study.fail("the motor tripped")["status"] == "failed"
    assert study.discard(0, "the belt")["status"] == "discarded"
    assert not study.measurements()["used"].any()
    assert study.import_(**{key: value for key, value in all_of.items()}) == 5


def test_files_are_told_too(study: ocorl.Study, tmp_path: Path) -> None:
    plan = study.ask()
    table = measured(plan)
    file = tmp_path / "measured.csv"
    rows = np.hstack([table["t"].reshape(-1, 1), table["x"], table["u"], table["x_dot"]])
    head = "t,theta,omega,torque,theta_dot,omega_dot\n"
    file.write_text(head + "".join(",".join(map(repr, map(float, row))) + "\n" for row in rows))
    assert study.import_(file) == 5
    assert study.tell_file(file)["stored"] == 5
    with pytest.raises(ocorl.UserError, match="cannot read"):
        study.tell_file(tmp_path / "missing.csv")


def test_the_program_and_python_share_a_study(program: str, tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    subprocess.run([program, "study", "new", str(folder), "--system", "pendulum"], check=True, capture_output=True)
    with ocorl.Study.open(folder) as study:
        text = study.ask().text
        busy = subprocess.run([program, "study", "ask", str(folder)], capture_output=True, text=True)
        assert busy.returncode == 4
    said = subprocess.run([program, "study", "ask", str(folder)], check=True, capture_output=True, text=True)
    assert said.stdout == text


def test_errors_have_their_classes(tmp_path: Path) -> None:
    with pytest.raises(ocorl.UserError, match="there is no study"):
        ocorl.Study.open(tmp_path / "nothing")
    folder = tmp_path / "lab"
    with ocorl.Study.create(folder, "pendulum"):
        with pytest.raises(ocorl.BusyError, match="in use"):
            ocorl.Study.open(folder)
        with ocorl.Study.open(folder, read_only=True) as other:
            assert other.head[0] == 1
    with pytest.raises(ocorl.UserError, match="already"):
        ocorl.Study.create(folder, "pendulum")
    with pytest.raises(ocorl.UserError, match="created or opened"):
        ocorl.Study(folder)
    study = ocorl.Study.open(folder)
    study.close()
    study.close()
    with pytest.raises(ocorl.StudyError, match="closed"):
        study.ask()
    database = folder / "study.db"
    assert database.exists()
    data = bytearray(database.read_bytes())
    at = data.find(b'"seed"')
    data[at + 1] ^= 1
    database.write_bytes(data)
    with pytest.raises(ocorl.DamagedError) as caught:
        ocorl.Study.open(folder)
    assert dict(caught.value.details)["note"] == "nothing was changed on disk"
    (tmp_path / "file").write_text("")
    with pytest.raises(ocorl.DiskError):
        ocorl.run("pendulum", quiet=True, out=tmp_path / "file" / "inside")


def test_sixteen_threads_share_a_study(tmp_path: Path) -> None:
    with ocorl.Study.create(tmp_path / "lab", "pendulum", episodes=2, measurements=5, set=QUICK) as study:
        texts: list[str] = []
        errors: list[BaseException] = []
        together = threading.Barrier(16)

        def work(number: int) -> None:
            try:
                plan = study.ask()
                texts.append(plan.text)
                # Who asks after the first has told gets the next plan.
                together.wait(60)
                study.note(f"note {number}")
                study.status()
                study.tell(0, **measured(plan))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads) and not errors
        # Some asked before, some after the first episode was told.
        assert len(set(texts)) <= 2 and len(texts) == 16
        assert sorted(study.status()["notes"]) == sorted(f"note {number}" for number in range(16))
        assert study.check()["measurements"] == 5


def _child(study: ocorl.Study, answers: multiprocessing.Queue) -> None:
    try:
        study.status()
        answers.put("it answered")
    except ocorl.StudyError as error:
        answers.put(error.message)
    answers.put(float(ocorl.run("pendulum", episodes=1, quiet=True, set=QUICK).final_cost))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_gets_an_error_or_works_and_never_hangs(study: ocorl.Study) -> None:
    expected = ocorl.run("pendulum", episodes=1, quiet=True, set=QUICK).final_cost
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_child, args=(study, answers))
    child.start()
    assert answers.get(timeout=60) == "this study was opened by another process"
    assert answers.get(timeout=60) == expected
    child.join(60)
    assert child.exitcode == 0
    study.note("still mine")


def test_a_study_that_is_looked_at_is_not_changed(told: Path) -> None:
    with ocorl.Study.open(told, read_only=True) as study:
        for act in (
            study.ask,
            lambda: study.tell(t=[1.0], x=[[0.0, 0.0]], u=[[0.0]]),
            lambda: study.fail("no"),
            lambda: study.discard(0),
            lambda: study.note("no"),
            lambda: study.import_("log.csv"),
        ):
            with pytest.raises(ocorl.StudyError, match="read-only"):
                act()


def test_a_closed_study_shows_itself_and_hints_are_pythons(study: ocorl.Study) -> None:
    study.ask()
    with pytest.raises(ocorl.UserError) as caught:
        study.tell(3, t=[1.0], x=[[0.0, 0.0]], u=[[0.0]])
    assert "ocorl study" not in str(caught.value)
    study.close()
    assert "closed" in study._repr_html_()


def test_a_childs_copy_leaves_the_study_alone(tmp_path: Path) -> None:
    """Whoever comes second is still told who has it, after a child that was forked let go of its copy."""
    import gc
    import os

    study = ocorl.Study.create(tmp_path / "lab", "pendulum", set=QUICK)
    child = os.fork()
    if child == 0:
        del study
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert f'"pid":{os.getpid()}' in (tmp_path / "lab" / "study.lock").read_text()
    study.note("still here")
    study.close()
    ocorl.Study.open(tmp_path / "lab").close()


def test_a_plan_of_another_study_is_refused(study: ocorl.Study, tmp_path: Path) -> None:
    with ocorl.Study.create(tmp_path / "other", "pendulum", episodes=2, seed=1) as other:
        theirs, ours = other.ask(), study.ask()
        assert theirs is not None and ours is not None
        t = ours.measure_at
        told = {"t": t, "x": np.zeros((len(t), 2)), "u": np.zeros((len(t), 1)), "x_dot": np.zeros((len(t), 2))}
        before = study.head
        for plan in (theirs, ocorl.plan("pendulum", intervals=20)):
            with pytest.raises(ocorl.UserError, match="not one of this study"):
                study.tell(plan, **told)
        assert study.head == before
        study.tell(ours, **told)


def test_a_study_is_found_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with ocorl.Study.create("lab", "pendulum", episodes=2, set=QUICK) as study:
        plan = study.ask()
        monkeypatch.chdir(tmp_path / "elsewhere")
        t = plan.measure_at
        study.tell(plan, t=t, x=np.zeros((len(t), 2)), u=np.zeros((len(t), 1)), x_dot=np.zeros((len(t), 2)))
        assert study.report() == str(tmp_path / "lab/report/index.html")
        assert study.plot("cost").svg.startswith("<svg")


def test_without_a_system_a_study_is_opened_as_it_is(tmp_path: Path) -> None:
    ocorl.Study.create(tmp_path / "lab", "pendulum", episodes=2, set=QUICK).close()
    for given in ({"seed": 3}, {"strategy": "equidistant"}, {"settings": "reference"}, {"budget": 5.0}):
        with pytest.raises(ocorl.UserError, match="opened unchanged"):
            ocorl.Study.open_or_create(tmp_path / "lab", **given)
    with ocorl.Study.open_or_create(tmp_path / "lab", episodes=3) as study:
        assert not study.done


def test_forgotten_derivatives_are_spoken_of(study: ocorl.Study, caplog: pytest.LogCaptureFixture) -> None:
    plan = study.ask()
    assert plan is not None
    t = plan.measure_at
    study.tell(plan, t=t, x=np.zeros((len(t), 2)), u=np.zeros((len(t), 1)))
    assert "states alone" in caplog.text
    with pytest.raises(ocorl.UserError, match="contradict"):
        study.tell_file("nowhere.csv", more=True, correct=True)
    with pytest.raises(ocorl.UserError, match="from 0 on"):
        plan.controller(-1)
