"""Costs, and the section [cost] of a system file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ._arguments import accepts
from ._errors import UserError
from ._symbolic import is_expression, text
from ._toml import number, numbers, quoted
from ._trace import formulas

Array = npt.NDArray[np.float64]
#: Weights: one number for each quantity, a dictionary by name, or a matrix.
Weights = Union[float, Sequence[float], Sequence[Sequence[float]], Array, Mapping[str, float]]
#: A target: numbers, or a dictionary by name of numbers and expressions of the time t.
Target = Union[float, Sequence[float], Array, Mapping[str, Union[float, str]]]


#: A cost: :func:`quadratic`, an expression, a function c(t, x, u), or both parts by name.
Cost = Union["Quadratic", str, Callable[[Any, Any, Any], Any], Mapping[str, Any]]


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


def named(what: str, weights: Weights, names: Sequence[str]) -> dict[str, float]:
    """Convert weights to a dictionary by name."""
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise UserError(
                f"'{what}' names '{unknown[0]}', which is not there", hint=f"there are: {', '.join(names)}"
            )
        return {name: float(number(value, f"{what} of {name}")) for name, value in weights.items()}
    try:
        values = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise UserError(f"'{what}' must be numbers", [("cause", str(error))]) from None
    if values.ndim == 2 and values.shape == (len(names), len(names)):
        values = np.diag(values)
    if values.ndim == 0:
        values = np.full(len(names), float(values))
    if values.shape != (len(names),):
        raise UserError(
            f"'{what}' has the shape {values.shape}, expected ({len(names)},)", hint=f"one for each of: {', '.join(names)}"
        )
    return {name: float(value) for name, value in zip(names, values)}


def _full(weights: Any) -> bool:
    """Return whether the weights are a matrix that is not diagonal."""
    matrix = not isinstance(weights, Mapping) and np.ndim(weights) == 2
    return matrix and bool(np.any(np.asarray(weights) != np.diag(np.diag(np.asarray(weights)))))


def _form(what: str, weights: Weights, names: Sequence[str], target: Mapping[str, float | str]) -> str:
    """Return the quadratic form of the deviations from the target as an expression."""
    if isinstance(weights, Mapping) or np.ndim(weights) != 2:
        matrix = np.diag([named(what, weights, names).get(name, 0.0) for name in names])
    else:
        matrix = np.asarray(weights, dtype=float)
    if matrix.shape != (len(names), len(names)):
        raise UserError(f"'{what}' has the shape {matrix.shape}, expected {(len(names), len(names))}")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0) or np.linalg.eigvalsh(matrix)[0] < -1e-9 * abs(matrix).max():
        raise UserError(f"'{what}' must be a symmetric matrix without negative eigenvalues", [("found", str(matrix.tolist()))])
    off = [f"({name} - ({target[name]}))" if name in target else name for name in names]
    terms = [
        f"{number(matrix[i, i])}*{off[i]}^2" if i == j else f"{number(2.0 * matrix[i, j])}*{off[i]}*{off[j]}"
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
            raise UserError(f"'target' names '{unknown[0]}', which is not there", hint=f"there are: {', '.join(both)}")
    elif cost.target is not None:
        target = named("target", cost.target, both if np.size(cost.target) == len(both) else states)
    lines = [f"running = {quoted(_form('Q', cost.state, states, target) + ' + ' + _form('R', cost.input, inputs, target))}"]
    if cost.terminal is not None:
        lines.append(f"terminal = {quoted(_form('terminal', cost.terminal, states, target))}")
    return lines


def _formula(key: str, value: Any, states: Sequence[str], inputs: Sequence[str]) -> str:
    """Return a running or a terminal cost as an expression."""
    if is_expression(value) or not callable(value) or isinstance(value, type):
        return text(value)
    if key == "terminal":
        accepts(value, key, ("x",))
        found, _ = formulas(value, "terminal(x)", [states])
    else:
        accepts(value, key, ("t", "x", "u"))
        found, _ = formulas(value, f"{key}(t, x, u)", ["t", states, inputs])
    if len(found) != 1:
        raise UserError(f"the function of '{key}' returned {len(found)} numbers, expected one")
    return found[0]


def cost_section(cost: Cost, states: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Format the section [cost] of a system file."""
    if isinstance(cost, Mapping):
        known = ("running", "terminal")
        strange = [str(key) for key in cost if key not in known]
        if strange:
            raise UserError(f"a cost has no '{strange[0]}'", hint="as in: cost={'running': 'x^2 + u^2', 'terminal': '10*x^2'}")
        return [f"{key} = {quoted(_formula(key, value, states, inputs))}" for key, value in cost.items()]
    if not isinstance(cost, (Quadratic, type, int, float)) and (is_expression(cost) or callable(cost)):
        return [f"running = {quoted(_formula('cost', cost, states, inputs))}"]
    if not isinstance(cost, Quadratic):
        hint = 'as in: cost=ocorl.quadratic(Q=[1, 1], R=[1]), an expression: cost="x^2 + u^2", or a function c(t, x, u)'
        raise UserError(f"'cost' cannot be a {type(cost).__name__}", hint=hint)
    moving = isinstance(cost.target, Mapping) and any(isinstance(value, str) for value in cost.target.values())
    if moving or any(_full(weights) for weights in (cost.state, cost.input, cost.terminal)):
        return _written(cost, states, inputs)
    lines = [
        f"state = {numbers(named('Q', cost.state, states), 'Q')}",
        f"input = {numbers(named('R', cost.input, inputs), 'R')}",
    ]
    if cost.target is not None:
        both = [*states, *inputs]
        whole = isinstance(cost.target, Mapping) or np.size(cost.target) == len(both)
        target: Any = cost.target
        lines.append(f"target = {numbers(named('target', target, both if whole else states), 'target')}")
    if cost.terminal is not None:
        lines.append(f"terminal = {numbers(named('terminal', cost.terminal, states), 'terminal')}")
    return lines
