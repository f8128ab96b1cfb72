"""Systems: a built-in system, one described in a file, or a Python function."""

from __future__ import annotations

import inspect
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
from ._settings import Settings
from ._simulation import Simulation

if TYPE_CHECKING:
    from typing_extensions import Self

Array = npt.NDArray[np.float64]
#: A function f(x, u) that returns dx/dt.
Equations = Callable[[Array, Array], Any]
#: Weights: one number for each quantity, a dictionary by name, or a matrix.
Weights = Union[float, Sequence[float], Sequence[Sequence[float]], Array, Mapping[str, float]]
#: A target: numbers, or a dictionary by name of numbers and expressions of the time t.
Target = Union[float, Sequence[float], Array, Mapping[str, Union[float, str]]]

#: Format version of pickled systems.
PICKLE_FORM = 1
#: Relative difference between the costs of a plan and of its simulation that causes a warning.
FAR = 0.25


@dataclass(frozen=True)
class Quadratic:
    """Quadratic cost; made by :func:`quadratic`."""

    state: Weights
    input: Weights
    target: Target | None = None
    terminal: Weights | None = None


def quadratic(Q: Weights, R: Weights, target: Target | None = None, terminal: Weights | None = None) -> Quadratic:
    """Return the cost ∫ (x − x̂)ᵀQ(x − x̂) + (u − û)ᵀR(u − û) dt + (x(T) − x̂)ᵀP(x(T) − x̂), without a factor ½.

    Parameters
    ----------
    Q, R : float, array_like or mapping
        Weights of states and inputs: one number for all, one number for each, a symmetric matrix, or a dictionary by
        name.
    target : float, array_like or mapping, optional
        Target x̂, or x̂ and û: one number for each state, or for each state and each input; by default zero. In a
        dictionary an expression of the time t gives a reference that moves: ``{"x": "sin(t)"}``.
    terminal : float, array_like or mapping, optional
        Weights P at the end, as Q; by default none.

    Returns
    -------
    Quadratic
        The cost.

    Examples
    --------
    >>> quadratic(Q=[1, 1], R=[0.1], target={"theta": 3.14})
    Quadratic(state=[1, 1], input=[0.1], target={'theta': 3.14}, terminal=None)
    """
    return Quadratic(Q, R, target, terminal)


def _named(what: str, weights: Weights, names: Sequence[str]) -> dict[str, float]:
    """Convert weights to a dictionary by name."""
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
        values = np.diag(values)
    if values.ndim == 0:
        values = np.full(len(names), float(values))
    if values.shape != (len(names),):
        raise MistakeError(
            f"'{what}' has the shape {values.shape}, expected ({len(names)},)", hint=f"one for each of: {', '.join(names)}"
        )
    return {name: float(value) for name, value in zip(names, values)}


def _number(value: Any, what: str = "a number") -> str:
    """Format a number as TOML."""
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


def _full(weights: Any) -> bool:
    """Return whether the weights are a matrix that is not diagonal."""
    matrix = not isinstance(weights, Mapping) and np.ndim(weights) == 2
    return matrix and bool(np.any(np.asarray(weights) != np.diag(np.diag(np.asarray(weights)))))


def _form(what: str, weights: Weights, names: Sequence[str], target: Mapping[str, float | str]) -> str:
    """Return the quadratic form of the deviations from the target as an expression."""
    if isinstance(weights, Mapping) or np.ndim(weights) != 2:
        matrix = np.diag([_named(what, weights, names).get(name, 0.0) for name in names])
    else:
        matrix = np.asarray(weights, dtype=float)
    if matrix.shape != (len(names), len(names)):
        raise MistakeError(f"'{what}' has the shape {matrix.shape}, expected {(len(names), len(names))}")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0) or np.linalg.eigvalsh(matrix)[0] < -1e-9 * abs(matrix).max():
        raise MistakeError(f"'{what}' must be a symmetric matrix without negative eigenvalues", [("found", str(matrix.tolist()))])
    off = [f"({name} - ({target[name]}))" if name in target else name for name in names]
    terms = [
        f"{_number(matrix[i, i])}*{off[i]}^2" if i == j else f"{_number(2.0 * matrix[i, j])}*{off[i]}*{off[j]}"
        for i in range(len(names))
        for j in range(i, len(names))
        if matrix[i, j] != 0.0
    ]
    return " + ".join(terms) or "0"


