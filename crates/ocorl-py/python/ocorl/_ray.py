"""Ray as a back end of sweeps: it moves the JSON text of cells and of results, nothing else.

What is taken care of: one thread for each cell (Ray's ``num_cpus=1`` limits nobody), no usage statistics, no dashboard, loopback only when
Ray is started here, the same version of `ocorl` on every worker. Token authentication is Ray's own and stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from . import _ocorl
from ._errors import OcorlError, WorkersError
from .sweep import Done, Lost

# Before Ray is imported anywhere: it looks at this when it starts.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

#: What every worker has in its environment.
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}

#: Ray takes 127.0.0.1 for a mistake and listens on every interface instead, unless it is told that this machine is no part of a cluster. The
#: name is that of two other systems, where this is the rule.
LOOPBACK = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def run_cell(cell: str, version: str, budget: float | None = None) -> tuple[str, float, float]:
    """What a worker does. A node may have joined after the check, so the version is looked at here too."""
    here = _ocorl.__version__
    if here != version:
        raise WorkersError(f"a worker has ocorl {here}, the driver {version}")
    return _ocorl.run_cell(cell, budget=budget)


def version_here() -> str:
    """The version of `ocorl` on a worker."""
    return str(_ocorl.__version__)


class Ray:
    """Cells as tasks of Ray, one processor each. Retries are the driver's, so that they can be counted."""

    def __init__(self, address: str | None = None, jobs: int | None = None) -> None:
        # Ray's own way to name a cluster.
        address = address or os.environ.get("RAY_ADDRESS") or None
        if address is None:
            # Looked at when Ray is imported; see LOOPBACK.
            os.environ.setdefault(*LOOPBACK)
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise WorkersError("Ray is not installed", hint="pip install 'ocorl[ray]'") from error
        self._ray = ray
        self._mine = not ray.is_initialized()
        if self._mine:
            self._start(address, jobs)
        processors = int(ray.cluster_resources().get("CPU", 1))
        # A few more than there is room for, so that no worker waits for the driver.
        self.slots = jobs if jobs is not None else processors + max(2, processors // 8)
        options = {"num_cpus": 1, "max_retries": 0, "runtime_env": {"env_vars": ONE_THREAD}}
        self._cell = ray.remote(**options)(run_cell)
        self._version = ray.remote(**{**options, "num_cpus": 0})(version_here)
        self._expected = str(_ocorl.__version__)

    def _start(self, address: str | None, jobs: int | None) -> None:
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if address is None:
            local = {"num_cpus": jobs or os.cpu_count() or 1, "include_dashboard": False}
            settings |= {**local, "_node_ip_address": "127.0.0.1"}
        else:
            settings["address"] = address
        try:
            self._ray.init(**settings)
        except Exception as error:
            where = "here" if address is None else f"at '{address}'"
            raise WorkersError(f"no Ray {where}: {error}") from error

    def check(self, version: str) -> None:
        """Asks every node that has processors."""
        affinity: Any = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        self._expected = version
        asked = {}
        for node in self._ray.nodes():
            if node["Alive"] and node["Resources"].get("CPU", 0) > 0:
                there = affinity(node_id=node["NodeID"], soft=False)
                asked[node["NodeManagerAddress"]] = self._version.options(scheduling_strategy=there).remote()
        for place, handle in asked.items():
            try:
                theirs = self._ray.get(handle, timeout=120)
            except Exception as error:
                cause = str(getattr(error, "cause", None) or error).strip().splitlines()
                raise WorkersError(f"the worker at {place} cannot use ocorl: {cause[-1] if cause else error}") from error
            if theirs != version:
                raise WorkersError(f"the worker at {place} has ocorl {theirs}, the driver {version}")

    def submit(self, cell: str, budget: float | None) -> Any:
        """Begins a cell."""
        return self._cell.remote(cell, self._expected, budget)

    def wait(self, handles: Sequence[Any], timeout: float) -> list[tuple[Any, Done | Lost]]:
        """What has ended, after at most `timeout` seconds."""
        ended, _ = self._ray.wait(list(handles), num_returns=1, timeout=timeout)
        return [(handle, self._result(handle)) for handle in ended]

    def _result(self, handle: Any) -> Done | Lost:
        errors = self._ray.exceptions
        try:
            return Done(*self._ray.get(handle))
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
        """Ends the worker of a cell."""
        try:
            self._ray.cancel(handle, force=True)
        except Exception:  # the cluster may be gone already
            return

    def close(self) -> None:
        """Ends what was started here."""
        if self._mine:
            self._ray.shutdown()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
