"""What is pickled comes back equal, by our constructors alone."""

from __future__ import annotations

import copy
import pickle
import pickletools
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICK, own, pendulum

import ocorl


def back(thing: object) -> object:
    return pickle.loads(pickle.dumps(thing))


def test_systems_come_back() -> None:
    x, u = [[1.0, 2.0]], [[0.3]]
    for system in (ocorl.System("cart-pole"), own(), ocorl.System("pendulum").with_plant(pendulum)):
        again = back(system)
        assert isinstance(again, ocorl.System) and repr(again) == repr(system) and again.text == system.text
        assert again.function is system.function
    np.testing.assert_array_equal(own().derivative(x, u), back(own()).derivative(x, u))
    np.testing.assert_array_equal(copy.deepcopy(own()).derivative(x, u), own().derivative(x, u))


def test_plans_come_back(told: Path) -> None:
    with ocorl.Study.open(told, read_only=True) as study:
        plan = study.plan(1)
    again = back(plan)
    assert again.text == plan.text
    np.testing.assert_array_equal(again.controller()(0.5, [1.0, 1.0]), plan.controller()(0.5, [1.0, 1.0]))


def test_results_come_back() -> None:
    result = ocorl.run("pendulum", episodes=2, quiet=True, set=QUICK)
    again = back(result)
    np.testing.assert_array_equal(again.costs, result.costs)
    np.testing.assert_array_equal(again.episodes[1].x, result.episodes[1].x)
    assert again.plot("phase").svg == result.plot("phase").svg


def test_errors_come_back() -> None:
    error = ocorl.DiskError("full", [("path", "lab")], "make room")
    again = back(error)
    assert type(again) is ocorl.DiskError and str(again) == str(error) and again.details == [("path", "lab")]


def test_other_versions_are_named(told: Path) -> None:
    from ocorl import _model, _result, _system

    with pytest.raises(ocorl.UserError, match="format 2, this version reads 1"):
        _system._restored(2, "pendulum", None, None)
    with pytest.raises(ocorl.UserError, match="format 0"):
        _result._restored(0, {})
    with pytest.raises(ocorl.UserError, match="format 9"):
        _model._restored(9, ocorl.GpDynamics, {}, None)
    with ocorl.Study.open(told, read_only=True) as study:
        text = study.plan(1).text.replace('"version":1', '"version":7', 1)
    with pytest.raises(ocorl.UserError, match="cannot be run") as caught:
        ocorl.Plan.parse(text)
    assert "version is 7" in dict(caught.value.details)["cause"]


def test_only_our_constructors_are_called(told: Path) -> None:
    with ocorl.Study.open(told, read_only=True) as study:
        plan = study.plan(1)
    for thing in (ocorl.System("pendulum"), plan, ocorl.GpDynamics()):
        text = pickle.dumps(thing, protocol=2)
        named = [str(argument) for code, argument, _ in pickletools.genops(text) if code.name in ("GLOBAL", "STACK_GLOBAL")]
        assert all(name.startswith(("ocorl", "builtins getattr", "__builtin__ getattr")) for name in named), named
    with pytest.raises(TypeError):
        with ocorl.Study.open(told, read_only=True) as study:
            pickle.dumps(study)
