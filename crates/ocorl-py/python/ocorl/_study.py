"""Studies: a persistent learner with the ask/tell interface."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _ocorl
from ._errors import MistakeError, StudyError
from ._figure import Figure
from ._frames import Table, Tabular, columns, joined
from ._system import as_system

if TYPE_CHECKING:
    from typing_extensions import Self

_log = logging.getLogger("ocorl")


def chosen(
    set: Mapping[str, object] | None,
    strategy: str | None,
    explore: str | None,
    episodes: int | None,
    measurements: int | None,
) -> dict[str, object]:
    """Merges settings; later ones take precedence."""
    more = {"strategy": strategy, "explore": explore, "episodes": episodes, "measurements": measurements}
    return {**(set or {}), **{path: value for path, value in more.items() if value is not None}}


def heeded(receipt: dict[str, Any]) -> dict[str, Any]:
    """Returns the receipt of a recording; warnings also go to the logger."""
    if receipt["warning"] is not None:
        _log.warning("episode %s: %s", receipt["episode"], receipt["warning"])
    return receipt


#: Warning if derivatives are expected but not given.
NO_DERIVATIVES = (
    "no x_dot, so this is learned from states alone, which needs more of them, evenly spaced; choose that with "
    'set={"measured": "states"}, or record x_dot too'
)


def _how(more: bool, correct: bool) -> str:
    """Translates the flags of `tell` to the mode of recording."""
    if more and correct:
        raise MistakeError("'more' and 'correct' contradict each other")
    return "more" if more else "correct" if correct else "whole"


class Study(_ocorl.Study, Tabular):
    """A persistent learner. Ask for a plan, execute it, record the measurements; each step may happen in another process.

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

    Create one with :meth:`create`, :meth:`open` or :meth:`open_or_create`. It locks its folder until it is closed: use it
    in a ``with`` block, or call :meth:`close`. Threads may share it: their calls are served one after the other.
    """

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        system: str | os.PathLike[str] | _ocorl.System,
        *,
        seed: int = 0,
        settings: str = "default",
        set: Mapping[str, object] | None = None,
        strategy: str | None = None,
        explore: str | None = None,
        episodes: int | None = None,
        measurements: int | None = None,
        price_measurement: float = 0.0,
        price_episode: float = 0.0,
        budget: float | None = None,
    ) -> Self:
        """Creates a study of a system in a folder that contains none."""
        changes = chosen(set, strategy, explore, episodes, measurements)
        prices = (price_measurement, price_episode, budget)
        how: dict[str, Any] = {"seed": seed, "settings": settings, "set": changes, "prices": prices}
        return cls._made("create", folder, as_system(system), **how)

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str], *, read_only: bool = False, episodes: int | None = None
    ) -> Self:
        """Opens the study in a folder, for writing or read-only; ``episodes`` replaces the total number of episodes."""
        return cls._made("look" if read_only else "open", folder, episodes=episodes)

    @classmethod
    def open_or_create(
        cls,
        folder: str | os.PathLike[str],
        system: str | os.PathLike[str] | _ocorl.System | None = None,
        *,
        seed: int = 0,
        settings: str = "default",
        set: Mapping[str, object] | None = None,
        strategy: str | None = None,
        explore: str | None = None,
        episodes: int | None = None,
        measurements: int | None = None,
        price_measurement: float = 0.0,
        price_episode: float = 0.0,
        budget: float | None = None,
    ) -> Self:
        """Opens the study in a folder, or creates it. An existing study must have the same system, settings and seed; without
        ``system`` it must exist, and only ``episodes`` can be given.
        """
        changes = chosen(set, strategy, explore, episodes, measurements)
        prices = (price_measurement, price_episode, budget)
        how: dict[str, Any] = {"seed": seed, "settings": settings, "set": changes, "prices": prices}
        if system is not None:
            return cls._made("continue", folder, as_system(system), **how)
        usual = {"seed": 0, "settings": "default", "set": chosen(None, None, None, episodes, None), "prices": (0.0, 0.0, None)}
        other = [name for name, value in how.items() if value != usual[name]]
        if other:
            raise MistakeError(
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
        made = super().__new__(cls, mode, os.fspath(folder), *system, **how)
        # The working directory may change later.
        made._home = os.path.abspath(folder)
        return made

    #: Absolute path of the study.
    _home: str

    def __new__(cls, *_args: Any, **_options: Any) -> Self:
        raise MistakeError(
            "a study is created or opened",
            hint="ocorl.Study.create(folder, system), ocorl.Study.open(folder), ocorl.Study.open_or_create(folder, system)",
        )

    def ask(self, callback: Callable[[dict[str, Any]], object] | None = None) -> _ocorl.Plan | None:  # type: ignore[override]
        """Returns the plan of the next episode; the same plan until that episode is closed; None when the study is finished.

        ``callback`` receives every event as a dictionary, with costs in units of the task. Warnings go to the logger ``ocorl``. Ctrl-C
        returns at once, and nothing is lost."""

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
    ) -> dict[str, Any]:
        """Records measurements, one per row; when this returns, they are on disk.

        ``plan`` is the executed plan or the number of its episode; by default the pending one. With ``more`` the episode stays open for
        further measurements. With ``correct`` the measurements replace those recorded for the episode before. Without ``x_dot`` the
        model learns from states alone (see ``docs/states.md``: this needs more, and evenly spaced, measurements). ``cost`` is the cost
        of the run, if it was measured; otherwise it is estimated from the rows. Returns a receipt: numbers of new, on-time, late and
        missed measurements, and a warning if they are far from the model's predictions."""
        how, episode = _how(more, correct), self._episode(plan)
        receipt = super().tell(episode, t, x, u, x_dot, start=start, cost=cost, outcome=outcome, how=how, source=source)
        if x_dot is None and self.created["settings"]["measured"] == "derivatives":
            _log.warning("episode %s: %s", receipt["episode"], NO_DERIVATIVES)
        return heeded(receipt)

    def _episode(self, plan: _ocorl.Plan | int | None) -> int | None:
        """Returns the episode number of a plan, if the plan belongs to this study."""
        if not isinstance(plan, _ocorl.Plan):
            return plan
        try:
            ours = self.plan(plan.episode).study
        except MistakeError:
            return plan.episode  # the compiled part reports an unknown episode
        if plan.study != ours:
            where = f"the study {plan.study}" if plan.study else "no study"
            raise MistakeError(
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
    ) -> dict[str, Any]:
        """Records measurements from a file: CSV with the columns t, states, inputs, states_dot; or JSON."""
        return heeded(super().tell_file(os.fspath(path), self._episode(plan), how=_how(more, correct)))

    def import_(self, path: Any = None, *, t: Any = None, x: Any = None, u: Any = None, x_dot: Any = None) -> int:  # type: ignore[override]
        """Learns from measurements outside the study, from a file or from arrays; returns the number of new ones."""
        if path is not None:
            return super().import_file(os.fspath(path))
        return super().import_(t, x, u, x_dot)

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Writes the report, one HTML file that needs no network; returns its path, ``report/index.html`` in the study's folder."""
        return _ocorl.report(self._home, None if path is None else os.fspath(path))

    def plot(self, what: str = "cost", episode: int | None = None) -> Figure:
        """Draws a figure of the study (``cost``, ``regret``, ``times``, ...), or of one of its episodes (``states``, ``phase``, ...)."""
        exhibits = _ocorl.exhibits(self._home, episode)
        for name, title, _, svg, csv in exhibits:
            if name == what:
                return Figure(title, svg, csv)
        names = ", ".join(name for name, *_ in exhibits) or "none yet"
        raise MistakeError(f"no plot '{what}'", hint=f"there are: {names}")

    def to_dict(self, table: str = "measurements") -> Table:
        """Returns a table as a dictionary of arrays: ``measurements`` or ``episodes``."""
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
        raise MistakeError(f"no table '{table}'", hint="there are: measurements, episodes")

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
