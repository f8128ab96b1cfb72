"""Sweeps: many runs, on threads of this machine or on a Ray cluster, with identical results.

A grid (a TOML file) is a list of cells; a cell is a system, settings and a seed. Cells are transported as JSON text
and run with one thread each. Only the driver stores results, in one database, as they arrive. To resume an
interrupted sweep, call it again.


>>> import tempfile
>>> grid = {"systems": ["glucose-in-blood"], "seeds": 2, "set": {"episodes": 1}}
>>> with tempfile.TemporaryDirectory() as folder:
...     done = sweep(grid, out=folder, quiet=True)
...     again = sweep(grid, out=folder, quiet=True)
>>> len(done.cells), again.ran
(2, 0)

From a shell: ``python -m ocorl.sweep grid.toml``, or with ``--ray auto`` on the cluster this machine belongs to.
"""

from __future__ import annotations

import _thread
import argparse
import json
import os
import platform
import signal
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, overload

from . import _ocorl
from ._errors import BusyError, DamagedError, DiskError, OcorlError, UserError, WorkersError
from ._map import Call, calls
from ._toml import toml

__all__ = ["Backend", "Began", "Call", "Done", "Lost", "SweepResult", "WorkersError", "drive", "main", "sweep"]

#: Grace period beyond the budget: a fraction of the budget plus a number of seconds.
_GRACE = (1.5, 60.0)
#: Interval at which budgets are checked, in seconds.
_TICK = 0.2
#: Exit codes of the program; every other error is 1.
_CODES = ((UserError, 2), (DamagedError, 3), (BusyError, 4), (DiskError, 5))


@dataclass(frozen=True)
class Began:
    """Reports that a cell has started on a worker; its time is counted from here."""


@dataclass(frozen=True)
class Done:
    """Result of a cell as JSON, with its processor time and wall-clock time in seconds."""

    result: str
    cpu: float = 0.0
    wall: float = 0.0


@dataclass(frozen=True)
class Lost:
    """Reports why a cell has no result: its worker died, its node is gone, or it raised an exception.

    With `again` a retry is useful; an exception of the cell itself would be raised again.
    """

    reason: str
    again: bool = True


class Backend(Protocol):
    """Interface of a back end that runs cells: Ray, or a simulated cluster in a test."""

    @property
    def slots(self) -> int:
        """Return how many cells may be in progress; called repeatedly, because workers come and go."""

    def check(self, version: str) -> None:
        """Raise :class:`WorkersError` unless every worker has this version of `ocorl`. Called once, before any work."""

    def submit(self, cell: str, budget: float | None) -> Any:
        """Start a cell with a budget of `budget` seconds, and return a hashable handle."""

    def wait(self, handles: Sequence[Any], timeout: float) -> Sequence[tuple[Any, Began | Done | Lost]]:
        """Return the reports received within `timeout` seconds: pairs of a handle and a report.

        A cell whose start is not reported never exceeds its budget, however long it waits for a worker.
        """

    def cancel(self, handle: Any) -> None:
        """Abandon a cell; no report of it will follow."""

    def close(self) -> None:
        """Release the resources of the back end."""


