"""Numbers, texts and tables as TOML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._errors import UserError


def number(value: Any, what: str = "a number") -> str:
    """Format a number as TOML."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise UserError(f"'{what}' must be a number, not {value!r}") from None
    if np.isnan(value):
        raise UserError(f"'{what}' is NaN")
    return "inf" if value == np.inf else "-inf" if value == -np.inf else repr(value)


def quoted(value: str) -> str:
    """Format a text as TOML."""
    return json.dumps(value, ensure_ascii=False)


def table(values: Mapping[str, str]) -> str:
    """Format an inline table of values that are TOML already."""
    return "{ " + ", ".join(f"{quoted(name)} = {value}" for name, value in values.items()) + " }"


def numbers(values: Mapping[str, float], what: str) -> str:
    """Format a table of numbers."""
    return table({name: number(value, f"{what} of {name}") for name, value in values.items()})


def toml(value: object) -> str:
    """Format a setting as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{quoted(str(key))} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return number(float(value))
    if isinstance(value, np.ndarray):
        return toml(value.tolist())
    if isinstance(value, Iterable):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    raise UserError(f"a setting cannot be a {type(value).__name__}")
