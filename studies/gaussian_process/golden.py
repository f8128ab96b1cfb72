"""Independent reference numbers for exact Gaussian-process regression.

Eleven cases (kernel, angle coordinates, noise) on one small data set: 60 noisy derivatives of
the cart pole, 12 test inputs, four outputs treated independently. For every case and output:
log marginal likelihood and its gradient, posterior mean and standard deviation with their
Jacobians in the inputs, and the leave-one-out predictions. The README says what each is.

Three computations that share only the data and the parameters:

* GPyTorch kernels in double precision, factorised by `torch.linalg.cholesky` without jitter,
  differentiated by autograd; leave-one-out by brute force. These are the numbers written.
* scikit-learn: likelihood, gradient, mean, standard deviation, covariance.
* mpmath with 40 digits from the kernel formulas: everything. Derivatives are central
  differences (exact to more than 20 digits here); leave-one-out is the closed form.

A disagreement stops the script. Usage, from the root of the repository (seven minutes, one core):

    pip install -r studies/gaussian_process/requirements.txt
    python studies/gaussian_process/golden.py           # writes tests/golden/gaussian_process.toml
    python studies/gaussian_process/golden.py rbf       # named cases only, writes nothing
"""

import math
import sys
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import gpytorch
import mpmath
import numpy as np
import sklearn
import torch
from gpytorch.constraints import Positive
from mpmath import mp, mpf
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

DATE = "2026-11-16"
TRAIN, TEST_FROM, TESTS, INPUTS, OUTPUTS = 60, 2000, 12, 5, 4
LOG_NOISE_FACTOR = [0.0, 0.3, -0.4, 0.7]
TOLERANCE = 1e-10  # of the largest magnitude of an array; what a test may ask for
EXACT = 1e-11  # GPyTorch against 40 digits
PEER = 1e-10  # GPyTorch against scikit-learn
DIFFERENCES = 1e-6  # autograd Jacobians against central differences in double precision
GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "gaussian_process.toml"

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
mp.dps = 40
worst = defaultdict(float)  # largest disagreement per check


# --- Data ---------------------------------------------------------------------------------

def split_mix(state):
    """Uniform numbers on [0, 1) of the SplitMix64 generator: the upper 53 bits over 2^53."""
    mask = 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        bits = state
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = ((bits ^ (bits >> shift)) * factor) & mask
        yield ((bits ^ (bits >> 31)) >> 11) / 2**53


def cart_pole(theta, omega, _x, speed, force, length=0.5, cart=1.0, pole=0.5, g=0.2):
    s, c = math.sin(theta), math.cos(theta)
    d = cart + pole * s * s
    turn = -pole * length * s * c * omega**2 + (cart + pole) * g * s + c * force
    push = -pole * length * s * omega**2 + pole * g * s * c + force
    return [omega, turn / (d * length), speed, push / d]


def rows(count, seed=42, bounds=(math.pi, 3.0, 2.0, 3.0, 4.0), noise=0.01):
    """Inputs uniform in the box +-bounds; targets with Box-Muller noise (cosine branch)."""
    uniform = split_mix(seed)
    inputs, targets = [], []
    for _ in range(count):
        inputs.append([(2 * next(uniform) - 1) * b for b in bounds])
        clean = cart_pole(*inputs[-1])
        pairs = [(next(uniform), next(uniform)) for _ in clean]
        targets.append([y + noise * math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b)
                        for y, (a, b) in zip(clean, pairs)])
    return np.array(inputs), np.array(targets)


X, Y = rows(TEST_FROM + TESTS)
X_TEST, FIRST_ROW, TEST_ROW = X[TEST_FROM:], [*X[0], *Y[0]], [*X[TEST_FROM], *Y[TEST_FROM]]
X, Y = X[:TRAIN], Y[:TRAIN]


# --- Kernels: parameter values, then GPyTorch, scikit-learn and mpmath forms ----------------
#
# Every node has
#   values(dim, j)      natural parameter values for output j
#   torch(dim)          kernel, [(raw parameter, slope, offset)] with raw = slope log(p) + offset
#   sklearn(values)     kernel, [(position in theta, slope)] per parameter
#   exact(p, a, b)      value from natural parameters p (mpf) and coordinates a, b (mpf)

