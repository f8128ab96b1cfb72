"""Ray itself, where it is installed."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ocorl
import pytest
from ocorl._ray import Ray, alone, run_cell
from ocorl.sweep import Began, Done, Lost, WorkersError, sweep

pytestmark = pytest.mark.ray

SYSTEMS = ["glucose-in-blood", "cancer-treatment"]
GRID = {
    "systems": SYSTEMS,
    "seeds": 5,
    "set": {"episodes": 2, "measurements": 3, "plan": {"intervals": 20, "random_starts": 0}},
}
FILES = ("results.csv", "episodes.csv")
#: What is put in the place of a cell.
Stream = Callable[[str, str, "float | None"], Iterator["tuple[str, float, float] | None"]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with a processor each, both on this machine, and this process a driver of theirs. The last test takes one of them away."""
    ray: Any = pytest.importorskip("ray")
    with alone():
        made: Any = import_module("ray.cluster_utils").Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"},
        )
        made.add_node(num_cpus=1, node_ip_address="127.0.0.1")
        ray.init(address=made.address, log_to_driver=False)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The tables of threads."""
    folder = tmp_path_factory.mktemp("threads")
    sweep(GRID, out=folder, quiet=True)
    return tables(folder)


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[[Stream], None]:
    """Puts something in the place of cells. It must be defined inside a function, or workers would look for its module."""
    return lambda stream: monkeypatch.setattr("ocorl._ray.stream_cell", stream)


def tables(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def heard(said: str) -> dict[str, Counter[str]]:
    """How often each cell was said to be done, lost or failed."""
    words: dict[str, Counter[str]] = {"done": Counter(), "lost": Counter(), "failed": Counter()}
    for name, word in re.findall(r"^\[\d+/\d+\] (.*?): (done|lost|failed)", said, re.MULTILINE):
        words[word][name] += 1
    return words


def test_no_cluster_at_an_address_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(WorkersError, match="no Ray at 'nowhere'"):
        sweep(GRID, "ray", address="nowhere", out=tmp_path, quiet=True)


def test_a_ray_that_others_can_reach_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    constants, ended = SimpleNamespace(ENABLE_RAY_CLUSTER=True), []

    def init(**settings: object) -> None:
        assert settings["address"] == "local" and constants.ENABLE_RAY_CLUSTER is False

    node = {"NodeManagerAddress": "192.0.2.1"}
    unwilling = SimpleNamespace(
        is_initialized=lambda: False, init=init, nodes=lambda: [node], shutdown=lambda: ended.append(1)
    )
    monkeypatch.setitem(sys.modules, "ray", unwilling)
    monkeypatch.setitem(sys.modules, "ray._private", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray._private.ray_constants", constants)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(WorkersError, match=r"Ray listens at 192\.0\.2\.1, not to this machine alone"):
        Ray()
    assert ended == [1] and constants.ENABLE_RAY_CLUSTER is True
    del constants.ENABLE_RAY_CLUSTER
    unwilling.init = None
    with pytest.raises(WorkersError, match="cannot be kept to this machine alone"):
        Ray()


def test_started_here_it_listens_to_this_machine_alone() -> None:
    """Ray was imported before, as in a notebook: what it reads at its import it has read."""
    pytest.importorskip("ray")
    code = """
import json, os, ray, ocorl
from ocorl._ray import Ray
here = Ray(jobs=1)
here.check(ocorl.__version__)
import psutil
mine = psutil.Process()
listens = []
for process in [mine, *mine.children(recursive=True)]:
    name = process.name()
    listens += [(name, one.laddr.ip) for one in process.net_connections("inet") if one.status == "LISTEN"]
here.close()
from ray._private import ray_constants
variable = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" in os.environ
print(json.dumps([listens, [variable, ray.is_initialized(), ray_constants.ENABLE_RAY_CLUSTER]]))
"""
    variable = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    plain = {name: value for name, value in os.environ.items() if name not in (variable, "RAY_ADDRESS")}
    ran = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    listens, left = json.loads(ran.stdout.splitlines()[-1])
    assert {"gcs_server", "raylet"} <= {name for name, _ in listens}
    assert {address for _, address in listens} <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}, listens
    # Nothing is left that would keep this process from a real cluster.
    assert left == [False, False, sys.platform == "linux"]


def test_ray_gives_the_table_of_threads(cluster: Any, straight: list[bytes], tmp_path: Path) -> None:
    done = sweep(GRID, "ray", out=tmp_path, quiet=True)
    assert done.ran == 10 and not done.failed
    assert tables(tmp_path) == straight
    assert import_module("ray").is_initialized(), "what was not started here is not ended here"
    assert sweep(GRID, "ray", out=tmp_path, quiet=True).ran == 0


def test_killed_workers_cost_nothing_but_time(
    cluster: Any,
    straight: list[bytes],
    instead: Callable[[Stream], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three cells of ten lose their worker at their first try: at once, in the middle of the work, and before the result is sent."""
    cells = [f"{system}-{seed}" for system in SYSTEMS for seed in range(5)]
    fates = dict(zip(random.Random(3).sample(cells, 3), ("at once", "meanwhile", "at the end"), strict=True))
    marks = str(tmp_path)

    def mortal(cell: str, version: str, budget: float | None = None) -> Iterator[tuple[str, float, float] | None]:
        yield None
        described = json.loads(cell)
        mark = Path(marks, f"{described['system']}-{described['seed']}")
        fate = None if mark.exists() else fates.get(mark.name)
        mark.touch()
        if fate == "at once":
            os._exit(1)
        if fate == "meanwhile":
            threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGKILL)).start()
        result = run_cell(cell, version, budget)
        if fate == "meanwhile":
            time.sleep(60)  # should the work be done sooner than that
        if fate == "at the end":
            os._exit(1)
        yield result

    instead(mortal)
    done = sweep(GRID, "ray", out=tmp_path / "out")
    assert not done.failed and done.ran == 10
    said = heard(capsys.readouterr().err)
    assert set(said["done"].values()) == {1} and len(said["done"]) == 10, "each is kept once"
    assert len(said["lost"]) >= 3
    assert tables(tmp_path / "out") == straight