def drive(
    cells: Sequence[str],
    backend: Backend,
    keep: Callable[[int, Done], None],
    *,
    retries: int = 3,
    budget: float | None = None,
    progress: Callable[[int, str], None] = lambda index, text: None,
) -> None:
    """Run every cell and pass each result to `keep` once, in the order in which the cells end.

    A cell whose worker is lost is retried at most `retries` times. Then it has failed, with the reason in its result.
    A cell that exceeds its budget stops by itself; one that does not is abandoned.
    """
    waiting = deque(range(len(cells)))
    tries = [0] * len(cells)
    running: dict[Any, int] = {}
    began: dict[Any, float] = {}
    try:
        while waiting or running:
            while waiting and len(running) < max(1, backend.slots):
                index = waiting.popleft()
                tries[index] += 1
                running[backend.submit(cells[index], budget)] = index
            for handle, report in backend.wait(list(running), _TICK):
                if handle not in running:
                    continue  # the cell was abandoned
                if isinstance(report, Began):
                    began[handle] = time.monotonic()
                    continue
                index = running.pop(handle)
                began.pop(handle, None)
                if isinstance(report, Done):
                    keep(index, report)
                    progress(index, "done")
                elif report.again and tries[index] <= retries:
                    waiting.append(index)
                    progress(index, f"lost ({report.reason}), try {tries[index] + 1} of {retries + 1}")
                else:
                    times = f" ({tries[index]} times)" if tries[index] > 1 else ""
                    keep(index, Done(failed(cells[index], report.reason + times)))
                    progress(index, f"failed: {report.reason}")
            if budget is not None:
                late = time.monotonic() - budget * (1.0 + _GRACE[0]) - _GRACE[1]
                for handle in [handle for handle, begin in began.items() if begin < late]:
                    backend.cancel(handle)
                    index = running.pop(handle)
                    del began[handle]
                    keep(index, Done(failed(cells[index], f"out of time: it took more than {budget:g} s")))
                    progress(index, "failed: out of time")
    finally:
        for handle in running:
            backend.cancel(handle)


def failed(cell: str, reason: str) -> str:
    """Return the result of a failed cell as JSON."""
    version, why = json.dumps(_ocorl.__version__), json.dumps(reason, ensure_ascii=False)
    return f'{{"cell":{cell},"version":{version},"failure":{why},"known":null,"episodes":[]}}'