def _written(cost: Quadratic, states: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Format a quadratic cost with full matrices or a moving target as expressions."""
    both = [*states, *inputs]
    target: Mapping[str, Any] = {}
    if isinstance(cost.target, Mapping):
        target = cost.target
        unknown = [name for name in target if name not in both]
        if unknown:
            raise MistakeError(f"'target' names '{unknown[0]}', which is not there", hint=f"there are: {', '.join(both)}")
    elif cost.target is not None:
        target = _named("target", cost.target, both if np.size(cost.target) == len(both) else states)
    lines = [f"running = {_text(_form('Q', cost.state, states, target) + ' + ' + _form('R', cost.input, inputs, target))}"]
    if cost.terminal is not None:
        lines.append(f"terminal = {_text(_form('terminal', cost.terminal, states, target))}")
    return lines


def _cost(cost: Quadratic | str | Mapping[str, Any], states: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Format the section [cost] of a system file."""
    if isinstance(cost, str):
        return [f"running = {_text(cost)}"]
    if isinstance(cost, Mapping):
        known = ("running", "terminal")
        strange = [str(key) for key in cost if key not in known]
        if strange:
            raise MistakeError(f"a cost has no '{strange[0]}'", hint="as in: cost={'running': 'x^2 + u^2', 'terminal': '10*x^2'}")
        return [f"{key} = {_text(text(value))}" for key, value in cost.items()]
    if not isinstance(cost, Quadratic) and not callable(cost) and not isinstance(cost, type):
        cost = text(cost) if hasattr(cost, "free_symbols") or hasattr(cost, "is_constant") else cost
        if isinstance(cost, str):
            return [f"running = {_text(cost)}"]
    if not isinstance(cost, Quadratic):
        hint = 'as in: cost=ocorl.quadratic(Q=[1, 1], R=[1]), or an expression: cost="x^2 + u^2"'
        raise MistakeError(f"'cost' cannot be a {type(cost).__name__}", hint=hint)
    moving = isinstance(cost.target, Mapping) and any(isinstance(value, str) for value in cost.target.values())
    if moving or any(_full(weights) for weights in (cost.state, cost.input, cost.terminal)):
        return _written(cost, states, inputs)
    lines = [
        f"state = {_numbers(_named('Q', cost.state, states), 'Q')}",
        f"input = {_numbers(_named('R', cost.input, inputs), 'R')}",
    ]
    if cost.target is not None:
        both = [*states, *inputs]
        whole = isinstance(cost.target, Mapping) or np.size(cost.target) == len(both)
        target: Any = cost.target
        lines.append(f"target = {_numbers(_named('target', target, both if whole else states), 'target')}")
    if cost.terminal is not None:
        lines.append(f"terminal = {_numbers(_named('terminal', cost.terminal, states), 'terminal')}")
    return lines


def _toml(value: object) -> str:
    """Format a setting as TOML."""
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
    equations: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    definitions: Mapping[str, Any] | None = None,
    prior: Mapping[str, Any] | None = None,
) -> str:
    """Build the text of a system file (see ``docs/own-system.md``)."""
    if not isinstance(states, Iterable) or isinstance(states, str) or not all(isinstance(state, str) for state in states):
        raise MistakeError("'states' must be a list of names", hint='as in: states=["theta", "omega"]')
    if not isinstance(inputs, Mapping):
        raise MistakeError("'inputs' must be names with limits", hint='as in: inputs={"tau": (-5, 5)}')
    if not isinstance(name, str):
        raise MistakeError(f"'name' must be a text, not {name!r}")
    states, names = list(states), list(inputs)
    if not isinstance(angles, Iterable) or isinstance(angles, str) or not all(isinstance(angle, str) for angle in angles):
        raise MistakeError("'angles' must be a list of names of states", hint='as in: angles=["theta"]')
    for what, given, example in (
        ("limits", limits, '{"theta": (-10, 10)}'),
        ("units", units, '{"theta": "rad"}'),
        ("safe_input", safe_input, '{"tau": 0.0}'),
        ("max_rate", max_rate, '{"tau": 3.0}'),
        ("excitation", excitation, '{"tau": "sin(t)"}'),
        ("learning", learning, '{"episodes": 10}'),
        ("equations", equations, '{"theta": "omega", "omega": "tau - sin(theta)"}'),
        ("parameters", parameters, '{"mass": 1.5}'),
        ("definitions", definitions, '{"force": "mass*tau"}'),
        ("prior", prior, '{"theta": "omega"}'),
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
    for section, table in (("equations", equations), ("definitions", definitions), ("prior", prior)):
        if table:
            lines += ["", f"[{section}]", *(f"{_text(key)} = {_text(text(value))}" for key, value in table.items())]
    if parameters:
        lines += ["", "[parameters]", *(f"{_text(key)} = {_number(value, key)}" for key, value in parameters.items())]
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


def text(expression: Any) -> str:
    """Return an expression as the text of a system file: a text, a number, or an expression of SymPy or CasADi.

    Equations as text are evaluated about a hundred times faster than a Python function, with exact derivatives.

    Parameters
    ----------
    expression : str, float, sympy.Expr or casadi.SX
        The expression.

    Returns
    -------
    str
        Its text.

    Examples
    --------
    >>> text("x^2"), text(2)
    ('x^2', '2')
    """
    if isinstance(expression, str):
        return expression
    if isinstance(expression, (int, float, np.integer, np.floating)):
        return str(expression)
    module = type(expression).__module__.partition(".")[0]
    if module in ("sympy", "casadi"):
        from ._symbolic import from_casadi, from_sympy

        return from_sympy(expression) if module == "sympy" else from_casadi(expression)
    raise MistakeError(f"an expression cannot be a {type(expression).__name__}", hint='a text: "x^2 + u^2", or an expression of SymPy or CasADi')


def _accepts(f: Any, what: str, names: tuple[str, ...]) -> None:
    """Check that a function accepts these arguments, as far as its signature tells."""
    if isinstance(f, type) or not callable(f):
        kind = f"the class {f.__name__}" if isinstance(f, type) else f"a {type(f).__name__}"
        raise MistakeError(f"'{what}' must be a function {what}({', '.join(names)}), not {kind}")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names)
    except TypeError:
        expected = f"{what}({', '.join(names)})"
        hint = "time can be a state with derivative 1" if "t" in signature.parameters else None
        raise MistakeError(f"'{what}' must be a function {expected}, not {what}{signature}", hint=hint) from None
    if next(iter(signature.parameters)) in ("t", "time"):
        raise MistakeError(f"'{what}' must be a function {what}({', '.join(names)}), not {what}{signature}", hint="time can be a state with derivative 1")


