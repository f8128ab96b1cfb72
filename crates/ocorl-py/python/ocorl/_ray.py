"""Ray as a back end of sweeps. It transports the JSON text of cells and results only.

This module ensures one thread per cell (Ray's ``num_cpus=1`` does not limit threads), no usage statistics, no
dashboard, loopback only if Ray is started here, and the same version of `ocorl` on every worker. Token authentication
is left to Ray.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from . import _ocorl
from ._errors import OcorlError, WorkersError
from .sweep import Began, Done, Lost

# Set before Ray is imported, because Ray reads this variable on start-up.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

#: Environment variables of every worker.
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}

#: At any other address, including 127.0.0.2, Ray listens on every interface.
LOOPBACK = ("127.0.0.1", "::1")

#: Hint for a Ray instance that cannot be restricted to this machine.
BY_HAND = "start it as you want it, by ray.init(...), before the sweep"


@contextmanager
def alone() -> Iterator[None]:
    """Make a Ray instance that is started within the block listen on the loopback interface only.

    Ray rejects 127.0.0.1 and listens on every interface instead, unless clusters are disabled. That is a constant in
    Ray, derived from ``RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER`` when Ray is imported: setting the variable would be too
    late if Ray has been imported already, and would prevent joining a cluster later. The constant itself is therefore
    changed.
    """
    constants: Any = import_module("ray._private.ray_constants")
    before = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    if before is None:
        raise WorkersError("this version of Ray cannot be kept to this machine alone", hint=BY_HAND)
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def run_cell(cell: str, version: str, budget: float | None = None) -> tuple[str, float, float]:
    """Executed on a worker. A node may have joined after the version check, so the version is checked here too."""
    here = _ocorl.__version__
    if here != version:
        raise WorkersError(f"a worker has ocorl {here}, the driver {version}")
    return _ocorl.run_cell(cell, budget=budget)


def stream_cell(cell: str, version: str, budget: float | None = None) -> Iterator[tuple[str, float, float] | None]:
    """Executed on a worker as a generator: first reports that the cell has started, then yields its result."""
    yield None
    yield run_cell(cell, version, budget)


def version_here() -> str:
    """Return the version of `ocorl` on a worker."""
    return str(_ocorl.__version__)


class Ray:
    """Runs cells as Ray tasks with one processor each. The driver handles retries, so that they can be counted."""

    def __init__(self, address: str | None = None, jobs: int | None = None) -> None:
        # The environment variable with which Ray names a cluster.
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise WorkersError("Ray is not installed", hint="pip install 'ocorl[ray]'") from error
        self._ray, self._jobs = ray, jobs
        self._mine = not ray.is_initialized()
        if self._mine:
            self._start(address)
        # A Ray client (``ray://``) does not support streams: the start of its cells is not reported.
        client = import_module("ray.util.client").ray.is_connected()
        self._cell = self._task(run_cell) if client else self._task(stream_cell, num_returns="streaming")
        self._version = self._task(version_here, num_cpus=0)
        self._expected = str(_ocorl.__version__)

    def _task(self, function: Callable[..., Any], **options: Any) -> Any:
        settings = {"num_cpus": 1, "max_retries": 0, "runtime_env": {"env_vars": ONE_THREAD}}
        return self._ray.remote(**(settings | options))(function)

    def _start(self, address: str) -> None:
        settings: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "error"}
        try:
            if address != "local":
                self._ray.init(**settings)
                return
            settings |= {"num_cpus": self._jobs or os.cpu_count() or 1, "include_dashboard": False}
            with alone():
                self._ray.init(**settings, _node_ip_address=LOOPBACK[0])
            for node in self._ray.nodes():
                if node["NodeManagerAddress"] not in LOOPBACK:
                    raise WorkersError(f"Ray listens at {node['NodeManagerAddress']}, not to this machine alone", hint=BY_HAND)
        except BaseException as error:
            self._ray.shutdown()
            if isinstance(error, OcorlError) or not isinstance(error, Exception):
                raise
            where = "here" if address == "local" else f"at '{address}'"
            raise WorkersError(f"no Ray {where}: {error}") from error

    @property
    def slots(self) -> int:
        """Return slightly more cells than there are processors, so that no worker waits for the driver."""
        if self._jobs is not None:
            return self._jobs
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        return processors + max(2, processors // 8)

    def check(self, version: str) -> None:
        """Check every node that has processors."""
        affinity: Any = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        self._expected = version
        asked = []
        for node in self._ray.nodes():
            if node["Alive"] and node["Resources"].get("CPU", 0) > 0:
                there = affinity(node_id=node["NodeID"], soft=False)
                asked.append((node["NodeManagerAddress"], self._version.options(scheduling_strategy=there).remote()))
        for place, handle in asked:
            try:
                theirs = self._ray.get(handle, timeout=120)
            except Exception as error:
                cause = str(getattr(error, "cause", None) or error).strip().splitlines()
                raise WorkersError(f"the worker at {place} cannot use ocorl: {cause[-1] if cause else error}") from error
            if theirs != version:
                raise WorkersError(f"the worker at {place} has ocorl {theirs}, the driver {version}")

    def submit(self, cell: str, budget: float | None) -> Any:
        """Start a cell."""
        return self._cell.remote(cell, self._expected, budget)

    def wait(self, handles: Sequence[Any], timeout: float) -> list[tuple[Any, Began | Done | Lost]]:
        """Return which cells have started or ended, after at most `timeout` seconds."""
        ready, _ = self._ray.wait(list(handles), num_returns=1, timeout=timeout)
        return [(handle, self._report(handle)) for handle in ready]

    def _report(self, handle: Any) -> Began | Done | Lost:
        errors = self._ray.exceptions
        try:
            said = self._ray.get(next(handle) if isinstance(handle, Iterator) else handle)
            return Began() if said is None else Done(*said)
        except errors.RayTaskError as error:
            cause = getattr(error, "cause", None) or error
            if isinstance(cause, WorkersError):
                raise WorkersError(str(cause)) from error
            if isinstance(cause, OcorlError):
                return Lost(str(cause), again=False)
            return Lost(f"{type(cause).__name__}: {cause}".strip().splitlines()[-1], again=False)
        except errors.OutOfMemoryError as error:
            return Lost("its worker ran out of memory: " + _first_line(error))
        except errors.RayError as error:
            return Lost(f"its worker was lost: {type(error).__name__}: " + _first_line(error))

    def cancel(self, handle: Any) -> None:
        """Terminate the worker of a cell."""
        try:
            self._ray.cancel(handle, force=True)
        except Exception:  # the cluster may be gone already
            return

    def close(self) -> None:
        """Shut Ray down if it was started here."""
        if self._mine:
            self._ray.shutdown()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
