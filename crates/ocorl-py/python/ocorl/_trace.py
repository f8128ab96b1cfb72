"""Python functions as expressions: a function is called once with symbols, and its arithmetic is written down.

A function of numbers and NumPy functions becomes the text of a system file. As text it is fast, has exact derivatives,
and is stored with the system. Branches on values cannot be written down; they are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import OcorlError, UserError

#: Levels of operations, from the weakest to the strongest binding.
SUM, PRODUCT, SIGN, POWER, ATOM = range(5)
#: Length from which a result that is used twice gets a name of its own.
LONG = 24


class _Branch(TypeError):
    """The function does something with a symbol that a formula cannot express."""


class Symbol:
    """A scalar in a formula: a name, a number, or an operation on other symbols."""

    __slots__ = ("op", "args")

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        #: Name of the operation; ``name`` or ``number`` for a leaf.
        self.op = op
        #: Operands; for a leaf its name or value.
        self.args = args

    @property
    def value(self) -> float | None:
        """The value of a number, otherwise None."""
        return float(self.args[0]) if self.op == "number" else None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function is np.interp:
            return _interpolated(*arguments, **options)
        return function(*(_boxed(a, Symbols) for a in arguments), **options)

    def __getattr__(self, name: str) -> Any:
        # NumPy calls these methods for the elements of an array of objects: np.sin(x) is x[0].sin(), and so on.
        if name in _ONE:
            return lambda: _ONE[name](self)
        if name in _TWO:
            return lambda other: _TWO[name](self, symbol(other))
        raise AttributeError(f"a symbol of a formula has no attribute '{name}'")

    def __add__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _add(self, symbol(other))

    def __radd__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _add(symbol(other), self)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _subtract(self, symbol(other))

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _subtract(symbol(other), self)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _multiply(self, symbol(other))

    def __rmul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _multiply(symbol(other), self)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _divide(self, symbol(other))

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _divide(symbol(other), self)

    def __pow__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _power(self, symbol(other))

    def __rpow__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _power(symbol(other), self)

    def __mod__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _remainder(self, symbol(other))

    def __neg__(self) -> Symbol:
        return _negative(self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return _call("abs", self)

    def __float__(self) -> float:
        raise _Branch("it needs a number where a formula has a symbol; use numpy.sin, not math.sin, and numpy.array([...]), not numpy.zeros with entries set later")

    __int__ = __index__ = __float__

    def _compare(self, other: Any) -> Any:
        raise _Branch("it compares or branches on its arguments; numpy.maximum, minimum, clip, abs and sign can be written as a formula")

    __lt__ = __le__ = __gt__ = __ge__ = _compare
    __eq__ = __ne__ = _compare

    def __bool__(self) -> bool:
        raise _Branch("it branches on its arguments; numpy.maximum, minimum, clip, abs and sign can be written as a formula")

    __hash__ = None  # type: ignore[assignment]


class Symbols(np.ndarray[Any, Any]):
    """An array of symbols."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, method, inputs, options)


def _boxed(value: Any, kind: type[np.ndarray[Any, Any]] = np.ndarray) -> Any:
    """Return a symbol, also in lists, as an array without dimensions."""
    if isinstance(value, Symbol):
        box = np.empty((), dtype=object)
        box[()] = value
        return box.view(kind)
    if isinstance(value, (list, tuple)):
        return type(value)(_boxed(part, kind) for part in value)
    return value.view(kind) if isinstance(value, Symbols) else value


