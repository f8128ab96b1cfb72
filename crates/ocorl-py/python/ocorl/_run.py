"""Learning in simulation or on an external plant; optimal control; the planner alone."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _ocorl
from ._errors import MistakeError
from ._plant import Plant, runner
from ._result import Optimal, Result
from ._study import Study, chosen, heeded
from ._system import Equations, Quadratic, System, as_system

if TYPE_CHECKING:
    from ._model import GpDynamics

Callback = Callable[[dict[str, Any]], object]


class _Listener:
    """Receives the messages of a run: prints the table and warnings, passes events to a callback."""

    def __init__(self, quiet: bool, callback: Callback | None) -> None:
        self.quiet, self.callback = quiet, callback
        self.warned: set[str] = set()

    def __call__(self, kind: str, contents: Any) -> None:
        if kind == "event":
            if self.callback is not None:
                self.callback(contents)
        elif self.quiet:
            return
        elif kind == "text":
            print(contents, end="", flush=True)
        elif contents not in self.warned:
            self.warned.add(contents)
            print(f"warning: {contents}", file=sys.stderr, flush=True)


def run(
    system: str | os.PathLike[str] | _ocorl.System,
    *,
    seed: int = 0,
    episodes: int | None = None,
    measurements: int | None = None,
    strategy: str | None = None,
    explore: str | None = None,
    settings: str = "default",
    set: Mapping[str, object] | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    quiet: bool = False,
    callback: Callback | None = None,
    plant: Plant | Equations | None = None,
) -> Result:
    """Learns to control a system from few measurements, and prints the same table as ``ocorl run``.

    ``system`` is a name, a file, or a :class:`ocorl.System`. ``settings`` are ``default``, ``reference`` or a file; ``set`` changes
    single ones, as in ``{"plan.intervals": 100, "model.kernel": "rbf + linear"}``. ``explore`` is ``optimistic``, ``mean``, ``thompson``,
    ``bonus``, ``explore``, ``weight-space`` (linear kernels only), ``epsilon-greedy`` or ``boltzmann``.

    With ``out`` the run is stored as a study in that folder and resumed from there after an interruption; it is the same study that
    ``ocorl run --out`` makes. ``callback`` receives every event as a dictionary. Ctrl-C returns at once.

    ``plant`` replaces the system's own equations as the source of measurements: a function f(x, u), which is integrated, or an object with
    ``run(controller, measure_at)`` (see :class:`ocorl.Plant`). The learner sees measurements only.

    >>> import ocorl
    >>> result = ocorl.run("pendulum", episodes=2, measurements=5)
    pendulum: 2 states, 1 input, horizon 10 s, 2 episodes x 5 measurements, strategy max-determinant, explore optimistic, seed 0
    ...
     episode        cost      regret  measured  uncertainty     planned
    ...
    >>> [len(episode.measured_t) for episode in result.episodes]
    [5, 5]
    """
    described = as_system(system)
    changes = chosen(set, strategy, explore, episodes, measurements)
    listener = _Listener(quiet, callback)
    folder = None if out is None else os.fspath(out)
    if isinstance(plant, Plant):
        if threads is not None:
            raise MistakeError("'threads' is for simulations", hint="leave it out")
        return _with_plant(described, plant, seed, settings, changes, folder, listener)
    if plant is not None:
        if not callable(plant):
            raise MistakeError(
                f"'plant' cannot be a {type(plant).__name__}", hint="a function f(x, u), or an object with run(controller, measure_at)"
            )
        described = described.with_plant(plant)
    try:
        answer = _ocorl.run(
            described, seed=seed, settings=settings, set=changes, out=folder, threads=threads, hear=listener
        )
    except Exception as error:
        ours = type(error).__module__.startswith("ocorl")
        if not ours and folder is not None and hasattr(error, "add_note"):
            error.add_note(f"'{folder}' continues with the pending episode")
        raise
    return Result(answer)


def _passing() -> tempfile.TemporaryDirectory[str]:
    """A folder for a study that is not kept. An abandoned computation may still use it when it is removed."""
    return tempfile.TemporaryDirectory(prefix="ocorl-", ignore_cleanup_errors=True)


def _with_plant(
    system: System,
    plant: Plant,
    seed: int,
    settings: str,
    changes: dict[str, object],
    out: str | None,
    listener: _Listener,
) -> Result:
    """Learns on an external plant: the episode loop over a study, with the plant called on this thread."""
    begin = time.monotonic()
    with ExitStack() as stack:
        folder = stack.enter_context(_passing()) if out is None else out
        study = stack.enter_context(
            Study.open_or_create(folder, system, seed=seed, settings=settings, set=changes)
        )
        created = study.created
        how = created["settings"]
        horizon = f"{system.horizon:g} {system.time_unit}".rstrip()
        listener(
            "text",
            f"{system.name}: {_count(system.states, 'state')}, {_count(system.controls, 'input')}, horizon {horizon}, "
            f"{how['episodes']} episodes x {how['measurements']} measurements, strategy {how['strategy']}, "
            f"explore {how['explore']}, seed {seed}, on an external plant\n"
            f"{'episode':>8}{'cost':>12}{'planned':>12}{'measured':>10}\n",
        )
        scale = system.table_scale
        for over in study.episodes:
            listener("text", _row(_scaled(over, scale)))
        execute = runner(plant, out, how["measured"] == "derivatives")
        while (done := study.run_episode(execute, listener)) is not None:
            over = _scaled(heeded(done), scale)
            listener("event", {"event": "episode", "record": over})
            listener("text", _row(over))
        result = _kept(system, study, seed, out, time.monotonic() - begin)
    listener("text", f"done in {result.seconds:.1f} s    final cost {result.final_cost:.4f}\n")
    return result


def _count(names: Sequence[str], what: str) -> str:
    return f"{len(names)} {what}{'' if len(names) == 1 else 's'}"


def _scaled(episode: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """Converts the costs of an episode of a study to the units of the paper's table."""
    costs = {key: None if episode[key] is None else scale * episode[key] for key in ("cost", "planned_cost")}
    return {**episode, **costs}