def log_space():
    """A constraint with which the raw parameter is the natural logarithm of the value."""
    return Positive(transform=torch.exp, inv_transform=torch.log)


class Leaf:
    """`lengths`: value of the first, step per coordinate, step per output."""

    lengths = (1.2, 0.3, 0.1)

    def __init__(self):
        self.text = type(self).__name__.lower()

    def size(self, dim):
        return dim

    def values(self, dim, j):
        first, per_dim, per_output = self.lengths
        return [first + per_dim * d + per_output * j for d in range(dim)]


class Rbf(Leaf):
    def torch(self, dim):
        k = gpytorch.kernels.RBFKernel(ard_num_dims=dim, lengthscale_constraint=log_space())
        return k, [(k.raw_lengthscale, 1.0, 0.0)]

    def sklearn(self, values):
        return sk.RBF(values), [(i, 1.0) for i in range(len(values))]

    def exact(self, p, a, b):
        return mp.exp(-sum(((x - y) / l) ** 2 for x, y, l in zip(a, b, p)) / 2)


class Reference(Leaf):
    """No 1/2 in the exponent: an RBF with lengths divided by the root of two."""

    def torch(self, dim):
        k, [(raw, slope, _)] = Rbf().torch(dim)
        return k, [(raw, slope, -0.5 * math.log(2))]

    def sklearn(self, values):
        return Rbf().sklearn(np.array(values) / math.sqrt(2))

    def exact(self, p, a, b):
        return mp.exp(-sum(((x - y) / l) ** 2 for x, y, l in zip(a, b, p)))


class Matern32(Leaf):
    nu = 1.5

    def torch(self, dim):
        k = gpytorch.kernels.MaternKernel(nu=self.nu, ard_num_dims=dim,
                                          lengthscale_constraint=log_space())
        return k, [(k.raw_lengthscale, 1.0, 0.0)]

    def sklearn(self, values):
        return sk.Matern(values, nu=self.nu), [(i, 1.0) for i in range(len(values))]

    def exact(self, p, a, b):
        r = mp.sqrt(3 * sum(((x - y) / l) ** 2 for x, y, l in zip(a, b, p)))
        return (1 + r) * mp.exp(-r)


class Matern52(Matern32):
    nu = 2.5

    def exact(self, p, a, b):
        r = mp.sqrt(5 * sum(((x - y) / l) ** 2 for x, y, l in zip(a, b, p)))
        return (1 + r + r * r / 3) * mp.exp(-r)


class Linear(Leaf):
    """GPyTorch and scikit-learn multiply by a variance, 1 / l^2."""

    lengths = (2.0, 0.3, 0.2)

    def torch(self, dim):
        k = gpytorch.kernels.LinearKernel(ard_num_dims=dim, variance_constraint=log_space())
        return k, [(k.raw_variance, -2.0, 0.0)]

    def sklearn(self, values):
        terms = [sk.ConstantKernel(1 / l**2) * ColumnDot(d) for d, l in enumerate(values)]
        return sum(terms[1:], terms[0]), [(i, -2.0) for i in range(len(values))]

    def exact(self, p, a, b):
        return sum(x * y / l**2 for x, y, l in zip(a, b, p))


class Constant(Leaf):
    def size(self, dim):
        return 1

    def values(self, dim, j):
        return [0.5 + 0.25 * j]

    def torch(self, dim):
        k = gpytorch.kernels.ConstantKernel(constant_constraint=log_space())
        return k, [(k.raw_constant, 1.0, 0.0)]

    def sklearn(self, values):
        return sk.ConstantKernel(values[0]), [(0, 1.0)]

    def exact(self, p, a, b):
        return p[0]


