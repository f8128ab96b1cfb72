"""The text of a system file, from the keywords of `System`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._arguments import accepts
from ._cost import Cost, cost_section, named
from ._errors import UserError
from ._symbolic import text
from ._toml import number, numbers, quoted, table, toml
from ._trace import formulas


def _right_sides(
    section: str, f: Callable[[Any, Any], Any], states: Sequence[str], inputs: Sequence[str], taken: list[str], defined: dict[str, Any]
) -> dict[str, str]:
    """Write a function f(x, u) as expressions; what they share is added to the definitions."""
    accepts(f, section, ("x", "u"))
    found, shared = formulas(f, f"{section}(x, u)", [states, inputs], taken)
    if len(found) != len(states):
        raise UserError(f"the function of '{section}' returned {len(found)} numbers, expected {len(states)}: the derivatives of {', '.join(states)}")
    defined.update(shared)
    taken.extend(shared)
    return dict(zip(states, found))


def _constraints(constraints: Mapping[str, Any], states: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Format the section [constraints] of a system file."""
    lines = []
    for key, given in constraints.items():
        if key not in ("path", "end"):
            raise UserError(f"'constraints' has no part '{key}'", hint="there are: path (at every time), end (at the horizon)")
        each: list[str] = []
        for part in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(part, str):
                each.append(part)
            elif callable(part) and not isinstance(part, type):
                names: tuple[str, ...] = ("t", "x", "u") if key == "path" else ("x",)
                accepts(part, key, names)
                arguments = {"t": "t", "x": list(states), "u": list(inputs)}
                found, _ = formulas(part, f"{key}({', '.join(names)})", [arguments[name] for name in names])
                each += [f"{value} <= 0" for value in found]
            else:
                raise UserError(f"a constraint cannot be a {type(part).__name__}", hint='a comparison: "x^2 + y^2 >= 1", or a function that is at most zero')
        lines.append(f"{key} = [{', '.join(map(quoted, each))}]")
    return lines


def describe(
    *,
    states: Sequence[str],
    inputs: Mapping[str, tuple[float, float]],
    x0: Any,
    horizon: float,
    cost: Cost,
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
    equations: Mapping[str, Any] | Callable[[Any, Any], Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    definitions: Mapping[str, Any] | None = None,
    prior: Mapping[str, Any] | Callable[[Any, Any], Any] | None = None,
    constraints: Mapping[str, Any] | None = None,
) -> str:
    """Build the text of a system file (see ``docs/own-system.md``)."""
    if not isinstance(states, Iterable) or isinstance(states, str) or not all(isinstance(state, str) for state in states):
        raise UserError("'states' must be a list of names", hint='as in: states=["theta", "omega"]')
    if not isinstance(inputs, Mapping):
        raise UserError("'inputs' must be names with limits", hint='as in: inputs={"tau": (-5, 5)}')
    if not isinstance(name, str):
        raise UserError(f"'name' must be a text, not {name!r}")
    states, names = list(states), list(inputs)
    if not isinstance(angles, Iterable) or isinstance(angles, str) or not all(isinstance(angle, str) for angle in angles):
        raise UserError("'angles' must be a list of names of states", hint='as in: angles=["theta"]')
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
        ("constraints", constraints, '{"path": ["x^2 + y^2 >= 1"], "end": ["x <= 0.1"]}'),
    ):
        as_function = what in ("equations", "prior") and callable(given) and not isinstance(given, type)
        if given is not None and not isinstance(given, Mapping) and not as_function:
            raise UserError(f"'{what}' must be a dictionary", hint=f"as in: {what}={example}")
    if isinstance(x0, Mapping):
        given_x0 = named("x0", x0, states)
        missing = [state for state in states if state not in given_x0]
        if missing:
            raise UserError(f"'x0' has no '{missing[0]}'")
        x0 = [given_x0[state] for state in states]

    def ends(what: str, pair: Any) -> str:
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError):
            raise UserError(f"the limits of '{what}' must be (low, high), not {pair!r}") from None
        return f"[{number(low)}, {number(high)}]"

    try:
        start = np.asarray(x0, dtype=float).reshape(-1)
    except (TypeError, ValueError) as error:
        raise UserError("'x0' must be numbers", [("cause", str(error))]) from None
    lines = ["[system]", f"name = {quoted(name)}", f"states = [{', '.join(map(quoted, states))}]"]
    lines.append(f"inputs = {table({key: ends(key, pair) for key, pair in inputs.items()})}")
    lines += [f"x0 = [{', '.join(number(value, 'x0') for value in start)}]", f"horizon = {number(horizon, 'horizon')}"]
    if angles:
        lines.append(f"angles = [{', '.join(map(quoted, angles))}]")
    if limits:
        lines.append(f"limits = {table({key: ends(key, pair) for key, pair in limits.items()})}")
    if units:
        lines.append(f"units = {table({key: quoted(unit) for key, unit in units.items()})}")
    if stop_if:
        lines.append(f"stop_if = {quoted(stop_if)}")
    lines += ["", "[cost]", *cost_section(cost, states, names)]
    defined: dict[str, Any] = {**(definitions or {})}
    taken = [*states, *names, *(parameters or {}), *defined]
    sections: dict[str, Mapping[str, Any]] = {}
    for section, given in (("equations", equations), ("prior", prior)):
        sections[section] = _right_sides(section, given, states, names, taken, defined) if callable(given) else given or {}
    for section, each in {**sections, "definitions": defined}.items():
        if each:
            lines += ["", f"[{section}]", *(f"{quoted(key)} = {quoted(text(value))}" for key, value in each.items())]
    if constraints:
        lines += ["", "[constraints]", *_constraints(constraints, states, names)]
    if parameters:
        lines += ["", "[parameters]", *(f"{quoted(key)} = {number(value, key)}" for key, value in parameters.items())]
    settings: dict[str, str] = {key: toml(value) for key, value in (learning or {}).items()}
    if noise is not None:
        settings["noise"] = numbers(noise, "noise") if isinstance(noise, Mapping) else number(noise, "noise")
    if settings:
        lines += ["", "[learning]", *(f"{key} = {value}" for key, value in settings.items())]
    hardware: dict[str, str] = {}
    if period is not None:
        hardware["period"] = number(period, "period")
    if safe_input is not None:
        hardware["safe_input"] = numbers(safe_input, "safe_input")
    if max_rate is not None:
        hardware["max_rate"] = numbers(max_rate, "max_rate")
    if hardware:
        lines += ["", "[hardware]", *(f"{key} = {value}" for key, value in hardware.items())]
    if excitation:
        lines += ["", "[excitation]", *(f"{quoted(key)} = {quoted(law)}" for key, law in excitation.items())]
    return "\n".join(lines) + "\n"
