"""Exception classes of the package.

Every error of this package is an :class:`OcorlError`. Besides its message it has ``details``, a list of labelled
lines, and ``hint``, a suggestion what to do. Exceptions of your own functions and plants are passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable


class OcorlError(Exception):
    """Base class of all errors of this package.

    Parameters
    ----------
    message : str
        The error in one line.
    details : iterable of (str, str), optional
        Labelled detail lines.
    hint : str, optional
        What to do.

    Examples
    --------
    >>> error = OcorlError("no system 'pendulm'", [("file", "grid.toml")], "did you mean 'pendulum'?")
    >>> print(error)
    no system 'pendulm'
      file    grid.toml
    hint: did you mean 'pendulum'?
    >>> error.details
    [('file', 'grid.toml')]
    """

    #: The error in one line.
    message: str
    #: Labelled detail lines: pairs of label and text.
    details: list[tuple[str, str]]
    #: What to do about it, if there is a suggestion.
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
    """A bug in ocorl: please report it. The interpreter and all studies on disk are unchanged."""


class UserError(OcorlError, ValueError):
    """An invalid argument or request: a name, a setting, a shape, a measurement."""


class NotFittedError(UserError, AttributeError):
    """A model was used before it was fitted."""


class StudyError(OcorlError):
    """A study rejected a request."""


class DamagedError(StudyError):
    """The contents of a file are damaged or were written by another version. Nothing was changed."""


class BusyError(StudyError):
    """Another process or thread is using the study or sweep."""


class DiskError(StudyError, OSError):
    """The file system reported an error, such as a full disk or a missing permission. Earlier records are safe."""


class PlantError(OcorlError):
    """A plant, or a function used as one, returned something that is not a valid measurement."""


class WorkersError(OcorlError):
    """The workers of a cluster cannot be used: `ocorl` is missing, or has another version. Nothing was started."""