class Periodic(Leaf):
    """GPyTorch divides by its length, not by the square: that length is l^2 here."""

    lengths = (1.0, 0.2, 0.1)

    def size(self, dim):
        return 2 * dim

    def values(self, dim, j):
        return super().values(dim, j) + [3.0 + 0.5 * d + 0.25 * j for d in range(dim)]

    def torch(self, dim):
        k = gpytorch.kernels.PeriodicKernel(ard_num_dims=dim, lengthscale_constraint=log_space(),
                                            period_length_constraint=log_space())
        return k, [(k.raw_lengthscale, 2.0, 0.0), (k.raw_period_length, 1.0, 0.0)]

    def sklearn(self, values):
        dim = len(values) // 2
        factors = [ColumnSine(d, values[d], values[dim + d]) for d in range(dim)]
        return math.prod(factors[1:], start=factors[0]), (
            [(2 * d, 1.0) for d in range(dim)] + [(2 * d + 1, 1.0) for d in range(dim)])

    def exact(self, p, a, b):
        return mp.exp(-2 * sum((mp.sin(mp.pi * (x - y) / period) / l) ** 2
                               for x, y, l, period in zip(a, b, p, p[len(a):])))


class Scale:
    def __init__(self, inner):
        self.inner, self.text = inner, f"scale({inner.text})"

    def size(self, dim):
        return 1 + self.inner.size(dim)

    def values(self, dim, j):
        return [1.0 + 0.5 * j] + self.inner.values(dim, j)

    def torch(self, dim):
        inner, raw = self.inner.torch(dim)
        k = gpytorch.kernels.ScaleKernel(inner, outputscale_constraint=log_space())
        return k, [(k.raw_outputscale, 1.0, 0.0)] + raw

    def sklearn(self, values):
        inner, places = self.inner.sklearn(values[1:])
        return sk.ConstantKernel(values[0]) * inner, [(0, 1.0)] + [(i + 1, s) for i, s in places]

    def exact(self, p, a, b):
        return p[0] * self.inner.exact(p[1:], a, b)


class Sum:
    name, join = "sum", staticmethod(lambda a, b: a + b)

    def __init__(self, a, b):
        self.a, self.b, self.text = a, b, f"{self.name}({a.text}, {b.text})"

    def size(self, dim):
        return self.a.size(dim) + self.b.size(dim)

    def values(self, dim, j):
        return self.a.values(dim, j) + self.b.values(dim, j)

    def torch(self, dim):
        (a, raw_a), (b, raw_b) = self.a.torch(dim), self.b.torch(dim)
        return self.join(a, b), raw_a + raw_b

    def sklearn(self, values):
        dim = next(d for d in range(1, len(values) + 1) if self.size(d) == len(values))
        cut = self.a.size(dim)
        (a, places_a), (b, places_b) = self.a.sklearn(values[:cut]), self.b.sklearn(values[cut:])
        return self.join(a, b), places_a + [(i + cut, s) for i, s in places_b]

    def exact(self, p, a, b):
        cut = self.a.size(len(a))
        return self.join(self.a.exact(p[:cut], a, b), self.b.exact(p[cut:], a, b))


class Product(Sum):
    name, join = "product", staticmethod(lambda a, b: a * b)


class Column:
    """A scikit-learn kernel on one coordinate: these have no lengths or periods per coordinate."""

    def __call__(self, X, Y=None, eval_gradient=False):
        pick = lambda Z: None if Z is None else Z[:, [self.column]]
        return super().__call__(pick(X), pick(Y), eval_gradient)

    def diag(self, X):
        return super().diag(X[:, [self.column]])


class ColumnDot(Column, sk.DotProduct):
    def __init__(self, column=0, sigma_0=0.0, sigma_0_bounds="fixed"):
        super().__init__(sigma_0, sigma_0_bounds)
        self.column = column


class ColumnSine(Column, sk.ExpSineSquared):
    def __init__(self, column=0, length_scale=1.0, periodicity=1.0,
                 length_scale_bounds=(1e-5, 1e5), periodicity_bounds=(1e-5, 1e5)):
        super().__init__(length_scale, periodicity, length_scale_bounds, periodicity_bounds)
        self.column = column


# --- Cases ----------------------------------------------------------------------------------

