"""Sweeps: the driver with back ends that fail in every way, and threads."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ocorl
import pytest
from ocorl.sweep import Began, Done, Lost, WorkersError, drive, failed, main, sweep

GRID = {"systems": ["glucose-in-blood"], "seeds": 3, "set": {"episodes": 2, "measurements": 3}}
#: One for the program.
TOML = 'systems = ["glucose-in-blood"]\nseeds = 1\n[set]\nepisodes = 1\n'


class Fake:
    """A cluster that loses workers as it is told: `plan` says for each cell what becomes of its first tries."""

    def __init__(self, plan: dict[str, list[str]], version: str = ocorl.__version__, slots: int = 2) -> None:
        self.slots, self._plan, self._version = slots, plan, version
        self._handles: dict[int, str] = {}
        self.submitted: list[str] = []
        self.began: set[int] = set()
        self.cancelled: list[int] = []
        self.closed = False
        self.most = 0

    def check(self, version: str) -> None:
        if self._version != version:
            raise WorkersError(f"the worker at 10.0.0.2 has ocorl {self._version}, the driver {version}")

    def submit(self, cell: str, budget: float | None) -> int:
        self.submitted.append(cell)
        handle = len(self.submitted)
        self._handles[handle] = cell
        self.most = max(self.most, len(self._handles))
        return handle

    def wait(self, handles: Sequence[Any], timeout: float) -> list[tuple[Any, Began | Done | Lost]]:
        heard: list[tuple[Any, Began | Done | Lost]] = []
        for handle in handles:
            cell = self._handles[handle]
            fate = self._plan.get(cell, [])
            word = fate.pop(0) if fate else "well"
            if word == "waits":  # for a worker
                time.sleep(0.01)
                continue
            if handle not in self.began:
                self.began.add(handle)
                heard.append((handle, Began()))
            if word == "hangs":
                fate.insert(0, "hangs")
                time.sleep(0.01)
                continue
            del self._handles[handle]
            if word == "well":
                heard.append((handle, Done(cell.upper())))
            else:
                heard.append((handle, Lost(word, again=word != "raises")))
        return heard

    def cancel(self, handle: Any) -> None:
        self.cancelled.append(handle)
        self._handles.pop(handle, None)

    def close(self) -> None:
        self.closed = True


def driven(plan: dict[str, list[str]], **settings: Any) -> tuple[Fake, dict[int, str]]:
    kept: dict[int, str] = {}
    fake = Fake(plan)

    def keep(index: int, done: Done) -> None:
        assert index not in kept, "a cell is kept once"
        kept[index] = done.result

    cells = ['{"a":1}', '{"b":2}', '{"c":3}']
    drive(cells, fake, keep, **settings)
    assert sorted(kept) == [0, 1, 2]
    return fake, kept


def test_lost_workers_are_replaced() -> None:
    fake, kept = driven({'{"a":1}': ["node died"], '{"c":3}': ["out of memory"] * 3})
    assert [kept[i] for i in range(3)] == ['{"A":1}', '{"B":2}', '{"C":3}']
    assert len(fake.submitted) == 3 + 1 + 3
    assert fake.most <= 2


def test_after_three_more_tries_a_cell_has_failed_and_the_others_have_not() -> None:
    fake, kept = driven({'{"b":2}': ["node died"] * 9})
    assert fake.submitted.count('{"b":2}') == 4
    result = json.loads(kept[1])
    assert result["failure"] == "node died (4 times)" and result["cell"] == {"b": 2}
    assert kept[0] == '{"A":1}' and kept[2] == '{"C":3}'


def test_what_a_cell_does_wrong_is_not_tried_again() -> None:
    fake, kept = driven({'{"b":2}': ["raises"]})
    assert fake.submitted.count('{"b":2}') == 1
    assert json.loads(kept[1])["failure"] == "raises"


def test_a_cell_over_its_budget_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["ocorl.sweep"], "_GRACE", (0.0, 0.0))
    fake, kept = driven({'{"b":2}': ["hangs"]}, budget=0.1)
    assert json.loads(kept[1])["failure"] == "out of time: it took more than 0.1 s"
    assert len(fake.cancelled) == 1


def test_a_cell_that_waits_for_a_worker_is_not_over_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["ocorl.sweep"], "_GRACE", (0.0, 0.0))
    fake, kept = driven({'{"b":2}': ["waits"] * 30, '{"c":3}': ["node died", *["waits"] * 30]}, budget=0.1)
    assert [kept[i] for i in range(3)] == ['{"A":1}', '{"B":2}', '{"C":3}']
    assert fake.cancelled == []


def test_an_error_while_keeping_ends_the_work() -> None:
    def keep(index: int, done: Done) -> None:
        raise ocorl.DiskError("disk full")

    fake = Fake({'{"b":2}': ["hangs"]})
    with pytest.raises(ocorl.DiskError):
        drive(['{"a":1}', '{"b":2}'], fake, keep)
    assert len(fake.cancelled) == 1


def test_another_version_is_refused_before_work_starts(tmp_path: Path) -> None:
    fake = Fake({}, version="0.0.9")
    with pytest.raises(WorkersError, match="has ocorl 0.0.9, the driver"):
        sweep(GRID, fake, out=tmp_path, quiet=True)
    assert fake.submitted == [] and fake.closed
    assert issubclass(WorkersError, ocorl.OcorlError)


class Local:
    """Cells in this process, one after the other: the simplest back end there is."""

    slots = 1

    def __init__(self) -> None:
        self.cells: list[str] = []

    def check(self, version: str) -> None:
        assert version == ocorl.__version__

    def submit(self, cell: str, budget: float | None) -> int:
        self.cells.append(cell)
        return len(self.cells) - 1

    def wait(self, handles: Sequence[Any], timeout: float) -> Sequence[tuple[Any, Began | Done | Lost]]:
        return [(handle, self.run(self.cells[handle])) for handle in handles]

    def run(self, cell: str) -> Done | Lost:
        return Done(*ocorl._ocorl.run_cell(cell))

    def cancel(self, handle: Any) -> None: ...

    def close(self) -> None: ...


def test_another_back_end_gives_the_table_of_threads(tmp_path: Path) -> None:
    sweep(GRID, out=tmp_path / "threads", quiet=True)
    sweep(GRID, Local(), out=tmp_path / "local", quiet=True)
    for name in ("results.csv", "episodes.csv"):
        assert (tmp_path / "threads" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


def test_a_sweep_is_the_same_with_any_number_of_threads(tmp_path: Path) -> None:
    tables = []
    for jobs in (1, 2):
        done = sweep(GRID, out=tmp_path / str(jobs), jobs=jobs, quiet=True)
        assert done.ran == 3 and not done.failed
        tables.append([(tmp_path / str(jobs) / name).read_bytes() for name in ("results.csv", "episodes.csv")])
    assert tables[0] == tables[1]
    assert len(done.rows()) == 3 and done.rows()[0]["final_cost"] > 0
    assert "glucose-in-blood" in done.table() and "3 seeds" in done.table()


def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    first = sweep({**GRID, "seeds": 1}, out=tmp_path, quiet=True)
    more = sweep(GRID, out=tmp_path, quiet=True)
    again = sweep(GRID, out=tmp_path, quiet=True)
    assert (first.ran, more.ran, again.ran) == (1, 2, 0)
    assert again.cells == more.cells and more.cells[0] == first.cells[0]


def test_failed_cells_are_kept_and_run_again_when_asked(tmp_path: Path) -> None:
    class Unlucky(Local):
        def run(self, cell: str) -> Done | Lost:
            return Lost("it rained", again=False) if json.loads(cell)["seed"] == 1 else super().run(cell)

    done = sweep(GRID, Unlucky(), out=tmp_path, quiet=True)
    assert [cell["failure"] for cell in done.cells] == [None, "it rained", None]
    assert sweep(GRID, out=tmp_path, quiet=True).ran == 0
    healed = sweep(GRID, out=tmp_path, quiet=True, again=True)
    assert healed.ran == 1 and not healed.failed


def test_a_result_of_a_failed_cell_is_what_the_program_writes() -> None:
    cell = ocorl._ocorl.Grid('systems = "pendulum"\nseeds = 1\n').cells[0]
    read = json.loads(failed(cell, 'a "quoted" reason'))
    assert read["failure"] == 'a "quoted" reason' and read["cell"] == json.loads(cell)
    assert list(read) == ["cell", "version", "failure", "known", "episodes"]


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ('systems = ["pendulm"]\nseeds = 1\n', "pendulm"),
        ("nowhere.toml", "cannot read"),
        ("systems = \"pendulum\"\nseds = 1\n", "grid"),
    ],
)
def test_grids_that_are_none_are_said(grid: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ocorl.UserError, match=words):
        sweep(grid, out=tmp_path, quiet=True)


def test_back_ends_that_are_none_are_said(tmp_path: Path) -> None:
    with pytest.raises(ocorl.UserError, match="threads, ray"):
        sweep(GRID, "mpi", out=tmp_path, quiet=True)
    with pytest.raises(ocorl.UserError, match="address"):
        sweep(GRID, "threads", address="auto", out=tmp_path, quiet=True)


def test_the_name_is_a_function_to_all(tmp_path: Path) -> None:
    assert callable(ocorl.sweep) and callable(sys.modules["ocorl.sweep"])
    done = sys.modules["ocorl.sweep"]({**GRID, "seeds": 1}, out=tmp_path, quiet=True)
    assert len(done.cells) == 1


def test_from_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(TOML)
    arguments = [str(grid), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main(arguments) == 0
    out = capsys.readouterr()
    assert out.out.startswith("glucose-in-blood") and "1 to run" in out.err
    assert main([str(tmp_path / "none.toml")]) == 2
    held = ocorl._ocorl.Sweep(str(tmp_path / "out"), ocorl._ocorl.Grid(TOML))
    assert main(arguments) == 4
    assert "error: " in capsys.readouterr().err
    held.close()
    assert main(arguments) == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ocorl.UserError("no such grid"), 2),
        (ocorl.DamagedError("bytes"), 3),
        (ocorl.BusyError("process 7"), 4),
        (ocorl.DiskError("full"), 5),
        (ocorl.StudyError("closed"), 1),
        (WorkersError("Ray is not installed"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes_are_those_of_the_program(error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*arguments: object, **settings: object) -> None:
        raise error

    monkeypatch.setattr(sys.modules["ocorl.sweep"], "sweep", raises)
    assert main(["grid.toml"]) == code


def test_a_sweep_that_was_stopped_is_called_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook keeps the exception, with all that its traceback holds."""

    class Stopped(Local):
        def run(self, cell: str) -> Done | Lost:
            if json.loads(cell)["seed"] == 1:
                raise KeyboardInterrupt
            return super().run(cell)

    class Impatient(io.StringIO):
        def write(self, words: str) -> int:
            if words.startswith("["):  # a cell has ended
                raise KeyboardInterrupt
            return super().write(words)

    with pytest.raises(KeyboardInterrupt) as elsewhere:
        sweep(GRID, Stopped(), out=tmp_path, quiet=True)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as here:
        patch.setattr(sys, "stderr", Impatient())
        sweep(GRID, out=tmp_path, jobs=1)
    done = sweep(GRID, out=tmp_path, quiet=True)
    assert done.ran <= 1 and len(done.cells) == 3 and not done.failed
    assert elsewhere.tb is not None and here.tb is not None


