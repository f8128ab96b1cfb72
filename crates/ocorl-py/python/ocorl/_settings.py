"""Settings of the learner as a typed class; each setting that is given replaces the default of the system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from ._errors import UserError

Integrator = Literal["euler", "heun", "rk4"]


@dataclass(frozen=True)
class PlanSettings:
    """Settings of the planner."""

    #: Number of intervals of the time grid; with ``hold`` the largest number.
    intervals: int | None = None
    #: Numerical integration of an interval.
    integrator: Integrator | None = None
    #: Number of random starts, besides the last plan and the safe control.
    random_starts: int | None = None
    #: Number of stages in which the horizon of the first searches grows.
    stages: int | None = None
    #: Maximum number of iterations of each search.
    max_iterations: int | None = None
    #: Time for which the plant holds a control; 0 if it can change at any time.
    hold: float | None = None


@dataclass(frozen=True)
class TrackSettings:
    """Settings of the policy that follows a plan."""

    #: Kind of policy.
    policy: Literal["mpc", "feedback", "replan"] | None = None
    #: Time between two updates of ``mpc`` and ``replan``.
    period: float | None = None
    #: Prediction horizon of ``mpc``.
    horizon: float | None = None
    #: Number of nodes of ``mpc``; 0 uses those of the plan.
    nodes: int | None = None
    #: Numerical integration of an interval.
    integrator: Integrator | None = None
    #: Maximum number of iterations of each update.
    max_iterations: int | None = None
    #: Whether gains act between two updates.
    gains: bool | None = None


@dataclass(frozen=True)
class ModelSettings:
    """Settings of the model."""

    #: Gaussian process, or ensemble of neural networks.
    kind: Literal["gp", "ensemble"] | None = None
    #: Kernel: a name, or an expression such as ``rbf + linear``.
    kernel: str | None = None
    #: Whether all outputs have the same length scales.
    shared_lengthscales: bool | None = None
    #: Whether a factor of the noise is learned.
    learn_noise: bool | None = None
    #: Rule for the confidence scale β, and its parameters.
    confidence: Literal["constant", "information-gain", "calibrated"] | None = None
    beta: float | None = None
    delta: float | None = None
    norm: float | None = None
    level: float | None = None
    #: Number of random starts of the training.
    restarts: int | None = None
    #: Maximum number of likelihood evaluations per start.
    max_evaluations: int | None = None
    #: Number of distinct inputs beyond which inducing points are used.
    exact_limit: int | None = None


@dataclass(frozen=True)
class SelectSettings:
    """Settings of the choice of measurement times."""

    #: Number of candidate times.
    candidates: int | None = None
    #: Length of the steps of a sampled plant, each of which gives at most one measurement; 0 if it can be measured at any time.
    spacing: float | None = None
    #: Predicted trajectory on which times are chosen.
    hallucinate: Literal["plan", "mean"] | None = None
    #: Whether ``max-determinant`` includes the noise of the measurements it chooses.
    noise: bool | None = None


@dataclass(frozen=True)
class Settings:
    """Settings of the learner, for ``set=`` of :func:`run` and of a study, and for ``learning=`` of a system.

    A setting that is None has its default. ``more`` takes settings without a field here, by path.

    Examples
    --------
    >>> Settings(episodes=5, plan=PlanSettings(intervals=100)).paths()
    {'episodes': 5, 'plan.intervals': 100}
    """

    #: Number of episodes, including the exploratory one.
    episodes: int | None = None
    #: Number of measurements per episode and initial state.
    measurements: int | None = None
    #: Measurement strategy, one of :func:`ocorl.strategies`.
    strategy: str | None = None
    #: Exploration.
    explore: str | None = None
    #: Weight of the exploration ``bonus``.
    bonus_weight: float | None = None
    #: Measured quantity.
    measured: Literal["derivatives", "states"] | None = None
    #: Time domain of the model.
    time: Literal["continuous", "discrete"] | None = None
    #: Initial states of an episode.
    initial_states: Sequence[Sequence[float]] | None = None
    plan: PlanSettings = PlanSettings()
    track: TrackSettings = TrackSettings()
    model: ModelSettings = ModelSettings()
    select: SelectSettings = SelectSettings()
    #: Further settings by path.
    more: Mapping[str, object] | None = None

    def paths(self) -> dict[str, object]:
        """Return the given settings by path.

        Returns
        -------
        dict
            Values by path, such as ``plan.intervals``.
        """
        found: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "more":
                found |= dict(value or {})
            elif field.name in ("plan", "track", "model", "select"):
                each = {part.name: getattr(value, part.name) for part in fields(value)}
                found |= {f"{field.name}.{name}": part for name, part in each.items() if part is not None}
            elif value is not None:
                found[field.name] = value
        return found

    def nested(self) -> dict[str, Any]:
        """Return the given settings as nested dictionaries, as in a file.

        Returns
        -------
        dict
            Values and sections by name.
        """
        found: dict[str, Any] = {}
        for path, value in self.paths().items():
            *above, name = path.split(".")
            here = found
            for part in above:
                here = here.setdefault(part, {})
            here[name] = value
        return found


def as_paths(settings: Mapping[str, object] | Settings | None) -> dict[str, object]:
    """Return settings by path, from a dictionary or from :class:`Settings`."""
    if isinstance(settings, Settings):
        return settings.paths()
    if settings is not None and not isinstance(settings, Mapping):
        raise UserError(f"'set' cannot be a {type(settings).__name__}", hint='as in: set={"plan.intervals": 100}, or ocorl.Settings(...)')
    return dict(settings or {})
