"""Systems: by name, from texts, functions."""

from __future__ import annotations

import traceback

import numpy as np
import pytest
from conftest import own, pendulum

import ocorl

TANK = """
[system]
name = "tank"
states = ["level"]
inputs = { valve = [0, 1] }
x0 = [0.2]
horizon = 20
stop_if = "level > 3"
[equations]
level = "valve - 0.5*level"
[cost]
state = { level = 1 }
terminal = { level = 2 }
"""


def test_every_built_in_system_can_be_looked_at() -> None:
    assert len(ocorl.systems()) == 13
    for name in ocorl.systems():
        system = ocorl.System(name)
        nx, nu = len(system.states), len(system.controls)
        assert system.name == name and system.has_equations and system.x0.shape == (nx,)
        assert system.lower.shape == system.upper.shape == system.safe_control.shape == (nu,)
        assert len(system.state_units) == len(system.noise_std) == nx and len(system.control_units) == nu
        x = np.tile(system.x0, (5, 1))
        u = np.tile(system.safe_control, (5, 1))
        assert system.derivative(x, u).shape == (5, nx)
        assert system.cost(np.zeros(5), x, u).shape == (5,) and np.isfinite(system.terminal_cost(system.x0))
        assert "<table>" in system._repr_html_() and name in repr(system)


def test_a_text_is_a_system() -> None:
    tank = ocorl.System.parse(TANK)
    assert (tank.name, tank.states, tank.controls, tank.horizon) == ("tank", ["level"], ["valve"], 20.0)
    np.testing.assert_allclose(tank.derivative([[1.0], [2.0]], [0.5]), [[0.0], [-0.5]])
    np.testing.assert_allclose(tank.cost(0.0, [[2.0]], [[0.0]]), [4.0])
    assert tank.terminal_cost([3.0]) == 18.0 and tank.text == TANK
    assert tank.state_upper == [3.0] and tank.warnings is not None


def test_simulations_follow_their_controller() -> None:
    tank = ocorl.System.parse(TANK)
    run = tank.simulate(lambda t, x: [0.5], horizon=4.0, dt=1.0)
    np.testing.assert_allclose(run.x[:, 0], 1 - 0.8 * np.exp(-0.5 * run.t), rtol=1e-7)
    assert run.outcome == "completed" and run.costs[0] == 0 and run.cost > run.costs[-1]
    calls: list[float] = []

    def held(t: float, x: np.ndarray) -> float:
        calls.append(t)
        return 2.0  # beyond its limit

    run = tank.simulate(held, x0=[0.0], horizon=1.0, period=0.25)
    assert calls == [0.0, 0.25, 0.5, 0.75] and run.u.max() == 1.0
    x, cost, outcome = tank.step([0.0], [1.0], 1.0)
    np.testing.assert_allclose(x, run.x[-1], rtol=1e-7)
    assert outcome == "completed" and cost == pytest.approx(run.costs[-1])
    assert tank.simulate(lambda t, x: [1.0], x0=[2.9]).outcome == "completed"
    assert "left its limits" in tank.simulate(lambda t, x: [1.0], x0=[3.5]).outcome


def test_a_function_is_a_system() -> None:
    system = own(units={"theta": "rad"}, angles=["theta"], noise={"theta": 0.1}, limits={"omega": (-50, 50)})
    assert system.has_equations and system.angles == [0] and system.state_units == ["rad", ""]
    np.testing.assert_allclose(system.noise_std, [0.1, 0.01])
    built_in = ocorl.System("pendulum")
    x, u = np.array([[1.0, 2.0], [0.1, -0.3]]), np.array([[0.5], [0.2]])
    np.testing.assert_allclose(system.derivative(x, u), built_in.derivative(x, u), rtol=1e-12)
    assert system.function is pendulum
    replaced = built_in.with_plant(lambda x, u: [0.0, 0.0])
    assert not replaced.derivative(x, u).any() and replaced.name == "pendulum"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda x, u: None, "returned None"),
        (lambda x, u: [1.0], r"shape \(1,\)"),
        (lambda x, u: np.zeros((2, 2)), r"shape \(2, 2\)"),
        (lambda x, u: "fast", "returned a str"),
        (lambda x, u: [1.0, "a"], "returned a list"),
        (lambda x, u: [0.0, np.nan], "gave NaN for 'omega' at x0"),
    ],
)
def test_what_a_function_returns_is_looked_at(value: object, message: str) -> None:
    with pytest.raises(ocorl.PlantError, match=message) as caught:
        own(value)
    assert caught.value.details


