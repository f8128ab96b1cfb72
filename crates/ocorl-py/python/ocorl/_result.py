"""Results of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._errors import UserError
from ._figure import Figure, drawn, line, panel
from ._frames import Table, Tabular, columns, joined
from ._policy import Policy

if TYPE_CHECKING:
    from . import _ocorl
    from ._model import GpDynamics

Array = npt.NDArray[np.float64]

#: Format version of pickled results.
PICKLE_FORM = 1

#: Colours of the series.
EXECUTED, PLANNED, MIDDLE, MEASURED = 0, 1, 2, 3


def _float(value: float | None) -> float:
    return float("nan") if value is None else float(value)


@dataclass(frozen=True, eq=False)
class Rollout:
    """One rollout of an episode, from one initial state. Rows are times."""

    #: Outcome of the rollout.
    outcome: str
    #: Executed trajectory: times, states, controls, cumulative cost.
    t: Array
    x: Array
    u: Array
    costs: Array
    #: Measurements; ``measured_x_dot`` is None where only states were measured.
    measured_t: Array
    measured_x: Array
    measured_u: Array
    measured_x_dot: Array | None
    #: Plan: a dictionary with t, x, u and measure_at; None in the first episode.
    plan: dict[str, Array] | None

    @property
    def measured_only(self) -> bool:
        """Whether the trajectory between the measurements is unknown, as on an external plant."""
        return np.array_equal(self.t, self.measured_t)


@dataclass(frozen=True, eq=False)
class Episode:
    """One episode. Costs are in the units of the paper's table; unknown values are NaN or None."""

    number: int
    cost: float
    planned_cost: float
    regret: float
    #: Measurement times.
    measurement_times: Array
    #: Model uncertainty along the trajectory, relative to the derivative.
    uncertainty: float
    #: Fraction of the trajectory on which the true dynamics were within the confidence band.
    coverage: float
    outcome: str
    #: Rollouts, one for each initial state.
    rollouts: list[Rollout]
    #: All scalar data of the episode.
    record: dict[str, Any]
    #: The plan that was followed, with its gains; None in an exploratory episode.
    plan: _ocorl.Plan | None = None

    @property
    def t(self) -> Array:
        """Times of the executed trajectory."""
        return self.rollouts[0].t

    @property
    def x(self) -> Array:
        """States of the executed trajectory."""
        return self.rollouts[0].x

    @property
    def u(self) -> Array:
        """Controls of the executed trajectory."""
        return self.rollouts[0].u

    @property
    def measured_t(self) -> Array:
        """Measurement times of the rollout from the first initial state."""
        return self.rollouts[0].measured_t

    @property
    def measured_x(self) -> Array:
        """States at the measurement times."""
        return self.rollouts[0].measured_x

    @property
    def measured_u(self) -> Array:
        """Controls at the measurement times."""
        return self.rollouts[0].measured_u

    @property
    def measured_x_dot(self) -> Array | None:
        """Measured derivatives."""
        return self.rollouts[0].measured_x_dot

    def __repr__(self) -> str:
        return f"Episode({self.number}, cost {self.cost:.6g}, {len(self.measurement_times)} measurements, {self.outcome})"

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Episode:
        record = dict(data["record"])
        return cls(
            number=int(record["episode"]),
            cost=_float(record.get("cost")),
            planned_cost=_float(record.get("planned_cost")),
            regret=_float(record.get("regret")),
            measurement_times=np.asarray(record.get("measurement_times") or [], dtype=float),
            uncertainty=_float(record.get("uncertainty")),
            coverage=_float(record.get("coverage")),
            outcome=str(record.get("outcome")),
            rollouts=[Rollout(**rollout) for rollout in data["rollouts"]],
            record=record,
            plan=data.get("plan"),
        )


