"""Callbacks that pass the episodes of a run to a tracker: TensorBoard, MLflow, Weights & Biases.

A callback is called with a dictionary for each episode. Its numbers become curves over the episodes; other values are
left out.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     with TensorBoard(folder) as log:
...         log({"episode": 0, "cost": 63.4, "outcome": "completed"})
...         log({"episode": 1, "cost": 31.1, "outcome": "completed"})
...     log.path.name.startswith("events.out.tfevents.")
True

A failing tracker does not stop the run: the first failure is reported as a warning, and the tracker is not called
again.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import Any

from . import _ocorl

__all__ = ["Many", "MlFlow", "TensorBoard", "Tracker", "WandB", "scalars"]

Callback = Callable[[dict[str, Any]], None]

#: The episode number is the horizontal axis of the curves; durations are not plotted.
_NO_CURVES = ("episode", "measurement_times", "synchronizations")


def scalars(episode: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the finite numbers of a dictionary by path; list entries by index; booleans and texts are left out.

    Examples
    --------
    >>> scalars({"episode": 3, "cost": 1.5, "beta": [1.0, 2.0], "timing": {"plan": 0.2}, "outcome": "completed", "regret": None})
    {'cost': 1.5, 'beta/0': 1.0, 'beta/1': 2.0, 'timing/plan': 0.2}
    """
    found: dict[str, float] = {}
    for key, value in episode.items():
        if not prefix and key in _NO_CURVES:
            continue
        if isinstance(value, Mapping):
            found |= scalars(value, f"{prefix}{key}/")
        elif isinstance(value, Real) and not isinstance(value, bool):
            if math.isfinite(float(value)):
                found[prefix + key] = float(value)
        elif isinstance(value, list | tuple) and len(value) <= 32:
            found |= scalars({str(i): v for i, v in enumerate(value)}, f"{prefix}{key}/")
    return found


def _record(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the record of a completed episode from an event; None for other events."""
    if event.get("event", "episode") != "episode":
        return None
    inner = event.get("record")
    return inner if isinstance(inner, Mapping) else event


class Tracker:
    """Base class of trackers: called with an episode, never raises, and is closed at the end."""

    _broken = False
    _count = 0

    def __call__(self, episode: dict[str, Any]) -> None:
        """Pass on an episode."""
        record = _record(episode)
        if self._broken or record is None:
            return
        number = record.get("episode", record.get("number"))
        step = int(float(number)) if isinstance(number, Real) else self._count
        self._count = step + 1
        try:
            self._log(step, scalars(record))
        except Exception as error:
            self._stop(error)

    def _stop(self, error: Exception) -> None:
        """Stop logging after a failure."""
        self._broken = True
        what = f"{type(self).__name__} stopped: {type(error).__name__}: {error}; the run goes on"
        warnings.warn(what, RuntimeWarning, stacklevel=3)

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Close the log."""

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except Exception as error:
            warnings.warn(f"{type(self).__name__} was not closed: {error}", RuntimeWarning, stacklevel=2)


class Many(Tracker):
    """Combines several callbacks.

    A callback that raises is reported as a warning and not called again; the others continue.

    Parameters
    ----------
    callbacks : sequence of callable
        The callbacks.

    Examples
    --------
    >>> seen = []
    >>> many = Many([seen.append, lambda episode: None])
    >>> many({"episode": 0, "cost": 1.0})
    >>> len(seen)
    1
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks: list[Callback] = list(callbacks)
        self._silent: list[Callback] = []

    def __call__(self, episode: dict[str, Any]) -> None:
        """Pass an episode to all callbacks."""
        for callback in self._callbacks:
            if callback in self._silent:
                continue
            try:
                callback(episode)
            except Exception as error:
                self._silent.append(callback)
                name = getattr(callback, "__name__", type(callback).__name__)
                warnings.warn(
                    f"{name} stopped: {type(error).__name__}: {error}; the run goes on", RuntimeWarning, stacklevel=2
                )

    def close(self) -> None:
        """Close all callbacks that can be closed, including those that failed."""
        for callback in self._callbacks:
            close = getattr(callback, "close", None)
            try:
                if callable(close):
                    close()
            except Exception as error:
                warnings.warn(f"{type(callback).__name__} was not closed: {error}", RuntimeWarning, stacklevel=2)


class TensorBoard(Tracker):
    """Writes TensorBoard event files; TensorBoard need not be installed: ``tensorboard --logdir runs``.

    Parameters
    ----------
    folder : path
        Folder of the event file.
    prefix : str, optional
        Prefix of all curve names.
    """

    def __init__(self, folder: str | os.PathLike[str], prefix: str = "") -> None:
        self._folder, self._prefix = Path(folder), prefix
        self._file: _ocorl.EventFile | None = None
        #: Path of the file, once it exists.
        self.path: Path = self._folder

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        if self._file is None:
            self._file = _ocorl.EventFile(str(self._folder))
            self.path = Path(self._file.path)
        self._file.write(step, [(self._prefix + tag, value) for tag, value in values.items()])

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file, self._broken = None, True


class MlFlow(Tracker):
    """Logs to the active MLflow run, or to a new one. Needs ``pip install mlflow``.

    Parameters
    ----------
    experiment : str, optional
        Name of the experiment.
    run : str, optional
        Name of the run.
    **parameters
        Logged as parameters of the run.
    """

    _mine = False

    def __init__(self, experiment: str | None = None, run: str | None = None, **parameters: object) -> None:
        try:
            self._begin(experiment, run, parameters)
        except Exception as error:
            self._stop(error)

    def _begin(self, experiment: str | None, run: str | None, parameters: dict[str, object]) -> None:
        mlflow: Any = import_module("mlflow")
        self._mlflow = mlflow
        if experiment is not None:
            mlflow.set_experiment(experiment)
        if mlflow.active_run() is None:
            mlflow.start_run(run_name=run)
            self._mine = True
        if parameters:
            mlflow.log_params(parameters)

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        self._mlflow.log_metrics(dict(values), step=step)

    def close(self) -> None:
        """End the run if it was started here."""
        if self._mine:
            self._mlflow.end_run()


class WandB(Tracker):
    """Logs to the active run of Weights & Biases, or to a new one. Needs ``pip install wandb``.

    It is a service, so data leave the machine.

    Parameters
    ----------
    project : str, default "ocorl"
        Name of the project.
    name : str, optional
        Name of the run.
    **config
        Configuration of the run.
    """

    _mine = False

    def __init__(self, project: str = "ocorl", name: str | None = None, **config: object) -> None:
        try:
            wandb: Any = import_module("wandb")
            self._run: Any = wandb.run
            if self._run is None:
                self._run = wandb.init(project=project, name=name, config=config)
                self._mine = True
        except Exception as error:
            self._stop(error)

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """End the run if it was started here."""
        if self._mine:
            self._run.finish()
