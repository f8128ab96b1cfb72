"""Live view of a run in a notebook: stage, costs by episode and their figure, as plain HTML that is updated in place."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib import import_module
from typing import Any

from ._errors import UserError
from ._figure import drawn, line, panel
from ._html import table

#: What happens after an event.
STAGES = {
    "episode_began": "planning",
    "proposed": "running on the plant",
    "executed": "learning",
    "updated": "learning",
}


class LiveView:
    """Shows a run in the output of a notebook's cell."""

    def __init__(self) -> None:
        try:
            self._display: Any = import_module("IPython.display")
        except ImportError:
            raise UserError("progress='live' needs a notebook", hint="progress='table', 'log' or 'bar'") from None
        self._stage = "begins"
        self._records: list[Mapping[str, Any]] = []
        self._optimum: float | None = None
        self._warnings: list[str] = []
        self._handle: Any = self._display.display(self._shown(), display_id=True)

    def event(self, event: Mapping[str, Any]) -> None:
        """Take an event."""
        kind = event.get("event")
        if kind == "known" and event["known"]:
            self._optimum = event["known"].get("continuous")
        elif kind in STAGES:
            self._stage = f"episode {event['episode']}: {STAGES[kind]}"
        elif kind == "episode":
            self._records.append(event["record"])
        else:
            return
        self._update()

    def warning(self, text: str) -> None:
        """Show a warning."""
        self._warnings.append(text)
        self._update()

    def close(self) -> None:
        """Show that the run is over."""
        self._stage = "over"
        self._update()

    @property
    def html(self) -> str:
        """The view as HTML."""
        parts = [f"<b>{escape(self._stage)}</b>", *(f"<p>warning: {escape(text)}</p>" for text in self._warnings)]
        if self._records:
            names = ("episode", "cost", "planned_cost", "outcome")
            parts.append(table(["episode", "cost", "planned", "ended"], [[record.get(name) for name in names] for record in self._records]))
            numbers = [record["episode"] for record in self._records]
            marks = [line(numbers, [float("nan") if r.get("cost") is None else r["cost"] for r in self._records], kind="circles", label="cost")]
            if self._optimum is not None:
                marks.append(line(numbers, [self._optimum] * len(numbers), series=2, label="optimum (known dynamics)", dashed=True))
            parts.append(drawn({"title": "Cost by episode", "panels": [panel("", ("episode", ""), ("cost", ""), marks)]}).svg)
        return "".join(parts)

    def _shown(self) -> Any:
        return self._display.HTML(self.html)

    def _update(self) -> None:
        # Outside of a notebook there is no handle.
        if self._handle is not None:
            self._handle.update(self._shown())
