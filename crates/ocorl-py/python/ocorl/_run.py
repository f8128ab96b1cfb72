"""Learning in simulation or on an external plant; optimal control; the planner alone."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from . import _ocorl
from ._arguments import path as _path
from ._arguments import real, whole
from ._cost import Cost
from ._errors import UserError
from ._plant import OwnParts, Plant, Strategy, Tracker, runner
from ._result import Optimal, Result
from ._settings import Settings
from ._study import Study, chosen
from ._system import Equations, System, as_system

if TYPE_CHECKING:
    from ._model import GpDynamics

Callback = Callable[[dict[str, Any]], object]

_log = logging.getLogger("ocorl")

#: What a callback returns to end a run.
STOP = object()


#: How a run reports its progress.
Progress = Literal["table", "log", "bar", "live"]


@dataclass(frozen=True)
class Until:
    """When to end a run before its last episode.

    Examples
    --------
    >>> import ocorl
    >>> result = ocorl.run("pendulum", episodes=10, until=Until(cost=21.0), quiet=True)
    >>> len(result.episodes) < 10, result.final_cost <= 21.0
    (True, True)
    """

    #: End after an episode of this cost or less.
    cost: float | None = None
    #: End after this number of episodes without a better one.
    patience: int | None = None
    #: Relative improvement that counts as better.
    tolerance: float = 1e-3

    def judge(self) -> Callable[[Mapping[str, Any]], bool]:
        """Return a function for the records of episodes in their order.

        Returns
        -------
        callable
            Function of a record that returns whether to end.
        """
        real(self.cost, "cost")
        whole(self.patience, "patience")
        best, since = float("inf"), 0

        def over(record: Mapping[str, Any]) -> bool:
            nonlocal best, since
            cost = record.get("cost")
            cost = float("inf") if cost is None or not np.isfinite(cost) else float(cost)
            better = cost < best - self.tolerance * abs(best) if np.isfinite(best) else np.isfinite(cost)
            best, since = (cost, 0) if better else (best, since + 1)
            reached = self.cost is not None and cost <= self.cost
            return reached or (self.patience is not None and since >= self.patience)

        return over


def _judge(until: Until | float | Callable[[Mapping[str, Any]], object] | None) -> Callable[[Mapping[str, Any]], object]:
    if until is None:
        return lambda record: False
    if isinstance(until, Until):
        return until.judge()
    if callable(until):
        return until
    if isinstance(until, (int, float)):
        return Until(cost=float(until)).judge()
    raise UserError(f"'until' cannot be a {type(until).__name__}", hint="a cost, ocorl.Until(patience=3), or a function of an episode's record")


class _Listener:
    """Receives the messages of a run: shows progress and warnings, passes events to a callback, decides when to end."""

    def __init__(self, quiet: bool, progress: Progress, callback: Callback | None, until: Any, episodes: int | None) -> None:
        if progress not in get_args(Progress):
            raise UserError(f"no progress '{progress}'", hint=f"there are: {', '.join(get_args(Progress))}; or quiet=True")
        self.quiet, self.progress, self.callback, self.over = quiet, progress, callback, _judge(until)
        self.warned: set[str] = set()
        self.bar: Any = None
        self.view: Any = None
        if progress == "live" and not quiet:
            from ._live import LiveView

            self.view = LiveView()
        if progress == "bar" and not quiet:
            try:
                self.bar = import_module("tqdm.auto").tqdm(total=episodes, unit="episode")
            except ImportError:
                raise UserError("progress='bar' needs tqdm", hint="pip install tqdm") from None

    def __call__(self, kind: str, contents: Any) -> bool:
        """Take a message; return whether the run is to end."""
        if kind == "event":
            if self.view is not None:
                self.view.event(contents)
            answer = self.callback(contents) if self.callback is not None else None
            if contents.get("event") != "episode":
                return False
            record = contents["record"]
            self._show(record)
            return answer is STOP or bool(self.over(record))
        if self.quiet:
            return False
        if kind == "text":
            if self.progress == "table":
                print(contents, end="", flush=True)
        elif contents not in self.warned:
            self.warned.add(contents)
            if self.view is not None:
                self.view.warning(contents)
            elif self.progress == "log":
                _log.warning("%s", contents)
            else:
                print(f"warning: {contents}", file=sys.stderr, flush=True)
        return False

    def _show(self, record: Mapping[str, Any]) -> None:
        if self.quiet:
            return
        cost = record.get("cost")
        shown = "-" if cost is None else f"{cost:.4g}"
        if self.progress == "log":
            _log.info("episode %s: cost %s, %s", record["episode"], shown, record.get("outcome"))
        elif self.bar is not None:
            self.bar.update(1)
            self.bar.set_postfix(cost=shown)

    def close(self) -> None:
        """Close the progress bar or the view."""
        if self.view is not None:
            self.view.close()
        if self.bar is not None:
            self.bar.close()


def _known(model: GpDynamics | Result | Study | None) -> tuple[Any, Any, Any, Any] | None:
    """Return the data of a model: x, u, x_dot and noise."""
    from ._model import GpDynamics

    if model is None:
        return None
    if isinstance(model, Result):
        model = model.model
    elif isinstance(model, Study):
        model = model.model()
    if not isinstance(model, GpDynamics):
        raise UserError(f"'model' cannot be a {type(model).__name__}", hint="result.model, study.model(), or a fitted ocorl.GpDynamics")
    model.fitted()
    return model._data


def run(
    system: str | os.PathLike[str] | _ocorl.System,
    *,
    seed: int = 0,
    episodes: int | None = None,
    measurements: int | None = None,
    strategy: str | Strategy | None = None,
    tracker: Tracker | None = None,
    explore: str | None = None,
    settings: str = "default",
    set: Mapping[str, object] | Settings | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    quiet: bool = False,
    progress: Progress = "table",
    callback: Callback | None = None,
    until: Until | float | Callable[[Mapping[str, Any]], object] | None = None,
    plant: Plant | Equations | None = None,
    model: GpDynamics | Result | Study | None = None,
) -> Result:
    """Learn to control a system from few measurements.

    The function prints the same table as ``ocorl run``. Ctrl-C returns at once. The learner sees measurements only.

    Parameters
    ----------
    system : str, path or System
        Name of a built-in system, file of a system, or :class:`ocorl.System`.
    seed : int, default 0
        Root seed of all random streams. The same seed gives the same run, bit for bit.
    settings : str, default "default"
        ``"default"``, ``"reference"`` (the authors' settings), or a TOML file.
    set : mapping or Settings, optional
        Single settings: :class:`ocorl.Settings`, or by path, for example ``{"plan.intervals": 100, "model.kernel": "rbf + linear"}``.
    strategy : str or callable, optional
        Measurement strategy, one of :func:`ocorl.strategies`; or a function (model, t, z, count) of your own that returns
        the indices of the candidates to measure. That needs a plant, such as :class:`ocorl.Simulated`.
    tracker : callable, optional
        Function (plan, model) of your own that returns the controller u(t, x) of the next episode. It needs a plant.
    explore : str, optional
        ``"optimistic"``, ``"mean"``, ``"thompson"``, ``"bonus"``, ``"explore"``, ``"weight-space"`` (linear kernels
        only), ``"epsilon-greedy"`` or ``"boltzmann"``.
    episodes : int, optional
        Total number of episodes, including the exploratory episode 0.
    measurements : int, optional
        Number of measurements per episode.
    out : path, optional
        Folder of a study that stores the run. If it exists, the run is resumed. It is the study that ``ocorl run
        --out`` makes.
    threads : int, optional
        Number of threads of a simulation; by default all processors. The result does not depend on it.
    quiet : bool, default False
        Whether to print nothing, warnings included.
    progress : {"table", "log", "bar", "live"}, default "table"
        How to report progress: the printed table, the logger ``ocorl``, a bar of tqdm, or a view in a notebook that is
        updated in place.
    callback : callable, optional
        Receives every event as a dictionary. If it returns :data:`ocorl.STOP` for an episode, the run ends.
    until : float, Until or callable, optional
        When to end before the last episode: at this cost, by :class:`ocorl.Until`, or when a function of the record of an
        episode returns a true value.
    plant : Plant or callable, optional
        Source of the measurements in place of the system's own equations: a function f(x, u), which is integrated, or
        an object with ``run(controller, measure_at)``.
    model : GpDynamics, Result or Study, optional
        What was learned about the same plant before, perhaps for another task. Its measurements are known from the
        beginning, so that the first episode is planned.

    Returns
    -------
    Result
        Costs, episodes, tables, figures, and what was learned: ``model``, ``plan``, ``policy``, ``controller()``.

    Raises
    ------
    UserError
        An argument is invalid.
    BusyError
        Another process uses the study in ``out``.

    See Also
    --------
    Study : The same loop, with each step called by you.

    Examples
    --------
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
    whole(seed, "seed")
    whole(threads, "threads")
    if callback is not None and not callable(callback):
        raise UserError(f"'callback' must be a function of an event, not a {type(callback).__name__}")
    if not isinstance(settings, (str, os.PathLike)):
        raise UserError(f"'settings' must be a name or a file, not a {type(settings).__name__}", hint="single settings: set=")
    settings = os.fspath(settings)
    own_strategy = strategy if callable(strategy) else None
    changes = chosen(set, None if callable(strategy) else strategy, explore, episodes, measurements)
    known = _known(model)
    listener = _Listener(quiet, progress, callback, until, episodes)
    folder = None if out is None else _path(out, "out")
    try:
        if isinstance(plant, Plant) and not isinstance(plant, type):
            if threads is not None:
                raise UserError("'threads' is for simulations", hint="leave it out")
            parts = OwnParts(own_strategy, tracker)
            return _with_plant(described, plant, seed, settings, changes, folder, listener, known, parts)
        if own_strategy is not None or tracker is not None:
            what = "strategy" if own_strategy is not None else "tracker"
            raise UserError(f"a '{what}' of your own needs a plant", hint="run(system, plant=ocorl.Simulated(system), ...)")
        if plant is not None:
            if isinstance(plant, type) or not callable(plant):
                kind = f"the class {plant.__name__}" if isinstance(plant, type) else f"a {type(plant).__name__}"
                raise UserError(f"'plant' cannot be {kind}", hint="a function f(x, u), or an object with run(controller, measure_at)")
            described = described.with_plant(plant)
        if known is not None and folder is not None:
            raise UserError("a stored simulation cannot begin with a model", hint="leave out=, or use a plant: run(..., plant=...)")
        answer = _ocorl.run(
            described, seed=seed, settings=settings, set=changes, out=folder, threads=threads, hear=listener, data=known
        )
    except Exception as error:
        ours = type(error).__module__.startswith("ocorl")
        if not ours and folder is not None and plant is None and hasattr(error, "add_note"):
            error.add_note(f"'{folder}' continues with the pending episode")
        raise
    finally:
        listener.close()
    return Result(_with_model(answer))


def _with_model(answer: dict[str, Any]) -> dict[str, Any]:
    """Replace the description of the learned model by the model."""
    from ._model import GpDynamics

    learned = answer.pop("learned", None)
    answer["model"] = None if learned is None else GpDynamics.learned(learned)
    return answer


#: Outcomes of a run that did not end early.
FINE = (None, "completed", "not reported")


def _passing() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for a study that is not kept. An abandoned computation may still use it when it is removed."""
    return tempfile.TemporaryDirectory(prefix="ocorl-", ignore_cleanup_errors=True)


def _with_plant(
    system: System,
    plant: Plant,
    seed: int,
    settings: str,
    changes: dict[str, object],
    out: str | None,
    listener: _Listener,
    known: tuple[Any, Any, Any, Any] | None,
    parts: OwnParts,
) -> Result:
    """Learns on an external plant: the episode loop over a study, with the plant called on this thread."""
    begin = time.monotonic()
    with ExitStack() as stack:
        folder = stack.enter_context(_passing()) if out is None else out
        study = stack.enter_context(
            Study.open_or_create(folder, system, seed=seed, settings=settings, set=changes)
        )
        if known is not None and not study.episodes:
            x, u, x_dot, _ = known
            study.import_(t=np.arange(len(x), dtype=float), x=x, u=u, x_dot=x_dot)
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
        execute = runner(plant, out, how["measured"] == "derivatives", lambda text: listener("warning", text), parts)
        own = parts.strategy is not None or parts.tracker is not None
        failure: tuple[Any, ...] | None = None
        while (done := study.run_episode(execute, listener)) is not None:
            over = _scaled(done, scale)
            if done["warning"] is not None:
                listener("warning", f"episode {done['episode']}: {done['warning']}")
            listener("text", _row(over))
            before, failure = failure, None if done["outcome"] in FINE else (done["outcome"], done["measured"])
            if failure is not None and failure == before:
                text = f"episodes {done['episode'] - 1} and {done['episode']} both ended early: {done['outcome']}"
                listener("warning", f"{text}; is the goal reachable within the limits, or the excitation of episode 0 too strong?")
            if listener("event", {"event": "episode", "record": over}):
                break
            if own:
                # Not inside the episode, during which the study is busy.
                parts.model = study.model()
        result = _kept(system, study, seed, out, time.monotonic() - begin)
    listener("text", f"done in {result.seconds:.1f} s    final cost {result.final_cost:.4f}\n")
    return result


def _count(names: Sequence[str], what: str) -> str:
    return f"{len(names)} {what}{'' if len(names) == 1 else 's'}"


def _scaled(episode: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """Convert the costs of an episode of a study to the units of the paper's table."""
    costs = {key: None if episode[key] is None else scale * episode[key] for key in ("cost", "planned_cost")}
    return {**episode, **costs}


def _row(episode: Mapping[str, Any]) -> str:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.4f}"

    flag = "" if episode["status"] == "complete" else f"  {episode['status']}"
    cells = f"{episode['episode']:>8}{number(episode['cost']):>12}{number(episode['planned_cost']):>12}"
    return f"{cells}{episode['measured']:>10}{flag}\n"


