"""Trackers: event files of TensorBoard, and that nothing stops a run."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import ocorl
import pytest
from event_files import crc32c, read_events
from ocorl.trackers import Many, MlFlow, TensorBoard, Tracker, WandB, scalars


def test_numbers_are_found_and_the_rest_is_not() -> None:
    episode = {"episode": 2, "cost": np.float64(1.5), "measured": 10, "held": True, "outcome": "completed"}
    assert scalars(episode | {"nan": float("nan"), "none": None, "list": [1, 2.5], "deep": {"a": 1}}) == {
        "cost": 1.5,
        "measured": 10.0,
        "list/0": 1.0,
        "list/1": 2.5,
        "deep/a": 1.0,
    }


def test_event_files_read_back(tmp_path: Path) -> None:
    with TensorBoard(tmp_path / "logs", prefix="run/") as log:
        for episode in (0, 1, 300):
            log({"episode": episode, "cost": 20.5 - episode})
    events = read_events(log.path)
    assert [(e.step, e.tag, e.value) for e in events] == [
        (0, "run/cost", 20.5),
        (1, "run/cost", 19.5),
        (300, "run/cost", -279.5),
    ]
    data = bytearray(log.path.read_bytes())
    data[60] ^= 1
    log.path.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        read_events(log.path)


def test_the_checksum_is_the_published_one() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_a_number_too_large_for_the_format_ends_nothing(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as log:
        log({"episode": 0, "cost": 1e300})
        log({"episode": 1, "cost": 2.0})
    assert [event.value for event in read_events(log.path)] == [float("inf"), 2.0]


def test_a_tracker_that_cannot_begin_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in (("mlflow", MlFlow), ("wandb", WandB)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.warns(RuntimeWarning, match=f"{kind.__name__} stopped"):
            log = kind()
        with log:
            log({"episode": 0, "cost": 1.0})


def test_of_many_all_are_closed() -> None:
    closed: list[str] = []

    class Log:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, episode: dict[str, Any]) -> None:
            if self.name == "silent":
                raise OSError("no")

        def close(self) -> None:
            closed.append(self.name)
            if self.name == "stubborn":
                raise OSError("stays")

    with pytest.warns(RuntimeWarning):
        with Many([Log("stubborn"), Log("silent"), Log("good")]) as many:
            many({"episode": 0})
    assert closed == ["stubborn", "silent", "good"]


def test_tensorboard_reads_it(tmp_path: Path) -> None:
    module = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with TensorBoard(tmp_path) as log:
        for episode in range(5):
            log({"episode": episode, "cost": 10.0 / (1 + episode), "regret": float(episode)})
    read = module.EventAccumulator(str(tmp_path))
    read.Reload()
    assert sorted(read.Tags()["scalars"]) == ["cost", "regret"]
    assert [(e.step, round(e.value, 4)) for e in read.Scalars("cost")] == [
        (0, 10.0),
        (1, 5.0),
        (2, 3.3333),
        (3, 2.5),
        (4, 2.0),
    ]


def test_a_tracker_that_fails_warns_once_and_is_left_alone() -> None:
    class Broken(Tracker):
        calls = 0

        def _log(self, step: int, values: Any) -> None:
            Broken.calls += 1
            raise OSError("disk full")

    broken = Broken()
    with pytest.warns(RuntimeWarning, match=r"Broken stopped: OSError: disk full; the run goes on"):
        broken({"episode": 0, "cost": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        broken({"episode": 1, "cost": 1.0})
    assert Broken.calls == 1


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="TensorBoard stopped"):
        TensorBoard(tmp_path / "file" / "logs")({"episode": 0, "cost": 1.0})


def test_of_many_one_may_fail(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    def bad(episode: dict[str, Any]) -> None:
        raise RuntimeError("no")

    log = TensorBoard(tmp_path)
    with Many([bad, seen.append, log]) as many:
        with pytest.warns(RuntimeWarning, match="bad stopped"):
            many({"episode": 0, "cost": 1.0})
        many({"episode": 1, "cost": 2.0})
    assert len(seen) == 2 and len(read_events(log.path)) == 2


def test_a_run_is_logged(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as log:
        result = ocorl.run("glucose-in-blood", episodes=2, measurements=3, quiet=True, callback=log)
    costs = [event.value for event in read_events(log.path) if event.tag == "cost"]
    assert costs == pytest.approx(list(result.costs), rel=1e-6)


def test_the_program_logs_the_same(program: str, tmp_path: Path) -> None:
    said = subprocess.run(
        [program, "run", "glucose-in-blood", "--episodes", "2", "--measurements", "3", "--out", "run", "--log", "tensorboard", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    (path,) = (tmp_path / "run" / "tensorboard").iterdir()
    costs = [(event.step, event.value) for event in read_events(path) if event.tag == "cost"]
    expected = [(record["episode"], record["cost"]) for record in json.loads(said.stdout)["episodes"]]
    assert costs == [(step, pytest.approx(cost, rel=1e-6)) for step, cost in expected]


def test_mlflow_and_wandb_take_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins with the few functions that are used: the packages are services and large."""
    import types

    calls: list[Any] = []
    mlflow: Any = types.ModuleType("mlflow")
    mlflow.active_run = lambda: None
    mlflow.set_experiment = lambda name: calls.append(("experiment", name))
    mlflow.start_run = lambda run_name=None: calls.append(("start", run_name))
    mlflow.log_params = lambda params: calls.append(("params", params))
    mlflow.log_metrics = lambda values, step: calls.append((step, values))
    mlflow.end_run = lambda: calls.append("end")
    wandb: Any = types.ModuleType("wandb")
    run = types.SimpleNamespace(log=lambda values, step: calls.append((step, values)), finish=lambda: calls.append("end"))

    def init(**settings: Any) -> Any:
        calls.append(settings)
        return run

    wandb.run, wandb.init = None, init
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    with MlFlow("lab", "first", seed=0) as one, WandB("lab", seed=0) as two:
        Many([one, two])({"episode": 4, "cost": 2.0})
    assert calls == [
        ("experiment", "lab"),
        ("start", "first"),
        ("params", {"seed": 0}),
        {"project": "lab", "name": None, "config": {"seed": 0}},
        (4, {"cost": 2.0}),
        (4, {"cost": 2.0}),
        "end",
        "end",
    ]
