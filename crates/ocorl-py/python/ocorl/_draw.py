"""Drawings of plans and models, and figures in axes of matplotlib, which is imported only here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UserError
from ._figure import Figure, drawn, line, panel

if TYPE_CHECKING:
    from . import _ocorl
    from ._model import GpDynamics

#: Colours of the series, which colour-blind readers can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def _axes(ax: Any) -> list[Any]:
    """Return axes as a list: one, several, or an array of them."""
    return list(np.asarray(ax, dtype=object).reshape(-1))


def into(figure: Figure, ax: Any) -> Any:
    """Draw the panels of a figure into axes."""
    if figure.described is None or not figure.described.get("panels"):
        raise UserError(f"the figure '{figure.title}' has no data for matplotlib", hint="figure.save('figure.svg'), or its numbers: figure.csv")
    for axes, described in zip(_axes(ax), figure.described["panels"]):
        labelled = False
        for mark in described["marks"]:
            x, y = (np.array([np.nan if v is None else v for v in mark[key]]) for key in ("x", "y"))
            style: dict[str, Any] = {"color": COLOURS[mark["series"] % len(COLOURS)], "label": mark["label"]}
            labelled = labelled or bool(mark["label"])
            if mark["kind"] == "band":
                upper = np.array([np.nan if v is None else v for v in mark["upper"]])
                axes.fill_between(x, y, upper, alpha=0.25, linewidth=0, **style)
            elif mark["kind"] in ("crosses", "circles"):
                axes.plot(x, y, linestyle="none", marker="x" if mark["kind"] == "crosses" else "o", **style)
            else:
                steps = "steps-post" if mark["kind"] == "step" else "default"
                axes.plot(x, y, linestyle="--" if mark.get("dashed") else "-", drawstyle=steps, **style)
        for set_label, (name, unit) in ((axes.set_xlabel, described["x"]), (axes.set_ylabel, described["y"])):
            set_label(f"{name} [{unit}]" if unit else name)
        if described["title"]:
            axes.set_title(described["title"])
        if labelled:
            axes.legend()
    return ax


def picture(figure: Figure, path: str) -> None:
    """Write a figure as PNG or PDF, by matplotlib."""
    if figure.described is None or not figure.described.get("panels"):
        raise UserError(f"the figure '{figure.title}' has no data for matplotlib", hint="figure.save('figure.svg'), or its numbers: figure.csv")
    try:
        shapes: Any = import_module("matplotlib.figure")
    except ImportError:
        raise UserError("PNG and PDF need matplotlib", hint="pip install matplotlib, or save an .svg file") from None
    panels = figure.described["panels"]
    columns = min(len(panels), int(figure.described.get("columns") or 1))
    rows = -(-len(panels) // columns)
    sheet = shapes.Figure(figsize=(5.0 * columns, 3.0 * rows), layout="constrained")
    axes = sheet.subplots(rows, columns, squeeze=False)
    into(figure, axes)
    for spare in _axes(axes)[len(panels) :]:
        spare.remove()
    sheet.suptitle(figure.title)
    sheet.savefig(path)


def _shown(described: dict[str, Any], ax: Any) -> Any:
    figure = drawn(described)
    return figure if ax is None else figure.into(ax)


def plan(shown: _ocorl.Plan, ax: Any = None) -> Any:
    """Draw states and controls of a plan over time, with the measurement times."""
    panels = []
    for i, name in enumerate(shown.states):
        marks = [line(shown.t, shown.x[:, i], label="planned")]
        if len(shown.measure_at):
            marks.append(line(shown.measure_at, np.interp(shown.measure_at, shown.t, shown.x[:, i]), series=3, kind="crosses", label="measured"))
        panels.append(panel("", ("time", ""), (name, ""), marks))
    for j, name in enumerate(shown.controls):
        held = np.append(shown.u[:, j], shown.u[-1, j])
        panels.append(panel("", ("time", ""), (name, ""), [line(shown.t, held, kind="step", label="planned")]))
    title = f"{shown.system}: plan" + (f" of episode {shown.episode}" if shown.study else "")
    return _shown({"title": title, "panels": panels, "columns": 2}, ax)


def model(shown: GpDynamics, output: int, coordinate: int, at: Any, ax: Any = None) -> Any:
    """Draw a slice of a model, with its data."""
    shown.fitted()
    x, u, dots, _ = shown._data
    z = np.hstack([x, u])
    if not (0 <= output < shown.n_outputs_ and 0 <= coordinate < z.shape[1]):
        raise UserError(f"there is no slice of output {output} over coordinate {coordinate}", hint=f"{shown.n_outputs_} outputs, {z.shape[1]} coordinates, from 0")
    point = z.mean(axis=0) if at is None else np.asarray(at, dtype=float).reshape(-1)
    if point.shape != (z.shape[1],):
        raise UserError(f"'at' has {point.size} numbers, a point (x, u) has {z.shape[1]}")
    low, high = float(z[:, coordinate].min()), float(z[:, coordinate].max())
    values = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), 200)
    points = np.tile(point, (len(values), 1))
    points[:, coordinate] = values
    mean, std = (part[:, output] for part in shown.predict(points, return_std=True))
    band = {**line(values, mean - 2 * std, kind="band", label="± 2 σ"), "upper": [float(v) for v in mean + 2 * std]}
    marks = [band, line(values, mean, label="mean"), line(z[:, coordinate], dots[:, output], series=3, kind="crosses", label="data")]
    names = [f"x{i}" for i in range(x.shape[1])] + [f"u{j}" for j in range(u.shape[1])]
    described = {"title": f"Slice of dx{output}/dt", "panels": [panel("", (names[coordinate], ""), (f"dx{output}/dt", ""), marks)]}
    return _shown(described, ax)