def _kept(system: System, study: Study, seed: int, out: str | None, seconds: float) -> Result:
    """Convert a finished study to a result."""
    told = study.measurements()
    numbers, starts = np.asarray(told["episode"]), np.asarray(told["start"])
    scale = system.table_scale
    episodes: list[dict[str, Any]] = []
    for over in (_scaled(episode, scale) for episode in study.episodes):
        if over["status"] == "pending":
            continue
        plan, rollouts = study.plan(over["episode"]), []
        for rollout in range(plan.rollouts):
            here = (numbers == over["episode"]) & (starts == rollout)
            dots = told["x_dot"][here]
            table = plan.rollout_table(rollout)
            rollouts.append(
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
        followed = plan if over["planned_cost"] is not None else None
        episodes.append({"record": record, "rollouts": rollouts, "plan": followed})
    try:
        learned = study.learned()
    except UserError:
        learned = None
    data: dict[str, Any] = (
        {
            "learned": learned,
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
    return Result(_with_model(data))


def optimal(
    system: str | os.PathLike[str] | _ocorl.System,
    *,
    intervals: int = 400,
    holds: int | None = None,
    seed: int = 0,
    stages: int = 1,
    effort: int = 1,
    threads: int | None = None,
) -> Optimal:
    """Compute the optimal control of a system with known equations.

    For the paper's problems the cost is the optimum, confirmed by another program. For any other problem it is the best
    of a portfolio of searches. Costs are in the units of the paper's table.

    Parameters
    ----------
    system : str, path or System
        System with equations.
    intervals : int, default 400
        Number of intervals of the planning grid. Except for the paper's problems it is doubled until the cost is stable.
    holds : int, optional
        Number of intervals of the zero-order hold; by default the paper's M − 1 for a benchmark system, 9 for others.
    seed : int, default 0
        Seed of the random initial guesses.
    stages : int, default 1
        See :func:`plan`.
    effort : int, default 1
        How often the portfolio of searches is repeated, with other random initial guesses; 0 for one kind of search.
    threads : int, optional
        Number of threads; by default all processors.

    Returns
    -------
    Optimal
        Optimal cost and trajectory, and the cost of the optimal zero-order hold.

    Notes
    -----
    A Python function is called about a hundred thousand times and differentiated numerically, which takes a minute or
    two. The same equations as text take a second.

    Examples
    --------
    >>> import ocorl
    >>> best = ocorl.optimal("pendulum")
    >>> round(best.cost, 2), best.x.shape
    (20.16, (1001, 2))
    """
    for what, value in (("intervals", intervals), ("holds", holds), ("seed", seed), ("stages", stages), ("effort", effort), ("threads", threads)):
        whole(value, what)
    answer = _ocorl.optimal(
        as_system(system),
        intervals=intervals,
        holds=holds,
        seed=seed,
        stages=stages,
        effort=effort,
        threads=threads,
    )
    return Optimal(**answer)


def plan(
    system: str | os.PathLike[str] | _ocorl.System | GpDynamics,
    *,
    cost: Cost | None = None,
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
    period: float | None = None,
) -> _ocorl.Plan:
    """Plan a trajectory of minimum cost on a system's equations, or on a fitted model.

    Costs are in units of the task. Those of :func:`run` and :func:`optimal` are ``system.table_scale`` times as
    large.

    Parameters
    ----------
    system : str, path, System or GpDynamics
        System with equations, or a fitted model.
    cost : Quadratic, str, callable or mapping, optional
        Cost of the task, for a model.
    x0 : array_like, optional
        Initial state; needed for a model without ``task``.
    horizon : float, optional
        Horizon; needed for a model without ``task``.
    limits : array_like, optional
        (low, high) of each input, for a model.
    explore : {"mean", "optimistic", "thompson"}, default "mean"
        Dynamics to plan on, for a model.
    intervals : int, default 200
        Number of intervals of the planning grid.
    random_starts : int, default 3
        Number of random initial guesses.
    stages : int, default 1
        Number of stages in which the horizon of the first searches grows. Try 5 if a plan over a long horizon is
        poor.
    max_iterations : int, default 200
        Maximum number of iterations of a search.
    seed : int, default 0
        Seed of the random initial guesses.
    task : str, path or System, optional
        System that provides the task for a model. Without it, states are called x0, x1, ... and inputs u0, u1, ...
    period : float, optional
        Time for which the plant holds an input; 0 if it can change at any time. By default that of the system. The nodes
        of the plan are multiples of it.

    Returns
    -------
    Plan
        The planned trajectory, with feedback gains.

    Raises
    ------
    UserError
        An argument is missing, or does not apply to a system or a model.

    Examples
    --------
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
    wholes = {"intervals": intervals, "random_starts": random_starts, "stages": stages, "max_iterations": max_iterations, "seed": seed}
    for what, number in wholes.items():
        whole(number, what)
    real(horizon, "horizon")
    real(period, "period")
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
        period=period,
    )


def _refuse(whose: str, **given: Any) -> None:
    """Raise an error for arguments that would be ignored."""
    for name, value in given.items():
        if value is not None:
            raise UserError(
                f"'{name}' does not go with {whose}, which has its own", hint="describe another system, or plan on a model"
            )


def report(folder: str | os.PathLike[str], path: str | os.PathLike[str] | None = None) -> str:
    """Write the report of the study in a folder.

    Parameters
    ----------
    folder : path
        Folder of the study.
    path : path, optional
        File of the report; by default ``report/index.html`` in the folder.

    Returns
    -------
    str
        Path of the report.
    """
    return _ocorl.report(_path(folder, "folder"), None if path is None else _path(path, "path"))
