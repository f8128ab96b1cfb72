"""A function for each combination of some values, on threads, processes or Ray."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from ._errors import UserError, WorkersError


@dataclass(frozen=True)
class Call:
    """One call of a function, with its arguments and its value or its exception."""

    #: Keyword arguments.
    arguments: dict[str, Any]
    #: Returned value; None if it raised.
    value: Any = None
    #: Exception; None if it returned.
    error: BaseException | None = None


def combinations(grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return all combinations of the values of each argument; a sequence of dictionaries is taken as it is.

    Examples
    --------
    >>> combinations({"seed": range(2), "kernel": ["rbf"]})
    [{'seed': 0, 'kernel': 'rbf'}, {'seed': 1, 'kernel': 'rbf'}]
    """
    if not isinstance(grid, Mapping):
        return [dict(each) for each in grid]
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise UserError(f"'{name}' must have a list of values, not {values!r}", hint=f"as in: {{'{name}': [...]}}")
    return [dict(zip(grid, each)) for each in itertools.product(*grid.values())]


def calls(function: Callable[..., Any], grid: Any, backend: str, jobs: int | None, say: Callable[[str], None]) -> list[Call]:
    """Call the function for each combination; exceptions are kept, and the order is that of the combinations."""
    if not isinstance(grid, (Mapping, Sequence)) or isinstance(grid, str):
        raise UserError("the grid of a function is a dictionary of lists", hint="ocorl.sweep(f, {'seed': range(3)})")
    each = combinations(grid)
    found: list[Call | None] = [None] * len(each)
    ended = 0

    def keep(index: int, value: Any, error: BaseException | None) -> None:
        nonlocal ended
        found[index] = Call(each[index], value, error)
        ended += 1
        what = "done" if error is None else f"failed: {type(error).__name__}: {error}"
        say(f"[{ended}/{len(each)}] {each[index]}: {what}")

    workers = jobs or os.cpu_count() or 1
    if backend == "ray":
        _on_ray(function, each, keep)
    elif backend in ("threads", "processes"):
        # A forked process would share threads and open studies; a spawned one begins anew.
        pool: Executor = ThreadPoolExecutor(workers) if backend == "threads" else ProcessPoolExecutor(workers, get_context("spawn"))
        with pool:
            futures: dict[Future[Any], int] = {pool.submit(function, **arguments): index for index, arguments in enumerate(each)}
            for future in as_completed(futures):
                error = future.exception()
                keep(futures[future], None if error is not None else future.result(), error)
    else:
        raise UserError(f"no back end '{backend}'; there are: threads, processes, ray")
    return [call for call in found if call is not None]


def _on_ray(function: Callable[..., Any], each: Sequence[dict[str, Any]], keep: Callable[[int, Any, BaseException | None], None]) -> None:
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise WorkersError("Ray is not installed", hint="pip install 'ocorl[ray]'") from None
    from ._ray import alone

    if not ray.is_initialized():
        with alone():
            ray.init(include_dashboard=False, log_to_driver=False)
    remote = ray.remote(num_cpus=1)(function)
    places = {remote.remote(**arguments): index for index, arguments in enumerate(each)}
    waiting = list(places)
    while waiting:
        ready, waiting = ray.wait(waiting)
        for handle in ready:
            try:
                keep(places[handle], ray.get(handle), None)
            except Exception as error:
                keep(places[handle], None, error)