@dataclass
class Case:
    name: str
    kernel: object
    angles: tuple = ()
    noise: str = "constant 0.05"

    def __post_init__(self):
        self.dim = INPUTS + len(self.angles)
        self.log_parameters = [np.log(self.kernel.values(self.dim, j)) for j in range(OUTPUTS)]
        self.log_factor = [0.0] * OUTPUTS if self.noise == "reference" else LOG_NOISE_FACTOR

    def noise_std(self, i):
        """Physical, of training row i, the same for all outputs."""
        return 0.02 * (1 + i % 5) if self.noise == "heteroscedastic" else 0.05

    def noise_variance(self, i, scale, factor):
        """In standardised units; `scale` is the standard deviation of the targets."""
        ratio = self.noise_std(i) / scale
        return factor * (ratio if self.noise == "reference" else ratio**2)

    def embed(self, columns, sin, cos):
        parts = []
        for d, column in enumerate(columns):
            parts += [sin(column), cos(column)] if d in self.angles else [column]
        return parts


CASES = [
    Case("rbf", Scale(Rbf())),
    Case("rbf_angles", Scale(Rbf()), angles=(0,)),
    Case("matern32", Scale(Matern32())),
    Case("matern52", Scale(Matern52()), angles=(0,)),
    Case("linear", Sum(Scale(Rbf()), Linear())),
    Case("constant", Sum(Scale(Rbf()), Constant())),
    Case("periodic", Scale(Periodic())),
    Case("product", Scale(Product(Rbf(), Periodic()))),
    Case("sum_of_products", Sum(Product(Scale(Matern52()), Linear()), Scale(Rbf()))),
    Case("heteroscedastic", Scale(Rbf()), noise="heteroscedastic"),
    Case("reference", Reference(), noise="reference"),
]


def standardised(case):
    """Functions of physical inputs and the standardised data, in double precision."""
    embed = lambda x: torch.stack(case.embed(x.unbind(-1), torch.sin, torch.cos), -1)
    points = embed(torch.tensor(X))
    middle, spread = points.mean(0), points.std(0, correction=0)
    y = torch.tensor(Y)
    y_middle, y_spread = y.mean(0), y.std(0, correction=0)
    z = lambda x: (embed(x) - middle) / spread
    return z, (y - y_middle) / y_spread, y_middle, y_spread


# --- GPyTorch -------------------------------------------------------------------------------

