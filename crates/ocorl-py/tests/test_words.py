"""Arguments of the wrong kind: the message names the argument, and is of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ocorl

from conftest import own

run, plan, fit = ocorl.run, ocorl.plan, np.arange(6.0).reshape(3, 2)


def pendulum() -> ocorl.System:
    return ocorl.System("pendulum")


def fitted(**more: Any) -> ocorl.GpDynamics:
    return ocorl.GpDynamics(**more).fit(fit, fit)


CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: run("pendulum", seed="a"), "'seed' must be a whole number, not 'a'"),  # type: ignore[arg-type]
    (lambda: run("pendulum", threads="a"), "'threads' must be a whole number"),  # type: ignore[arg-type]
    (lambda: run("pendulum", set=[1]), "'set' cannot be a list"),  # type: ignore[arg-type]
    (lambda: run("pendulum", out=3), "'out' must be a path, not a int"),  # type: ignore[arg-type]
    (lambda: run("pendulum", callback=3), "'callback' must be a function"),  # type: ignore[arg-type]
    (lambda: run("pendulum", settings=3), "'settings' must be a name or a file"),  # type: ignore[arg-type]
    (lambda: run("pendulum", until="x"), "'until' cannot be a str"),  # type: ignore[arg-type]
    (lambda: run("pendulum", until=ocorl.Until(cost="x")), "'cost' must be a number"),  # type: ignore[arg-type]
    (lambda: run(3), "'system' cannot be a int"),  # type: ignore[arg-type]
    (lambda: plan("pendulum", intervals="x"), "'intervals' must be a whole number"),  # type: ignore[arg-type]
    (lambda: plan("pendulum", horizon="x"), "'horizon' must be a number"),  # type: ignore[arg-type]
    (lambda: ocorl.optimal("pendulum", effort=1.5), "'effort' must be a whole number"),  # type: ignore[arg-type]
    (lambda: pendulum().simulate(3), "'controller' cannot be a int"),  # type: ignore[arg-type]
    (lambda: pendulum().simulate(lambda x: x), r"not controller\(x\)"),  # type: ignore[arg-type,misc]
    (lambda: pendulum().simulate(lambda t, x: [0.0], dt="a"), "'dt' must be a number"),  # type: ignore[arg-type]
    (lambda: plan("pendulum", intervals=20, random_starts=0).policy([0.0, 1.0], [1.0, 2.0]), "'t' has the shape"),
    (lambda: fitted(angles=0), "'angles' must be a list of columns"),
    (lambda: fitted(angles=["a"]), "'angles' must be a list of columns"),
    (lambda: fitted(seed="x"), "'seed' must be a whole number"),
    (lambda: fitted(kernel="rbff"), "no kernel 'rbff'"),
    (lambda: ocorl.GpDynamics().lengthscale_, "not fitted yet, so it has no 'lengthscale_'"),
    (lambda: ocorl.choose_times("oracle", fitted(), "ab", fit, 1), "'t' must be numbers"),
    (lambda: ocorl.choose_times("oracle", fitted(), [0, 1, 2], fit, "a"), "'count' must be a whole number"),  # type: ignore[arg-type]
    (lambda: own(cost=ocorl.quadratic(Q=1, R={"tau": "a"})), "'R of tau' must be a number"),  # type: ignore[dict-item]
    (lambda: own(cost=ocorl.quadratic(Q=1, R=1, target={"theta": None})), "must be a number"),  # type: ignore[dict-item]
    (lambda: ocorl.Study.create(3, "pendulum"), "'folder' must be a path"),  # type: ignore[arg-type]
    (lambda: ocorl.sweep(3), "'grid' cannot be a int"),  # type: ignore[call-overload]
    (lambda: ocorl.report(3), "'folder' must be a path"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("act", "words"), CASES)
def test_the_argument_is_named(act: Callable[[], object], words: str) -> None:
    with pytest.raises(ocorl.UserError, match=words):
        act()


def test_what_a_model_does_not_have_is_not_there() -> None:
    model = ocorl.GpDynamics()
    assert not hasattr(model, "variance_") and not hasattr(model, "width")
    with pytest.raises(ocorl.NotFittedError):
        model.predict([[0.0]])
    with pytest.raises(AttributeError, match="no attribute 'width'"):
        fitted().width