def _row(episode: Mapping[str, Any]) -> str:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.4f}"

    flag = "" if episode["status"] == "complete" else f"  {episode['status']}"
    cells = f"{episode['episode']:>8}{number(episode['cost']):>12}{number(episode['planned_cost']):>12}"
    return f"{cells}{episode['measured']:>10}{flag}\n"


def _kept(system: System, study: Study, seed: int, out: str | None, seconds: float) -> Result:
    """Converts a finished study to a result."""
    told = study.measurements()
    numbers, starts = np.asarray(told["episode"]), np.asarray(told["start"])
    scale = system.table_scale
    episodes: list[dict[str, Any]] = []
    for over in (_scaled(episode, scale) for episode in study.episodes):
        if over["status"] == "pending":
            continue
        plan, legs = study.plan(over["episode"]), []
        for leg in range(plan.legs):
            here = (numbers == over["episode"]) & (starts == leg)
            dots = told["x_dot"][here]
            table = plan.leg_table(leg)
            legs.append(
                {
                    "outcome": over["outcome"],
                    "t": told["t"][here],
                    "x": told["x"][here],
                    "u": told["u"][here],
                    "costs": np.full(int(here.sum()), np.nan),
                    "measured_t": told["t"][here],
                    "measured_x": told["x"][here],
                    "measured_u": told["u"][here],
                    "measured_x_dot": None if np.isnan(dots).any() else dots,
                    "plan": None
                    if over["planned_cost"] is None
                    else {
                        "t": np.array(table["times"]),
                        "x": np.array(table["states"]),
                        "u": np.array(table["controls"]),
                        "measure_at": np.array(table["measure_at"]),
                    },
                }
            )
        record = {
            "episode": over["episode"],
            "cost": over["cost"],
            "planned_cost": over["planned_cost"],
            "measurement_times": told["t"][numbers == over["episode"]].tolist(),
            "measurements": int((numbers <= over["episode"]).sum()),
            "outcome": over["outcome"],
        }
        episodes.append({"record": record, "legs": legs})
    return Result(
        {
            "system": system.name,
            "title": system.title,
            "seed": seed,
            "states": system.states,
            "controls": system.controls,
            "state_units": system.state_units,
            "control_units": system.control_units,
            "time_unit": system.time_unit,
            "horizon": system.horizon,
            "table_scale": scale,
            "settings": study.created["settings"],
            "known": None,
            "paper": None,
            "folder": out,
            "seconds": seconds,
            "episodes": episodes,
        }
    )