def test_without_ray_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(WorkersError, match="Ray is not installed") as said:
        sweep(GRID, "ray", out=tmp_path, quiet=True)
    assert said.value.hint == "pip install 'ocorl[ray]'"
    assert not (tmp_path / "results.csv").exists()
    assert sweep(GRID, out=tmp_path, quiet=True).ran == 3


def stopped(command: list[str], folder: Path, stop: Callable[[subprocess.Popen[str]], object]) -> tuple[int, str, float]:
    """Exit code and words of a command that is stopped as soon as it says something, and the seconds it took to end."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None and process.stderr is not None
        first = process.stderr.readline()
        begin = time.monotonic()
        stop(process)
        rest = process.stderr.read()
        return process.wait(60), first + rest, time.monotonic() - begin


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def interrupted_and_let_go(process: subprocess.Popen[str]) -> None:
    """What Ctrl-C at a terminal comes to: the signal, and a moment later the program lets go."""
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    let_go(process)


@pytest.mark.parametrize("stop", [let_go, interrupted_and_let_go])
def test_a_driver_stops_when_the_program_lets_go_of_it(stop: Callable[..., object], tmp_path: Path) -> None:
    """Once: it has the time to put everything away."""
    code = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_sweep import Local, main
class Slow(Local):
    def wait(self, handles, timeout):
        print("at work", file=sys.stderr)
        time.sleep(timeout)
        return []
    def close(self):
        time.sleep(1)
        print("put away", file=sys.stderr)
sys.modules["ocorl.sweep"]._backend = lambda *arguments: Slow()
sys.exit(main(["grid.toml", "--ray", "local", "--held", "--quiet"]))
"""
    (tmp_path / "grid.toml").write_text(TOML)
    ended, said, _ = stopped([sys.executable, "-c", code], tmp_path, stop)
    assert ended == 130 and "interrupted; finished cells are stored" in said, said
    assert "put away" in said and "Traceback" not in said, said


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has the program take a script for Python, in a folder with a grid."""

    def does(words: str) -> None:
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\nif [ $1 = -c ]; then echo {ocorl.__version__}; exit; fi\n{words}\n")
        script.chmod(0o755)
        (tmp_path / "grid.toml").write_text(TOML)
        monkeypatch.setenv("OCORL_PYTHON", str(script))

    return does


@pytest.mark.skipif(os.name == "nt", reason="a script of a shell")
@pytest.mark.parametrize("code", [1, 2, 3, 4, 5])
def test_the_program_passes_the_code_of_its_driver_on(
    program: str, driver: Callable[[str], None], code: int, tmp_path: Path
) -> None:
    driver(f"exit {code}")
    command = [program, "sweep", "grid.toml", "--on", "ray"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr


@pytest.mark.skipif(os.name == "nt", reason="a script of a shell")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_program_stops_its_driver(
    program: str, driver: Callable[[str], None], number: signal.Signals, tmp_path: Path
) -> None:
    """By letting go of its standard input: the signal is the program's alone."""
    driver("echo begun >&2; cat >/dev/null; echo let go >&2; exit 130")

    def stop(process: subprocess.Popen[str]) -> None:
        time.sleep(0.3)
        assert process.poll() is None, "it is held"
        process.send_signal(number)

    code, said, seconds = stopped([program, "sweep", "grid.toml", "--on", "ray"], tmp_path, stop)
    assert code == 128 + number and "let go" in said and "interrupted after 0 of 1 cells" in said, said
    assert seconds < 5


def test_a_driver_that_was_killed_goes_on(tmp_path: Path) -> None:
    """Killed before its third cell: that is the only one that is run again."""
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_sweep import GRID, Local, sweep
class Deadly(Local):
    def submit(self, cell, budget):
        if len(self.cells) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().submit(cell, budget)
sweep(GRID, Deadly(), out={str(tmp_path / "killed")!r}, quiet=True)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ended.returncode == -9, ended.stderr
    done = sweep(GRID, out=tmp_path / "killed", quiet=True)
    assert done.ran == 1
    straight = sweep(GRID, out=tmp_path / "straight", quiet=True)
    assert done.cells == straight.cells