def test_exceptions_of_a_function_come_through_with_their_line() -> None:
    def f(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        if x[1] != 0.0:
            raise LookupError("sensor unplugged")
        return pendulum(x, u)

    system = own(f)
    for act in (
        lambda: system.derivative([1.0, 1.0], [0.0]),
        lambda: system.simulate(lambda t, x: [1.0]),
        lambda: ocorl.run(system, episodes=2, quiet=True),
        lambda: ocorl.plan(system, intervals=10),
        lambda: ocorl.optimal(system, intervals=10),
    ):
        with pytest.raises(LookupError, match="sensor unplugged") as caught:
            act()
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names[-1] == "f"


def test_a_controller_that_raises_is_heard() -> None:
    def controller(t: float, x: np.ndarray) -> list[float]:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        ocorl.System("pendulum").simulate(controller)
    with pytest.raises(ocorl.PlantError, match=r"controller\(t, x\) returned"):
        ocorl.System("pendulum").simulate(lambda t, x: [0.0, 0.0])


def test_a_function_that_is_not_finite_later_ends_the_run_there() -> None:
    def f(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return pendulum(x, u) if x[0] > 2.0 else np.array([np.nan, 0.0])

    run = own(f).simulate(lambda t, x: [-5.0])
    assert "not finite" in run.outcome and 0 < run.t[-1] < 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x0": [1.0]}, "x0 has 1 numbers"),
        ({"x0": "a"}, "'x0' must be numbers"),
        ({"horizon": -1}, "must be positive"),
        ({"inputs": {"tau": 5}}, r"must be \(low, high\)"),
        ({"inputs": {"tau": (-np.inf, 5)}}, "must be finite"),
        ({"inputs": ["tau"]}, "names with limits"),
        ({"states": "theta"}, "a list of names"),
        ({"cost": 3}, "'cost' cannot be a int"),
        ({"cost": ocorl.quadratic(Q=[1], R=[1])}, r"'Q' has the shape \(1,\)"),
        ({"cost": ocorl.quadratic(Q=[[1, 2], [1, 1]], R=[1])}, "symmetric"),
        ({"cost": {"runing": "theta^2"}}, "a cost has no 'runing'"),
        ({"cost": ocorl.quadratic(Q={"phi": 1}, R=[1])}, "names 'phi'"),
    ],
)
def test_descriptions_are_looked_at(change: dict[str, object], message: str) -> None:
    with pytest.raises(ocorl.UserError, match=message):
        own(**change)


def test_costs_can_be_written_in_several_ways() -> None:
    u = [[2.0]]
    x = [[1.0, 3.0]]
    for cost, value in [
        (ocorl.quadratic(Q=[1, 2], R=3), 1 + 18 + 12),
        (ocorl.quadratic(Q=np.diag([1, 2]), R={"tau": 3}), 1 + 18 + 12),
        (ocorl.quadratic(Q=1, R=0, target=[1, 1]), 4),
        (ocorl.quadratic(Q=1, R=1, target=[1, 1, 2]), 4),
        (ocorl.quadratic(Q=1, R=1, target={"tau": 2}), 10),
        ("theta^2 + tau^2", 5),
    ]:
        assert own(cost=cost).cost(0.0, x, u)[0] == pytest.approx(value)
    assert own(cost=ocorl.quadratic(Q=1, R=1, terminal=[0, 2])).terminal_cost([1.0, 3.0]) == 18.0


