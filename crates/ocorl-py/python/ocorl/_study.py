"""Studies: a persistent learner with the ask/tell interface."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _ocorl
from ._arguments import path as _path
from ._arguments import whole
from ._errors import StudyError, UserError
from ._figure import Figure
from ._frames import Table, Tabular, columns, joined
from ._settings import Settings, as_paths
from ._system import as_system

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._model import GpDynamics

_log = logging.getLogger("ocorl")


def chosen(
    set: Mapping[str, object] | Settings | None,
    strategy: str | None,
    explore: str | None,
    episodes: int | None,
    measurements: int | None,
) -> dict[str, object]:
    """Merge settings; later ones take precedence."""
    more = {"strategy": strategy, "explore": explore, "episodes": episodes, "measurements": measurements}
    return {**as_paths(set), **{path: value for path, value in more.items() if value is not None}}


@dataclass(frozen=True)
class Receipt(Mapping[str, Any]):
    """What a recording stored. It is also a mapping of its fields.

    Examples
    --------
    >>> receipt = Receipt(episode=3, stored=10)
    >>> receipt.stored, receipt["stored"], dict(receipt)["episode"]
    (10, 10, 3)
    """

    #: Number of the episode.
    episode: int
    #: Number of new measurements, and of those that were known already.
    stored: int = 0
    known: int = 0
    #: Numbers of measurements at their time, of late ones, of requested but missed ones, and of those that were not requested.
    on_time: int = 0
    late: int = 0
    missed: int = 0
    extra: int = 0
    #: Whether the episode is closed.
    closed: Any = None
    #: Number of rows far from the model.
    far_from_the_model: Any = None
    #: Warning about the data.
    warning: str | None = None
    #: Remarks about the data.
    notes: Any = ()
    #: Further entries.
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Receipt:
        """Return the receipt with these entries.

        Parameters
        ----------
        entries : mapping
            Entries; those without a field go to ``more``.

        Returns
        -------
        Receipt
            The receipt.
        """
        names = {part.name for part in fields(cls)} - {"more"}
        own = {name: value for name, value in entries.items() if name in names}
        return cls(**own, more={name: value for name, value in entries.items() if name not in names})

    def __getitem__(self, name: str) -> Any:
        if name in self.more:
            return self.more[name]
        if name == "more" or name not in {part.name for part in fields(self)}:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        yield from (part.name for part in fields(self) if part.name != "more")
        yield from self.more

    def __len__(self) -> int:
        return len(fields(self)) - 1 + len(self.more)


def heeded(receipt: Mapping[str, Any]) -> None:
    """Pass the warning and the remarks of a recording to the logger."""
    if receipt["warning"] is not None:
        _log.warning("episode %s: %s", receipt["episode"], receipt["warning"])
    for note in receipt.get("notes") or ():
        _log.warning("episode %s: %s", receipt["episode"], note)


#: Warning if derivatives are expected but not given.
NO_DERIVATIVES = (
    "no x_dot, so this is learned from states alone, which needs more of them, evenly spaced; choose that with "
    'set={"measured": "states"}, or record x_dot too'
)


def _no_row(x_dot: Any) -> bool:
    """Return whether there are derivatives, but none without a NaN."""
    try:
        values = np.asarray(x_dot, dtype=float) if x_dot is not None else np.zeros(0)
    except (TypeError, ValueError):
        return False  # the compiled part reports it
    return values.size > 0 and bool(np.isnan(values.reshape(len(values), -1) if values.ndim else values).any(axis=-1).all())


def _how(more: bool, correct: bool) -> str:
    """Translate the flags of `tell` to the mode of recording."""
    if more and correct:
        raise UserError("'more' and 'correct' contradict each other")
    return "more" if more else "correct" if correct else "whole"


class Study(_ocorl.Study, Tabular):
    """A persistent learner with the ask/tell interface.

    Ask for a plan, execute it, record the measurements. Each step may happen in another process. Create a study with
    :meth:`create`, :meth:`open` or :meth:`open_or_create`. It locks its folder until it is closed: use it in a
    ``with`` block, or call :meth:`close`. Threads may share it; their calls are executed one after the other.

    Examples
    --------
    >>> import ocorl, tempfile, numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> with ocorl.Study.create(folder, "pendulum", episodes=2) as study:
    ...     plan = study.ask()                          # the same plan again after a crash
    ...     again = study.ask()
    ...     t = plan.measure_at
    ...     x = np.tile(plan.x0, (len(t), 1))           # ... run it, measure ...
    ...     receipt = study.tell(plan, t=t, x=x, x_dot=np.zeros_like(x), u=np.zeros((len(t), 1)))
    ...     plan.text == again.text, receipt["stored"], study.done
    (True, 10, False)
    """

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        system: str | os.PathLike[str] | _ocorl.System,
        *,
        seed: int = 0,
        settings: str = "default",
        set: Mapping[str, object] | Settings | None = None,
        strategy: str | None = None,
        explore: str | None = None,
        episodes: int | None = None,
        measurements: int | None = None,
        price_measurement: float = 0.0,
        price_episode: float = 0.0,
        budget: float | None = None,
    ) -> Self:
        """Create a study of a system in a folder that contains none.

        Parameters
        ----------
        folder : path
            Folder of the study.
        system : str, path or System
            Name of a built-in system, file of a system, or :class:`ocorl.System`.
        seed : int, default 0
            Root seed of all random streams. The same seed gives the same run, bit for bit.
        settings : str, default "default"
            ``"default"``, ``"reference"`` (the authors' settings), or a TOML file.
        set : mapping or Settings, optional
            Single settings: :class:`ocorl.Settings`, or by path, for example ``{"plan.intervals": 100, "model.kernel": "rbf + linear"}``.
        strategy : str, optional
            Measurement strategy, one of :func:`ocorl.strategies`.
        explore : str, optional
            ``"optimistic"``, ``"mean"``, ``"thompson"``, ``"bonus"``, ``"explore"``, ``"weight-space"`` (linear
            kernels only), ``"epsilon-greedy"`` or ``"boltzmann"``.
        episodes : int, optional
            Total number of episodes, including the exploratory episode 0.
        measurements : int, optional
            Number of measurements per episode.
        price_measurement, price_episode : float, default 0
            Price of a measurement and of an episode.
        budget : float, optional
            Total price after which the study ends.

        Returns
        -------
        Study
            The new study, open for writing.

        Raises
        ------
        StudyError
            The folder already contains a study.
        """
        changes = chosen(set, strategy, explore, episodes, measurements)
        prices = (price_measurement, price_episode, budget)
        how: dict[str, Any] = {"seed": seed, "settings": settings, "set": changes, "prices": prices}
        return cls._made("create", folder, as_system(system), **how)

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str], *, read_only: bool = False, episodes: int | None = None
    ) -> Self:
        """Open the study in a folder.

        Parameters
        ----------
        folder : path
            Folder of the study.
        read_only : bool, default False
            Whether to open it without a lock, for reading only.
        episodes : int, optional
            New total number of episodes.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        BusyError
            Another process has the study open for writing.
        DamagedError
            The file is damaged, or a later version wrote it.
        """
        return cls._made("look" if read_only else "open", folder, episodes=episodes)

    @classmethod
    def open_or_create(
        cls,
        folder: str | os.PathLike[str],
        system: str | os.PathLike[str] | _ocorl.System | None = None,
        *,
        seed: int = 0,
        settings: str = "default",
        set: Mapping[str, object] | Settings | None = None,
        strategy: str | None = None,
        explore: str | None = None,
        episodes: int | None = None,
        measurements: int | None = None,
        price_measurement: float = 0.0,
        price_episode: float = 0.0,
        budget: float | None = None,
    ) -> Self:
        """Open the study in a folder, or create it.

        An existing study must have the same system, settings and seed. Without ``system`` the study must exist, and
        only ``episodes`` can be given.

        Parameters
        ----------
        folder : path
            Folder of the study.
        system : str, path or System, optional
            Name of a built-in system, file of a system, or :class:`ocorl.System`.
        seed : int, default 0
            Root seed of all random streams. The same seed gives the same run, bit for bit.
        settings : str, default "default"
            ``"default"``, ``"reference"`` (the authors' settings), or a TOML file.
        set : mapping or Settings, optional
            Single settings: :class:`ocorl.Settings`, or by path, for example ``{"plan.intervals": 100, "model.kernel": "rbf + linear"}``.
        strategy : str, optional
            Measurement strategy, one of :func:`ocorl.strategies`.
        explore : str, optional
            ``"optimistic"``, ``"mean"``, ``"thompson"``, ``"bonus"``, ``"explore"``, ``"weight-space"`` (linear
            kernels only), ``"epsilon-greedy"`` or ``"boltzmann"``.
        episodes : int, optional
            Total number of episodes, including the exploratory episode 0.
        measurements : int, optional
            Number of measurements per episode.
        price_measurement, price_episode : float, default 0
            Price of a measurement and of an episode.
        budget : float, optional
            Total price after which the study ends.

        Returns
        -------
        Study
            The study, open for writing.
        """
        changes = chosen(set, strategy, explore, episodes, measurements)
        prices = (price_measurement, price_episode, budget)
        how: dict[str, Any] = {"seed": seed, "settings": settings, "set": changes, "prices": prices}
        if system is not None:
            return cls._made("continue", folder, as_system(system), **how)
        usual = {"seed": 0, "settings": "default", "set": chosen(None, None, None, episodes, None), "prices": (0.0, 0.0, None)}
        other = [name for name, value in how.items() if value != usual[name]]
        if other:
            raise UserError(
                "without a system an existing study is opened unchanged", [("given", ", ".join(other))], "name the system: system=..."
            )
        return cls._made("open", folder, episodes=episodes)

    @classmethod
    def _made(
        cls,
        mode: Literal["create", "open", "look", "continue"],
        folder: str | os.PathLike[str],
        *system: _ocorl.System,
        **how: Any,
    ) -> Self:
        made = super().__new__(cls, mode, _path(folder, "folder"), *system, **how)
        # The working directory may change later.
        made._home = os.path.abspath(folder)
        return made

    #: Absolute path of the study.
    _home: str

    def __new__(cls, *_args: Any, **_options: Any) -> Self:
        raise UserError(
            "a study is created or opened",
            hint="ocorl.Study.create(folder, system), ocorl.Study.open(folder), ocorl.Study.open_or_create(folder, system)",
        )

    def ask(self, callback: Callable[[dict[str, Any]], object] | None = None) -> _ocorl.Plan | None:  # type: ignore[override]
        """Return the plan of the next episode.

        The plan stays the same until that episode is closed. Ctrl-C returns at once, and nothing is lost. Warnings go
        to the logger ``ocorl``.

        Parameters
        ----------
        callback : callable, optional
            Receives every event as a dictionary, with costs in units of the task.

        Returns
        -------
        Plan or None
            The plan; None when the study is finished.
        """

        def hear(kind: str, contents: Any) -> None:
            if kind == "warning":
                _log.warning("%s", contents)
            elif callback is not None:
                callback(contents)

        return super().ask(hear)

    def tell(  # type: ignore[override]
        self,
        plan: _ocorl.Plan | int | None = None,
        *,
        t: Any,
        x: Any,
        u: Any,
        x_dot: Any = None,
        start: int = 0,
        cost: float | None = None,
        outcome: str | None = None,
        more: bool = False,
        correct: bool = False,
        source: str = "python",
    ) -> Receipt:
        """Record measurements, one per row. When this returns, they are on disk.

        Parameters
        ----------
        plan : Plan or int, optional
            The executed plan, or the number of its episode; by default the pending one.
        t : array_like, shape (n,)
            Measurement times, from the start of the episode.
        x : array_like, shape (n, states)
            Measured states.
        u : array_like, shape (n, inputs)
            Applied inputs. A row whose states are all NaN gives an input that was applied from that time on.
        x_dot : array_like, shape (n, states), optional
            Measured derivatives. A row with a NaN counts as not measured. Without them, the model learns from states alone. This needs more, and evenly
            spaced, measurements (see ``docs/states.md``).
        start : int, default 0
            Index of the initial state, if the plan has several.
        cost : float, optional
            Measured cost of the run; by default it is estimated from the rows.
        outcome : str, optional
            Outcome of the run.
        more : bool, default False
            Whether the episode stays open for further measurements.
        correct : bool, default False
            Whether the measurements replace those that were recorded for the episode before.
        source : str, default "python"
            Origin of the data, stored with them.

        Returns
        -------
        Receipt
            Numbers of new, on-time, late and missed measurements, and a warning if their residuals are large.

        Raises
        ------
        UserError
            A number is invalid, or the plan is of another study. Nothing is recorded.
        """
        how, episode = _how(more, correct), self._episode(plan)
        if _no_row(x_dot):
            raise UserError("every row of 'x_dot' has a NaN", [("note", "nothing was stored")], "leave x_dot out to learn from states alone")
        receipt = super().tell(episode, t, x, u, x_dot, start=start, cost=cost, outcome=outcome, how=how, source=source)
        if x_dot is None and self.created["settings"]["measured"] == "derivatives":
            _log.warning("episode %s: %s", receipt["episode"], NO_DERIVATIVES)
        heeded(receipt)
        return Receipt.of(receipt)

    def _episode(self, plan: _ocorl.Plan | int | None) -> int | None:
        """Return the episode number of a plan, if the plan belongs to this study."""
        if not isinstance(plan, _ocorl.Plan):
            return plan
        try:
            ours = self.plan(plan.episode).study
        except UserError:
            return plan.episode  # the compiled part reports an unknown episode
        if plan.study != ours:
            where = f"the study {plan.study}" if plan.study else "no study"
            raise UserError(
                "the plan is not one of this study", [("plan", f"of {where}"), ("here", f"the study {ours}"), ("note", "nothing was stored")]
            )
        return plan.episode

    def tell_file(  # type: ignore[override]
        self,
        path: str | os.PathLike[str],
        plan: _ocorl.Plan | int | None = None,
        *,
        more: bool = False,
        correct: bool = False,
    ) -> Receipt:
        """Record measurements from a file.

        Parameters
        ----------
        path : path
            CSV file with the columns t, states, inputs, states_dot; or JSON file.
        plan, more, correct
            As in :meth:`tell`.

        Returns
        -------
        Receipt
            As in :meth:`tell`.
        """
        receipt = super().tell_file(_path(path, "path"), self._episode(plan), how=_how(more, correct))
        heeded(receipt)
        return Receipt.of(receipt)

    def __iter__(self) -> Iterator[_ocorl.Plan]:
        """Iterate over the plans of the remaining episodes: ``for plan in study``.

        Each episode must be told, or closed by :meth:`fail`, before the next step.
        """
        last = None
        while (plan := self.ask()) is not None:
            if plan.episode == last:
                raise StudyError(
                    f"episode {plan.episode} is still pending", hint="study.tell(plan, ...), or study.fail(reason), before the next plan"
                )
            last = plan.episode
            yield plan

    def model(self) -> GpDynamics:
        """Return the model that the study has learned.

        Returns
        -------
        GpDynamics
            The fitted model, with its data.

        Examples
        --------
        >>> import ocorl, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> done = ocorl.run("pendulum", episodes=2, out=folder, quiet=True)
        >>> with ocorl.Study.open(folder, read_only=True) as study:
        ...     study.model().n_points_
        20
        """
        from ._model import GpDynamics

        return GpDynamics.learned(self.learned())

    def transfer(
        self, folder: str | os.PathLike[str], system: str | os.PathLike[str] | _ocorl.System, **options: Any
    ) -> Study:
        """Create a study of another task of the same plant that begins with the measurements of this one.

        Its first episode is planned, not exploratory.

        Parameters
        ----------
        folder : path
            Folder of the new study.
        system : str, path or System
            The system with its new task: another cost, initial state, horizon or limit.
        **options
            Settings of the new study, as in :meth:`create`.

        Returns
        -------
        Study
            The new study, open for writing.

        Raises
        ------
        UserError
            The system has other states or inputs.
        """
        new, old = as_system(system), self.created
        if (new.states, new.controls) != (old["states"], old["controls"]):
            ours = f"{', '.join(old['states'])}; {', '.join(old['controls'])}"
            theirs = f"{', '.join(new.states)}; {', '.join(new.controls)}"
            raise UserError("the systems have different states or inputs", [("here", ours), ("there", theirs)])
        told = self.measurements()
        rows = np.asarray(told["used"], dtype=bool) & ~np.isnan(told["x_dot"]).any(axis=1)
        study = type(self).create(folder, new, **options)
        # Each run has its own time axis.
        for episode in np.unique(np.asarray(told["episode"])[rows]):
            here = rows & (np.asarray(told["episode"]) == episode)
            study.import_(t=told["t"][here], x=told["x"][here], u=told["u"][here], x_dot=told["x_dot"][here])
        return study

    def import_(self, path: Any = None, *, t: Any = None, x: Any = None, u: Any = None, x_dot: Any = None) -> int:  # type: ignore[override]
        """Learn from measurements outside the study, from a file or from arrays.

        Parameters
        ----------
        path : path, optional
            CSV or JSON file.
        t, x, u, x_dot : array_like, optional
            Measurements as arrays, if there is no file.

        Returns
        -------
        int
            Number of new measurements.
        """
        if path is not None:
            return super().import_file(_path(path, "path"))
        return super().import_(t, x, u, x_dot)

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the report, one HTML file that needs no network.

        Parameters
        ----------
        path : path, optional
            File of the report; by default ``report/index.html`` in the study's folder.

        Returns
        -------
        str
            Path of the report.
        """
        return _ocorl.report(self._home, None if path is None else _path(path, "path"))

    def plot(self, what: str = "cost", episode: int | None = None, *, ax: Any = None) -> Any:
        """Draw a figure of the study or of one of its episodes.

        Parameters
        ----------
        what : str, default "cost"
            Name of the figure: ``"cost"``, ``"regret"``, ``"times"``, ...; of an episode ``"states"``, ``"phase"``,
            ...
        episode : int, optional
            Episode of the figure.
        ax : matplotlib.axes.Axes, optional
            Axes to draw the figure into.

        Returns
        -------
        Figure or Axes
            The figure; the axes, if they are given.
        """
        exhibits = _ocorl.exhibits(self._home, episode)
        for name, title, _, svg, csv in exhibits:
            if name == what:
                figure = Figure(title, svg, csv)
                return figure if ax is None else figure.into(ax)
        names = ", ".join(name for name, *_ in exhibits) or "none yet"
        raise UserError(f"no plot '{what}'", hint=f"there are: {names}")

    def to_dict(self, table: str = "measurements") -> Table:
        """Return a table as a dictionary of arrays.

        Parameters
        ----------
        table : {"measurements", "episodes"}, default "measurements"
            Name of the table.

        Returns
        -------
        dict
            Columns by name.
        """
        if table in ("", "measurements"):
            told, created = self.measurements(), self.created
            states, controls = created["states"], created["controls"]
            return joined(
                {"episode": np.asarray(told["episode"]), "start": np.asarray(told["start"]), "t": told["t"]},
                columns(states, told["x"]),
                columns(controls, told["u"]),
                columns(states, told["x_dot"], "_dot"),
                {"asked_t": told["asked_t"], "used": np.asarray(told["used"], dtype=bool)},
            )
        if table == "episodes":
            each = self.episodes
            keys = ["episode", "status", "outcome", "cost", "planned_cost", "measured", "asked"]
            numeric = {"cost", "planned_cost"}
            return {
                key: np.array(
                    [np.nan if key in numeric and episode[key] is None else episode[key] for episode in each]
                )
                for key in keys
            }
        raise UserError(f"no table '{table}'", hint="there are: measurements, episodes")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study('{self.folder}')"

    def _repr_html_(self) -> str:
        from html import escape

        from ._html import study

        try:
            return study(self)
        except StudyError as error:
            return f"{escape(repr(self))}: {escape(error.message)}"