def test_what_goes_wrong_in_a_cell_leaves_the_others(
    cluster: Any, instead: Callable[[Stream], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unlucky(cell: str, version: str, budget: float | None = None) -> Iterator[tuple[str, float, float] | None]:
        yield None
        described = json.loads(cell)
        if "initial_states" not in described["set"]:
            if described["seed"] == 0:
                os._exit(1)
            if described["seed"] == 1:
                raise MemoryError("no room")
        yield run_cell(cell, version, budget)

    far = {"initial_states": [[100.0, 100.0]]}
    grid = {**GRID, "systems": ["van-der-pol"], "seeds": 3, "variants": [{"strategy": "equidistant"}, far]}
    instead(unlucky)
    done = sweep(grid, "ray", out=tmp_path, retries=1)
    failures = [cell["failure"] for cell in done.cells]
    assert len(failures) == 6
    lost, raised, well, *diverged = failures
    assert "its worker was lost" in lost and "(2 times)" in lost
    assert raised == "MemoryError: no room" and well is None
    assert all("no trajectory of finite cost" in failure for failure in diverged)
    assert sum(heard(capsys.readouterr().err)["lost"].values()) == 1


def test_another_version_is_named(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ocorl._ocorl.__version__", "99.0.0")
    with pytest.raises(WorkersError, match=r"the worker at 127\.0\.0\.1 has ocorl .*, the driver 99"):
        sweep(GRID, "ray", out=tmp_path, quiet=True)


def test_every_node_is_asked_though_they_share_an_address(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks, version = str(tmp_path), ocorl.__version__

    def marked() -> str:
        Path(marks, import_module("ray").get_runtime_context().get_node_id()).touch()
        return version

    monkeypatch.setattr("ocorl._ray.version_here", marked)
    Ray().check(version)
    assert {path.name for path in tmp_path.iterdir()} == {node.node_id for node in cluster.list_all_nodes()}


def test_a_cell_begins_and_has_one_thread(cluster: Any, instead: Callable[[Stream], None]) -> None:
    def threads(cell: str, version: str, budget: float | None = None) -> Iterator[tuple[str, float, float] | None]:
        yield None
        yield os.environ.get("RAYON_NUM_THREADS", "") + os.environ.get("OMP_NUM_THREADS", ""), 0.0, 0.0

    instead(threads)
    here = Ray()
    handle = here.submit("{}", None)
    said: list[Began | Done | Lost] = []
    while not said or isinstance(said[-1], Began):
        said += [word for _, word in here.wait([handle], 1.0)]
    assert said == [Began(), Done("11")]


def test_a_node_is_lost(
    cluster: Any,
    straight: list[bytes],
    instead: Callable[[Stream], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the middle of a cell, which is run again elsewhere."""
    (second,) = cluster.worker_nodes
    gone, mark = second.node_id, tmp_path / "mark"

    def long(cell: str, version: str, budget: float | None = None) -> Iterator[tuple[str, float, float] | None]:
        yield None
        if import_module("ray").get_runtime_context().get_node_id() == gone:
            mark.touch()
            time.sleep(600)
        yield run_cell(cell, version, budget)

    class Losing(Ray):
        def wait(self, handles: Sequence[Any], timeout: float) -> list[tuple[Any, Began | Done | Lost]]:
            if mark.exists() and cluster.worker_nodes:
                cluster.remove_node(second, allow_graceful=False)
            return super().wait(handles, timeout)

    instead(long)
    done = sweep(GRID, Losing(), out=tmp_path / "out")
    assert done.ran == 10 and not done.failed
    said = heard(capsys.readouterr().err)
    assert mark.exists() and len(said["lost"]) >= 1
    assert set(said["done"].values()) == {1} and len(said["done"]) == 10, "each is kept once"
    assert tables(tmp_path / "out") == straight


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
