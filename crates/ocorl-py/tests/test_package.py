"""The package as a whole: what it imports, what it names, what its documentation shows."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import subprocess
import sys

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
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    took, numpy = zip(*(answer.stdout.split() for answer in said))
    assert min(map(float, took)) <= 0.15, took
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


def test_every_public_thing_is_documented() -> None:
    for name in ocorl.__all__:
        if name == "__version__":
            continue
        thing = getattr(ocorl, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and callable(value) and thing.__module__ != "ocorl._ocorl":
                assert value.__doc__, f"{name}.{member}"


def test_errors_are_what_they_should_be() -> None:
    kinds = [getattr(ocorl, name) for name in ocorl.__all__ if name.endswith("Error")]
    assert len(kinds) == 10
    assert all(issubclass(kind, ocorl.OcorlError) and not issubclass(kind, KeyboardInterrupt) for kind in kinds)
    assert issubclass(ocorl.MistakeError, ValueError)
    assert issubclass(ocorl.DiskError, OSError) and issubclass(ocorl.DiskError, ocorl.StudyError)
    assert issubclass(ocorl.BusyError, ocorl.StudyError) and issubclass(ocorl.DamagedError, ocorl.StudyError)


def test_a_mistake_says_what_where_and_what_to_do() -> None:
    with pytest.raises(ocorl.MistakeError) as caught:
        ocorl.System.parse("[system]\nstates = ['x']\ninptus = {}\n", "tank.toml")
    error = caught.value
    assert "no key 'inptus'" in error.message
    assert ("file", "tank.toml, line 3, column 1") in error.details
    assert error.hint == "did you mean 'inputs'?"
    assert "hint: did you mean" in str(error)
    with pytest.raises(ocorl.MistakeError, match="no system 'pendulm'") as caught:
        ocorl.run("pendulm")
    assert "'pendulum'" in (caught.value.hint or "")
