"""Pictures that show themselves in notebooks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _ocorl
from ._errors import MistakeError


class Figure:
    """A picture as SVG, and the numbers behind it as CSV. In a notebook it shows itself.

    >>> figure = drawn({"title": "A line", "panels": [panel("", ("t", "s"), ("x", ""), [line([0, 1], [0, 1])])]})
    >>> figure
    Figure('A line')
    >>> figure.svg.startswith("<svg")
    True
    """

    def __init__(self, title: str, svg: str, csv: str) -> None:
        #: Its title.
        self.title = title
        #: The picture.
        self.svg = svg
        #: The numbers behind it.
        self.csv = csv

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture (``.svg``) or its numbers (``.csv``)."""
        name = os.fspath(path)
        if not name.endswith((".svg", ".csv")):
            raise MistakeError(f"cannot write '{name}'", hint="pictures are .svg files, their numbers .csv files")
        with open(name, "w", encoding="utf-8") as file:
            file.write(self.csv if name.endswith(".csv") else self.svg)


def numbers(values: Any) -> list[float | None]:
    """Numbers as JSON has them; what is not finite is a gap."""
    flat = np.asarray(values, dtype=float).reshape(-1)
    return [float(value) if np.isfinite(value) else None for value in flat]


def line(x: Any, y: Any, *, series: int = 0, label: str | None = None, kind: str = "line", dashed: bool = False) -> dict[str, Any]:
    """A mark of a picture."""
    return {"kind": kind, "x": numbers(x), "y": numbers(y), "series": series, "label": label, "dashed": dashed}


def panel(
    title: str,
    x: tuple[str, str],
    y: tuple[str, str],
    marks: Sequence[Mapping[str, Any]],
    range: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """A panel of a picture: names and units of its axes, and its marks."""
    return {"title": title, "x": list(x), "y": list(y), "marks": list(marks), "range": range}


def drawn(described: Mapping[str, Any]) -> Figure:
    """The picture that this describes."""
    svg, csv = _ocorl.draw(json.dumps(described))
    return Figure(str(described["title"]), svg, csv)
