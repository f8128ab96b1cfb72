"""The package as a whole: what it imports, what it names, what its documentation shows."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from typing import Any

import pytest

import ocorl


def modules() -> list[str]:
    """Everything that is written in Python; what needs Gymnasium only where that is."""
    found = {module.name for module in pkgutil.walk_packages(ocorl.__path__, "ocorl.")} - {"ocorl._ocorl"}
    return sorted(name for name in found if not name.startswith("ocorl.gym") or importlib.util.find_spec("gymnasium"))


def test_importing_is_quick_and_leaves_numpy_alone() -> None:
    code = (
        "import time; begin = time.process_time(); import ocorl; took = time.process_time() - begin; "
        "import sys; print(took, 'numpy' in sys.modules)"
    )
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    took, numpy = zip(*(answer.stdout.split() for answer in said))
    assert min(map(float, took)) <= 0.05, took
    assert set(numpy) == {"False"}


def test_every_public_name_is_there() -> None:
    for name in ocorl.__all__:
        assert getattr(ocorl, name) is not None, name
    assert set(ocorl.__all__) <= set(dir(ocorl))
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        ocorl.rum


@pytest.mark.parametrize("name", ["ocorl", *modules()])
def test_what_the_documentation_shows_is_what_happens(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(module, optionflags=flags)
    assert failed == 0


def section(doc: str, title: str) -> str:
    """A section of a docstring in the form of numpydoc."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-{{3,}}|\Z)", inspect.cleandoc(doc) + "\n", re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def undocumented(label: str, thing: Any) -> list[str]:
    """What is missing in the docstring of a class or a function."""
    doc = thing.__doc__
    if not doc:
        return [f"{label}: no docstring"]
    if hasattr(thing, "__dataclass_fields__"):
        return []  # the fields have comments of their own
    described = re.findall(r"^([\w*, ]+?)(?: :.*)?$", section(doc, "Parameters"), re.MULTILINE)
    named = {name.strip(" *") for line in described for name in line.split(",")}
    signature = inspect.signature(thing)
    taken = {name for name, p in signature.parameters.items() if name != "self" and not name.startswith("_") and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    missing = [f"{label}: '{name}' is not among the parameters" for name in sorted(taken - named)]
    returned = None if isinstance(thing, type) else signature.return_annotation
    if returned not in (None, "None") and not section(doc, "Returns"):
        missing.append(f"{label}: no section 'Returns'")
    return missing


def test_every_public_thing_is_documented_in_the_form_of_numpydoc() -> None:
    missing: list[str] = []
    for name in ocorl.__all__:
        thing = getattr(ocorl, name)
        if inspect.ismodule(thing):
            thing = getattr(thing, name)  # `ocorl.sweep` is the function until somebody imports the module, which can be called like it
        if name == "__version__" or name.endswith("Error") or name == "STOP":
            continue
        if thing.__module__ == "ocorl._ocorl":
            # The compiled part: a summary for each class and method.
            missing += [f"{name}.{m}" for m, value in vars(thing).items() if not m.startswith("_") and callable(value) and not value.__doc__]
            continue
        missing += undocumented(name, thing)
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if member.startswith("_"):
                continue
            if inspect.isfunction(function):
                bound = value.__get__(None, thing) if isinstance(value, (classmethod, staticmethod)) else function
                missing += undocumented(f"{name}.{member}", bound)
            elif isinstance(value, property) and not value.__doc__:
                missing.append(f"{name}.{member}: no docstring")
    assert not missing, "\n".join(missing)


def test_errors_are_what_they_should_be() -> None:
    kinds = [getattr(ocorl, name) for name in ocorl.__all__ if name.endswith("Error")]
    assert len(kinds) == 10
    assert all(issubclass(kind, ocorl.OcorlError) and not issubclass(kind, KeyboardInterrupt) for kind in kinds)
    assert issubclass(ocorl.UserError, ValueError)
    assert issubclass(ocorl.DiskError, OSError) and issubclass(ocorl.DiskError, ocorl.StudyError)
    assert issubclass(ocorl.BusyError, ocorl.StudyError) and issubclass(ocorl.DamagedError, ocorl.StudyError)


def test_a_mistake_says_what_where_and_what_to_do() -> None:
    with pytest.raises(ocorl.UserError) as caught:
        ocorl.System.parse("[system]\nstates = ['x']\ninptus = {}\n", "tank.toml")
    error = caught.value
    assert "no key 'inptus'" in error.message
    assert ("file", "tank.toml, line 3, column 1") in error.details
    assert error.hint == "did you mean 'inputs'?"
    assert "hint: did you mean" in str(error)
    with pytest.raises(ocorl.UserError, match="no system 'pendulm'") as caught:
        ocorl.run("pendulm")
    assert "'pendulum'" in (caught.value.hint or "")