@pytest.mark.parametrize(
    "x",
    [
        np.array([[1.0, 2.0], [3.0, 4.0]], order="F"),
        np.array([[1.0, 0.0, 2.0, 0.0], [3.0, 0.0, 4.0, 0.0]])[:, ::2],
        np.array([[4.0, 3.0], [2.0, 1.0]])[::-1, ::-1],
        np.array([[1.0, 2.0], [3.0, 4.0]], dtype=">f8"),
        np.array([[1, 2], [3, 4]], dtype=np.int8),
        np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float16),
        np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.longdouble),
        np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, False], [False, False]]),
        [[1.0, 2.0], [3.0, 4.0]],
        ((1, 2), (3, 4)),
    ],
)
def test_arrays_of_all_kinds_are_understood(x: object) -> None:
    system = ocorl.System("pendulum")
    expected = system.derivative(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0]]))
    np.testing.assert_array_equal(system.derivative(x, [[0.0]]), expected)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (None, "not None"),
        ("abc", "dtype"),
        ([[1.0], [1.0, 2.0]], "must be an array"),
        (np.zeros((3, 3)), r"has the shape \(3, 3\), expected \(n, 2\)"),
        (np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
        (np.array([[1j, 2.0]]), "complex"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), "masked"),
        ({"a": 1}, "must be an array"),
    ],
)
def test_what_is_no_array_is_refused_with_both_shapes(x: object, message: str) -> None:
    with pytest.raises(ocorl.UserError, match=message):
        ocorl.System("pendulum").derivative(x, [[0.0]])  # type: ignore[arg-type]


def test_keywords_of_the_wrong_kind_are_named() -> None:
    for more, message in [
        ({"angles": "theta"}, "'angles' must be a list"),
        ({"angles": [0]}, "'angles' must be a list"),
        ({"excitation": "sin(t)"}, "'excitation' must be a dictionary"),
        ({"safe_input": 0.5}, "'safe_input' must be a dictionary"),
        ({"max_rate": 3}, "'max_rate' must be a dictionary"),
        ({"noise": [0.1, 0.2]}, "'noise' must be a number"),
        ({"horizon": "ten"}, "'horizon' must be a number, not 'ten'"),
        ({"x0": [np.nan, 0.0]}, "'x0' is NaN"),
        ({"x0": {"theta": 1.0}}, "'x0' has no 'omega'"),
        ({"x0": {"phi": 1.0}}, "names 'phi'"),
    ]:
        with pytest.raises(ocorl.UserError, match=message):
            own(**more)
    np.testing.assert_array_equal(own(x0={"omega": 1.0, "theta": 2.0}).x0, [2.0, 1.0])
    with pytest.raises(ocorl.UserError, match="from 0 on"):
        ocorl.run("pendulum", seed=-1)
    with pytest.raises(ocorl.UserError, match="from 0 on"):
        ocorl.run("pendulum", seed=2**64)
    with pytest.raises(ocorl.UserError) as caught:
        ocorl.run("pendulm")
    assert "ocorl.systems()" in (caught.value.hint or "")


def test_a_controller_that_jumps_is_warned_of() -> None:
    def relay(t: float, x: np.ndarray) -> list[float]:
        return [-5.0 if x[1] > 0.0 else 5.0]

    with pytest.warns(UserWarning, match="hold it"):
        run = ocorl.System("pendulum").simulate(relay, horizon=2.0)
    held = ocorl.System("pendulum").simulate(relay, horizon=2.0, period=0.0005)
    assert (run.outcome, held.outcome) == ("completed", "completed")
    assert abs(run.cost / held.cost - 1.0) < 1e-3


def test_mistakes_name_what_they_are_of() -> None:
    with pytest.raises(ocorl.UserError, match="'Q of theta' is NaN"):
        own(cost=ocorl.quadratic(Q=[np.nan, 1.0], R=1.0))
    with pytest.raises(ocorl.UserError, match="'name' must be a text"):
        own(name=5)
