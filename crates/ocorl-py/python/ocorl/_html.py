"""HTML representations for notebooks: a small table and a figure."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ._figure import drawn, line, panel

if TYPE_CHECKING:
    from . import _ocorl
    from ._result import Result
    from ._study import Study
    from ._system import System


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    return escape(f"{value:.4f}" if isinstance(value, float) else str(value))


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Format an HTML table.

    Examples
    --------
    >>> table(["a"], [["<b>"], [None]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr><tr><td>-</td></tr></tbody></table>'
    """
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def system(shown: System) -> str:
    """HTML representation of a system."""
    lower, upper = shown.lower, shown.upper
    rows: list[list[Any]] = [
        [name, "state", unit, f"x0 = {x0:g}"] for name, unit, x0 in zip(shown.states, shown.state_units, shown.x0)
    ]
    rows += [
        [name, "input", unit, f"{low:g} to {high:g}"]
        for name, unit, low, high in zip(shown.controls, shown.control_units, lower, upper)
    ]
    return f"<b>{escape(shown.title)}</b>, horizon {shown.horizon:g} {shown.time_unit}" + table(
        ["name", "what", "unit", ""], rows
    )


def plan(shown: _ocorl.Plan) -> str:
    """HTML representation of a plan: measurement times and predicted cost."""
    times = ", ".join(f"{t:.3g}" for t in shown.measure_at) or (shown.rule or "-")
    rows: list[list[Any]] = [
        ["episode", shown.episode],
        ["valid for", shown.valid_for],
        ["planned cost", shown.planned_cost],
        ["measure at", times],
    ]
    panels = [
        panel("", ("time", ""), (name, ""), [line(shown.t, shown.x[:, i], label="planned")])
        for i, name in enumerate(shown.states)
    ]
    ends = shown.t[:-1]
    panels += [
        panel("", ("time", ""), (name, ""), [line(ends, shown.u[:, j], kind="step", label="control")])
        for j, name in enumerate(shown.controls)
    ]
    picture = drawn({"title": f"{shown.system}: plan of episode {shown.episode}", "panels": panels, "columns": 2})
    return table(["plan", shown.system], rows) + picture.svg


def result(shown: Result) -> str:
    """HTML representation of a result: costs by episode."""
    rows = [[e.number, e.cost, e.regret, len(e.measurement_times), e.outcome] for e in shown.episodes]
    text = f"<b>{escape(shown.system)}</b>, seed {shown.seed}, final cost {shown.final_cost:.4f}"
    if shown.optimum is not None:
        text += f", optimum (known dynamics) {shown.optimum:.4f}"
    picture = shown.plot("cost").svg if shown.episodes else ""
    return text + table(["episode", "cost", "regret", "measured", "ended"], rows) + picture


def study(shown: Study) -> str:
    """HTML representation of a study: episodes, costs and the pending episode."""
    each, created = shown.episodes, shown.created
    rows = [[e["episode"], e["cost"], e["planned_cost"], f"{e['measured']} of {e['asked']}", e["status"]] for e in each]
    text = f"<b>study of {escape(created['system'])}</b> in {escape(shown.folder)}, seed {created['seed']}"
    text = text + table(["episode", "cost", "planned", "measured", "status"], rows)
    if any(e["cost"] is not None for e in each):
        text += shown.plot("cost").svg
    pending = shown.pending
    return text + (plan(pending) if pending is not None else "")
