"""Functions that are written as expressions: costs, equations, constraints; functions of JAX."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ocorl

from conftest import own, pendulum

Q = np.array([[2.0, 0.5], [0.5, 1.0]])


def cost(t: Any, x: Any, u: Any) -> Any:
    return (x - [np.sin(t), 0.0]) @ Q @ x + 0.1 * u @ u + np.maximum(x, 0.0).sum() + np.clip(x[0], -1.0, 1.0) ** 2


def wrapped(t: Any, x: Any, u: Any) -> Any:
    return ((x[0] + np.pi) % (2 * np.pi) - np.pi) ** 2 + np.hypot(x[1], 2.0) + np.exp(-(u[0] ** 2)) / 3 - np.abs(-x[1]) * np.cosh(u[0] / 9)


def reference(t: Any, x: Any, u: Any) -> Any:
    return (x[0] - np.interp(t, [1.0, 3.0, 4.0], [0.0, 2.0, -1.0])) ** 2 + np.log1p(x[1] ** 2) + 2.0 ** x[0] + np.sum(u**2) + np.linalg.norm(x)


@pytest.mark.parametrize("function", [cost, wrapped, reference])
def test_a_cost_is_what_its_function_returns(function: Callable[..., Any]) -> None:
    system, rng = own(cost={"running": function, "terminal": lambda x: 10 * x @ Q @ x}), np.random.default_rng(1)
    for t in (0.0, 1.7, 3.9, 9.0):
        x, u = rng.normal(scale=4.0, size=2), rng.normal(scale=2.0, size=1)
        assert system.cost([t], x[None], u[None])[0] == pytest.approx(float(function(t, x, u)), rel=1e-12)
        assert system.terminal_cost(x) == pytest.approx(10 * x @ Q @ x, rel=1e-12)
    assert ocorl.System.parse(system.text or "").cost([0.3], x[None], u[None]) == system.cost([0.3], x[None], u[None])


def test_equations_are_those_of_their_function_and_share_parts() -> None:
    def cart_pole(x: Any, u: Any) -> Any:
        s, c = np.sin(x[1]), np.cos(x[1])
        turn = (9.81 * s - c * (u[0] + 0.05 * x[3] ** 2 * s) / 1.1) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        return np.array([x[2], x[3], (u[0] + 0.05 * (x[3] ** 2 * s - turn * c)) / 1.1, turn])

    names: dict[str, Any] = {"states": ["p", "a", "v", "w"], "inputs": {"part1": (-9, 9)}, "x0": [0, 3, 0, 0], "horizon": 4, "cost": "a^2 + part1^2"}
    system = ocorl.System(equations=cart_pole, **names)
    assert "[definitions]\n\"part2\"" in (system.text or "")
    x, u = np.random.default_rng(0).normal(size=(9, 4)), np.random.default_rng(1).normal(size=(9, 1))
    assert system.derivative(x, u) == pytest.approx(np.array([cart_pole(a, b) for a, b in zip(x, u)]), rel=1e-12)
    plain, text = (ocorl.plan(s, intervals=40, random_starts=0).planned_cost for s in (own(), own(None, equations=pendulum)))
    assert text == pytest.approx(plain, rel=1e-9)
    assert "[prior]\n\"theta\" = \"omega\"" in (own(prior=pendulum).text or "")


def test_plans_satisfy_constraints() -> None:
    limits = {"path": ["omega >= -1.2", lambda t, x, u: [u[0] - 2.5, -u[0] - 2.5]], "end": lambda x: np.abs(x[0]) - 0.05}
    free, bound = (ocorl.plan(own(None, equations=pendulum, **more), random_starts=0) for more in ({}, {"constraints": limits}))
    assert np.abs(free.u).max() > 3.0 and free.x[:, 1].min() < -1.3
    assert np.abs(bound.u).max() < 2.501 and bound.x[:, 1].min() > -1.201 and abs(bound.x[-1, 0]) < 0.051


def rolled(t: Any, x: Any, u: Any) -> Any:
    return np.random.rand() * x[0] ** 2


def looped(x: Any, u: Any) -> Any:
    out = np.zeros(2)
    out[0] = x[1]
    return out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"cost": lambda t, x, u: x[0] if x[1] > 0 else 0.0}, r"cost\(t, x, u\) cannot be written as a formula: it compares"),
        ({"cost": lambda t, x, u: max(x[0], 0)}, "it compares"),
        ({"cost": lambda t, x, u: __import__("math").sin(x[0])}, "numpy.sin, not math.sin"),
        ({"cost": lambda t, x, u: x}, "returned 2 numbers, expected one"),
        ({"cost": lambda t, x, u: np.floor(x[0])}, "floor"),
        ({"cost": rolled}, "its formula"),
        ({"cost": {"terminal": lambda t, x: x[0]}}, r"not terminal\(t, x\)"),
        ({"cost": ocorl.System}, "'cost' cannot be a type"),
        ({"f": None, "equations": lambda x, u: [x[1]]}, "returned 1 numbers, expected 2"),
        ({"f": None, "equations": lambda t, x, u: x}, r"not equations\(t, x, u\)"),
        ({"f": None, "equations": looped}, "entries set later"),
        ({"constraints": {"start": ["theta <= 1"]}}, "no part 'start'"),
        ({"constraints": ["theta <= 1"]}, "'constraints' must be a dictionary"),
        ({"constraints": {"end": [3]}}, "a constraint cannot be a int"),
    ],
)
def test_what_cannot_be_written_is_said(more: dict[str, Any], words: str) -> None:
    f = more.get("f", pendulum)
    with pytest.raises(ocorl.UserError, match=words):
        own(f, **{key: value for key, value in more.items() if key != "f"})


def test_exceptions_of_a_written_function_come_through() -> None:
    with pytest.raises(IndexError):
        own(cost=lambda t, x, u: x[7])


def test_functions_of_jax_are_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy = pytest.importorskip("jax.numpy")
    f = ocorl.jax(lambda x, u: numpy.stack([x[1], 9.81 / 5.0 * numpy.sin(x[0]) + u[0]]))
    for n in (1, 3, 8):
        x, u = np.random.default_rng(n).normal(size=(n, 2)), np.ones((n, 1))
        assert f(x, u) == pytest.approx(np.array([pendulum(a, b) for a, b in zip(x, u)]), rel=1e-14)
        assert f.jac(x, u)[0][:, 1, 0] == pytest.approx(9.81 / 5.0 * np.cos(x[:, 0]), rel=1e-14)
    assert f(x[0], u[0]).shape == (2,)
    plain, jax = (ocorl.plan(own(each), intervals=40, random_starts=0).planned_cost for each in (pendulum, f))
    assert jax == pytest.approx(plain, rel=1e-6)


def test_without_jax_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ocorl.UserError, match="needs JAX"):
        ocorl.jax(pendulum)