class System(_ocorl.System):
    """A plant with its task: a built-in system, one described by a file, or a function of your own.

    The learner never sees the function; only the plant calls it.

    Parameters
    ----------
    source : str, path or callable, optional
        Name, file, or function f(x, u) that returns dx/dt. Without it, the keywords describe hardware: learn it with
        :class:`ocorl.Study` or ``run(plant=...)``.
    states : list of str
        Names of the states.
    inputs : mapping
        Names of the inputs with (low, high).
    x0 : array_like or mapping
        Initial state of every episode.
    horizon : float
        Duration of an episode.
    cost : Quadratic, str or mapping
        Cost: :func:`quadratic`, or expressions.
    name : str, optional
        Name of the system.
    angles : list of str, optional
        States with period 2π.
    limits : mapping, optional
        (low, high) of states; an episode ends when a state leaves them.
    units : mapping, optional
        Units of states and inputs.
    stop_if : str, optional
        Condition that ends an episode.
    noise : float or mapping, optional
        Standard deviation of a measured derivative.
    safe_input, max_rate : mapping, optional
        Safe input and maximum rate of the hardware.
    period : float, optional
        Control period of the hardware.
    excitation : mapping, optional
        Control of episode 0, as expressions of t and the states.
    learning : mapping or Settings, optional
        Settings, as in the section ``[learning]`` of a file.
    equations : mapping, optional
        The equations as expressions, instead of a function: dx/dt by state. They are evaluated much faster.
    parameters, definitions : mapping, optional
        Numbers and expressions that equations and cost use by name.
    prior : mapping, optional
        Known physics: prior mean of dx/dt by state, as expressions.
    jac : callable, optional
        Function jac(x, u) that returns ∂f/∂(x, u), or the pair of ∂f/∂x and ∂f/∂u; by default finite differences.
    vectorized : bool, default False
        Whether f and jac accept many points at once, one per row.

    Examples
    --------
    >>> import numpy as np, ocorl
    >>> System("pendulum")
    System('pendulum': theta, omega; torque; horizon 10)
    >>> def f(x, u):                                   # dx/dt
    ...     return np.array([x[1], 9.81 / 5.0 * np.sin(x[0]) + u[0]])
    >>> system = System(f, states=["theta", "omega"], inputs={"tau": (-5, 5)},
    ...                 x0=[np.pi, 0], horizon=10, cost=ocorl.quadratic(Q=[1, 1], R=[1]))
    >>> system.derivative([np.pi / 2, 0.0], [1.0])
    array([[0.   , 2.962]])
    """

    def __new__(
        cls,
        source: str | os.PathLike[str] | Equations | None = None,
        /,
        *,
        states: Sequence[str] | None = None,
        inputs: Mapping[str, tuple[float, float]] | None = None,
        x0: npt.ArrayLike | Mapping[str, float] | None = None,
        horizon: float | None = None,
        cost: Quadratic | str | Mapping[str, Any] | None = None,
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
        learning: Mapping[str, object] | Settings | None = None,
        equations: Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
        definitions: Mapping[str, Any] | None = None,
        prior: Mapping[str, Any] | None = None,
        jac: Equations | None = None,
        vectorized: bool = False,
    ) -> Self:
        description: dict[str, Any] = {
            "states": states, "inputs": inputs, "x0": x0, "horizon": horizon, "cost": cost, "name": name, "angles": angles,
            "limits": limits, "units": units, "stop_if": stop_if, "noise": noise, "safe_input": safe_input, "period": period,
            "max_rate": max_rate, "excitation": excitation, "learning": learning, "equations": equations,
            "parameters": parameters, "definitions": definitions, "prior": prior,
        }  # fmt: skip
        usual: dict[str, Any] = {"name": "system", "angles": ()}
        given = [key for key, value in description.items() if value is not usual.get(key)]
        if isinstance(source, (str, os.PathLike)):
            if given:
                raise MistakeError("a system given by name or file cannot be described again", [("given", ", ".join(given))])
            if jac is not None or vectorized:
                raise MistakeError("'jac' and 'vectorized' belong to a function f(x, u)")
            return super().__new__(cls, os.fspath(source))
        missing = [key for key in ("states", "inputs", "x0", "horizon", "cost") if description[key] is None]
        if missing:
            raise MistakeError(
                f"a system of your own needs '{missing[0]}'",
                hint='as in: System(f, states=["x"], inputs={"u": (-1, 1)}, x0=[1], horizon=5, cost=ocorl.quadratic(Q=[1], R=[1]))',
            )
        if source is None and (jac is not None or vectorized):
            raise MistakeError("'jac' and 'vectorized' belong to a function f(x, u)", hint="System(f, jac=jac, ...)")
        if source is not None:
            _accepts(source, "f", ("x", "u"))
            if jac is not None:
                _accepts(jac, "jac", ("x", "u"))
            if equations is not None:
                raise MistakeError("a function and 'equations' say the same thing; one is enough")
        if isinstance(learning, Settings):
            description["learning"] = learning.nested()
        return super().__new__(cls, text=describe(**description), file=name, function=source, jac=jac, vectorized=vectorized)

    @classmethod
    def find(cls, name: str) -> Self:
        """Return a built-in system, or the system of a file.

        Parameters
        ----------
        name : str
            Name of a system, or path of a file.

        Returns
        -------
        System
            The system.
        """
        return super().__new__(cls, name)

    @classmethod
    def parse(cls, text: str, file: str = "system.toml") -> Self:
        """Return the system that the text of a file describes.

        Parameters
        ----------
        text : str
            Text of a system file.
        file : str, default "system.toml"
            Name of the file in errors.

        Returns
        -------
        System
            The system.

        Examples
        --------
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
        """Return a system from a function and a description.

        Parameters
        ----------
        f : callable
            Function f(x, u) that returns dx/dt.
        description : str
            Text of a system file without ``[equations]``.

        Returns
        -------
        System
            The system.
        """
        return super().__new__(cls, text=description, file="system", function=f)

    def with_plant(self, f: Equations, *, jac: Equations | None = None, vectorized: bool = False) -> Self:
        """Return the same system with another function in place of its equations.

        Parameters
        ----------
        f : callable
            Function f(x, u) that returns dx/dt.
        jac, vectorized
            As in :class:`System`.

        Returns
        -------
        System
            The system.
        """
        _accepts(f, "f", ("x", "u"))
        if self.text is None:
            return super().__new__(type(self), self.name, function=f, jac=jac, vectorized=vectorized)
        return super().__new__(
            type(self), text=self.text, file=f"{self.name}.toml", function=f, jac=jac, vectorized=vectorized
        )

    def simulate(
        self,
        controller: Callable[[float, Array], Any] | _ocorl.Plan,
        x0: npt.ArrayLike | None = None,
        horizon: float | None = None,
        dt: float = 0.02,
        period: float | None = None,
    ) -> Simulation:
        """Simulate u = controller(t, x) on the true equations.

        Parameters
        ----------
        controller : callable or Plan
            Function of time and state that returns the input. The controller of a plan has internal state: it is
            reset first. A warning follows if its run costs more than the plan says.
        x0 : array_like, optional
            Initial state; by default that of the system.
        horizon : float, optional
            Duration; by default that of the system.
        dt : float, default 0.02
            Time between two samples of the result.
        period : float, optional
            Time for which an input is held. By default the controller is evaluated continuously, and that of a plan
            once per its own period: its interval, or the time for which the plant holds an input. A discontinuous controller (a relay, a table, random numbers) must be held,
            because it cannot be integrated adaptively.

        Returns
        -------
        Simulation
            Samples, cost and outcome.

        Examples
        --------
        >>> best = _ocorl.plan(System("pendulum"), intervals=100)
        >>> round(System("pendulum").simulate(best.controller()).cost, 1)
        20.2
        """
        if isinstance(controller, _ocorl.Plan):
            controller = controller.controller()
        planned = None
        if isinstance(controller, _ocorl.Controller):
            controller.reset()
            as_planned = x0 is None and horizon is None and period in (None, controller.period)
            planned = controller.planned_cost if as_planned and np.array_equal(controller.x0, self.x0) else None
            period = controller.period if period is None else period
        run = super().simulate(controller, x0, horizon, dt, period)
        if planned is not None and abs(run.cost - planned) > FAR * max(abs(planned), 1e-9):
            warnings.warn(
                f"this run costs {run.cost:.4g}, the plan says {planned:.4g}; was it made for another system, on an inaccurate model, or with few intervals?",
                stacklevel=2,
            )
        if period is None and not run.accurate:
            warnings.warn(
                "the error of this run was not controlled: is the controller discontinuous? hold it: simulate(..., period=0.02)",
                stacklevel=2,
            )
        return run

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (PICKLE_FORM, self.name, self.text, self.function, self.jac, self.vectorized)

    def _repr_html_(self) -> str:
        from ._html import system

        return system(self)


def _restored(
    form: int, name: str, text: str | None, function: Equations | None, jac: Equations | None = None, vectorized: bool = False
) -> System:
    """Restore a pickled system."""
    if form != PICKLE_FORM:
        raise MistakeError(f"the pickled system has format {form}, this version reads {PICKLE_FORM}")
    system = System.find(name) if text is None else System.parse(text, f"{name}.toml")
    return system if function is None else system.with_plant(function, jac=jac, vectorized=vectorized)


def as_system(system: str | os.PathLike[str] | _ocorl.System) -> System:
    """Convert a name, a path or a system to a system."""
    if isinstance(system, System):
        return system
    if isinstance(system, _ocorl.System):
        return _restored(PICKLE_FORM, system.name, system.text, system.function, system.jac, system.vectorized)
    if isinstance(system, (str, os.PathLike)):
        return System(system)
    raise MistakeError(
        f"'system' cannot be a {type(system).__name__}", hint="a name, a file, or ocorl.System(...)"
    )


def systems() -> list[str]:
    """Return the names of the built-in systems, the paper's nine first.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> systems()[:3]
    ['cancer-treatment', 'glucose-in-blood', 'pendulum']
    """
    return [name for name, _, _ in _ocorl.systems()]


def strategies() -> list[str]:
    """Return the names of the measurement strategies.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> "max-determinant" in strategies()
    True
    """
    return list(_ocorl.strategies())
