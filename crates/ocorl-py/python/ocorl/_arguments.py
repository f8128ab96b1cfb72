"""Checks of arguments that name the argument in their messages."""

from __future__ import annotations

import inspect
import os
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ._errors import UserError

#: Hint for equations that depend on time.
TIMELESS = "time can be a state with derivative 1"


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def path(value: Any, what: str) -> str:
    """Convert a path to text."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise UserError(f"'{what}' must be a path, not {_kind(value)}") from None


@overload
def whole(value: int, what: str) -> int: ...
@overload
def whole(value: int | None, what: str) -> int | None: ...
def whole(value: Any, what: str) -> int | None:
    """Check that an argument is a whole number, or None where that is the default."""
    if value is None:
        return None
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise UserError(f"'{what}' must be a whole number, not {value!r}")


def real(value: Any, what: str) -> float | None:
    """Convert a number, or None where that is the default."""
    if value is None:
        return None
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise UserError(f"'{what}' must be a number, not {value!r}")


def array(value: Any, what: str, shape: tuple[int, ...] | None = None) -> npt.NDArray[np.float64]:
    """Convert to an array of numbers; with a shape, one number or fewer dimensions are repeated."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"'{what}' must be numbers", [("cause", str(error))]) from None
    try:
        return found if shape is None else np.array(np.broadcast_to(found, shape))
    except ValueError:
        raise UserError(f"'{what}' has the shape {found.shape}, expected {shape}") from None


def accepts(f: Any, what: str, names: tuple[str, ...]) -> None:
    """Check that a function accepts these arguments, as far as its signature tells."""
    if isinstance(f, type) or not callable(f):
        raise UserError(f"'{what}' must be a function {what}({', '.join(names)}), not {_kind(f)}")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    wrong = UserError(f"'{what}' must be a function {what}({', '.join(names)}), not {what}{signature}")
    timeless = "t" not in names and "t" in signature.parameters
    wrong.hint = TIMELESS if timeless else None
    try:
        signature.bind(*names)
    except TypeError:
        raise wrong from None
    if next(iter(signature.parameters), "") in ("t", "time") and names[0] != "t":
        raise wrong