def _ufunc(ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
    """Apply a function of NumPy to symbols, element by element."""
    plain, options = [_boxed(i) for i in inputs], {name: value for name, value in options.items() if value is not None}
    if method == "__call__" and ufunc.__name__ in _ELEMENTWISE and not options:
        act = _ELEMENTWISE[ufunc.__name__]
        found = np.frompyfunc(lambda *parts: act(*map(symbol, parts)), len(inputs), 1)(*plain)
    elif ufunc.__name__ == "matmul" or method != "__call__":
        found = getattr(ufunc, method)(*plain, **options)
    else:
        raise _Branch(f"it calls numpy.{ufunc.__name__}, which has no formula")
    return found.view(Symbols) if isinstance(found, np.ndarray) else found


def _interpolated(t: Any, times: Any, values: Any, **options: Any) -> Any:
    """Write np.interp(t, times, values) as a sum of absolute values, one for each kink."""
    times, values = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    if options or times.ndim != 1 or times.shape != values.shape or (np.diff(times) <= 0).any():
        raise _Branch("numpy.interp has a formula only for increasing times and as many values")
    slopes = np.concatenate([[0.0], np.diff(values) / np.diff(times), [0.0]])
    found = symbol(0.5 * (values[0] + values[-1]))
    for time, change in zip(times, np.diff(slopes)):
        found = found + 0.5 * change * abs(symbol(t) - time)
    return found


def symbol(value: Any) -> Symbol:
    """Convert a number to a symbol."""
    if isinstance(value, Symbol):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return symbol(value[()])
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise _Branch(f"it uses a {type(value).__name__} as a number") from None
    if not math.isfinite(number):
        raise _Branch(f"it uses the number {number}")
    return Symbol("number", (number,))


def _folded(act: Callable[..., float], op: str, *parts: Symbol) -> Symbol:
    """Return an operation; of numbers its value."""
    values = [part.value for part in parts]
    if None in values:
        return Symbol(op, parts)
    try:
        return symbol(act(*values))
    except (ArithmeticError, ValueError) as error:
        raise _Branch(f"it computes {op} of {', '.join(map(str, values))}: {error}") from None


def _add(a: Symbol, b: Symbol) -> Symbol:
    if a.value == 0.0:
        return b
    return a if b.value == 0.0 else _folded(lambda p, q: p + q, "+", a, b)


def _subtract(a: Symbol, b: Symbol) -> Symbol:
    if a.value == 0.0:
        return _negative(b)
    return a if b.value == 0.0 else _folded(lambda p, q: p - q, "-", a, b)


def _multiply(a: Symbol, b: Symbol) -> Symbol:
    if a.value == 0.0 or b.value == 0.0:
        return symbol(0.0)
    if a.value == 1.0:
        return b
    return a if b.value == 1.0 else _folded(lambda p, q: p * q, "*", a, b)


def _divide(a: Symbol, b: Symbol) -> Symbol:
    return a if b.value == 1.0 else _folded(lambda p, q: p / q, "/", a, b)


def _power(a: Symbol, b: Symbol) -> Symbol:
    return a if b.value == 1.0 else _folded(lambda p, q: p**q, "^", a, b)


def _negative(a: Symbol) -> Symbol:
    return a.args[0] if a.op == "negative" else _folded(lambda p: -p, "negative", a)


def _remainder(a: Symbol, b: Symbol) -> Symbol:
    """Write a modulo a positive number by the angle that it is on a circle."""
    period = b.value
    if period is None or period <= 0.0:
        raise _Branch("a remainder has a formula only for a positive number")
    turn = 2.0 * math.pi / period
    around = _multiply(symbol(turn), _subtract(a, symbol(0.5 * period)))
    angle = _call("atan2", _call("sin", around), _call("cos", around))
    return _add(symbol(0.5 * period), _divide(angle, symbol(turn)))


def _call(name: str, *parts: Symbol) -> Symbol:
    usual: dict[str, Callable[..., float]] = {"abs": abs, "min": min, "max": max, "sign": lambda v: (v > 0) - (v < 0)}
    return _folded(usual.get(name) or getattr(math, name), name, *parts)


def _scaled(function: Callable[[Symbol], Symbol], factor: float) -> Callable[[Symbol], Symbol]:
    return lambda a: _multiply(symbol(factor), function(a))


def _exp(a: Symbol) -> Symbol:
    return _call("exp", a)


def _log(a: Symbol) -> Symbol:
    return _call("log", a)


#: Functions of one and of two arguments by NumPy's names.
_ONE: dict[str, Callable[[Symbol], Symbol]] = {
    **{name: (lambda a, name=name: _call(name, a)) for name in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "sign")},  # type: ignore[misc]
    "arcsin": lambda a: _call("asin", a),
    "arccos": lambda a: _call("acos", a),
    "arctan": lambda a: _call("atan", a),
    "fabs": lambda a: _call("abs", a),
    "absolute": lambda a: _call("abs", a),
    "negative": _negative,
    "positive": lambda a: a,
    "conjugate": lambda a: a,
    "square": lambda a: _power(a, symbol(2)),
    "reciprocal": lambda a: _divide(symbol(1), a),
    "sinh": lambda a: _divide(_subtract(_exp(a), _exp(_negative(a))), symbol(2)),
    "cosh": lambda a: _divide(_add(_exp(a), _exp(_negative(a))), symbol(2)),
    "log1p": lambda a: _log(_add(symbol(1), a)),
    "expm1": lambda a: _subtract(_exp(a), symbol(1)),
    "log2": _scaled(_log, 1.0 / math.log(2.0)),
    "log10": _scaled(_log, 1.0 / math.log(10.0)),
    "exp2": lambda a: _exp(_multiply(symbol(math.log(2.0)), a)),
    "deg2rad": lambda a: _multiply(symbol(math.pi / 180.0), a),
    "radians": lambda a: _multiply(symbol(math.pi / 180.0), a),
    "rad2deg": lambda a: _multiply(symbol(180.0 / math.pi), a),
    "degrees": lambda a: _multiply(symbol(180.0 / math.pi), a),
}
_TWO: dict[str, Callable[[Symbol, Symbol], Symbol]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "true_divide": _divide,
    "power": _power,
    "float_power": _power,
    "remainder": _remainder,
    "arctan2": lambda a, b: _call("atan2", a, b),
    "minimum": lambda a, b: _call("min", a, b),
    "maximum": lambda a, b: _call("max", a, b),
    "fmin": lambda a, b: _call("min", a, b),
    "fmax": lambda a, b: _call("max", a, b),
    "hypot": lambda a, b: _call("sqrt", _add(_power(a, symbol(2)), _power(b, symbol(2)))),
}
_ELEMENTWISE: dict[str, Callable[..., Symbol]] = {
    **_ONE,
    **_TWO,
    "clip": lambda a, low, high: _call("min", _call("max", a, low), high),
}