@dataclass(frozen=True)
class SweepResult:
    """Results of a sweep: a document for each cell, in the order of the grid."""

    #: Folder of the sweep.
    folder: Path
    #: One document for each cell: ``cell``, ``failure``, ``known``, ``episodes``.
    cells: list[dict[str, Any]]
    #: Number of cells that were run in this call; the others had finished before.
    ran: int

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Return the cells without a result."""
        return [cell for cell in self.cells if cell["failure"] is not None]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per cell: changed settings, final cost, and the reason of a failure."""
        rows = []
        for result in self.cells:
            cell, ended = result["cell"], result["failure"] is None and result["episodes"]
            rows.append(
                {"system": cell["system"], "settings": cell["settings"], **cell["set"], "seed": cell["seed"]}
                | {"final_cost": result["episodes"][-1]["cost"] if ended else None}
                | {"optimum": (result["known"] or {}).get("continuous"), "failure": result["failure"]}
            )
        return rows

    def to_pandas(self) -> Any:
        """Return `rows` as a pandas data frame."""
        return import_module("pandas").DataFrame(self.rows())

    def table(self) -> str:
        """Return mean and standard deviation of the final costs over the seeds, one line per combination."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for result in self.cells:
            cell = result["cell"]
            changes = [f"{path} = {value}" for path, value in cell["set"].items()]
            if cell["settings"] != "default":
                changes.insert(0, f"{cell['settings']} settings")
            groups.setdefault(", ".join([cell["system"], *changes]), []).append(result)
        lines = []
        for name, results in groups.items():
            costs = [r["episodes"][-1]["cost"] for r in results if r["failure"] is None and r["episodes"]]
            final = "no result" if not costs else f"{statistics.fmean(costs):.4g}"
            if len(costs) > 1:
                final += f" +- {statistics.stdev(costs):.2g}"
            lost = len(results) - len(costs)
            seeds = "1 seed" if len(costs) == 1 else f"{len(costs)} seeds"
            lines.append(f"{name}: {final} ({seeds}{f', {lost} failed' if lost else ''})")
        return "\n".join(lines)

    def __repr__(self) -> str:
        lost = len(self.failed)
        return f"<sweep of {len(self.cells)} cells in '{self.folder}'{f', {lost} failed' if lost else ''}>"


@overload
def sweep(
    grid: Callable[..., Any],
    over: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    backend: str = "threads",
    *,
    jobs: int | None = None,
    quiet: bool = False,
) -> list[Call]: ...
@overload
def sweep(
    grid: str | os.PathLike[str] | Mapping[str, Any],
    over: str | Backend | None = None,
    backend: str | Backend = "threads",
    *,
    out: str | os.PathLike[str] | None = None,
    address: str | None = None,
    jobs: int | None = None,
    retries: int = 3,
    again: bool = False,
    quiet: bool = False,
) -> SweepResult: ...
def sweep(
    grid: str | os.PathLike[str] | Mapping[str, Any] | Callable[..., Any],
    over: Any = None,
    backend: str | Backend = "threads",
    *,
    out: str | os.PathLike[str] | None = None,
    address: str | None = None,
    jobs: int | None = None,
    retries: int = 3,
    again: bool = False,
    quiet: bool = False,
) -> SweepResult | list[Call]:
    """Run the cells of a grid that are not finished yet, or call a function for each combination of some values.

    Parameters
    ----------
    grid : str, path, mapping or callable
        TOML file, its text, a dictionary of the same form, or the name of a built-in grid such as ``"table1"``. Or a
        function, for example of a seed, with systems and plants of your own; nothing is stored then.
    over : mapping or sequence of mappings, optional
        With a function: the values of each keyword argument, of which all combinations are called; or the arguments of
        each call. With a grid it is the back end.
    backend : {"threads", "processes", "ray"} or Backend, default "threads"
        Where to run the cells. ``"processes"`` is for functions, which must be importable by name.
    out : path, optional
        Folder of the sweep; by default ``sweeps/`` and the name of the file.
    address : str, optional
        Address of a Ray cluster; ``"auto"`` is the cluster of this machine. Without it, ``RAY_ADDRESS`` names one.
        Otherwise, as with ``"local"``, Ray is started on this machine only. A Ray that runs in this process already
        is used unchanged.
    jobs : int, optional
        Number of concurrent cells; by default the number of processors.
    retries : int, default 3
        Number of retries of a cell whose worker was lost.
    again : bool, default False
        Whether to run also the cells that failed before.
    quiet : bool, default False
        Whether to print nothing.

    Returns
    -------
    SweepResult or list of Call
        Results of all cells; with a function the values and exceptions of all calls, in their order.

    Raises
    ------
    WorkersError
        A worker has no `ocorl`, or another version.
    UserError
        The grid is invalid.

    Examples
    --------
    >>> import ocorl
    >>> [call.value for call in ocorl.sweep(lambda seed, power: seed**power, {"seed": range(3), "power": [2]}, quiet=True)]
    [0, 1, 4]
    """
    if callable(grid):
        if not isinstance(backend, str):
            raise UserError("a function runs on threads, processes or ray")
        say_call: Callable[[str], None] = (lambda text: None) if quiet else lambda text: print(text, file=sys.stderr, flush=True)
        return calls(grid, over, backend, jobs, say_call)
    if over is not None:
        backend = over
    if not isinstance(grid, (str, os.PathLike, Mapping)):
        raise UserError(f"'grid' cannot be a {type(grid).__name__}", hint="a file, a dictionary, or a function")
    described, name = _grid(grid)
    folder = Path(out) if out is not None else Path("sweeps") / name
    cells, names, budget = described.cells, described.names, described.budget
    say: Callable[[str], None] = (lambda text: None) if quiet else lambda text: print(text, file=sys.stderr, flush=True)
    # Closed in any case: the traceback of an interrupt, which a notebook keeps, would also keep the lock on the folder.
    with closing(_ocorl.Sweep(str(folder), described)) as kept:
        todo = kept.todo(again)
        say(f"{len(cells)} cells, {len(cells) - len(todo)} already done, {len(todo)} to run")
        ended = 0

        def progress(index: int, text: str) -> None:
            say(f"[{ended}/{len(todo)}] {names[index]}: {text}")

        if isinstance(backend, str) and backend == "threads":
            if address is not None:
                raise UserError("an address is for backend='ray'")

            def hear(kind: str, index: int, contents: str) -> None:
                nonlocal ended
                if kind == "ended":
                    ended += 1
                    failure = json.loads(contents)["failure"]
                    progress(index, "done" if failure is None else f"failed: {failure}")

            kept.run(todo, jobs=jobs, budget=budget, hear=hear)
        elif todo:
            runner = _backend(backend, address, jobs)
            try:
                runner.check(_ocorl.__version__)
                kept.begins()

                def keep(place: int, done: Done) -> None:
                    nonlocal ended
                    kept.keep(todo[place], done.result, done.cpu, done.wall)
                    ended += 1

                cells_to_run = [cells[index] for index in todo]
                speak = lambda place, text: progress(todo[place], text)  # noqa: E731
                drive(cells_to_run, runner, keep, retries=retries, budget=budget, progress=speak)
            finally:
                runner.close()
        where = backend if isinstance(backend, str) else type(backend).__name__
        kept.save(f"ocorl.sweep, {where}", f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
        results = [kept.result(index) for index in range(len(cells))]
        return SweepResult(folder, [json.loads(result) for result in results if result is not None], len(todo))


def _backend(backend: str | Backend, address: str | None, jobs: int | None) -> Backend:
    if not isinstance(backend, str):
        return backend
    if backend == "ray":
        from ._ray import Ray

        return Ray(address, jobs)
    raise UserError(f"no back end '{backend}'; there are: threads, ray")


def _grid(grid: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[_ocorl.Grid, str]:
    """Read a grid, and derive the name of its folder."""
    if isinstance(grid, Mapping):
        text = "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in grid.items())
        return _ocorl.Grid(text, "grid"), "sweep"
    if isinstance(grid, str) and "\n" in grid:
        return _ocorl.Grid(grid, "grid"), "sweep"
    path = Path(grid)
    if str(grid) in _ocorl.studies() and not path.exists():
        return _ocorl.Grid.study(str(grid)), str(grid)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        names = ", ".join(_ocorl.studies())
        raise UserError(f"cannot read the grid '{path}': {error.strerror}", hint=f"shipped grids: {names}") from error
    return _ocorl.Grid(text, str(path)), path.stem


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m ocorl.sweep`` and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m ocorl.sweep",
        description="Runs the cells of a grid on this machine or on a Ray cluster.",
        epilog="An interrupted sweep is resumed by the same command.",
    )
    parser.add_argument("grid", help="TOML file of a grid, or the name of a shipped one, such as table1")
    parser.add_argument("--out", metavar="DIR", help="folder of the sweep [sweeps/ and the name of the grid]")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="use Ray: 'auto' or an address for a cluster, 'local' to start it here"
    )
    parser.add_argument("--jobs", type=int, metavar="J", help="cells at a time [all processors]")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="tries after a lost worker [3]")
    parser.add_argument("--again", action="store_true", help="run failed cells again")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a cell failed")
    parser.add_argument("-q", "--quiet", action="store_true", help="only the table")
    # For a parent process that holds the other end of a pipe.
    parser.add_argument("--held", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.held:
        _stop_when_let_go()
    try:
        result = sweep(
            given.grid,
            "threads" if given.ray is None else "ray",
            out=given.out,
            address=given.ray,
            jobs=given.jobs,
            retries=given.retries,
            again=given.again,
            quiet=given.quiet,
        )
    except OcorlError as error:
        print(f"error: {error}", file=sys.stderr)
        return next((code for kind, code in _CODES if isinstance(error, kind)), 1)
    except KeyboardInterrupt:
        print("interrupted; finished cells are stored, the same command continues", file=sys.stderr)
        return 130
    print(result.table())
    for cell in result.failed:
        print(f"failed: {cell['cell']['system']}, seed {cell['cell']['seed']}: {cell['failure']}", file=sys.stderr)
    return 1 if given.strict and result.failed else 0


def _stop_when_let_go() -> None:
    """Treat the end of standard input as Ctrl-C.

    Only the first of both counts, so that cleaning up is not interrupted again.
    """

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    def listen() -> None:
        # Not through `sys.stdin`, whose lock the interpreter needs at exit.
        while os.read(0, 4096):
            pass
        _thread.interrupt_main()

    signal.signal(signal.SIGINT, stop)
    threading.Thread(target=listen, daemon=True).start()


class _Callable(ModuleType):
    """`ocorl.sweep` serves as a function and as this module: the module can be called like the function."""

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        return sweep(*arguments, **settings)


if __name__ == "__main__":
    # Uses the imported module instead of `__main__`, so that its classes are identical for all users.
    sys.exit(import_module("ocorl.sweep").main())

sys.modules[__name__].__class__ = _Callable
