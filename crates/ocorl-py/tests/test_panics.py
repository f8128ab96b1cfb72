"""Every exported function survives a panic: it becomes `InternalError`, and the interpreter lives on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import QUICK

import ocorl
from ocorl import _ocorl

arm = getattr(_ocorl, "_arm", None)
pytestmark = pytest.mark.skipif(arm is None, reason="built without failpoints")

CELL = '{"system":"pendulum","settings":"default","set":{"episodes":1},"seed":0}'
GRID = "systems = 'pendulum'\nseeds = 1\n"
Z = [[0.0, 0.0, 0.0]]
#: One measurement: x, u, x_dot and noise.
ROW = tuple(np.zeros((1, width)) + 0.1 for width in (2, 1, 2, 2))


@pytest.fixture(scope="module")
def things(told: Path, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """One of each class."""
    folder = tmp_path_factory.mktemp("panics")
    random = np.random.default_rng(0)
    X, U = random.normal(size=(12, 2)), random.normal(size=(12, 1))
    model = ocorl.GpDynamics().fit(X, np.sin(X), U=U).fitted()
    study = ocorl.Study.create(folder / "lab", "pendulum", set=QUICK)
    plan = study.ask()
    return SimpleNamespace(
        System=ocorl.System("pendulum"),
        Study=study,
        Plan=plan,
        Controller=plan.controller(),
        Model=model,
        Draw=model.draw(0),
        EventFile=_ocorl.EventFile(str(folder / "events")),
        Grid=_ocorl.Grid(GRID),
        Sweep=_ocorl.Sweep(str(folder / "sweep"), _ocorl.Grid(GRID)),
        folder=folder,
        told=told,
    )


def described(name: str) -> str:
    return ocorl.System(states=["x"], inputs={"u": (-1, 1)}, x0=[1], horizon=1, cost="x^2", name=name).text or ""


#: How each function and method is called. Attributes need no entry.
CALLS: dict[str, Callable[[SimpleNamespace], Any]] = {
    "System": lambda s: ocorl.System("pendulum"),
    "System.find": lambda s: _ocorl.System.find("pendulum"),
    "System.parse": lambda s: _ocorl.System.parse(described("a")),
    "System.from_function": lambda s: _ocorl.System.from_function(lambda x, u: [0.0], described("a")),
    "System.derivative": lambda s: s.System.derivative([0.0, 0.0], [0.0]),
    "System.cost": lambda s: s.System.cost(0.0, [0.0, 0.0], [0.0]),
    "System.terminal_cost": lambda s: s.System.terminal_cost([0.0, 0.0]),
    "System.simulate": lambda s: s.System.simulate(lambda t, x: [0.0]),
    "System.step": lambda s: s.System.step([0.0, 0.0], [0.0], 0.1),
    "System.settings": lambda s: s.System.settings(),
    "System.__repr__": lambda s: repr(s.System),
    "Plan.parse": lambda s: ocorl.Plan.parse(s.Plan.text),
    "Plan.rollout_table": lambda s: s.Plan.rollout_table(),
    "Plan.evaluate": lambda s: s.Plan.evaluate([0.0], [[0.0, 0.0]]),
    "Plan.plot": lambda s: s.Plan.plot(),
    "Plan.controller": lambda s: s.Plan.controller(),
    "Plan.__reduce__": lambda s: s.Plan.__reduce__(),
    "Plan.__repr__": lambda s: repr(s.Plan),
    "Plan._repr_html_": lambda s: s.Plan._repr_html_(),
    "Controller.__call__": lambda s: s.Controller(0.0, [0.0, 0.0]),
    "Controller.restored": lambda s: _ocorl.Controller.restored(s.Plan.text, 0, False, None),
    "Controller.__reduce__": lambda s: s.Controller.__reduce__(),
    "Controller.reset": lambda s: s.Controller.reset(),
    "Controller.__repr__": lambda s: repr(s.Controller),
    "Study": lambda s: ocorl.Study.open(s.told, read_only=True),
    "Study.ask": lambda s: s.Study.ask(),
    "Study.run_episode": lambda s: s.Study.run_episode(lambda *_: None, lambda *_: None),
    "Study.tell": lambda s: s.Study.tell(t=[1.0], x=[[0.0, 0.0]], u=[[0.0]]),
    "Study.tell_file": lambda s: s.Study.tell_file("nothing.csv"),
    "Study.import_": lambda s: s.Study.import_(t=[1.0], x=[[0.0, 0.0]], u=[[0.0]], x_dot=[[0.0, 0.0]]),
    "Study.import_file": lambda s: s.Study.import_("nothing.csv"),
    "Study.fail": lambda s: s.Study.fail(),
    "Study.discard": lambda s: s.Study.discard(0),
    "Study.note": lambda s: s.Study.note("a"),
    "Study.status": lambda s: s.Study.status(),
    "Study.learned": lambda s: s.Study.learned(),
    "Study.check": lambda s: s.Study.check(),
    "Study.plan": lambda s: s.Study.plan(0),
    "Study.measurements": lambda s: s.Study.measurements(),
    "Study.close": lambda s: s.Study.close(),
    "Model": lambda s: ocorl.GpDynamics().fit([[0.0], [1.0]], [[0.0], [1.0]]),
    "Model.derivatives": lambda s: ocorl.GpDynamics().fit([[0.0], [1.0], [2.0]], t=[0.0, 1.0, 2.0]),
    "Model.predict": lambda s: s.Model.predict(Z),
    "Model.restored": lambda s: _ocorl.Model.restored(*ROW, [], ocorl.GpDynamics()._settings(), s.Model.state),
    "Model.updated": lambda s: s.Model.updated(*ROW),
    "Model.jacobian": lambda s: s.Model.jacobian(Z),
    "Model.covariance": lambda s: s.Model.covariance(Z),
    "Model.draw": lambda s: s.Model.draw(0),
    "Model.__repr__": lambda s: repr(s.Model),
    "Draw.__call__": lambda s: s.Draw(Z),
    "EventFile": lambda s: _ocorl.EventFile(str(s.folder / "events")),
    "EventFile.write": lambda s: s.EventFile.write(0, [("cost", 1.0)]),
    "Grid": lambda s: _ocorl.Grid(GRID),
    "Grid.study": lambda s: _ocorl.Grid.study("table1"),
    "Grid.__repr__": lambda s: repr(s.Grid),
    "Sweep": lambda s: _ocorl.Sweep(str(s.folder / "other"), s.Grid),
    "Sweep.close": lambda s: s.Sweep.close(),
    "Sweep.begins": lambda s: s.Sweep.begins(),
    "Sweep.todo": lambda s: s.Sweep.todo(),
    "Sweep.result": lambda s: s.Sweep.result(0),
    "Sweep.keep": lambda s: s.Sweep.keep(0, "{}"),
    "Sweep.run": lambda s: s.Sweep.run([]),
    "Sweep.save": lambda s: s.Sweep.save("a", "b"),
    "Sweep.__repr__": lambda s: repr(s.Sweep),
    "systems": lambda s: ocorl.systems(),
    "strategies": lambda s: ocorl.strategies(),
    "run": lambda s: ocorl.run("pendulum", episodes=1, quiet=True),
    "optimal": lambda s: ocorl.optimal("pendulum"),
    "plan": lambda s: ocorl.plan("pendulum"),
    "choose_times": lambda s: _ocorl.choose_times("oracle", s.Model, [0.0], Z, 1, [0.1, 0.1]),
    "run_cell": lambda s: _ocorl.run_cell(CELL),
    "studies": lambda s: _ocorl.studies(),
    "_rest": lambda s: _ocorl._rest(),
    "draw": lambda s: _ocorl.draw('{"title": ""}'),
    "exhibits": lambda s: _ocorl.exhibits(str(s.told)),
    "program": lambda s: _ocorl.program(["ocorl", "--version"]),
    "report": lambda s: _ocorl.report(str(s.told), str(s.folder / "report.html")),
}


def exported() -> list[str]:
    """Everything that Python can call in the compiled module, from the module itself."""
    names: list[str] = []
    for name, thing in vars(_ocorl).items():
        if isinstance(thing, type):
            if "__new__" in vars(thing):
                names.append(name)
            for member, value in vars(thing).items():
                ours = not member.startswith("__") or member in ("__call__", "__repr__", "__reduce__")
                if ours and (callable(value) or isinstance(value, staticmethod) or inspect.isgetsetdescriptor(value)):
                    names.append(f"{name}.{member}")
        elif callable(thing) and name != "_arm":
            names.append(name)
    return sorted(names)


def is_attribute(name: str) -> bool:
    kind, _, member = name.partition(".")
    return bool(member) and inspect.isgetsetdescriptor(vars(getattr(_ocorl, kind))[member])


def test_the_list_is_complete() -> None:
    callables = {name for name in exported() if not is_attribute(name)}
    assert callables == set(CALLS)


@pytest.mark.parametrize("name", exported() if arm else [])
def test_a_panic_becomes_an_internal_error(name: str, things: SimpleNamespace) -> None:
    if is_attribute(name):
        kind, _, member = name.partition(".")

        def call(things: SimpleNamespace) -> Any:
            return getattr(getattr(things, kind), member)

    else:
        call = CALLS[name]
    assert arm is not None
    arm(name)
    try:
        with pytest.raises(ocorl.InternalError, match="injected") as caught:
            call(things)
    finally:
        arm(None)
    assert f"'{name}'" in caught.value.message and "report" in (caught.value.hint or "")


#: What is done on another thread.
WORK = ["run", "optimal", "plan", "Study", "Study.ask", "Study.note", "Model", "choose_times", "run_cell", "System.simulate", "exhibits"]


@pytest.mark.parametrize("name", WORK)
def test_a_panic_at_work_becomes_one_too(name: str, things: SimpleNamespace) -> None:
    if name == "Study.ask":
        # Whatever happened to the one of the other tests.
        things = SimpleNamespace(Study=ocorl.Study.create(things.folder / "work", "pendulum", set=QUICK))
    elif name == "Study.note":
        things = SimpleNamespace(Study=ocorl.Study.create(things.folder / "noted", "pendulum", set=QUICK))
    assert arm is not None
    arm(f"{name} at work")
    try:
        with pytest.raises(ocorl.InternalError, match="injected"):
            CALLS[name](things)
    finally:
        arm(None)
    # The same call works, and the same study.
    CALLS[name](things)
