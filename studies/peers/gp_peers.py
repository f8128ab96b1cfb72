#!/usr/bin/env python3
"""Times one Gaussian-process peer and prints one JSON object per measurement. Run by gp.py in its virtual environment.

The data, the tasks and the keys are described in README.md beside this file.
"""

import argparse
import functools
import json
import math
import statistics
import sys
import time
import warnings

import numpy
from scipy.linalg import blas, cholesky, lapack
from scipy.optimize import minimize

sys.dont_write_bytecode = True
from gp import INPUTS, OUTPUTS, POINTS, TARGETS, TOLERANCE

SIZES = {"mean_std": (200, 500, 1000, 2000), "all": (200, 500, 1000, 2000), "mean_jacobian": (500, 1000)}
EXPONENTS = 1 << 14
TRAIN_SIZES = (100, 200, 500, 1000)

# Prediction: fixed hyper-parameters of output o.
LENGTHSCALES = [1.5 + 0.2 * output for output in range(OUTPUTS)]
SIGNAL, NOISE = 1.0, 1e-4

# Training: log(signal variance, five lengthscales, noise variance), its start and its bounds.
START = numpy.log([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.01])
BOUNDS = numpy.log([(1e-3, 1e6), *[(1e-2, 1e4)] * INPUTS, (1e-8, 10.0)])
EVALUATIONS = 200  # at most, per output


# --- the data -------------------------------------------------------------------------------------------------------


def uniform(state=42):
    """SplitMix64: numbers in [0, 1)."""
    mask = (1 << 64) - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def cart_pole(angle, rate, _, speed, force, length=0.5, cart=1.0, pole=0.5, gravity=0.2):
    s, c = math.sin(angle), math.cos(angle)
    mass, pull = cart + pole * s * s, pole * length * s * rate**2
    turning = (-pull * c + (cart + pole) * gravity * s + c * force) / (mass * length)
    return rate, turning, speed, (-pull + pole * gravity * s * c + force) / mass


@functools.lru_cache(maxsize=None)
def table():
    draw, bounds = uniform(), (math.pi, 3.0, 2.0, 3.0, 4.0)
    inputs, targets = [], []
    for _ in range(2100):
        row = [(2.0 * next(draw) - 1.0) * bound for bound in bounds]
        normals = []
        exact = cart_pole(*row)
        for _ in exact:
            a, b = next(draw), next(draw)
            normals.append(math.sqrt(-2.0 * math.log(1.0 - a)) * math.cos(2.0 * math.pi * b))
        inputs.append(row)
        targets.append([value + 0.01 * normal for value, normal in zip(exact, normals)])
    return numpy.array(inputs), numpy.array(targets)


def data(n):
    """Inputs, targets and test inputs, standardised by the training rows (population standard deviation)."""
    inputs, targets = table()
    x, y = inputs[:n], targets[:n]
    scale = lambda rows, by: (rows - by.mean(0)) / by.std(0)
    return scale(x, x), scale(y, y), scale(inputs[2000:2100], x)


# --- measuring ------------------------------------------------------------------------------------------------------


def emit(peer, task, n, times, **extras):
    """Times in seconds."""
    middle, least = 1e3 * statistics.median(times), 1e3 * min(times)
    row = {"peer": peer, "task": task, "n": n, "cpu_ms_median": middle, "cpu_ms_min": least, "reps": len(times)}
    print(json.dumps({**row, **extras}), flush=True)


def repeat(function, budget, least=5, most=100):
    """CPU times of the process (JAX computes on a thread of its own) after two calls that are not counted."""
    function(), function()
    times, end = [], time.process_time() + budget
    while len(times) < least or (len(times) < most and time.process_time() < end):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return times


def predict(peer, task, n, function, options):
    """`function` returns the task's arrays; their sums show in the table if a peer computes something else."""
    checksum = [float(numpy.asarray(part).sum()) for part in function()]
    emit(peer, task, n, repeat(function, options.budget), checksum=checksum)


class Reached(Exception):
    """The optimiser has evaluated a point near enough to the target."""


def watch(objective, n, output, log):
    """Logs the CPU time and value per point of each evaluation, and ends the optimiser at the first near the target."""

    def watched(*arguments):
        value, gradient = objective(*arguments)
        log.append((time.process_time(), float(value) / n))
        if log[-1][1] <= TARGETS[n][output] + TOLERANCE:
            raise Reached
        # A covariance that cannot be factorised: a wall for the line search.
        return (value, gradient) if math.isfinite(value) else (1e10, numpy.zeros_like(gradient))

    return watched


