"""Conversion of tables to pandas frames, polars frames or plain arrays."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

#: Columns by name, all of equal length.
Table = dict[str, npt.NDArray[Any]]


def _made(library: str, table: Mapping[str, npt.NDArray[Any]]) -> Any:
    try:
        return importlib.import_module(library).DataFrame(dict(table))
    except ImportError:
        return None


def frame(table: Table, libraries: tuple[str, ...]) -> Any:
    """Convert the table to a frame of the first of these libraries that is installed.

    Without any of them, return the table unchanged.

    Examples
    --------
    >>> frame({"t": np.array([0.0, 1.0])}, ())
    {'t': array([0., 1.])}
    """
    for library in libraries:
        made = _made(library, table)
        if made is not None:
            return made
    return table


class Tabular:
    """Mixin for objects that provide tables."""

    def to_dict(self, table: str = "") -> Table:
        """Return a table as a dictionary of arrays."""
        raise NotImplementedError

    def to_pandas(self, table: str = "") -> Any:
        """Return a table as a pandas frame.

        Without pandas it is a polars frame, without either a dictionary of arrays.

        Parameters
        ----------
        table : str, optional
            Name of the table, as in :meth:`to_dict`.
        """
        return frame(self.to_dict(table), ("pandas", "polars"))

    def to_polars(self, table: str = "") -> Any:
        """Return a table as a polars frame.

        Without polars it is a pandas frame, without either a dictionary of arrays.

        Parameters
        ----------
        table : str, optional
            Name of the table, as in :meth:`to_dict`.
        """
        return frame(self.to_dict(table), ("polars", "pandas"))


def columns(names: list[str], values: npt.NDArray[np.float64], suffix: str = "") -> Table:
    """Return the columns of a matrix by name."""
    return {f"{name}{suffix}": np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)}


def joined(*tables: Table) -> Table:
    """Join several tables. A column with the name of an earlier one gets a new name, so that no column is lost.

    Examples
    --------
    >>> list(joined({"t": np.zeros(1)}, {"x": np.zeros(1), "x_dot": np.zeros(1)}, {"x_dot": np.ones(1)}))
    ['t', 'x', 'x_dot', 'x_dot_']
    """
    whole: Table = {}
    for table in tables:
        for name, column in table.items():
            while name in whole:
                name += "_"
            whole[name] = column
    return whole