def by_gpytorch(case, j):
    z, targets, y_middle, y_spread = standardised(case)
    y, m, s, points = targets[:, j], y_middle[j], y_spread[j], z(torch.tensor(X))
    kernel, raws = case.kernel.torch(case.dim)
    logs = torch.tensor(case.log_parameters[j]).split([raw.numel() for raw, _, _ in raws])
    with torch.no_grad():
        for (raw, slope, offset), log in zip(raws, logs):
            raw.copy_((slope * log + offset).reshape(raw.shape))
    log_factor = torch.tensor(case.log_factor[j], requires_grad=True)
    noise = torch.stack([case.noise_variance(i, s, log_factor.exp()) for i in range(TRAIN)])
    a = kernel(points).to_dense() + torch.diag(noise)
    solve = lambda factor, b: torch.linalg.solve_triangular(factor, b, upper=False)

    factor = torch.linalg.cholesky(a)
    half = solve(factor, y[:, None])[:, 0]
    likelihood = -half @ half / 2 - factor.diagonal().log().sum() - TRAIN / 2 * math.log(2 * math.pi)
    grads = torch.autograd.grad(likelihood, [raw for raw, _, _ in raws] + [log_factor])
    gradient = torch.cat([slope * g.reshape(-1) for (_, slope, _), g in zip(raws, grads)]
                         + [grads[-1][None]])
    a, factor, half, noise = (t.detach() for t in (a, factor, half, noise))

    def predict(x):
        cross = solve(factor, kernel(points, z(x)).to_dense())
        prior = kernel(z(x)).to_dense()
        return m + s * (half @ cross), s * s * (prior - cross.T @ cross)

    x = torch.tensor(X_TEST, requires_grad=True)
    mean, covariance = predict(x)
    std = covariance.diagonal().sqrt()
    jacobians = [torch.autograd.grad(out.sum(), x, retain_graph=True)[0] for out in (mean, std)]

    with torch.no_grad():
        # Autograd against central differences in double precision.
        for name, jacobian in zip(("mean", "std"), jacobians):
            for d in range(INPUTS):
                step = 1e-5 * torch.eye(INPUTS)[d]
                side = [predict(torch.tensor(X_TEST) + sign * step) for sign in (1, -1)]
                side = [out[0] if name == "mean" else out[1].diagonal().sqrt() for out in side]
                agree(f"central differences, {name}_jacobian", jacobian[:, d], (side[0] - side[1]) / 2e-5,
                      DIFFERENCES, scale=jacobian.abs().max())
        # Leave-one-out by brute force: without row and column i, all else unchanged.
        loo_mean, loo_std = [], []
        for i in range(TRAIN):
            keep = [k for k in range(TRAIN) if k != i]
            part = torch.linalg.cholesky(a[keep][:, keep])
            cross = solve(part, (a[keep, i])[:, None])[:, 0]
            loo_mean.append(m + s * (cross @ solve(part, y[keep, None])[:, 0]))
            # a[i, i] is the prior variance plus the noise of the point.
            loo_std.append(s * (a[i, i] - cross @ cross).sqrt())
        # GPyTorch's own model and likelihood classes give the same.
        own = exact_gp(kernel, points, y, noise, z(x))
        agree("GPyTorch ExactGP, log_likelihood", likelihood, own[0], PEER)
        agree("GPyTorch ExactGP, mean", mean, m + s * own[1], PEER)
        agree("GPyTorch ExactGP, std", std, s * own[2].sqrt(), PEER)

    numpy = lambda t: t.detach().numpy()
    return {
        "log_likelihood": numpy(likelihood), "gradient": numpy(gradient),
        "mean": numpy(mean), "std": numpy(std),
        "mean_jacobian": numpy(jacobians[0]), "std_jacobian": numpy(jacobians[1]),
        "loo_mean": np.array(loo_mean), "loo_std": np.array(loo_std),
        "covariance": numpy(covariance),
    }


def exact_gp(kernel, points, y, noise, tests):
    """Likelihood, mean and variance by GPyTorch's model classes, exact Cholesky throughout."""

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(points, y, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(noise)
    model = Model(likelihood)
    settings = gpytorch.settings
    with settings.fast_computations(False, False, False), settings.max_cholesky_size(10**6):
        value = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(points), y) * TRAIN
        model.eval()
        posterior = model(tests)
        return value, posterior.mean, posterior.covariance_matrix.diagonal()


# --- scikit-learn ---------------------------------------------------------------------------

def by_sklearn(case, j):
    z, targets, y_middle, y_spread = standardised(case)
    y, m, s = targets[:, j].numpy(), y_middle[j].item(), y_spread[j].item()
    points = z(torch.tensor(X)).numpy()
    kernel, places = case.kernel.sklearn(np.exp(case.log_parameters[j]))
    noise = np.array([case.noise_variance(i, s, math.exp(case.log_factor[j])) for i in range(TRAIN)])
    fit = lambda kernel, alpha: GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(points, y)
    model = fit(kernel, noise)
    likelihood, slopes = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    gradient = [slope * slopes[i] for i, slope in places]
    assert len(slopes) == len(places)
    if case.noise != "heteroscedastic":  # scikit-learn has no factor of a noise per point
        white = fit(kernel + sk.WhiteKernel(noise[0]), 0.0)
        gradient.append(white.log_marginal_likelihood(white.kernel_.theta, eval_gradient=True)[1][-1])
    tests = z(torch.tensor(X_TEST)).numpy()
    mean, std = model.predict(tests, return_std=True)
    covariance = model.predict(tests, return_cov=True)[1]
    return {"log_likelihood": likelihood, "gradient": np.array(gradient), "mean": m + s * mean, "std": s * std,
            "covariance": s * s * covariance}


# --- mpmath ---------------------------------------------------------------------------------