def lbfgs(objective, start, bounds=None):
    options = {"maxfun": EVALUATIONS, "maxiter": EVALUATIONS, "ftol": 1e-13, "gtol": 1e-9}
    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def train(peer, n, prepare, options, fit=lbfgs):
    """`prepare(output)` gives what `fit` takes, the objective (nats, all points) first; it is not timed."""
    times = []
    while not times or (sum(times) < options.budget and len(times) < 5):
        total, evaluations, reached = 0.0, [], []
        for output in range(OUTPUTS):
            objective, *rest = prepare(output)
            log, start = [], time.process_time()
            try:
                fit(watch(objective, n, output, log), *rest)
                end = time.process_time()
            except Reached:
                end = log[-1][0]
            total += end - start
            evaluations.append(len(log))
            reached.append(min(value for _, value in log))
        times.append(total)
    emit(peer, "train", n, times, evals=evaluations, nll=reached)


def train_sizes(options, slow=True):
    return [n for n in TRAIN_SIZES if not (slow and options.quick and n >= 1000)]


# --- this machine ---------------------------------------------------------------------------------------------------


def limits(options):
    for n in (1000, 2000):
        a, b = numpy.random.default_rng(0).random((2, n, n))
        out = numpy.empty((n, n))
        times = repeat(lambda: numpy.matmul(a, b, out=out), options.budget)
        emit("numpy", "limits", n, times, what="dgemm", gflops=2e-9 * n**3 / min(times))
    exponents, out = exponent_sample(), numpy.empty(EXPONENTS)
    exponential_rate("numpy", lambda: numpy.exp(exponents, out=out), options)


def exponent_sample():
    """In the range of the kernel's exponents, and few enough for a second-level cache."""
    return numpy.random.default_rng(0).uniform(-10.0, 0.0, EXPONENTS)


def exponential_rate(peer, function, options, calls=16, part=1):
    times = [t / (calls * part) for t in repeat(lambda: [function() for _ in range(calls)], options.budget)]
    emit(peer, "limits", EXPONENTS, times, what="exp", ns=1e9 * min(times) / EXPONENTS)


# --- NumPy and SciPy, analytic: our own baseline --------------------------------------------------------------------


class Analytic:
    """One output. Its exponents −|x − z|² / 2 come from one matrix product of rows with two more columns each."""

    def __init__(self, x, y, lengthscale, inverse):
        self.lengthscale, self.inverse = lengthscale, inverse
        self.z = x / lengthscale
        half = -0.5 * (self.z**2).sum(1, keepdims=True)
        self.rows = numpy.hstack([self.z, half, numpy.ones_like(half)])
        covariance = SIGNAL * numpy.exp(self.z @ self.z.T + half + half.T)
        covariance[numpy.diag_indices(len(x))] += NOISE
        self.factor = numpy.asfortranarray(cholesky(covariance, lower=True))
        self.weights = lapack.dpotrs(self.factor, y, lower=1)[0]
        self.weighted = numpy.hstack([self.weights[:, None], self.weights[:, None] * self.z])
        self.k, self.v = numpy.empty((2, POINTS, len(x)))
        if inverse:
            self.covariance_inverse = lapack.dpotrs(self.factor, numpy.eye(len(x)), lower=1)[0]

    def kernel(self, points):
        """100 x n: its transpose is the right-hand side that BLAS wants, without a copy."""
        p = points / self.lengthscale
        half = -0.5 * (p**2).sum(1, keepdims=True)
        numpy.matmul(numpy.hstack([p, numpy.ones_like(half), half]), self.rows.T, out=self.k)
        return p, numpy.exp(self.k, out=self.k)

    def mean_std(self, points):
        _, k = self.kernel(points)
        mean = k @ self.weights
        if self.inverse:
            explained = numpy.vecdot(numpy.matmul(k, self.covariance_inverse, out=self.v), k)
        else:
            v = blas.dtrsm(1.0, self.factor, k.T, lower=1, overwrite_b=1).T
            explained = numpy.vecdot(v, v)
        return mean, numpy.sqrt(SIGNAL - explained)

    def mean_jacobian(self, points):
        return self.mean_part(*self.kernel(points))

    def mean_part(self, p, k):
        sums = k @ self.weighted
        return sums[:, 0], (sums[:, 1:] - sums[:, :1] * p) / self.lengthscale

    def all(self, points):
        p, k = self.kernel(points)
        mean, mean_jacobian = self.mean_part(p, k)
        w = self.v
        if self.inverse:
            numpy.matmul(k, self.covariance_inverse, out=w)
        else:
            w[...] = k
            blas.dtrsm(1.0, self.factor, w.T, lower=1, overwrite_b=1)
            blas.dtrsm(1.0, self.factor, w.T, lower=1, trans_a=1, overwrite_b=1)
        w *= k
        explained = w.sum(1)
        std = numpy.sqrt(SIGNAL - explained)
        slope = (w @ self.z - explained[:, None] * p) / (-self.lengthscale * std[:, None])
        return mean, std, mean_jacobian, slope