def optimal(
    system: str | os.PathLike[str] | _ocorl.System,
    *,
    intervals: int = 400,
    holds: int | None = None,
    seed: int = 0,
    stages: int = 1,
    threads: int | None = None,
) -> Optimal:
    """Returns the optimal control of a system with known equations: a lower bound on the cost of learning.

    Costs are in the units of the paper's table. A Python function is called about a hundred thousand times and differentiated numerically,
    which takes a minute or two; the same equations as text take a second. ``stages`` is as in :func:`plan`.

    >>> import ocorl
    >>> best = ocorl.optimal("pendulum")
    >>> round(best.cost, 2), best.x.shape
    (20.16, (1001, 2))
    """
    answer = _ocorl.optimal(as_system(system), intervals=intervals, holds=holds, seed=seed, stages=stages, threads=threads)
    return Optimal(**answer)


def plan(
    system: str | os.PathLike[str] | _ocorl.System | GpDynamics,
    *,
    cost: Quadratic | str | None = None,
    x0: Any = None,
    horizon: float | None = None,
    limits: Any = None,
    explore: str = "mean",
    intervals: int = 200,
    random_starts: int = 3,
    stages: int = 1,
    max_iterations: int = 200,
    seed: int = 0,
    task: str | os.PathLike[str] | _ocorl.System | None = None,
) -> _ocorl.Plan:
    """Plans a trajectory of minimum cost on a system's equations, or on a fitted model.

    For a model, ``cost``, ``x0`` and ``horizon`` define the task (states are called x0, x1, ..., inputs u0, u1, ...), and ``limits``
    are (low, high) of each input; or ``task`` is a system that provides the task. ``explore`` is ``mean``, ``optimistic`` or ``thompson``.
    Costs are in units of the task; those of :func:`run` and :func:`optimal` are ``system.table_scale`` times as large. ``stages`` is the
    number of stages in which the horizon of the first searches grows: try 5 if a plan over a long horizon is poor.

    >>> import ocorl
    >>> best = ocorl.plan("pendulum", intervals=100)
    >>> round(best.planned_cost, 1), best.outcome
    (20.2, 'converged')
    >>> controller = best.controller()
    >>> controller(0.0, best.x0).shape
    (1,)
    """
    from ._model import GpDynamics

    model = None
    if isinstance(system, GpDynamics):
        model = system.fitted()
        if task is not None:
            _refuse("task=", cost=cost, limits=limits)
        described = as_system(task) if task is not None else system.task(cost, x0, horizon, limits)
    else:
        _refuse("a system", cost=cost, limits=limits, task=task, explore=None if explore == "mean" else explore)
        described = as_system(system)
    return _ocorl.plan(
        described,
        model=model,
        explore=explore,
        x0=x0,
        horizon=horizon,
        intervals=intervals,
        random_starts=random_starts,
        stages=stages,
        max_iterations=max_iterations,
        seed=seed,
    )


def _refuse(whose: str, **given: Any) -> None:
    """Raises an error for arguments that would be ignored."""
    for name, value in given.items():
        if value is not None:
            raise MistakeError(
                f"'{name}' does not go with {whose}, which has its own", hint="describe another system, or plan on a model"
            )


def report(folder: str | os.PathLike[str], path: str | os.PathLike[str] | None = None) -> str:
    """Writes the report of the study in a folder; returns its path."""
    return _ocorl.report(os.fspath(folder), None if path is None else os.fspath(path))