def by_mpmath(case, j, step=mpf(10) ** -12):
    exact = np.frompyfunc(mpf, 1, 1)
    embed = lambda x: np.array(case.embed(list(x), mp.sin, mp.cos), dtype=object)
    average = lambda rows: sum(rows) / len(rows)
    spread = lambda rows, middle: np.frompyfunc(mp.sqrt, 1, 1)(average([(r - middle) ** 2 for r in rows]))
    points = [embed(exact(x)) for x in X]
    middle = average(points)
    width = spread(points, middle)
    points = [(p - middle) / width for p in points]
    y = exact(Y[:, j])
    m = average(y)
    s = spread(y, m)
    y = (y - m) / s
    logs = [*exact(case.log_parameters[j]), mpf(case.log_factor[j])]

    def natural(logs):
        return [mp.exp(v) for v in logs[:-1]], mp.exp(logs[-1])

    def cholesky(logs):
        p, noise_factor = natural(logs)
        low = np.full((TRAIN, TRAIN), mpf(0), dtype=object)
        for i in range(TRAIN):
            for k in range(i + 1):
                low[i, k] = case.kernel.exact(p, points[i], points[k])
            low[i, i] += case.noise_variance(i, s, noise_factor)
        for k in range(TRAIN):
            low[k, k] = mp.sqrt(low[k, k] - low[k, :k] @ low[k, :k])
            for i in range(k + 1, TRAIN):
                low[i, k] = (low[i, k] - low[i, :k] @ low[k, :k]) / low[k, k]
        return low

    def forward(low, b):
        x = np.array(b, dtype=object)
        for i in range(len(x)):
            x[i] = (x[i] - low[i, :i] @ x[:i]) / low[i, i]
        return x

    def likelihood(logs):
        low = cholesky(logs)
        half = forward(low, y)
        return -half @ half / 2 - sum(mp.log(v) for v in low.diagonal()) - mpf(TRAIN) / 2 * mp.log(2 * mp.pi)

    def moved(vector, i, by):
        vector = list(vector)
        vector[i] += by
        return vector

    gradient = [(likelihood(moved(logs, i, step)) - likelihood(moved(logs, i, -step))) / (2 * step)
                for i in range(len(logs))]

    low, (p, noise_factor) = cholesky(logs), natural(logs)
    half = forward(low, y)

    def weigh(x):
        """Standardised coordinates and L^-1 k(X, x)."""
        at = (embed(x) - middle) / width
        return at, forward(low, [case.kernel.exact(p, q, at) for q in points])

    def predict(x):
        at, cross = weigh(x)
        return np.array([m + s * (half @ cross), s * mp.sqrt(case.kernel.exact(p, at, at) - cross @ cross)])

    tests = [exact(x) for x in X_TEST]
    values = np.array([predict(x) for x in tests])
    slopes = np.array([[(predict(moved(x, d, step)) - predict(moved(x, d, -step))) / (2 * step)
                        for d in range(INPUTS)] for x in tests])
    # Leave-one-out in closed form: with w = A^-1 y and B = A^-1, mean y_i - w_i/B_ii, variance 1/B_ii.
    unit = lambda i: [mpf(int(i == k)) for k in range(TRAIN)]
    inverse = np.array([forward(low, unit(i)) for i in range(TRAIN)])  # rows: columns of L^-1
    diagonal, weights = (inverse**2).sum(1), inverse @ half
    both = [weigh(x) for x in tests] if case.name == "rbf" else []
    double = lambda array: np.array(array, dtype=object).astype(float)
    return {
        "log_likelihood": double(likelihood(logs)), "gradient": double(gradient),
        "mean": double(values[:, 0]), "std": double(values[:, 1]),
        "mean_jacobian": double(slopes[:, :, 0]), "std_jacobian": double(slopes[:, :, 1]),
        "loo_mean": double(m + s * (y - weights / diagonal)),
        "loo_std": double([s / mp.sqrt(v) for v in diagonal]),
        "covariance": double([[s * s * (case.kernel.exact(p, a, b) - u @ v) for b, v in both]
                              for a, u in both]) if both else None,
    }


# --- Comparison, file -----------------------------------------------------------------------