def analytic_models(n, inverse=False):
    x, y, points = data(n)
    return [Analytic(x, y[:, o], LENGTHSCALES[o], inverse) for o in range(OUTPUTS)], points


def likelihood(parameters, x, y):
    """Negative log marginal likelihood and its gradient, n³ flops: factor, inverse (lower half), sums of products."""
    n = len(x)
    signal, lengthscales, noise = math.exp(parameters[0]), numpy.exp(parameters[1:-1]), math.exp(parameters[-1])
    z = x / lengthscales
    half = -0.5 * (z**2).sum(1, keepdims=True)
    ones = numpy.ones_like(half)
    k = numpy.hstack([z, half, ones]) @ numpy.hstack([z, ones, half]).T
    numpy.exp(k, out=k)
    k *= signal
    covariance = k.T.copy(order="F")  # symmetric: k itself, in the order LAPACK wants
    covariance[numpy.diag_indices(n)] += noise + 1e-10
    factor, info = lapack.dpotrf(covariance, lower=1, clean=1, overwrite_a=1)
    if info != 0:
        return math.inf, numpy.zeros_like(parameters)
    weights = lapack.dpotrs(factor, y, lower=1)[0]
    value = 0.5 * y @ weights + numpy.log(factor.diagonal()).sum() + 0.5 * n * math.log(2.0 * math.pi)
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)  # above its diagonal are the zeros of `clean`
    trace = inverse.trace()
    inverse *= k.T
    diagonal = inverse.trace()
    # Σᵢⱼ Aᵢⱼ (zᵢ − zⱼ)² for A = inverse ∘ k (half of it stored), minus the same for A = weights weightsᵀ ∘ k.
    ends = inverse.sum(0) + inverse.sum(1)
    first = 2.0 * (ends @ z**2 - 2.0 * numpy.einsum("ij,ij->j", z, inverse @ z))
    weighted = numpy.hstack([weights[:, None], weights[:, None] * z])
    pulled = k @ weighted
    second = 2.0 * ((weights * pulled[:, 0]) @ z**2 - numpy.einsum("ij,ij->j", weighted[:, 1:], pulled[:, 1:]))
    scale = 2.0 * inverse.sum() - diagonal - weights @ pulled[:, 0]
    return value, 0.5 * numpy.array([scale, *(first - second), noise * (trace - weights @ weights)])


def time_numpy(options):
    for task, sizes in SIZES.items():
        for n in sizes:
            for inverse in (False, True) if task != "mean_jacobian" else (False,):
                models, points = analytic_models(n, inverse)
                part = lambda: map(numpy.array, zip(*[getattr(model, task)(points) for model in models]))
                predict("numpy-inverse" if inverse else "numpy", task, n, lambda: list(part()), options)
    for n in train_sizes(options, slow=False):
        x, y, _ = data(n)
        likelihood(START, x, y[:, 0])
        prepare = lambda output: (lambda p: likelihood(p, x, y[:, output]), START, BOUNDS)
        train("numpy", n, prepare, options)