class _Writer:
    """Writes symbols as text. With names that are taken, long results that are used twice become definitions."""

    def __init__(self, roots: Sequence[Symbol], taken: Sequence[str] | None) -> None:
        self.definitions, self.taken = taken is not None, set(taken or ())
        #: Text of each definition by name.
        self.defined: dict[str, str] = {}
        self.written: dict[int, tuple[str, int]] = {}
        self.uses: dict[int, int] = {}
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            self.uses[id(node)] = self.uses.get(id(node), 0) + 1
            if self.uses[id(node)] == 1 and node.op not in ("name", "number"):
                waiting.extend(node.args)

    def text(self, node: Symbol, least: int = SUM) -> str:
        """Return the text of a symbol, in parentheses if it binds weaker than `least`."""
        if id(node) not in self.written:
            self.written[id(node)] = self._named(node, *self._form(node))
        text, level = self.written[id(node)]
        return text if level >= least else f"({text})"

    def _named(self, node: Symbol, text: str, level: int) -> tuple[str, int]:
        if not self.definitions or self.uses.get(id(node), 0) < 2 or len(text) < LONG:
            return text, level
        count = 1 + len(self.defined)
        name = next(f"part{k}" for k in range(count, count + len(self.taken) + 1) if f"part{k}" not in self.taken)
        self.taken.add(name)
        self.defined[name] = text
        return name, ATOM

    def _form(self, node: Symbol) -> tuple[str, int]:
        args: Any = node.args
        if node.op == "name":
            return str(args[0]), ATOM
        if node.op == "number":
            value = args[0]
            text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
            return text, SIGN if value < 0 else ATOM
        if node.op in ("+", "-"):
            return f"{self.text(args[0])} {node.op} {self.text(args[1], PRODUCT)}", SUM
        if node.op in ("*", "/"):
            return f"{self.text(args[0], PRODUCT)}{node.op}{self.text(args[1], SIGN)}", PRODUCT
        if node.op == "negative":
            return f"-{self.text(args[0], SIGN)}", SIGN
        if node.op == "^":
            return f"{self.text(args[0], ATOM)}^{self.text(args[1], ATOM)}", POWER
        return f"{node.op}({', '.join(self.text(part) for part in args)})", ATOM


def named(names: Sequence[str]) -> Any:
    """Return an array of symbols with these names."""
    array = np.empty(len(names), dtype=object)
    for i, name in enumerate(names):
        array[i] = Symbol("name", (name,))
    return array.view(Symbols)


def formulas(
    function: Callable[..., Any], what: str, arguments: Sequence[str | Sequence[str]], taken: Sequence[str] | None = None
) -> tuple[list[str], dict[str, str]]:
    """Return the values of a function as expressions, and the definitions that they share.

    Parameters
    ----------
    function : callable
        Function of scalars and vectors.
    what : str
        Description of the function in messages, such as ``cost(t, x, u)``.
    arguments : sequence
        Names of the arguments: a text for a scalar, a list for a vector.
    taken : sequence of str, optional
        Names that are in use. If it is given, long results that are used twice become definitions.

    Examples
    --------
    >>> formulas(lambda x, u: np.array([x[1], 9.81 * np.sin(x[0]) - (x[1] - u[0]) ** 2]), "f(x, u)", [["a", "b"], ["u"]])
    (['b', '9.81*sin(a) - (b - u)^2'], {})
    """
    given = [Symbol("name", (a,)) if isinstance(a, str) else named(a) for a in arguments]
    hint = "or give its text: an expression such as 'x^2 + 0.1*u^2'"
    try:
        value = function(*given)
        flat = [symbol(part) for part in np.asarray(_boxed(value), dtype=object).reshape(-1)]
        writer = _Writer(flat, taken)
        return [writer.text(part) for part in flat], writer.defined
    except OcorlError:
        raise
    except _Branch as error:
        raise UserError(f"{what} cannot be written as a formula: {error}", hint=hint) from error
    except RecursionError:
        raise UserError(f"{what} is too long for a formula", hint=hint) from None
    except TypeError as error:
        if isinstance(error.__context__, _Branch) or any(word in str(error) for word in ("ufunc", "object", "Symbol")):
            raise UserError(f"{what} cannot be written as a formula", [("cause", str(error))], hint) from error
        raise