def agree(what, a, b, tolerance, scale=None):
    """Largest difference, of the largest magnitude of the array."""
    a, b = (np.atleast_1d(v.detach().numpy() if torch.is_tensor(v) else v) for v in (a, b))
    n = min(len(a), len(b))
    assert n == len(a) or what.endswith("gradient"), what
    error = np.abs(a[:n] - b[:n]).max() / float(np.abs(a).max() if scale is None else scale)
    worst[what] = max(worst[what], error)
    assert error <= tolerance, f"{what}: {error:.1e}"  # also stops at NaN


def text(value):
    """TOML of nested lists of numbers, 17 significant digits."""
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value):
        return "[" + ", ".join(text(v) for v in value) + "]"
    digits = f"{float(value) + 0.0:.17g}"
    return digits if set(digits) & set(".en") else digits + ".0"


def block(case, results):
    lines = ["", "[[case]]", f'name = "{case.name}"', f'kernel = "{case.kernel.text}"',
             f"angles = {list(case.angles)}", f'noise = "{case.noise}"',
             f"log_noise_factor = {text(case.log_factor)}", f"parameters = {text(case.log_parameters)}"]
    for key in results[0]:
        if key == "covariance" and case.name != "rbf":
            continue
        values = [r[key] for r in results]
        if np.ndim(values) < 2:
            lines.append(f"{key} = {text(values)}")
        else:
            lines += [f"{key} = ["] + [f"  {text(v)}," for v in values] + ["]"]
    return "\n".join(lines) + "\n"


def header():
    exact = max(v for k, v in worst.items() if k.startswith("mpmath"))
    peer = max(v for k, v in worst.items() if k.startswith("scikit-learn"))
    return f'''# Written by studies/gaussian_process/golden.py; do not edit by hand.
source = "GPyTorch {gpytorch.__version__} kernels, PyTorch {torch.__version__.split("+")[0]} Cholesky and autograd (double precision, \
no jitter); checked by scikit-learn {sklearn.__version__} and by mpmath {mpmath.__version__} with {mp.dps} digits"
command = "python studies/gaussian_process/golden.py"
date = "{DATE}"
units = "physical, except log_likelihood (nats, of the standardised targets) and its gradient \
(natural logarithms of the parameters as listed, then log_noise_factor)"
tolerance = {TOLERANCE}
tolerance_reason = "of the largest magnitude of an array: the numbers differ from {mp.dps}-digit arithmetic by at \
most {exact:.0e} and from scikit-learn by at most {peer:.0e}; the rest is room for the tested code's rounding"
parameters = "natural logarithms, outputs by parameters; in case reference the noise variance is factor times \
the standard deviation of the noise over that of the targets, not its square, and the factor is fixed at 1 (the \
last entry of the gradient is its derivative all the same)"
data = "SplitMix64 seed 42; rows 0 to {TRAIN - 1} train, rows {TEST_FROM} to {TEST_FROM + TESTS - 1} test; \
a row is theta, thetadot, x, xdot, u, then the four targets"
data_first_row = {text(FIRST_ROW)}
data_test_row = {text(TEST_ROW)}
'''


def main(names):
    warnings.filterwarnings("error")
    begun, blocks = time.time(), []
    for case in CASES:
        if names and case.name not in names:
            continue
        clock, results = time.time(), []
        for j in range(OUTPUTS):
            results.append(by_gpytorch(case, j))
            for peer, check, tolerance in (("scikit-learn", by_sklearn, PEER), ("mpmath", by_mpmath, EXACT)):
                for key, value in check(case, j).items():
                    if value is not None:
                        agree(f"{peer}, {key}", results[j][key], value, tolerance)
        blocks.append(block(case, results))
        print(f"{case.name}: {case.kernel.text}, {time.time() - clock:.0f} s", flush=True)
    for what in sorted(worst):
        print(f"  {what}: {worst[what]:.1e}")
    if not names:
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(header() + "".join(blocks))
    print(f"{time.time() - begun:.0f} s in all")


if __name__ == "__main__":
    main(sys.argv[1:])