def check():
    """The baseline's derivatives against central differences; the other peers are compared with its sums."""
    x, y, points = data(200)
    step, worst = 1e-4, 0.0
    for inverse in (False, True):
        for model in analytic_models(200, inverse)[0]:
            mean, std, mean_jacobian, std_jacobian = model.all(points)
            for axis in range(INPUTS):
                shift = step * numpy.eye(INPUTS)[axis]
                up, down = model.mean_std(points + shift), model.mean_std(points - shift)
                for index, exact in enumerate((mean_jacobian, std_jacobian)):
                    error = (up[index] - down[index]) / (2.0 * step) - exact[:, axis]
                    worst = max(worst, numpy.abs(error).max())
            worst = max(worst, *(numpy.abs(a - b).max() for a, b in zip(model.mean_std(points), (mean, std))))
    for output in range(OUTPUTS):
        p = START + 0.1 * numpy.arange(INPUTS + 2)
        gradient = likelihood(p, x, y[:, output])[1]
        for axis in range(INPUTS + 2):
            shift = 1e-5 * numpy.eye(INPUTS + 2)[axis]
            up, down = (likelihood(p + s, x, y[:, output])[0] for s in (shift, -shift))
            worst = max(worst, abs((up - down) / 2e-5 - gradient[axis]) / max(1.0, abs(gradient[axis])))
    if worst > 1e-5:
        sys.exit(f"error: the baseline is {worst:.1e} off its central differences")
    print(f"largest difference {worst:.1e}")


# --- scikit-learn ---------------------------------------------------------------------------------------------------


def time_sklearn(options):
    from sklearn.gaussian_process import GaussianProcessRegressor as Process
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    for n in SIZES["mean_std"]:
        x, y, points = data(n)
        models = []
        for output, lengthscale in enumerate(LENGTHSCALES):
            kernel = ConstantKernel(SIGNAL) * RBF(lengthscale * numpy.ones(INPUTS))
            models.append(Process(kernel, optimizer=None, alpha=NOISE).fit(x, y[:, output]))
        function = lambda: list(zip(*[model.predict(points, return_std=True) for model in models]))
        predict("scikit-learn", "mean_std", n, function, options)

    signal, lengthscale, noise = numpy.exp(BOUNDS[0]), numpy.exp(BOUNDS[1]), numpy.exp(BOUNDS[-1])
    kernel = ConstantKernel(1.0, signal) * RBF(numpy.ones(INPUTS), lengthscale) + WhiteKernel(0.01, noise)
    for n in train_sizes(options):
        x, y, _ = data(n)

        def prepare(output):
            """An objective that scikit-learn fills in: it hands its own to the optimiser it is given."""
            held = []
            return (lambda p: held[0](p)), held, y[:, output]

        def fit(objective, held, target):
            def optimizer(own, start, bounds):
                held[:] = [own]
                end = lbfgs(objective, start, bounds)
                return end.x, end.fun

            Process(kernel, optimizer=optimizer, alpha=1e-10).fit(x, target)

        Process(kernel, optimizer=None, alpha=1e-10).fit(x, y[:, 0]).log_marginal_likelihood(START, True)
        train("scikit-learn", n, prepare, options, fit)


# --- GPyTorch -------------------------------------------------------------------------------------------------------


