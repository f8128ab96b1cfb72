"""Systems: a built-in system, one described in a file, or a Python function."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from . import _ocorl
from ._errors import MistakeError
from ._simulation import Simulation

if TYPE_CHECKING:
    from typing_extensions import Self

Array = npt.NDArray[np.float64]
#: A function f(x, u) that returns dx/dt.
Equations = Callable[[Array, Array], Any]
#: Weights or a target: one number for each quantity, or a dictionary by name.
Weights = Union[float, Sequence[float], Array, Mapping[str, float]]

#: Format version of pickled systems.
PICKLE_FORM = 1


@dataclass(frozen=True)
class Quadratic:
    """A quadratic cost; made by :func:`quadratic`."""

    state: Weights
    input: Weights
    target: Weights | None = None
    terminal: Weights | None = None


def quadratic(
    Q: Weights, R: Weights, target: Weights | None = None, terminal: Weights | None = None
) -> Quadratic:
    """The cost ∫ Σ Qᵢ (xᵢ − x̂ᵢ)² + Σ Rⱼ (uⱼ − ûⱼ)² dt + Σ terminalᵢ (xᵢ(T) − x̂ᵢ)², without a factor ½.

    Weights are one number for all, one number for each, a diagonal matrix, or a dictionary by name. ``target`` has one number
    for each state, or for each state and each input.

    >>> quadratic(Q=[1, 1], R=[0.1], target={"theta": 3.14})
    Quadratic(state=[1, 1], input=[0.1], target={'theta': 3.14}, terminal=None)
    """
    return Quadratic(Q, R, target, terminal)


def _named(what: str, weights: Weights, names: Sequence[str]) -> dict[str, float]:
    """Converts weights to a dictionary by name."""
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise MistakeError(
                f"'{what}' names '{unknown[0]}', which is not there", hint=f"there are: {', '.join(names)}"
            )
        return {name: float(value) for name, value in weights.items()}
    try:
        values = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise MistakeError(f"'{what}' must be numbers", [("cause", str(error))]) from None
    if values.ndim == 2 and values.shape == (len(names), len(names)):
        if np.any(values != np.diag(np.diag(values))):
            raise MistakeError(
                f"'{what}' is not a diagonal matrix",
                hint="write the cost as an expression: System(..., cost='...'), or in a file: [cost] running = \"...\"",
            )
        values = np.diag(values)
    if values.ndim == 0:
        values = np.full(len(names), float(values))
    if values.shape != (len(names),):
        raise MistakeError(
            f"'{what}' has the shape {values.shape}, expected ({len(names)},)", hint=f"one for each of: {', '.join(names)}"
        )
    return {name: float(value) for name, value in zip(names, values)}


def _number(value: Any, what: str = "a number") -> str:
    """Formats a number as TOML."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise MistakeError(f"'{what}' must be a number, not {value!r}") from None
    if np.isnan(value):
        raise MistakeError(f"'{what}' is NaN")
    return "inf" if value == np.inf else "-inf" if value == -np.inf else repr(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _table(values: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{_text(name)} = {value}" for name, value in values.items()) + " }"


def _numbers(values: Mapping[str, float], what: str) -> str:
    return _table({name: _number(value, f"{what} of {name}") for name, value in values.items()})


def _cost(cost: Quadratic | str | Mapping[str, Any], states: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Formats the section [cost] of a system file."""
    if isinstance(cost, str):
        return [f"running = {_text(cost)}"]
    if isinstance(cost, Mapping):
        return [f"{key} = {_text(str(value))}" for key, value in cost.items()]
    if not isinstance(cost, Quadratic):
        raise MistakeError(
            f"'cost' cannot be a {type(cost).__name__}", hint='as in: cost=ocorl.quadratic(Q=[1, 1], R=[1]), or cost="x^2 + u^2"'
        )
    lines = [
        f"state = {_numbers(_named('Q', cost.state, states), 'Q')}",
        f"input = {_numbers(_named('R', cost.input, inputs), 'R')}",
    ]
    if cost.target is not None:
        both = [*states, *inputs]
        whole = isinstance(cost.target, Mapping) or np.size(cost.target) == len(both)
        lines.append(f"target = {_numbers(_named('target', cost.target, both if whole else states), 'target')}")
    if cost.terminal is not None:
        lines.append(f"terminal = {_numbers(_named('terminal', cost.terminal, states), 'terminal')}")
    return lines


def _toml(value: object) -> str:
    """Formats a setting as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_text(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return _number(float(value))
    if isinstance(value, np.ndarray):
        return _toml(value.tolist())
    if isinstance(value, Iterable):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    raise MistakeError(f"a setting cannot be a {type(value).__name__}")


def describe(
    *,
    states: Sequence[str],
    inputs: Mapping[str, tuple[float, float]],
    x0: Any,
    horizon: float,
    cost: Quadratic | str | Mapping[str, Any],
    name: str = "system",
    angles: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, str] | None = None,
    stop_if: str | None = None,
    noise: float | Mapping[str, float] | None = None,
    safe_input: Mapping[str, float] | None = None,
    period: float | None = None,
    max_rate: Mapping[str, float] | None = None,
    excitation: Mapping[str, str] | None = None,
    learning: Mapping[str, object] | None = None,
) -> str:
    """Builds the text of a system file without equations (see ``docs/own-system.md``)."""
    if isinstance(states, str) or not all(isinstance(state, str) for state in states):
        raise MistakeError("'states' must be a list of names", hint='as in: states=["theta", "omega"]')
    if not isinstance(inputs, Mapping):
        raise MistakeError("'inputs' must be names with limits", hint='as in: inputs={"tau": (-5, 5)}')
    if not isinstance(name, str):
        raise MistakeError(f"'name' must be a text, not {name!r}")
    states, names = list(states), list(inputs)
    if isinstance(angles, str) or not all(isinstance(angle, str) for angle in angles):
        raise MistakeError("'angles' must be a list of names of states", hint='as in: angles=["theta"]')
    for what, given, example in (
        ("limits", limits, '{"theta": (-10, 10)}'),
        ("units", units, '{"theta": "rad"}'),
        ("safe_input", safe_input, '{"tau": 0.0}'),
        ("max_rate", max_rate, '{"tau": 3.0}'),
        ("excitation", excitation, '{"tau": "sin(t)"}'),
        ("learning", learning, '{"episodes": 10}'),
    ):
        if given is not None and not isinstance(given, Mapping):
            raise MistakeError(f"'{what}' must be a dictionary", hint=f"as in: {what}={example}")
    if isinstance(x0, Mapping):
        given_x0 = _named("x0", x0, states)
        missing = [state for state in states if state not in given_x0]
        if missing:
            raise MistakeError(f"'x0' has no '{missing[0]}'")
        x0 = [given_x0[state] for state in states]

    def ends(what: str, pair: Any) -> str:
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError):
            raise MistakeError(f"the limits of '{what}' must be (low, high), not {pair!r}") from None
        return f"[{_number(low)}, {_number(high)}]"

    try:
        start = np.asarray(x0, dtype=float).reshape(-1)
    except (TypeError, ValueError) as error:
        raise MistakeError("'x0' must be numbers", [("cause", str(error))]) from None
    lines = ["[system]", f"name = {_text(name)}", f"states = [{', '.join(map(_text, states))}]"]
    lines.append(f"inputs = {_table({key: ends(key, pair) for key, pair in inputs.items()})}")
    lines += [f"x0 = [{', '.join(_number(value, 'x0') for value in start)}]", f"horizon = {_number(horizon, 'horizon')}"]
    if angles:
        lines.append(f"angles = [{', '.join(map(_text, angles))}]")
    if limits:
        lines.append(f"limits = {_table({key: ends(key, pair) for key, pair in limits.items()})}")
    if units:
        lines.append(f"units = {_table({key: _text(unit) for key, unit in units.items()})}")
    if stop_if:
        lines.append(f"stop_if = {_text(stop_if)}")
    lines += ["", "[cost]", *_cost(cost, states, names)]
    settings: dict[str, str] = {key: _toml(value) for key, value in (learning or {}).items()}
    if noise is not None:
        settings["noise"] = _numbers(noise, "noise") if isinstance(noise, Mapping) else _number(noise, "noise")
    if settings:
        lines += ["", "[learning]", *(f"{key} = {value}" for key, value in settings.items())]
    hardware: dict[str, str] = {}
    if period is not None:
        hardware["period"] = _number(period, "period")
    if safe_input is not None:
        hardware["safe_input"] = _numbers(safe_input, "safe_input")
    if max_rate is not None:
        hardware["max_rate"] = _numbers(max_rate, "max_rate")
    if hardware:
        lines += ["", "[hardware]", *(f"{key} = {value}" for key, value in hardware.items())]
    if excitation:
        lines += ["", "[excitation]", *(f"{_text(key)} = {_text(law)}" for key, law in excitation.items())]
    return "\n".join(lines) + "\n"


class System(_ocorl.System):
    """A plant with its task.

    It is a built-in system, one described by a file, or a function of your own:

    >>> import numpy as np, ocorl
    >>> System("pendulum")
    System('pendulum': theta, omega; torque; horizon 10)
    >>> def f(x, u):                                   # dx/dt
    ...     return np.array([x[1], 9.81 / 5.0 * np.sin(x[0]) + u[0]])
    >>> system = System(f, states=["theta", "omega"], inputs={"tau": (-5, 5)},
    ...                 x0=[np.pi, 0], horizon=10, cost=ocorl.quadratic(Q=[1, 1], R=[1]))
    >>> system.derivative([np.pi / 2, 0.0], [1.0])
    array([[0.   , 2.962]])

    The learner never sees the function: only the plant calls it. Further properties of your own system are given by
    keyword: ``name``, ``angles`` (names of states that are angles), ``limits`` (of states: an episode ends there),
    ``units``, ``stop_if``, ``noise`` (standard deviation of a measured derivative), ``safe_input``, ``period`` and
    ``max_rate`` of the hardware, ``excitation`` (the first control, as expressions), ``learning`` (settings).
    Without a function the keywords describe hardware: learn it with :class:`ocorl.Study` or ``run(plant=...)``.
    """

    def __new__(
        cls, source: str | os.PathLike[str] | Equations | None = None, /, **description: Any
    ) -> Self:
        if isinstance(source, (str, os.PathLike)):
            if description:
                raise MistakeError("a system given by name or file cannot be described again")
            return super().__new__(cls, os.fspath(source))
        missing = [key for key in ("states", "inputs", "x0", "horizon", "cost") if key not in description]
        if missing:
            raise MistakeError(
                f"a system of your own needs '{missing[0]}'",
                hint='as in: System(f, states=["x"], inputs={"u": (-1, 1)}, x0=[1], horizon=5, cost=ocorl.quadratic(Q=[1], R=[1]))',
            )
        try:
            text = describe(**description)
        except TypeError as error:
            raise MistakeError(str(error).replace("describe()", "a system")) from None
        return super().__new__(cls, text=text, file=description.get("name", "system"), function=source)

    @classmethod
    def find(cls, name: str) -> Self:
        """Returns a built-in system by name, or the system of a file."""
        return super().__new__(cls, name)

    @classmethod
    def parse(cls, text: str, file: str = "system.toml") -> Self:
        """Returns the system that the text of a file describes; ``file`` is its name in errors.

        >>> System.parse('''
        ... [system]
        ... states = ["level"]
        ... inputs = { valve = [0, 1] }
        ... x0 = [0.2]
        ... horizon = 20
        ... [equations]
        ... level = "valve - 0.5*level"
        ... [cost]
        ... state = { level = 1 }
        ... ''', "tank.toml")
        System('tank': level; valve; horizon 20)
        """
        return super().__new__(cls, text=text, file=file)

    @classmethod
    def from_function(cls, f: Equations, description: str) -> Self:
        """Returns a system from a function f(x, u) and the text of a file without ``[equations]``."""
        return super().__new__(cls, text=description, file="system", function=f)

    def with_plant(self, f: Equations) -> Self:
        """Returns the same system with f(x, u) instead of its equations."""
        if self.text is None:
            return super().__new__(type(self), self.name, function=f)
        return super().__new__(type(self), text=self.text, file=f"{self.name}.toml", function=f)

    def simulate(
        self,
        controller: Callable[[float, Array], Any],
        x0: npt.ArrayLike | None = None,
        horizon: float | None = None,
        dt: float = 0.02,
        period: float | None = None,
    ) -> Simulation:
        """Simulates u = controller(t, x) on the true equations, evaluated continuously or held for ``period``. Samples are ``dt`` apart.

        The controller of a plan keeps state: it is reset, and evaluated once per its own period. A discontinuous controller (a relay, a
        table, random numbers) must be held for a period, because it cannot be integrated adaptively.

        >>> best = _ocorl.plan(System("pendulum"), intervals=100)
        >>> round(System("pendulum").simulate(best.controller()).cost, 1)
        20.2
        """
        if isinstance(controller, _ocorl.Controller):
            controller.reset()
            period = controller.period if period is None else period
        run = super().simulate(controller, x0, horizon, dt, period)
        if period is None and run.outcome.startswith("too many steps"):
            warnings.warn(f"{run.outcome}: is the controller discontinuous? hold it: simulate(..., period=0.02)", stacklevel=2)
        return run

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (PICKLE_FORM, self.name, self.text, self.function)

    def _repr_html_(self) -> str:
        from ._html import system

        return system(self)


def _restored(form: int, name: str, text: str | None, function: Equations | None) -> System:
    """Restores a pickled system."""
    if form != PICKLE_FORM:
        raise MistakeError(f"the pickled system has format {form}, this version reads {PICKLE_FORM}")
    system = System.find(name) if text is None else System.parse(text, f"{name}.toml")
    return system if function is None else system.with_plant(function)


def as_system(system: str | os.PathLike[str] | _ocorl.System) -> System:
    """Converts a name, a path or a system to a system."""
    if isinstance(system, System):
        return system
    if isinstance(system, _ocorl.System):
        return _restored(PICKLE_FORM, system.name, system.text, system.function)
    if isinstance(system, (str, os.PathLike)):
        return System(system)
    raise MistakeError(
        f"'system' cannot be a {type(system).__name__}", hint="a name, a file, or ocorl.System(...)"
    )


def systems() -> list[str]:
    """Returns the names of the built-in systems, the paper's nine first.

    >>> systems()[:3]
    ['cancer-treatment', 'glucose-in-blood', 'pendulum']
    """
    return [name for name, _, _ in _ocorl.systems()]


def strategies() -> list[str]:
    """Returns the names of the strategies that select measurement times.

    >>> "max-determinant" in strategies()
    True
    """
    return list(_ocorl.strategies())
