"""Ray itself, where it is installed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import ocorl
import pytest
from ocorl.sweep import WorkersError, sweep

pytestmark = pytest.mark.ray

# Before Ray is imported: the tests are of one machine and listen to nobody else.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

GRID = {"systems": ["glucose-in-blood", "cancer-treatment"], "seeds": 3, "set": {"episodes": 3, "measurements": 4}}
FILES = ("results.csv", "episodes.csv")


@pytest.fixture
def ray() -> Iterator[Any]:
    module = pytest.importorskip("ray")
    yield module
    module.shutdown()


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The tables of threads."""
    folder = tmp_path_factory.mktemp("threads")
    sweep(GRID, out=folder, quiet=True)
    return [(folder / name).read_bytes() for name in FILES]


def tables(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def local(ray: Any) -> None:
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)


def test_one_node_gives_the_table_of_threads(ray: Any, straight: list[bytes], tmp_path: Path) -> None:
    local(ray)
    done = sweep(GRID, "ray", out=tmp_path, quiet=True)
    assert done.ran == 6 and not done.failed
    assert tables(tmp_path) == straight
    assert ray.is_initialized(), "what was not started here is not ended here"
    assert sweep(GRID, "ray", out=tmp_path, quiet=True).ran == 0


def test_killed_workers_cost_nothing_but_time(ray: Any, straight: list[bytes], tmp_path: Path) -> None:
    local(ray)
    from ocorl._ray import Ray

    class Murderous(Ray):
        """Two of the tasks end their worker, one by exit, one by a signal, and only at their first try."""

        def __init__(self) -> None:
            super().__init__()
            marks, fates = str(tmp_path), {0: "exit", 3: "signal"}

            def dies(cell: str, version: str, fate: str, mark: str) -> tuple[str, float, float]:
                path = Path(mark)
                if not path.exists():
                    path.touch()
                    if fate == "exit":
                        os._exit(1)
                    os.kill(os.getpid(), signal.SIGKILL)
                from ocorl._ray import run_cell

                return run_cell(cell, version)

            self._fates, self._marks, self._seen = fates, marks, 0
            self._dies = ray.remote(num_cpus=1, max_retries=0)(dies)

        def submit(self, cell: str, budget: float | None) -> Any:
            place, self._seen = self._seen, self._seen + 1
            if place in self._fates:
                return self._dies.remote(cell, self._expected, self._fates[place], f"{self._marks}/mark-{place}")
            return super().submit(cell, budget)

    out = tmp_path / "out"
    done = sweep(GRID, Murderous(), out=out, quiet=True)
    assert not done.failed and done.ran == 6
    assert (tmp_path / "mark-0").exists() and (tmp_path / "mark-3").exists()
    assert tables(out) == straight


def test_a_worker_that_always_dies_is_a_failed_cell(ray: Any, tmp_path: Path) -> None:
    local(ray)
    from ocorl._ray import Ray

    class Deadly(Ray):
        def submit(self, cell: str, budget: float | None) -> Any:
            if json.loads(cell)["seed"] == 0:
                return ray.remote(num_cpus=1, max_retries=0)(lambda: os._exit(1)).remote()
            return super().submit(cell, budget)

    grid = {**GRID, "systems": ["glucose-in-blood"], "seeds": 2}
    done = sweep(grid, Deadly(), out=tmp_path, quiet=True)
    assert len(done.failed) == 1
    assert "its worker was lost" in done.failed[0]["failure"] and "(4 times)" in done.failed[0]["failure"]


def test_another_version_is_named(ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local(ray)
    monkeypatch.setattr("ocorl._ocorl.__version__", "99.0.0")
    with pytest.raises(WorkersError, match=r"the worker at 127\.0\.0\.1 has ocorl .*, the driver 99"):
        sweep(GRID, "ray", out=tmp_path, quiet=True)


def test_no_cluster_at_an_address_is_named(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(WorkersError, match="no Ray at"):
        sweep(GRID, "ray", address="auto", out=tmp_path, quiet=True)


def test_two_nodes_and_one_is_lost(ray: Any, straight: list[bytes], tmp_path: Path) -> None:
    cluster: Any = import_module("ray.cluster_utils").Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"},
    )
    second = cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.wait_for_nodes()
        assert ray.cluster_resources()["CPU"] == 2
        from ocorl._ray import Ray

        class Losing(Ray):
            count = 0

            def submit(self, cell: str, budget: float | None) -> Any:
                Losing.count += 1
                if Losing.count == 5:
                    time.sleep(0.5)
                    cluster.remove_node(second, allow_graceful=False)
                return super().submit(cell, budget)

        done = sweep(GRID, Losing(), out=tmp_path, quiet=True)
        assert not done.failed
        assert tables(tmp_path) == straight
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_started_here_it_listens_to_this_machine_alone(ray: Any, tmp_path: Path) -> None:
    from ocorl._ray import Ray

    here = Ray(jobs=1)
    try:
        assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]
        here.check(ocorl.__version__)
    finally:
        here.close()
    assert not ray.is_initialized()


def test_workers_have_one_thread(ray: Any) -> None:
    local(ray)
    from ocorl._ray import ONE_THREAD

    @ray.remote(runtime_env={"env_vars": ONE_THREAD})  # type: ignore[untyped-decorator]
    def threads() -> str:
        return os.environ["RAYON_NUM_THREADS"] + os.environ["OMP_NUM_THREADS"]

    assert ray.get(threads.remote()) == "11"
    assert ocorl.__version__


def test_the_program_sweeps_on_ray(program: str, tmp_path: Path) -> None:
    """Its grid, its folder, its table; interrupted on threads, finished on Ray."""
    pytest.importorskip("ray")
    grid = tmp_path / "grid.toml"
    grid.write_text('systems = ["glucose-in-blood"]\nseeds = 3\n[set]\nepisodes = 2\nmeasurements = 3\n')
    environment = {**os.environ, "OCORL_PYTHON": sys.executable}

    def swept(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [program, "sweep", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)

    first = tmp_path / "first.toml"
    first.write_text(grid.read_text().replace("seeds = 3", "seeds = 1"))
    swept("first.toml", "--out", "ray")
    on_ray = swept("grid.toml", "--out", "ray", "--on", "ray", "--jobs", "2")
    assert "3 cells, 1 already done, 2 to run" in on_ray.stderr
    here = swept("grid.toml", "--out", "threads")
    assert on_ray.stdout == here.stdout
    assert tables(tmp_path / "ray") == tables(tmp_path / "threads")
    environment["OCORL_PYTHON"] = "no-such-python"
    refused = subprocess.run([program, "sweep", "grid.toml", "--out", "third", "--on", "ray"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "pip install 'ocorl[ray]'" in refused.stderr