def time_gpytorch(options):
    import gpytorch
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    exponents = torch.tensor(exponent_sample())
    out = torch.empty_like(exponents)
    exponential_rate("torch", lambda: torch.exp(exponents, out=out), options)
    exponential = {"transform": torch.exp, "inv_transform": torch.log}

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, batch, constraint):
            noise = gpytorch.constraints.GreaterThan(1e-8, **constraint)
            super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood(batch_shape=batch, noise_constraint=noise))
            positive = lambda: gpytorch.constraints.Positive(**constraint)
            kernel = gpytorch.kernels.RBFKernel(
                ard_num_dims=INPUTS, batch_shape=batch, lengthscale_constraint=positive()
            )
            self.mean = gpytorch.means.ZeroMean(batch_shape=batch)
            self.kernel = gpytorch.kernels.ScaleKernel(kernel, batch_shape=batch, outputscale_constraint=positive())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

        def set(self, lengthscale, signal, noise):
            self.kernel.base_kernel.lengthscale = lengthscale
            self.kernel.outputscale, self.likelihood.noise = signal, noise

    def predictor(n):
        x, y, points = data(n)
        batch = torch.Size([OUTPUTS])
        model = Model(torch.tensor(x).expand(OUTPUTS, n, INPUTS).contiguous(), torch.tensor(y.T.copy()), batch, {})
        model.set(torch.tensor(LENGTHSCALES).view(OUTPUTS, 1, 1).expand(OUTPUTS, 1, INPUTS), SIGNAL, NOISE)
        model.requires_grad_(False)
        model.eval()
        batched = torch.tensor(points).expand(OUTPUTS, POINTS, INPUTS).contiguous()

        def mean_std():
            with torch.no_grad():
                end = model(batched)
                return end.mean, end.variance.sqrt()

        def mean_jacobian():
            with gpytorch.settings.skip_posterior_variances(True):
                x = batched.clone().requires_grad_(True)
                mean = model(x).mean
                return mean.detach(), *torch.autograd.grad(mean.sum(), x)

        def both():
            x = batched.clone().requires_grad_(True)
            end = model(x)
            mean, std = end.mean, end.variance.sqrt()
            slope = torch.autograd.grad(mean.sum(), x, retain_graph=True)[0]
            return mean.detach(), std.detach(), slope, torch.autograd.grad(std.sum(), x)[0]

        return {"mean_std": mean_std, "all": both, "mean_jacobian": mean_jacobian}

    with gpytorch.settings.max_cholesky_size(100000), gpytorch.settings.fast_pred_var(True):
        for task, sizes in SIZES.items():
            for n in sizes:
                predict("gpytorch", task, n, predictor(n)[task], options)

    def preparer(n, constraint, bounds):
        x, y, _ = data(n)
        inputs = torch.tensor(x)

        def prepare(output):
            target = torch.tensor(y[:, output].copy())
            model = Model(inputs, target, torch.Size([]), constraint)
            model.set(1.0, 1.0, 0.01)
            model.train()
            likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
            raw = (model.kernel.raw_outputscale, model.kernel.base_kernel.raw_lengthscale)
            raw += (model.likelihood.noise_covar.raw_noise,)

            def objective(values):
                with torch.no_grad():
                    for parameter, part in zip(raw, numpy.split(values, [1, 1 + INPUTS])):
                        parameter.copy_(torch.tensor(part).view_as(parameter))
                        parameter.grad = None
                try:
                    value = -n * likelihood(model(inputs), target)
                    value.backward()
                except (RuntimeError, ValueError):  # not positive definite, or not a number
                    return math.inf, numpy.zeros_like(values)
                return value.item(), numpy.concatenate([parameter.grad.numpy().ravel() for parameter in raw])

            start = numpy.concatenate([parameter.detach().numpy().ravel() for parameter in raw])
            return objective, start, bounds

        objective, start, _ = prepare(0)
        objective(start)
        return prepare

    exact = gpytorch.settings.fast_computations(False, False, False)
    with gpytorch.settings.max_cholesky_size(100000), exact:
        for n in train_sizes(options):
            train("gpytorch-log", n, preparer(n, exponential, BOUNDS), options)
            if n < 1000:
                train("gpytorch", n, preparer(n, {}, None), options)


# --- JAX: prediction by hand, training by tinygp --------------------------------------------------------------------