class Result(Tabular):
    """Result of a run: costs, episodes, tables, figures. Costs are in the units of the paper's table.

    Parameters
    ----------
    data : mapping
        What the compiled part returns; :func:`ocorl.run` makes it.

    Examples
    --------
    >>> import ocorl
    >>> result = ocorl.run("pendulum", episodes=2, quiet=True)
    >>> result
    Result(pendulum, seed 0, 2 episodes, final cost ...)
    >>> result.costs.shape, len(result.episodes), result.optimum < result.final_cost
    ((2,), 2, True)
    >>> list(result.to_dict("measurements"))
    ['episode', 'start', 't', 'theta', 'omega', 'torque', 'theta_dot', 'omega_dot']
    """

    #: Figures that :meth:`plot` draws.
    PLOTS = ("cost", "phase", "states", "measurements")
    #: Tables that :meth:`to_dict` returns.
    TABLES = ("episodes", "measurements", "trajectories", "plans")

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)
        known = data["known"] or {}
        #: Name of the system.
        self.system: str = data["system"]
        #: Root seed of all random streams.
        self.seed: int = data["seed"]
        #: Names of states and inputs.
        self.states: list[str] = list(data["states"])
        self.controls: list[str] = list(data["controls"])
        #: Effective settings.
        self.settings: dict[str, Any] = data["settings"]
        #: All episodes, starting with the exploratory one.
        self.episodes = [Episode._of(episode) for episode in data["episodes"]]
        #: Cost of each episode.
        self.costs: Array = np.array([episode.cost for episode in self.episodes], dtype=float)
        #: Planned cost of each episode.
        self.planned_costs: Array = np.array([episode.planned_cost for episode in self.episodes], dtype=float)
        #: Regret: cost above the optimum (known dynamics); NaN where that is not known.
        self.regret: Array = np.array([episode.regret for episode in self.episodes], dtype=float)
        #: Continuous-time optimum (known dynamics); None if it was not computed.
        self.optimum: float | None = known.get("continuous")
        #: Cost of the optimal zero-order hold (known dynamics); None if it was not computed.
        self.held: float | None = known.get("held")
        #: Mean and standard deviation in the paper's Table 1, if it contains this combination.
        self.paper: tuple[float, float] | None = data["paper"]
        #: Folder of the study, if the run was stored.
        self.folder: str | None = data["folder"]
        #: Duration of the run in seconds.
        self.seconds: float = data["seconds"]

    @property
    def final_cost(self) -> float:
        """Cost of the last episode."""
        return float(self.costs[-1]) if len(self.costs) else float("nan")

    # What was learned

    @property
    def model(self) -> GpDynamics:
        """The learned model, with all data. It predicts, and ``ocorl.plan`` and ``ocorl.run(..., model=...)`` use it.

        Examples
        --------
        >>> import ocorl
        >>> result = ocorl.run("pendulum", episodes=2, quiet=True)
        >>> result.model.predict([[0.0, 1.0, 0.5]]).shape
        (1, 2)
        """
        model: GpDynamics | None = self._data.get("model")
        if model is None and self.folder is not None:
            from ._study import Study

            with Study.open(self.folder, read_only=True) as study:
                model = study.model()
            self._data["model"] = model
        if model is None:
            raise UserError("there is no model to take out", hint="in discrete time and with an ensemble there is none")
        return model

    @property
    def best(self) -> Episode:
        """The completed episode of least cost that followed a plan."""
        good = [episode for episode in self.episodes if episode.plan is not None and np.isfinite(episode.cost)]
        completed = [episode for episode in good if episode.outcome in ("completed", "not reported")]
        if not good:
            raise UserError("no episode has followed a plan yet", hint="run at least two episodes")
        return min(completed or good, key=lambda episode: episode.cost)

    @property
    def plan(self) -> _ocorl.Plan:
        """The plan of the best episode, with its gains."""
        plan = self.best.plan
        assert plan is not None
        return plan

    @property
    def policy(self) -> Policy:
        """The law u = policy(t, x) of that plan: a pure function, also of many rows."""
        return Policy(self.plan)

    def controller(self, *, mpc: bool = False, budget: float | None = None) -> _ocorl.Controller:
        """Return the controller of the plan of the best episode, for hardware and simulations.

        Parameters
        ----------
        mpc : bool, default False
            Whether to solve an optimal control problem at every call; only for a stored study, or an external plant.
        budget : float, optional
            Time limit of such a solution in seconds.

        Returns
        -------
        Controller
            The controller.
        """
        plan = self.plan
        if mpc and not plan.study and self.folder is not None:
            from ._study import Study

            with Study.open(self.folder, read_only=True) as study:
                plan = study.plan(self.best.number)
        return plan.controller(mpc=mpc, budget=budget)

    def __repr__(self) -> str:
        return f"Result({self.system}, seed {self.seed}, {len(self.episodes)} episodes, final cost {self.final_cost:.6g})"

    def _repr_html_(self) -> str:
        from ._html import result

        return result(self)

    def __reduce__(self) -> tuple[Any, tuple[int, dict[str, Any]]]:
        return _restored, (PICKLE_FORM, self._data)

    # Tables

    def to_dict(self, table: str = "episodes") -> Table:
        """Return a table as a dictionary of arrays.

        Parameters
        ----------
        table : {"episodes", "measurements", "trajectories", "plans"}, default "episodes"
            Name of the table.

        Returns
        -------
        dict
            Columns by name.
        """
        makers = {
            "": self._episodes,
            "episodes": self._episodes,
            "measurements": self._measurements,
            "trajectories": self._trajectories,
            "plans": self._plans,
        }
        if table not in makers:
            raise UserError(f"no table '{table}'", hint=f"there are: {', '.join(self.TABLES)}")
        return makers[table]()

    def _episodes(self) -> Table:
        def numbers(key: str) -> Array:
            return np.array([_float(episode.record.get(key)) for episode in self.episodes], dtype=float)

        return {
            "episode": np.array([episode.number for episode in self.episodes]),
            "cost": self.costs,
            "planned_cost": self.planned_costs,
            "regret": self.regret,
            "measurements": numbers("measurements"),
            "information_gain": numbers("information_gain"),
            "uncertainty": numbers("uncertainty"),
            "coverage": numbers("coverage"),
            "outcome": np.array([episode.outcome for episode in self.episodes]),
        }

    def _legs(self, rows: Any) -> Table:
        """Join the tables of all rollouts: ``rows`` returns the columns of one."""
        parts: list[Table] = []
        for episode in self.episodes:
            for start, rollout in enumerate(episode.rollouts):
                part = rows(rollout)
                if part is not None:
                    size = len(part["t"])
                    parts.append(joined({"episode": np.full(size, episode.number), "start": np.full(size, start)}, part))
        if not parts:
            return {}
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _measurements(self) -> Table:
        def rows(rollout: Rollout) -> Table:
            dots = rollout.measured_x_dot
            if dots is None:
                dots = np.full_like(rollout.measured_x, np.nan)
            point = (columns(self.states, rollout.measured_x), columns(self.controls, rollout.measured_u))
            return joined({"t": rollout.measured_t}, *point, columns(self.states, dots, "_dot"))

        return self._legs(rows)

    def _trajectories(self) -> Table:
        def rows(rollout: Rollout) -> Table:
            point = (columns(self.states, rollout.x), columns(self.controls, rollout.u))
            return joined({"t": rollout.t}, *point, {"cost": rollout.costs})

        return self._legs(rows)

    def _plans(self) -> Table:
        def rows(rollout: Rollout) -> Table | None:
            if rollout.plan is None:
                return None
            # The last node has no control.
            u = np.vstack([rollout.plan["u"], np.full((1, len(self.controls)), np.nan)])
            return joined({"t": rollout.plan["t"]}, columns(self.states, rollout.plan["x"]), columns(self.controls, u))

        return self._legs(rows)

    # Figures

    def plot(self, what: str = "cost", episode: int = -1, *, ax: Any = None) -> Any:
        """Draw a figure.

        Parameters
        ----------
        what : {"cost", "phase", "states", "measurements"}, default "cost"
            Cost by episode; some episodes in the plane of two states; states and inputs of one episode over time;
            measurement times of each episode.
        episode : int, default -1
            Episode of the figure ``"states"``.
        ax : matplotlib.axes.Axes or sequence of Axes, optional
            Axes to draw the panels of the figure into.

        Returns
        -------
        Figure or Axes
            The figure; the axes, if they are given.
        """
        makers = {
            "cost": lambda: self._plot_cost(),
            "phase": lambda: self._plot_phase(),
            "states": lambda: self._plot_states(self._episode(episode)),
            "measurements": lambda: self._plot_measurements(),
        }
        if what not in makers:
            raise UserError(f"no plot '{what}'", hint=f"there are: {', '.join(self.PLOTS)}")
        figure = makers[what]()
        return figure if ax is None else figure.into(ax)

    def _episode(self, number: int) -> Episode:
        try:
            return self.episodes[number]
        except IndexError:
            raise UserError(f"there is no episode {number}; there are {len(self.episodes)}") from None

    def _axis(self, i: int) -> tuple[str, str]:
        return self.states[i], self._data["state_units"][i]

    def _time(self) -> tuple[str, str]:
        return "time", self._data["time_unit"]

    def _title(self, what: str) -> str:
        return f"{self._data['title']}: {what}"

    def _plot_cost(self) -> Figure:
        costs = {
            "strategy": str(self.settings.get("strategy", "")).replace("-", " "),
            "episodes": [float(episode.number) for episode in self.episodes],
            "costs": [None if np.isnan(cost) else cost for cost in self.costs.tolist()],
            "planned": None,
            "best": self.optimum,
            "held": self.held,
            "paper": self.paper[0] if self.paper else None,
        }
        # The panel is for matplotlib; the standard form of this figure is drawn from the costs.
        numbers = [float(episode.number) for episode in self.episodes]
        marks = [line(numbers, self.costs, label="cost")]
        if self.optimum is not None:
            marks.append(line(numbers, [self.optimum] * len(numbers), series=1, label="optimum", dashed=True))
        shown = panel("", ("episode", ""), ("cost", ""), marks)
        return drawn({"title": self._title("cost by episode"), "costs": costs, "panels": [shown]})

    def _plane(self, t: Array, x: Array) -> tuple[Array, Array]:
        return (x[:, 0], x[:, 1]) if len(self.states) > 1 else (t, x[:, 0])

    def _line(self, rollout: Rollout) -> tuple[Array, Array]:
        thin = slice(None, None, max(1, len(rollout.t) // 200))
        return self._plane(rollout.t[thin], rollout.x[thin])

    def _panel(self, title: str, marks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        x, y = (self._axis(0), self._axis(1)) if len(self.states) > 1 else (self._time(), self._axis(0))
        return panel(title, x, y, marks)

    def _plot_phase(self) -> Figure:
        count, marks = len(self.episodes), []
        shown = {0: MEASURED, 1: PLANNED, count // 2: MIDDLE, count - 1: EXECUTED}
        for number, color in sorted(shown.items()):
            if number < count:
                for rollout in self.episodes[number].rollouts:
                    marks.append(line(*self._line(rollout), series=color, label=f"episode {number}", kind="crosses" if rollout.measured_only else "line"))
        last = []
        for rollout in self.episodes[-1].rollouts if self.episodes else []:
            if not rollout.measured_only:
                last.append(line(*self._line(rollout), series=EXECUTED, label="executed"))
            if rollout.plan is not None:
                way = self._plane(rollout.plan["t"], rollout.plan["x"])
                last.append(line(*way, series=PLANNED, label="planned", dashed=True))
            measured = self._plane(rollout.measured_t, rollout.measured_x)
            last.append(line(*measured, series=MEASURED, label="measured", kind="crosses"))
        panels = [
            self._panel("From the first episode to the last", marks),
            self._panel(f"Episode {count - 1}", last),
        ]
        return drawn({"title": self._title("phase portrait"), "panels": panels, "columns": 2})

    def _plot_states(self, episode: Episode) -> Figure:
        ends = (0.0, float(self._data["horizon"]))
        panels = []
        for i in range(len(self.states)):
            marks = []
            for rollout in episode.rollouts:
                if not rollout.measured_only:
                    marks.append(line(rollout.t, rollout.x[:, i], series=EXECUTED, label="executed"))
                if rollout.plan is not None:
                    marks.append(line(rollout.plan["t"], rollout.plan["x"][:, i], series=PLANNED, label="planned", dashed=True))
                marks.append(
                    line(rollout.measured_t, rollout.measured_x[:, i], series=MEASURED, label="measured", kind="crosses")
                )
            panels.append(panel("", self._time(), self._axis(i), marks, ends))
        for j, name in enumerate(self.controls):
            marks = [
                line(rollout.t, rollout.u[:, j], series=EXECUTED, label="applied", kind="crosses" if rollout.measured_only else "step")
                for rollout in episode.rollouts
            ]
            panels.append(panel("", self._time(), (name, self._data["control_units"][j]), marks, ends))
        return drawn({"title": self._title(f"episode {episode.number}"), "panels": panels, "columns": 2})

    def _plot_measurements(self) -> Figure:
        t = np.concatenate([episode.measurement_times for episode in self.episodes] or [np.zeros(0)])
        numbers = np.concatenate(
            [np.full(len(episode.measurement_times), float(episode.number)) for episode in self.episodes] or [np.zeros(0)]
        )
        marks = [line(t, numbers, series=MEASURED, label="measured", kind="crosses")]
        ends = (0.0, float(self._data["horizon"]))
        return drawn(
            {"title": self._title("measurement times"), "panels": [panel("", self._time(), ("episode", ""), marks, ends)]}
        )

    def report(self, path: str | None = None) -> str:
        """Write the report of the stored study.

        Parameters
        ----------
        path : str, optional
            File of the report; by default ``report/index.html`` in the study's folder.

        Returns
        -------
        str
            Path of the report.
        """
        if self.folder is None:
            raise UserError("the run was not stored", hint="store it: ocorl.run(..., out='runs/mine')")
        from . import _ocorl

        return _ocorl.report(self.folder, path)


def _restored(form: int, data: dict[str, Any]) -> Result:
    """Restore a pickled result."""
    if form != PICKLE_FORM:
        raise UserError(f"the pickled result has format {form}, this version reads {PICKLE_FORM}")
    return Result(data)


@dataclass(frozen=True, eq=False)
class Optimal:
    """Optimal control of a system with known equations; costs are in the units of the paper's table."""

    system: str
    #: Cost of the best plan, in open loop: the optimum if ``confirmed``, otherwise the best known.
    cost: float
    #: Cost of the best plan followed by model-predictive control.
    tracked: float
    #: Cost of the best zero-order hold with ``holds`` intervals.
    held: float
    holds: int
    #: Whether another program confirmed the optimum.
    confirmed: bool
    #: Number of local searches, and of the distinct local optima that they found.
    searches: int
    basins: int
    #: The optimal trajectory.
    t: Array
    x: Array
    u: Array

    def __repr__(self) -> str:
        return f"Optimal({self.system}, cost {self.cost:.6g}, optimal zero-order hold ({self.holds}) {self.held:.6g})"
