"""Functions of JAX as equations: compiled, for many points at once, with exact Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import UserError

Array = npt.NDArray[np.float64]


def _library() -> Any:
    try:
        return import_module("jax")
    except ImportError:
        raise UserError("ocorl.jax needs JAX", hint="pip install jax; or System(equations=f) for a function of NumPy") from None


class JaxFunction:
    """A function f(x, u) of JAX for many points at once; made by :func:`jax`."""

    def __init__(self, f: Callable[[Any, Any], Any]) -> None:
        library = _library()
        #: The function of one point.
        self.f = f
        self._library = library
        self._values = library.jit(library.vmap(f))
        self._jacobians = library.jit(library.vmap(library.jacfwd(f, argnums=(0, 1))))

    def _call(self, function: Any, x: Array, u: Array) -> Any:
        """Call a compiled function in double precision, with a number of rows that is a power of two: each number is compiled once."""
        one = np.ndim(x) == 1
        x, u = np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(u, dtype=float))
        n = len(x)
        rows = np.minimum(np.arange(1 << max(n - 1, 0).bit_length()), n - 1)
        with self._library.enable_x64(True):
            value = self._library.tree_util.tree_map(np.asarray, function(x[rows], u[rows]))
        cut = [part[0] if one else part[:n] for part in (value if isinstance(value, tuple) else (value,))]
        return tuple(cut) if isinstance(value, tuple) else cut[0]

    def __call__(self, x: Array, u: Array) -> Array:
        """Return dx/dt at one point, or one row for each point."""
        found: Array = self._call(self._values, x, u)
        return found

    def jac(self, x: Array, u: Array) -> tuple[Array, Array]:
        """Return the pair of the Jacobians with respect to x and u."""
        found: tuple[Array, Array] = self._call(self._jacobians, x, u)
        return found

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return JaxFunction, (self.f,)


def jax(f: Callable[[Any, Any], Any]) -> JaxFunction:
    """Compile a function of JAX, for ``System(ocorl.jax(f), ...)``: vectorised, with exact Jacobians, in double precision.

    Parameters
    ----------
    f : callable
        Function f(x, u) of one point that returns dx/dt, written with ``jax.numpy``.

    Returns
    -------
    JaxFunction
        The compiled function.

    Raises
    ------
    UserError
        JAX is not installed.
    """
    return JaxFunction(f)