def time_jax(options):
    import jax
    import jax.numpy as jnp
    import tinygp
    from jax.scipy.linalg import cho_solve, solve_triangular

    jax.config.update("jax_enable_x64", True)
    lengthscales = jnp.array(LENGTHSCALES)
    exponents = jnp.array(exponent_sample())
    # 16 in one call, which costs microseconds; adding them up costs little beside.
    shifts = jnp.linspace(0.0, 0.1, 16)
    sixteen = jax.jit(lambda e: jax.lax.fori_loop(0, 16, lambda i, s: s + jnp.exp(e + shifts[i]), jnp.zeros_like(e)))
    exponential_rate("jax", lambda: jax.block_until_ready(sixteen(exponents)), options, part=16)

    def kernel(a, b):
        return SIGNAL * jnp.exp(a @ b.T - 0.5 * (a**2).sum(1)[:, None] - 0.5 * (b**2).sum(1))

    def mean(points, lengthscale, x, weights):
        return kernel(points / lengthscale, x / lengthscale) @ weights

    def mean_std(points, lengthscale, x, factor, weights):
        k = kernel(points / lengthscale, x / lengthscale)
        v = solve_triangular(factor, k.T, lower=True)
        return k @ weights, jnp.sqrt(SIGNAL - (v**2).sum(0))

    def fit(lengthscale, x, y):
        factor = jnp.linalg.cholesky(kernel(x / lengthscale, x / lengthscale) + NOISE * jnp.eye(len(x)))
        return factor, cho_solve((factor, True), y)

    def mean_jacobian(points, lengthscale, x, factor, weights):
        value, pull = jax.vjp(lambda p: mean(p, lengthscale, x, weights), points)
        return value, pull(jnp.ones_like(value))[0]

    def both(points, lengthscale, x, factor, weights):
        values, pull = jax.vjp(lambda p: mean_std(p, lengthscale, x, factor, weights), points)
        one, zero = jnp.ones(POINTS), jnp.zeros(POINTS)
        return *values, pull((one, zero))[0], pull((zero, one))[0]

    functions = {"mean_std": mean_std, "all": both, "mean_jacobian": mean_jacobian}
    for n in SIZES["all"]:
        x, y, points = map(jnp.array, data(n))
        factors, weights = jax.jit(jax.vmap(fit, in_axes=(0, None, 1)))(lengthscales, x, y)
        for task, function in functions.items():
            if n in SIZES[task]:
                # The factors are constants of the compiled program: with arguments, the triangular solves took three
                # times as long from 1000 points on.
                outputs = jax.vmap(function, in_axes=(None, 0, None, 0, 0))
                compiled = jax.jit(lambda p: outputs(p, lengthscales, x, factors, weights))
                predict("jax", task, n, lambda: jax.block_until_ready(compiled(points)), options)

    def negative(p, x, y):
        kernel = jnp.exp(p[0]) * tinygp.transforms.Linear(jnp.exp(-p[1:-1]), tinygp.kernels.ExpSquared())
        return -tinygp.GaussianProcess(kernel, x, diag=jnp.exp(p[-1]) + 1e-10).log_probability(y)

    slope = jax.jit(jax.value_and_grad(negative))
    for n in train_sizes(options):
        x, y, _ = map(jnp.array, data(n))

        def prepare(output):
            target = y[:, output]

            def objective(p):
                value, gradient = slope(p, x, target)
                return float(value), numpy.array(gradient)

            objective(START)
            return objective, START, BOUNDS

        train("tinygp", n, prepare, options)


# --- GPy ------------------------------------------------------------------------------------------------------------


def time_gpy(options):
    import GPy
    from paramz.transformations import Exponent

    GPy.plotting.change_plotting_library("none")

    def model_of(x, y, lengthscale, noise):
        kernel = GPy.kern.RBF(INPUTS, variance=1.0, lengthscale=lengthscale * numpy.ones(INPUTS), ARD=True)
        return GPy.models.GPRegression(x, y[:, None], kernel, noise_var=noise)

    for n in SIZES["all"]:
        x, y, points = data(n)
        # GPy adds 1e-8 to the diagonal by itself.
        models = [model_of(x, y[:, o], lengthscale, NOISE - 1e-8) for o, lengthscale in enumerate(LENGTHSCALES)]

        def mean_std(model):
            mean, variance = model.predict_noiseless(points)
            return mean, numpy.sqrt(variance)

        def both(model):
            mean, std = mean_std(model)
            slope, variance_slope = model.predictive_gradients(points)
            return mean, std, slope[:, :, 0], variance_slope / (2.0 * std)

        for task, function in (("mean_std", mean_std), ("all", both)):
            predict("gpy", task, n, lambda: list(zip(*map(function, models))), options)

    for n in train_sizes(options):
        x, y, _ = data(n)

        def prepare(output):
            model = model_of(x, y[:, output], 1.0, 0.01)
            if logarithmic:
                model.constrain(Exponent(), warning=False)
            start = model.optimizer_array.copy()

            def objective(p):
                value, gradient = model._objective_grads(p)
                return float(value), numpy.array(gradient)

            objective(start)
            return objective, start, BOUNDS if logarithmic else None

        for logarithmic in (True, False):
            if logarithmic or n < 1000:
                train("gpy-log" if logarithmic else "gpy", n, prepare, options)


PEERS = {
    "limits": limits,
    "numpy": time_numpy,
    "scikit-learn": time_sklearn,
    "gpytorch": time_gpytorch,
    "jax": time_jax,
    "gpy": time_gpy,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=[*PEERS, "check"])
    parser.add_argument("--quick", action="store_true", help="only the baseline trains with 1000 points")
    parser.add_argument("--budget", type=float, default=0.5, help="CPU seconds per measurement, about")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.peer == "check":
        check()
    else:
        PEERS[options.peer](options)


if __name__ == "__main__":
    main()
