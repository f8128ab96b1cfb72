"""What can go wrong, one class for each way.

Every error of ours is an :class:`OcorlError`. Beside its message it has ``details``, a list of labelled lines, and
``hint``, what to do now. Exceptions of your own functions and plants come through as they are.
"""

from __future__ import annotations

from collections.abc import Iterable


class OcorlError(Exception):
    """The base of all errors of this package.

    >>> error = OcorlError("no system 'pendulm'", [("file", "grid.toml")], "did you mean 'pendulum'?")
    >>> print(error)
    no system 'pendulm'
      file    grid.toml
    hint: did you mean 'pendulum'?
    >>> error.details
    [('file', 'grid.toml')]
    """

    #: What failed, in one line.
    message: str
    #: Labelled lines: label, text.
    details: list[tuple[str, str]]
    #: What to do now, if there is something.
    hint: str | None

    def __init__(self, message: str = "", details: Iterable[tuple[str, str]] = (), hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = [(str(label), str(text)) for label, text in details]
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message]
        width = max([8, *(len(label) + 2 for label, _ in self.details)])
        lines += [f"  {label:<{width}}{text}" for label, text in self.details]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type[OcorlError], tuple[str, list[tuple[str, str]], str | None]]:
        return type(self), (self.message, self.details, self.hint)


class InternalError(OcorlError):
    """A mistake of ours: please report it. The interpreter and all studies on disk are as they were."""


class MistakeError(OcorlError, ValueError):
    """What was asked for cannot be done as it was said: a name, a setting, a shape, a measurement."""


class StudyError(OcorlError):
    """A study cannot do what it was asked."""


class DamagedError(StudyError):
    """Bytes on disk are not what was written, or another version's. Nothing was changed."""


class BusyError(StudyError):
    """Somebody else is at work there."""


class DiskError(StudyError, OSError):
    """The disk or a permission is in the way. What was kept before is safe."""


class PlantError(OcorlError):
    """A plant, or a function that stands for one, gave something that is no measurement."""


class WorkersError(OcorlError):
    """The workers of a cluster cannot do the work: no `ocorl`, or another version of it. Nothing was started."""
