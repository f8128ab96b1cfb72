"""Figures that notebooks display."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _ocorl
from ._errors import MistakeError


class Figure:
    """A figure as SVG, and its data as CSV. Notebooks display it.

    >>> figure = drawn({"title": "A line", "panels": [panel("", ("t", "s"), ("x", ""), [line([0, 1], [0, 1])])]})
    >>> figure
    Figure('A line')
    >>> figure.svg.startswith("<svg")
    True
    """

    def __init__(self, title: str, svg: str, csv: str) -> None:
        #: Title of the figure.
        self.title = title
        #: The figure as SVG.
        self.svg = svg
        #: The data of the figure as CSV.
        self.csv = csv

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure (``.svg``) or its data (``.csv``)."""
        name = os.fspath(path)
        if not name.endswith((".svg", ".csv")):
            raise MistakeError(f"cannot write '{name}'", hint="pictures are .svg files, their numbers .csv files")
        with open(name, "w", encoding="utf-8") as file:
            file.write(self.csv if name.endswith(".csv") else self.svg)


def numbers(values: Any) -> list[float | None]:
    """Converts numbers to JSON values; values that are not finite become gaps."""
    flat = np.asarray(values, dtype=float).reshape(-1)
    return [float(value) if np.isfinite(value) else None for value in flat]


def line(x: Any, y: Any, *, series: int = 0, label: str | None = None, kind: str = "line", dashed: bool = False) -> dict[str, Any]:
    """Describes a mark of a figure."""
    return {"kind": kind, "x": numbers(x), "y": numbers(y), "series": series, "label": label, "dashed": dashed}


def panel(
    title: str,
    x: tuple[str, str],
    y: tuple[str, str],
    marks: Sequence[Mapping[str, Any]],
    range: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Describes a panel of a figure: names and units of its axes, and its marks."""
    return {"title": title, "x": list(x), "y": list(y), "marks": list(marks), "range": range}


def drawn(described: Mapping[str, Any]) -> Figure:
    """Draws the described figure."""
    svg, csv = _ocorl.draw(json.dumps(described))
    return Figure(str(described["title"]), svg, csv)
