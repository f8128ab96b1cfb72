"""A Gaussian process model of the dynamics with the interface of scikit-learn."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _ocorl
from ._errors import NotFittedError, UserError
from ._arguments import array as checked
from ._arguments import whole
from ._cost import Cost
from ._describe import describe
from ._system import System

if TYPE_CHECKING:
    from typing_extensions import Self

Array = npt.NDArray[np.float64]

#: Format version of pickled models.
PICKLE_FORM = 1
#: Maximum number of points whose joint covariance is returned.
MOST_JOINT = 5_000
#: Autocorrelation of residuals that counts as none.
SMALL = 0.05
#: Names of the kernels; sums, products and parentheses combine them.
KERNELS = ("rbf", "matern-5/2", "matern-3/2", "linear", "constant", "periodic")


def _matrix(value: Any, what: str) -> Array:
    """Convert to a two-dimensional array; a plain list becomes one column."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise UserError(f"'{what}' must be an array of numbers", [("cause", str(error))]) from None
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise UserError(f"'{what}' has the shape {array.shape}, expected (n, columns)")
    return np.ascontiguousarray(array)


def _several(value: Any) -> bool:
    """Return whether the argument is a list of trajectories: arrays of rows, or lists of rows.

    Vectors of equal length are rows; otherwise each is a trajectory of one state.
    """
    if not isinstance(value, (list, tuple)) or len(value) == 0:
        return False
    if all(isinstance(part, np.ndarray) for part in value):
        vectors = all(part.ndim == 1 for part in value)
        return len({len(part) for part in value}) > 1 if vectors else all(part.ndim > 0 for part in value)
    try:
        return np.ndim(np.asarray(value[0], dtype=float)) == 2
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise UserError(f"a parameter cannot be a {type(value).__name__}")


def _rows(value: Any, what: str) -> Array:
    """Convert to a two-dimensional array; a plain list becomes one row."""
    array = _matrix(value, what)
    return array.reshape(1, -1) if np.ndim(value) == 1 else array


def _alike(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """Convert a number, one number per column, or an array of this shape to an array of this shape."""
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), shape))
    except (TypeError, ValueError):
        expected = f"a number, {shape[-1]} numbers, or an array of shape {shape}"
        raise UserError(f"'{what}' has the shape {np.shape(value)}", [("expected", expected)]) from None


