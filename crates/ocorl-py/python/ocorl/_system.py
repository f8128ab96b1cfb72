"""Systems: a built-in system, one described in a file, or a Python function."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _ocorl
from ._arguments import accepts, real
from ._cost import Cost
from ._describe import describe
from ._errors import UserError
from ._jax import JaxFunction
from ._settings import Settings
from ._simulation import Simulation
from ._symbolic import is_expression

if TYPE_CHECKING:
    from typing_extensions import Self

Array = npt.NDArray[np.float64]
#: A function f(x, u) that returns dx/dt.
Equations = Callable[[Array, Array], Any]

#: Format version of pickled systems.
PICKLE_FORM = 1
#: Relative difference between the costs of a plan and of its simulation that causes a warning.
FAR = 0.25


class System(_ocorl.System):
    """A plant with its task: a built-in system, one described by a file, or a function of your own.

    The learner never sees the function; only the plant calls it.

    Parameters
    ----------
    source : str, path or callable, optional
        Name, file, or function f(x, u) that returns dx/dt. Without it, the keywords describe hardware: learn it with
        :class:`ocorl.Study` or ``run(plant=...)``.
    states : list of str
        Names of the states.
    inputs : mapping
        Names of the inputs with (low, high).
    x0 : array_like or mapping
        Initial state of every episode.
    horizon : float
        Duration of an episode.
    cost : Quadratic, str, callable or mapping
        Cost: :func:`quadratic`; an expression, or a function c(t, x, u) that is written as one, for the running cost; or a
        dictionary with ``running`` and ``terminal``, whose function is c(x).
    name : str, optional
        Name of the system.
    angles : list of str, optional
        States with period 2π.
    limits : mapping, optional
        (low, high) of states; an episode ends when a state leaves them.
    units : mapping, optional
        Units of states and inputs.
    stop_if : str, optional
        Condition that ends an episode.
    noise : float or mapping, optional
        Standard deviation of a measured derivative.
    safe_input, max_rate : mapping, optional
        Safe input and maximum rate of the hardware.
    period : float, optional
        Control period of the hardware.
    excitation : mapping, optional
        Control of episode 0, as expressions of t and the states.
    learning : mapping or Settings, optional
        Settings, as in the section ``[learning]`` of a file.
    equations : mapping or callable, optional
        The equations as expressions, instead of a function: dx/dt by state. They are evaluated much faster. A function
        f(x, u) that is given here is called once, with symbols, and written as expressions. It must not branch.
    parameters, definitions : mapping, optional
        Numbers and expressions that equations and cost use by name.
    prior : mapping or callable, optional
        Known physics: prior mean of dx/dt by state, as expressions, or a function f(x, u) that is written as such.
    constraints : mapping, optional
        Inequalities that every plan satisfies: lists of comparisons for ``path``, at every time, and ``end``, at the
        horizon. Functions g(t, x, u), at the end g(x), are written as expressions: g <= 0.
    jac : callable, optional
        Function jac(x, u) that returns ∂f/∂(x, u), or the pair of ∂f/∂x and ∂f/∂u; by default finite differences.
    vectorized : bool, default False
        Whether f and jac accept many points at once, one per row.

    Examples
    --------
    >>> import numpy as np, ocorl
    >>> System("pendulum")
    System('pendulum': theta, omega; torque; horizon 10)
    >>> def f(x, u):                                   # dx/dt
    ...     return np.array([x[1], 9.81 / 5.0 * np.sin(x[0]) + u[0]])
    >>> system = System(f, states=["theta", "omega"], inputs={"tau": (-5, 5)},
    ...                 x0=[np.pi, 0], horizon=10, cost=ocorl.quadratic(Q=[1, 1], R=[1]))
    >>> system.derivative([np.pi / 2, 0.0], [1.0])
    array([[0.   , 2.962]])
    """

    def __new__(
        cls,
        source: str | os.PathLike[str] | Equations | None = None,
        /,
        *,
        states: Sequence[str] | None = None,
        inputs: Mapping[str, tuple[float, float]] | None = None,
        x0: npt.ArrayLike | Mapping[str, float] | None = None,
        horizon: float | None = None,
        cost: Cost | None = None,
        name: str = "system",
        angles: Sequence[str] = (),
        limits: Mapping[str, tuple[float, float]] | None = None,
        units: Mapping[str, str] | None = None,
        stop_if: str | None = None,
        noise: float | Mapping[str, float] | None = None,
        safe_input: Mapping[str, float] | None = None,
        period: float | None = None,
        max_rate: Mapping[str, float] | None = None,
        excitation: Mapping[str, str] | None = None,
        learning: Mapping[str, object] | Settings | None = None,
        equations: Mapping[str, Any] | Equations | None = None,
        parameters: Mapping[str, float] | None = None,
        definitions: Mapping[str, Any] | None = None,
        prior: Mapping[str, Any] | Equations | None = None,
        constraints: Mapping[str, Any] | None = None,
        jac: Equations | None = None,
        vectorized: bool = False,
    ) -> Self:
        description: dict[str, Any] = {
            "states": states, "inputs": inputs, "x0": x0, "horizon": horizon, "cost": cost, "name": name, "angles": angles,
            "limits": limits, "units": units, "stop_if": stop_if, "noise": noise, "safe_input": safe_input, "period": period,
            "max_rate": max_rate, "excitation": excitation, "learning": learning, "equations": equations,
            "parameters": parameters, "definitions": definitions, "prior": prior, "constraints": constraints,
        }  # fmt: skip
        usual: dict[str, Any] = {"name": "system", "angles": ()}
        given = [key for key, value in description.items() if value is not usual.get(key)]
        if isinstance(source, (str, os.PathLike)):
            if given:
                raise UserError("a system given by name or file cannot be described again", [("given", ", ".join(given))])
            if jac is not None or vectorized:
                raise UserError("'jac' and 'vectorized' belong to a function f(x, u)")
            return super().__new__(cls, os.fspath(source))
        missing = [key for key in ("states", "inputs", "x0", "horizon", "cost") if description[key] is None]
        if missing:
            raise UserError(
                f"a system of your own needs '{missing[0]}'",
                hint='as in: System(f, states=["x"], inputs={"u": (-1, 1)}, x0=[1], horizon=5, cost=ocorl.quadratic(Q=[1], R=[1]))',
            )
        if source is None and (jac is not None or vectorized):
            raise UserError("'jac' and 'vectorized' belong to a function f(x, u)", hint="System(f, jac=jac, ...)")
        if isinstance(source, JaxFunction):
            if jac is not None:
                raise UserError("a function of ocorl.jax has its Jacobian", hint="leave jac out")
            jac, vectorized = source.jac, True
        if source is not None:
            accepts(source, "f", ("x", "u"))
            if jac is not None:
                accepts(jac, "jac", ("x", "u"))
            if equations is not None:
                raise UserError("a function and 'equations' say the same thing; one is enough")
        if isinstance(learning, Settings):
            description["learning"] = learning.nested()
        system = super().__new__(cls, text=describe(**description), file=name, function=source, jac=jac, vectorized=vectorized)
        system._compare(cost, equations)
        return system

    def _compare(self, cost: Any, equations: Any) -> None:
        """Check at some points that functions that were written as expressions have the values of these."""
        parts = cost if isinstance(cost, Mapping) else {"running": cost}
        running, terminal = (part if callable(part) and not is_expression(part) else None for part in (parts.get("running"), parts.get("terminal")))
        rng = np.random.default_rng(0)
        low, high = np.maximum(self.lower, self.safe_control - 1e3), np.minimum(self.upper, self.safe_control + 1e3)
        for _ in range(3):
            t, x = self.horizon * rng.random(), self.x0 + rng.normal(size=len(self.x0))
            u = low + (high - low) * rng.random(len(low))
            with np.errstate(all="ignore"):
                pairs: list[tuple[str, Any, Any]] = []
                if running is not None:
                    pairs.append(("cost", running(t, x.copy(), u.copy()), self.cost([t], x[None, :], u[None, :])))
                if terminal is not None:
                    pairs.append(("terminal", terminal(x.copy()), self.terminal_cost(x)))
                if callable(equations):
                    pairs.append(("equations", equations(x.copy(), u.copy()), self.derivative(x, u)))
            for what, function, written in pairs:
                ours, theirs = (np.asarray(part, dtype=float).reshape(-1) for part in (written, function))
                if not np.allclose(ours, theirs, rtol=1e-6, atol=1e-9, equal_nan=True):
                    raise UserError(
                        f"the function of '{what}' gives {theirs.tolist()}, its formula {ours.tolist()}",
                        hint="a formula depends on the arguments alone: no random numbers, no memory, no branches",
                    )

    @classmethod
    def find(cls, name: str) -> Self:
        """Return a built-in system, or the system of a file.

        Parameters
        ----------
        name : str
            Name of a system, or path of a file.

        Returns
        -------
        System
            The system.
        """
        return super().__new__(cls, name)

    @classmethod
    def parse(cls, text: str, file: str = "system.toml") -> Self:
        """Return the system that the text of a file describes.

        Parameters
        ----------
        text : str
            Text of a system file.
        file : str, default "system.toml"
            Name of the file in errors.

        Returns
        -------
        System
            The system.

        Examples
        --------
        >>> System.parse('''
        ... [system]
        ... states = ["level"]
        ... inputs = { valve = [0, 1] }
        ... x0 = [0.2]
        ... horizon = 20
        ... [equations]
        ... level = "valve - 0.5*level"
        ... [cost]
        ... state = { level = 1 }
        ... ''', "tank.toml")
        System('tank': level; valve; horizon 20)
        """
        return super().__new__(cls, text=text, file=file)

    @classmethod
    def from_function(cls, f: Equations, description: str) -> Self:
        """Return a system from a function and a description.

        Parameters
        ----------
        f : callable
            Function f(x, u) that returns dx/dt.
        description : str
            Text of a system file without ``[equations]``.

        Returns
        -------
        System
            The system.
        """
        return super().__new__(cls, text=description, file="system", function=f)

    def with_plant(self, f: Equations, *, jac: Equations | None = None, vectorized: bool = False) -> Self:
        """Return the same system with another function in place of its equations.

        Parameters
        ----------
        f : callable
            Function f(x, u) that returns dx/dt.
        jac, vectorized
            As in :class:`System`.

        Returns
        -------
        System
            The system.
        """
        accepts(f, "f", ("x", "u"))
        if self.text is None:
            return super().__new__(type(self), self.name, function=f, jac=jac, vectorized=vectorized)
        return super().__new__(
            type(self), text=self.text, file=f"{self.name}.toml", function=f, jac=jac, vectorized=vectorized
        )

    def simulate(
        self,
        controller: Callable[[float, Array], Any] | _ocorl.Plan,
        x0: npt.ArrayLike | None = None,
        horizon: float | None = None,
        dt: float = 0.02,
        period: float | None = None,
    ) -> Simulation:
        """Simulate u = controller(t, x) on the true equations.

        Parameters
        ----------
        controller : callable or Plan
            Function of time and state that returns the input. The controller of a plan has internal state: it is
            reset first. A warning follows if its run costs more than the plan says.
        x0 : array_like, optional
            Initial state; by default that of the system.
        horizon : float, optional
            Duration; by default that of the system.
        dt : float, default 0.02
            Time between two samples of the result.
        period : float, optional
            Time for which an input is held. By default the controller is evaluated continuously, and that of a plan
            once per its own period: its interval, or the time for which the plant holds an input. A discontinuous controller (a relay, a table, random numbers) must be held,
            because it cannot be integrated adaptively.

        Returns
        -------
        Simulation
            Samples, cost and outcome.

        Examples
        --------
        >>> best = _ocorl.plan(System("pendulum"), intervals=100)
        >>> round(System("pendulum").simulate(best.controller()).cost, 1)
        20.2
        """
        if isinstance(controller, _ocorl.Plan):
            controller = controller.controller()
        if not isinstance(controller, (_ocorl.Controller, type)) and callable(controller):
            accepts(controller, "controller", ("t", "x"))
        elif not isinstance(controller, _ocorl.Controller):
            raise UserError(f"'controller' cannot be a {type(controller).__name__}", hint="a function (t, x), a plan, or plan.controller()")
        for what, value in (("horizon", horizon), ("dt", dt), ("period", period)):
            real(value, what)
        planned = None
        if isinstance(controller, _ocorl.Controller):
            controller.reset()
            as_planned = x0 is None and horizon is None and period in (None, controller.period)
            planned = controller.planned_cost if as_planned and np.array_equal(controller.x0, self.x0) else None
            period = controller.period if period is None else period
        run = super().simulate(controller, x0, horizon, dt, period)
        if planned is not None and abs(run.cost - planned) > FAR * max(abs(planned), 1e-9):
            warnings.warn(
                f"this run costs {run.cost:.4g}, the plan says {planned:.4g}; was it made for another system, on an inaccurate model, or with few intervals?",
                stacklevel=2,
            )
        if period is None and not run.accurate:
            warnings.warn(
                "the error of this run was not controlled: is the controller discontinuous? hold it: simulate(..., period=0.02)",
                stacklevel=2,
            )
        return run

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (PICKLE_FORM, self.name, self.text, self.function, self.jac, self.vectorized)

    def _repr_html_(self) -> str:
        from ._html import system

        return system(self)


def _restored(
    form: int, name: str, text: str | None, function: Equations | None, jac: Equations | None = None, vectorized: bool = False
) -> System:
    """Restore a pickled system."""
    if form != PICKLE_FORM:
        raise UserError(f"the pickled system has format {form}, this version reads {PICKLE_FORM}")
    system = System.find(name) if text is None else System.parse(text, f"{name}.toml")
    return system if function is None else system.with_plant(function, jac=jac, vectorized=vectorized)


def as_system(system: str | os.PathLike[str] | _ocorl.System) -> System:
    """Convert a name, a path or a system to a system."""
    if isinstance(system, System):
        return system
    if isinstance(system, _ocorl.System):
        return _restored(PICKLE_FORM, system.name, system.text, system.function, system.jac, system.vectorized)
    if isinstance(system, (str, os.PathLike)):
        return System(system)
    raise UserError(
        f"'system' cannot be a {type(system).__name__}", hint="a name, a file, or ocorl.System(...)"
    )


def systems() -> list[str]:
    """Return the names of the built-in systems, the paper's nine first.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> systems()[:3]
    ['cancer-treatment', 'glucose-in-blood', 'pendulum']
    """
    return [name for name, _, _ in _ocorl.systems()]


def strategies() -> list[str]:
    """Return the names of the measurement strategies.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> "max-determinant" in strategies()
    True
    """
    return list(_ocorl.strategies())
