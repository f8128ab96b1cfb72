"""Figures that notebooks display."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _ocorl
from ._arguments import path as _path
from ._errors import UserError


class Figure:
    """A figure as SVG, and its data as CSV. Notebooks display it.

    Parameters
    ----------
    title : str
        Title of the figure.
    svg : str
        The figure as SVG.
    csv : str
        The data of the figure as CSV.
    described : mapping, optional
        Description of the figure.

    Examples
    --------
    >>> figure = drawn({"title": "A line", "panels": [panel("", ("t", "s"), ("x", ""), [line([0, 1], [0, 1])])]})
    >>> figure
    Figure('A line')
    >>> figure.svg.startswith("<svg")
    True
    """

    def __init__(self, title: str, svg: str, csv: str, described: Mapping[str, Any] | None = None) -> None:
        #: Title of the figure.
        self.title = title
        #: The figure as SVG.
        self.svg = svg
        #: The data of the figure as CSV.
        self.csv = csv
        #: Description of the figure: its panels and marks, if it was drawn here.
        self.described = described

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"

    def _repr_svg_(self) -> str:
        return self.svg

    def into(self, ax: Any) -> Any:
        """Draw the data into axes of matplotlib: the first panel of the figure, or each panel into one of several axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or sequence of Axes
            The axes.

        Returns
        -------
        Axes or sequence of Axes
            The same axes.
        """
        from ._draw import into

        return into(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure or its data.

        Parameters
        ----------
        path : path
            A file ``.svg``, ``.png`` or ``.pdf`` for the figure, ``.csv`` for its data. PDF, and PNG of a figure that
            was not drawn here, need matplotlib.
        """
        name = _path(path, "path")
        if name.endswith((".png", ".pdf")):
            from ._draw import picture

            return picture(self, name)
        if not name.endswith((".svg", ".csv")):
            raise UserError(f"cannot write '{name}'", hint="pictures are .svg, .png or .pdf files, their numbers .csv files")
        with open(name, "w", encoding="utf-8") as file:
            file.write(self.csv if name.endswith(".csv") else self.svg)


def numbers(values: Any) -> list[float | None]:
    """Convert numbers to JSON values; values that are not finite become gaps."""
    flat = np.asarray(values, dtype=float).reshape(-1)
    return [float(value) if np.isfinite(value) else None for value in flat]


def line(x: Any, y: Any, *, series: int = 0, label: str | None = None, kind: str = "line", dashed: bool = False) -> dict[str, Any]:
    """Describe a mark of a figure."""
    return {"kind": kind, "x": numbers(x), "y": numbers(y), "series": series, "label": label, "dashed": dashed}


def panel(
    title: str,
    x: tuple[str, str],
    y: tuple[str, str],
    marks: Sequence[Mapping[str, Any]],
    range: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Describe a panel of a figure: names and units of its axes, and its marks."""
    return {"title": title, "x": list(x), "y": list(y), "marks": list(marks), "range": range}


def drawn(described: Mapping[str, Any]) -> Figure:
    """Draw the described figure."""
    svg, csv = _ocorl.draw(json.dumps(described))
    return Figure(str(described["title"]), svg, csv, described)