class GpDynamics:
    """Gaussian process model of dx/dt = f(x, u) with the interface of scikit-learn.

    Training maximises the posterior density of the kernel's parameters (MAP): weak log-normal priors, in standardised
    units, keep parameters finite that the data do not determine.

    Parameters
    ----------
    kernel : str, default "rbf"
        ``rbf``, ``matern-5/2``, ``matern-3/2``, ``linear``, ``constant``, ``periodic``, or an expression of them with
        ``+``, ``*`` and parentheses, such as ``rbf + linear``.
    noise : float or array_like, default 0.01
        Standard deviation of a measured derivative, for all outputs or for each.
    angles : sequence of int, optional
        Columns of X that are angles.
    shared_lengthscales : bool, default False
        Whether all outputs have the same length scales.
    learn_noise : bool, default False
        Whether to learn a factor of the noise.
    confidence : {"constant", "information-gain", "calibrated"}, default "constant"
        Rule for the confidence scale β.
    beta : float, default 1
        β of the rule ``constant``.
    delta, norm : float
        Failure probability and RKHS norm bound of the rule ``information-gain``.
    level : float, default 0.95
        Nominal coverage of the rule ``calibrated``.
    restarts : int, default 2
        Number of random starts of the training, besides the fixed ones.
    max_evaluations : int, default 100
        Maximum number of likelihood evaluations per start.
    exact_limit : int, default 2000
        Number of distinct inputs beyond which the model uses inducing points.
    method : {"smoothing", "local-polynomial"}, default "smoothing"
        Method to estimate derivatives from states.
    state_noise : float or array_like, default 1e-3
        Standard deviation of a measured state, for that method.
    seed : int, default 0
        Seed of the training.

    Attributes
    ----------
    kernel_ : str
        The kernel.
    lengthscale_ : ndarray, shape (outputs, coordinates)
        Length scales in the units of the inputs; of an expression those of each kernel, in its order. An angle has two
        coordinates, its sine and its cosine.
    variance_ : ndarray or None
        Signal variance of each output, in its unit squared.
    noise_ : ndarray
        Standard deviation of a measured derivative.
    scales_ : dict
        Mean and standard deviation of each kernel coordinate (``input_mean``, ``input_std``) and of each output
        (``output_mean``, ``output_std``), with which the data were standardised.
    hyperparameters_ : dict
        All parameters of the kernel in standardised units, as they were trained.
    noise_factor_, jitter_, beta_ : ndarray
        Learned factor of the noise, jitter and confidence scale of each output.
    n_points_, n_features_in_, n_outputs_ : int
        Numbers of measurements, input coordinates and outputs.
    log_likelihood_ : list of float
        Log marginal likelihood of each output.
    notes_ : list of str
        Remarks of the training.

    Examples
    --------
    >>> import numpy as np, ocorl
    >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
    >>> U = np.cos(3 * X)
    >>> model = GpDynamics(noise=0.01).fit(X, U - np.sin(X), U=U)
    >>> mean, std = model.predict([[0.5, 1.0]], return_std=True)
    >>> bool(abs(mean[0, 0] - (1.0 - np.sin(0.5))) < 0.05), model.n_points_
    (True, 40)
    """

    def __init__(
        self,
        kernel: str = "rbf",
        noise: Any = 0.01,
        *,
        angles: Sequence[int] = (),
        shared_lengthscales: bool = False,
        learn_noise: bool = False,
        confidence: str = "constant",
        beta: float = 1.0,
        delta: float = 0.1,
        norm: float = 1.0,
        level: float = 0.95,
        restarts: int = 2,
        max_evaluations: int = 100,
        exact_limit: int = 2000,
        method: str = "smoothing",
        state_noise: Any = 1e-3,
        seed: int = 0,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.angles = angles
        self.shared_lengthscales = shared_lengthscales
        self.learn_noise = learn_noise
        self.confidence = confidence
        self.beta = beta
        self.delta = delta
        self.norm = norm
        self.level = level
        self.restarts = restarts
        self.max_evaluations = max_evaluations
        self.exact_limit = exact_limit
        self.method = method
        self.state_noise = state_noise
        self.seed = seed

    _PARAMETERS = (
        "kernel",
        "noise",
        "angles",
        "shared_lengthscales",
        "learn_noise",
        "confidence",
        "beta",
        "delta",
        "norm",
        "level",
        "restarts",
        "max_evaluations",
        "exact_limit",
        "method",
        "state_noise",
        "seed",
    )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters of the constructor.

        Parameters
        ----------
        deep : bool, default True
            For scikit-learn; no parameter is an estimator.

        Returns
        -------
        dict
            Values by name.
        """
        return {name: getattr(self, name) for name in self._PARAMETERS}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters of the constructor.

        Parameters
        ----------
        **parameters
            New values by name.

        Returns
        -------
        GpDynamics
            The same model.

        Examples
        --------
        >>> GpDynamics().set_params(kernel="matern-5/2").kernel
        'matern-5/2'
        """
        for name, value in parameters.items():
            if name not in self._PARAMETERS:
                raise UserError(f"GpDynamics has no parameter '{name}'", hint=f"there are: {', '.join(self._PARAMETERS)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = GpDynamics()
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name in self._PARAMETERS
            if repr(getattr(self, name)) != repr(getattr(usual, name))
        ]
        return f"GpDynamics({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        tags: Any = import_module("sklearn.utils")
        target = tags.TargetTags(required=True, multi_output=True, single_output=False)
        regressor, input = tags.RegressorTags(), tags.InputTags()
        return tags.Tags(estimator_type="regressor", target_tags=target, input_tags=input, regressor_tags=regressor)

    def _settings(self) -> str:
        for name in re.findall(r"[^\s+*()]+", str(self.kernel)):
            if name not in KERNELS:
                raise UserError(f"no kernel {name!r}", hint=f"there are: {', '.join(KERNELS)}")
        names = self._PARAMETERS[3:13]
        return json.dumps({"kernel": self.kernel, **{name: getattr(self, name) for name in names}}, default=_plain)

    def fit(self, X: Any, X_dot: Any = None, U: Any = None, *, t: Any = None) -> Self:
        """Fit the model to measurements.

        Each argument may be a list of trajectories of different lengths: ``fit([X1, X2], [D1, D2], U=[U1, U2])``.

        Parameters
        ----------
        X : array_like, shape (n, states)
            States.
        X_dot : array_like, shape (n, states), optional
            Derivatives. Without them they are estimated from the states and ``t``; the standard deviation of the
            estimate becomes the noise. It grows by the correlation of neighbouring estimates, which two further fits
            find in the residuals.
        U : array_like, shape (n, inputs), optional
            Inputs.
        t : array_like, shape (n,), optional
            Times of the states; needed without ``X_dot``.

        Returns
        -------
        GpDynamics
            The fitted model.
        """
        several = _several(X)
        runs = list(X) if several else [X]
        count = len(runs)

        def parts_of(value: Any) -> list[Any]:
            return [None] * count if value is None else list(value) if several else [value]

        dots, inputs, times = parts_of(X_dot), parts_of(U), parts_of(t)
        for what, parts in (("X_dot", dots), ("U", inputs), ("t", times)):
            if len(parts) != count:
                raise UserError(f"'X' has {count} trajectories, '{what}' has {len(parts)}")
        if X_dot is None and t is None:
            raise UserError("without X_dot the times are needed", hint="fit(X, X_dot), or fit(X, t=t)")
        xs, us, ds, ns = [], [], [], []
        for i in range(count):
            x = _matrix(runs[i], "X")
            u = np.zeros((len(x), 0)) if inputs[i] is None else _matrix(inputs[i], "U")
            if len(u) != len(x):
                raise UserError(f"'X' has {len(x)} rows, 'U' has {len(u)}")
            if dots[i] is None:
                noise = _alike(self.state_noise, (x.shape[1],), "state_noise")
                x, u, d, n = _ocorl.Model.derivatives(np.asarray(times[i], dtype=float), x, u, noise, self.method)
            else:
                d = _matrix(dots[i], "X_dot")
                if d.shape != x.shape:
                    raise UserError(f"'X_dot' has the shape {d.shape}, expected {x.shape} as 'X'")
                n = _alike(self.noise, d.shape, "noise")
            xs.append(x)
            us.append(u)
            ds.append(d)
            ns.append(n)
        widths = {(x.shape[1], u.shape[1]) for x, u in zip(xs, us)}
        if len(widths) > 1:
            raise UserError(f"trajectories have different columns: {sorted(widths)}")
        self._learn(*(np.concatenate(parts) for parts in (xs, us, ds, ns)))
        if X_dot is None:
            for _ in range(2):
                growth = self._correlation(xs, us, ds, ns)
                self._learn(np.concatenate(xs), np.concatenate(us), np.concatenate(ds), np.concatenate(ns) * growth)
        return self

    def _correlation(self, xs: list[Array], us: list[Array], ds: list[Array], ns: list[Array]) -> Array:
        """Return the factor by which the noise of derivatives that were estimated from states grows, for each output.

        Neighbouring estimates share measurements, so their errors are alike: n of them tell as much as n/τ independent
        ones, with the integrated autocorrelation time τ = 1 + 2 Σ ρ_k of the residuals. With v, the mean square of the
        residuals in units of their noise, the factor is sqrt(max(1, v) τ).
        """
        squares, times = [], []
        for x, u, d, n in zip(xs, us, ds, ns):
            residual = (d - self.predict(x, u)) / n
            power = (residual**2).mean(axis=0)
            time = np.ones(d.shape[1])
            for j in range(d.shape[1]):
                for k in range(1, len(residual) // 3):
                    correlation = float((residual[k:, j] * residual[:-k, j]).mean()) / max(power[j], 1e-300)
                    if correlation < SMALL:
                        break
                    time[j] += 2.0 * correlation
            squares.append(power)
            times.append(time)
        factor: Array = np.sqrt(np.maximum(np.mean(squares, axis=0), 1.0) * np.mean(times, axis=0))
        return factor

    def _learn(self, x: Array, u: Array, dots: Array, noise: Array) -> None:
        """Fit the model to rows."""
        whole(self.seed, "seed")
        if np.ndim(self.angles) != 1 or not all(isinstance(i, (int, np.integer)) for i in self.angles):
            raise UserError(f"'angles' must be a list of columns of X, not {self.angles!r}")
        self._adopt(_ocorl.Model(x, u, dots, noise, list(self.angles), self._settings(), self.seed), x, u, dots, noise)

    def _adopt(self, model: _ocorl.Model, x: Array, u: Array, dots: Array, noise: Array) -> None:
        """Set the fitted attributes by the naming convention of scikit-learn."""
        self._model = model
        self._data = (x, u, dots, noise)
        learned = model.learned
        input_mean, input_std, output_mean, output_std = model.scales
        self.scales_ = {"input_mean": input_mean, "input_std": input_std, "output_mean": output_mean, "output_std": output_std}
        self.hyperparameters_ = {name: value for name, value in learned.items() if isinstance(value, np.ndarray)}
        self.n_points_ = len(x)
        self.n_outputs_ = x.shape[1]
        self.n_inputs_ = u.shape[1]
        self.n_features_in_ = x.shape[1] + u.shape[1]
        self.kernel_ = self.kernel
        lengths = learned.get("lengthscale", np.zeros((self.n_outputs_, 0)))
        several = lengths.shape[1] // len(input_std) if len(input_std) else 0
        self.lengthscale_: Array = lengths * np.tile(input_std, several)
        variance = learned.get("variance", learned.get("signal variance"))
        self.variance_: Array | None = None if variance is None else variance * (output_std**2)[:, None]
        self.noise_: Array = np.sqrt(np.mean(noise**2, axis=0)) * learned["noise_factor"]
        self.noise_factor_: Array = learned["noise_factor"]
        self.jitter_: Array = model.jitter
        self.beta_: Array = model.confidence_scale
        self.log_likelihood_ = list(learned["log_likelihood"])
        self.notes_ = model.notes

    @classmethod
    def learned(cls, found: Mapping[str, Any]) -> Self:
        """Return the model that a run or a study has learned.

        Parameters
        ----------
        found : mapping
            Description by the compiled part.

        Returns
        -------
        GpDynamics
            The model.
        """
        settings = found["settings"]
        names = ("kernel", *cls._PARAMETERS[3:13])
        model = cls(**{name: settings[name] for name in names}, noise=found["noise"][0], angles=found["angles"])
        model._adopt(found["model"], found["x"], found["u"], found["x_dot"], found["noise"])
        return model

    def partial_fit(self, X: Any, X_dot: Any, U: Any = None) -> Self:
        """Add measurements without training the parameters again.

        Parameters
        ----------
        X, X_dot, U : array_like
            Further measurements, as in :meth:`fit`.

        Returns
        -------
        GpDynamics
            The same model, conditioned on all measurements; the first call trains it.

        Examples
        --------
        >>> X = np.linspace(0, 3, 20).reshape(-1, 1)
        >>> model = GpDynamics().partial_fit(X[::2], np.sin(X[::2])).partial_fit(X[1::2], np.sin(X[1::2]))
        >>> model.n_points_
        20
        """
        if getattr(self, "_model", None) is None:
            return self.fit(X, X_dot, U)
        x, dots = _matrix(X, "X"), _matrix(X_dot, "X_dot")
        u = np.zeros((len(x), 0)) if U is None else _matrix(U, "U")
        if (x.shape[1], u.shape[1]) != (self.n_outputs_, self.n_inputs_) or dots.shape != x.shape or len(u) != len(x):
            shapes = f"X {x.shape}, X_dot {dots.shape}, U {u.shape}"
            raise UserError("the measurements do not fit the model", [("found", shapes)], f"{self.n_outputs_} states, {self.n_inputs_} inputs")
        noise = _alike(self.noise, dots.shape, "noise")
        model = self._model.updated(x, u, dots, noise)
        self._adopt(model, *(np.concatenate(pair) for pair in zip(self._data, (x, u, dots, noise))))
        return self

    def __getattr__(self, name: str) -> Any:
        # Attributes that fitting makes end with an underscore.
        if name.endswith("_") and not name.startswith("_"):
            if "_model" not in self.__dict__:
                raise NotFittedError(f"the model is not fitted yet, so it has no '{name}'", hint="model.fit(X, X_dot, U=U)")
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")

    def fitted(self) -> _ocorl.Model:
        """Return the compiled model.

        Returns
        -------
        Model
            The model; it must be fitted.
        """
        model: _ocorl.Model | None = getattr(self, "_model", None)
        if model is None:
            raise NotFittedError("the model is not fitted yet", hint="model.fit(X, X_dot, U=U)")
        return model

    def _points(self, Z: Any, U: Any) -> Array:
        z = _rows(Z, "Z")
        if U is not None:
            u = np.asarray(U, dtype=float) if np.ndim(U) == 1 else _rows(U, "U")
            u = u.reshape(-1, max(self.n_inputs_, 1)) if u.ndim == 1 else u
            if len(u) != len(z):
                raise UserError(f"'Z' has {len(z)} rows, 'U' has {len(u)}")
            z = np.hstack([z, u])
        return np.ascontiguousarray(z)

    def predict(self, Z: Any, U: Any = None, *, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict dx/dt.

        Parameters
        ----------
        Z : array_like, shape (n, states + inputs)
            Points (x, u); or states alone, if ``U`` is given.
        U : array_like, shape (n, inputs), optional
            Inputs.
        return_std : bool, default False
            Whether to return standard deviations too.
        return_cov : bool, default False
            Whether to return covariances too.

        Returns
        -------
        mean : ndarray, shape (n, outputs)
            Posterior mean.
        std : ndarray, shape (n, outputs)
            Posterior standard deviation, with ``return_std``.
        cov : ndarray, shape (outputs, n, n)
            Posterior covariance, with ``return_cov``.
        """
        model = self.fitted()
        if return_std and return_cov:
            raise UserError("'return_std' and 'return_cov' contradict each other", hint="the variances are on the diagonals")
        z = self._points(Z, U)
        if return_cov:
            if len(z) > MOST_JOINT:
                raise UserError(f"covariances of {len(z)} points would fill the memory; at most {MOST_JOINT} at a time")
            return model.predict(z)[0], model.covariance(z)
        mean, std = model.predict(z, return_std)
        return (mean, std) if return_std else mean

    def jacobian(self, Z: Any, U: Any = None) -> Array:
        """Return the Jacobian of the mean.

        Parameters
        ----------
        Z, U : array_like
            Points, as in :meth:`predict`.

        Returns
        -------
        ndarray, shape (n, outputs, states + inputs)
            The Jacobian at each point.
        """
        return self.fitted().jacobian(self._points(Z, U))[1]

    def draw(self, seed: int = 0) -> _ocorl.Draw:
        """Draw a function from the posterior.

        Parameters
        ----------
        seed : int, default 0
            Seed of the draw.

        Returns
        -------
        Draw
            Function of rows (x, u); it is consistent between calls.
        """
        return self.fitted().draw(seed)

    def plot(self, output: int = 0, coordinate: int = 0, *, at: Any = None, ax: Any = None) -> Any:
        """Draw a slice of the model: mean and a band of two standard deviations over one coordinate, with the data.

        Parameters
        ----------
        output : int, default 0
            Index of the derivative.
        coordinate : int, default 0
            Index of the coordinate of (x, u) on the horizontal axis.
        at : array_like, shape (states + inputs,), optional
            Point through which the slice goes; by default the mean of the data.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into.

        Returns
        -------
        Figure or Axes
            The figure; the axes, if they are given.
        """
        from ._draw import model

        return model(self, output, coordinate, at, ax)

    def score(self, X: Any, X_dot: Any, U: Any = None) -> float:
        """Return R² of the mean, averaged over the outputs.

        Parameters
        ----------
        X, X_dot, U : array_like
            Test data, as in :meth:`fit`.

        Returns
        -------
        float
            The score.
        """
        truth = _matrix(X_dot, "X_dot")
        mean = self.predict(_matrix(X, "X"), None if U is None else _matrix(U, "U"))
        if truth.shape != mean.shape:
            raise UserError(f"'X_dot' has the shape {truth.shape}, expected {mean.shape}")
        spread = np.sum((truth - truth.mean(axis=0)) ** 2, axis=0)
        left = np.sum((truth - mean) ** 2, axis=0)
        return float(np.mean(1.0 - left / np.where(spread > 0, spread, 1.0)))

    def task(self, cost: Cost | None, x0: Any, horizon: float | None, limits: Any) -> System:
        """Build a task for the planner, with states x0, x1, ... and inputs u0, u1, ...

        Parameters
        ----------
        cost, x0, horizon, limits
            As in :func:`ocorl.plan`.

        Returns
        -------
        System
            The task.
        """
        self.fitted()
        for what, value in (("cost", cost), ("x0", x0), ("horizon", horizon)):
            if value is None:
                raise UserError(f"to plan on a model, '{what}' is needed")
        if not self.n_inputs_:
            raise UserError("the model has no inputs, so nothing can be planned")
        ends = _alike((-np.inf, np.inf) if limits is None else limits, (self.n_inputs_, 2), "limits")
        states = [f"x{i}" for i in range(self.n_outputs_)]
        description = {
            "states": states,
            "inputs": {f"u{j}": (float(low), float(high)) for j, (low, high) in enumerate(ends)},
            "x0": x0,
            "horizon": horizon,
            "cost": cost,
            "name": "model",
            "angles": [states[i] for i in self.angles],
        }
        # Limits may be infinite here, because no hardware is driven by this system.
        zeros = "".join(f"{state} = 0\n" for state in states)
        return System.parse(describe(**description) + "\n[equations]\n" + zeros, "model")

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        compiled: _ocorl.Model | None = getattr(self, "_model", None)
        state = None if compiled is None else compiled.state
        return _restored, (PICKLE_FORM, type(self), self.get_params(), getattr(self, "_data", None), state)


def _restored(form: int, kind: type[GpDynamics], parameters: dict[str, Any], data: Any, state: str | None = None) -> GpDynamics:
    """Restore a pickled model from its data and its trained parameters; without these it is trained again."""
    if form != PICKLE_FORM:
        raise UserError(f"the pickled model has format {form}, this version reads {PICKLE_FORM}")
    model = kind(**parameters)
    if data is not None and state is None:
        model._learn(*data)
    elif data is not None and state is not None:
        x, u, dots, noise = data
        model._adopt(_ocorl.Model.restored(x, u, dots, noise, list(model.angles), model._settings(), state), x, u, dots, noise)
    return model


def choose_times(
    strategy: str, model: GpDynamics | _ocorl.Model, t: Any, z: Any, count: int, noise: Any = None
) -> npt.NDArray[np.intp]:
    """Select which of the candidates (t, z) to measure.

    Parameters
    ----------
    strategy : {"max-determinant", "max-kernel-distance", "oracle", "equidistant"}
        Measurement strategy.
    model : GpDynamics
        Fitted model.
    t : array_like, shape (n,)
        Candidate times.
    z : array_like, shape (n, states + inputs)
        Predicted points (x, u) at these times.
    count : int
        Number of measurements.
    noise : float or array_like, optional
        Standard deviation of a measurement; by default that of the model.

    Returns
    -------
    ndarray of int
        Indices of the selected candidates, best first.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 8).reshape(-1, 1)
    >>> model = GpDynamics().fit(X, np.sin(3 * X))
    >>> t = np.linspace(0, 2, 21)
    >>> int(choose_times("max-determinant", model, t, t.reshape(-1, 1), 3)[0])
    20
    """
    if isinstance(model, GpDynamics):
        compiled = model.fitted()
        noise = model.noise_ if noise is None else _alike(noise, (model.n_outputs_,), "noise")
    elif isinstance(model, _ocorl.Model):
        compiled = model
    else:
        raise UserError(f"'model' cannot be a {type(model).__name__}", hint="fit one: ocorl.GpDynamics().fit(X, X_dot, U=U)")
    if noise is None:
        raise UserError("'noise' is needed with a compiled model")
    rows, times = checked(z, "z"), checked(t, "t")
    whole(count, "count")
    if not np.isfinite(times).all():
        raise UserError("'t' has entries that are not finite")
    return np.asarray(_ocorl.choose_times(strategy, compiled, times, rows, count, np.asarray(noise, dtype=float)), dtype=np.intp)
