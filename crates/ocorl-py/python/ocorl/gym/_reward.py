"""The cost of an environment that has a reward only: its reward, fitted by a formula of states and inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._errors import UserError
from ._canvas import Array
from ._reader import Reader

#: Steps of the trial runs in all and in one of them, and the least and greatest number of runs. Every fourth is held out.
_ALL, _STEPS, _RUNS = 400, 100, (8, 60)
#: Maximum number of terms of a formula.
_TERMS = 40
#: Part of the variance that a formula explains: less is refused, or warned about.
_LEAST, _GOOD = 0.9, 0.999


@dataclass(frozen=True)
class RewardFit:
    """A cost rate that was fitted to rewards."""

    #: The expression of the cost rate.
    text: str
    #: Part of the variance of the rewards of a run that was held out that the formula explains.
    explained: float
    #: Number of steps of the trial runs.
    steps: int

    @property
    def good(self) -> bool:
        """Whether the formula is nearly exact."""
        return self.explained >= _GOOD

    @property
    def words(self) -> str:
        """The finding."""
        found = f"the formula of the reward explains {100 * self.explained:.4g} % of its variance in runs that were held out ({self.steps} trial steps)"
        return found if self.good else f"{found}; give cost= if you know it"


def _base(x: Array, u: Array, names: Sequence[str], inputs: Sequence[str], angles: Sequence[int]) -> tuple[list[str], Array]:
    """Return the factors of the terms: states, inputs, sine and cosine of angles, and their values."""
    texts, columns = [], []
    for i, name in enumerate(names):
        if i in angles:
            texts += [f"sin({name})", f"cos({name})"]
            columns += [np.sin(x[:, i]), np.cos(x[:, i])]
        else:
            texts.append(name)
            columns.append(x[:, i])
    return [*texts, *inputs], np.column_stack([*columns, u])


def _terms(x: Array, u: Array, names: Sequence[str], inputs: Sequence[str], angles: Sequence[int]) -> tuple[list[str], Array]:
    """Return all terms up to the second degree, and the squares of wrapped angles."""
    factors, values = _base(x, u, names, inputs, angles)
    texts, columns = list(factors), [values[:, k] for k in range(len(factors))]
    for i, first in enumerate(factors):
        for j in range(i, len(factors)):
            texts.append(f"{first}^2" if i == j else f"{first}*{factors[j]}")
            columns.append(values[:, i] * values[:, j])
    for i in angles:
        texts.append(f"atan2(sin({names[i]}), cos({names[i]}))^2")
        columns.append(np.arctan2(np.sin(x[:, i]), np.cos(x[:, i])) ** 2)
    return texts, np.column_stack(columns)


def _fitted(terms: Array, values: Array, held: npt.NDArray[np.bool_]) -> tuple[list[int], Array, float]:
    """Choose terms one by one, each the one that explains most of what is left, until the rows that are held out get worse.

    Returns the terms, their coefficients with the constant last, and the squared error of the rows that are held out.

    Examples
    --------
    >>> a = np.random.default_rng(0).normal(size=(50, 3))
    >>> chosen, coefficients, error = _fitted(a, 2.0 + 3.0 * a[:, 1], np.arange(50) % 4 == 0)
    >>> chosen, coefficients.round(6).tolist(), error < 1e-9
    ([1], [3.0, 2.0], True)
    """
    every, terms, test = (terms, values), terms[~held], np.hstack([terms[held], np.ones((held.sum(), 1))])
    values = values[~held]
    one = np.ones((len(values), 1))
    chosen: list[int] = []
    coefficients = np.array([values.mean()])
    total = float(((values - values.mean()) ** 2).sum())
    path = [(chosen[:], coefficients, float(((every[1][held] - values.mean()) ** 2).sum()))]
    for _ in range(min(_TERMS, len(values) // 4)):
        basis = np.hstack([terms[:, chosen], one])
        left = values - basis @ coefficients
        if float((left**2).sum()) <= 1e-10 * total:
            break
        # Of each candidate the part that the chosen terms do not explain.
        free = terms - basis @ np.linalg.lstsq(basis, terms, rcond=None)[0]
        norms = np.sqrt((free**2).sum(axis=0))
        usable = norms > 1e-6 * np.sqrt((terms**2).sum(axis=0))
        gain = np.where(usable, (left @ free) ** 2 / np.where(usable, norms, 1.0) ** 2, 0.0)
        if gain.max() <= 1e-10 * total:
            break
        chosen.append(int(gain.argmax()))
        basis = np.hstack([terms[:, chosen], one])
        coefficients = np.linalg.lstsq(basis, values, rcond=None)[0]
        error = float(((every[1][held] - test[:, [*chosen, -1]] @ coefficients) ** 2).sum())
        path.append((chosen[:], coefficients, error))
    least = min(error for _, _, error in path)
    # The shortest formula that is nearly the best one.
    return next(found for found in path if found[2] <= 1.1 * least + 1e-12 * total)


def _runs(reader: Reader, x0: Array, steps: int) -> list[tuple[Array, Array, Array, Array]]:
    """Return states, next states, inputs and rewards of trial runs with slow random oscillations of different sizes."""
    rng = np.random.default_rng(reader.seed)
    middle, half = (reader.low + reader.high) / 2.0, (reader.high - reader.low) / 2.0
    found: list[tuple[Array, Array, Array, Array]] = []
    for run in range(_RUNS[1]):
        if run >= _RUNS[0] and sum(len(r) for _, _, _, r in found) >= _ALL:
            break
        x = reader.begin(x0 if reader.write is not None else None, seed=reader.seed + run)
        phase, speed = rng.uniform(0, 2 * np.pi, (3, len(half))), rng.uniform(0.02, 0.6, (3, len(half)))
        size = half * (1 + run % _RUNS[0]) / _RUNS[0]
        rows: list[tuple[Array, Array, Array, float]] = []
        for k in range(min(steps, _STEPS)):
            u = np.asarray(middle + size * np.clip(np.sin(phase + speed * k).mean(axis=0) * 2.0, -1.0, 1.0), dtype=np.float64)
            after, reward, terminated, truncated = reader.step(u)
            # The last step of a run that ended early may have a reward of its own.
            if terminated or not np.isfinite(after).all():
                break
            rows.append((x, after, u, reward))
            x = after
            if truncated:
                break
        if rows:
            states, later, inputs, rewards = zip(*rows)
            found.append((np.array(states), np.array(later), np.array(inputs), np.array(rewards)))
    return found


def fit_reward(reader: Reader, x0: Array, names: Sequence[str], inputs: Sequence[str], angles: Sequence[int], dt: float, steps: int) -> RewardFit:
    """Fit minus the reward per time by a formula. A bonus for each step is left out, because it rewards no state more than another."""
    runs = _runs(reader, x0, steps)
    count = sum(len(r) for _, _, _, r in runs)
    trial = f"{count} steps of trial runs"
    if len(runs) < 4 or count < 60:
        raise UserError(f"only {trial} before the environment ends: too few to fit its reward", hint="give cost=")
    held = np.repeat(np.arange(len(runs)) % 4 == 3, [len(r[3]) for r in runs])
    every = np.concatenate([r for _, _, _, r in runs])
    if not np.isfinite(every).all() or np.ptp(every) <= 1e-9 * max(np.abs(every).max(), 1.0):
        raise UserError(f"the reward is {every[0]:g} in all {trial}: nothing can be fitted to it", hint="give cost=")
    best: RewardFit | None = None
    depends = False
    before, after, u = (np.concatenate([r[k] for r in runs]) for k in range(3))
    spread = max(float(((every[held] - every[held].mean()) ** 2).sum()), 1e-300)
    # A reward is one of the state before the step, of the state after it, or of the way between them.
    for x in (before, after, (before + after) / 2.0):
        texts, terms = _terms(x, u, names, inputs, angles)
        chosen, coefficients, error = _fitted(terms, every, held)
        explained = 1.0 - error / spread
        if best is None or explained > best.explained + 1e-6:
            constant = max(float(every.max()), 0.0) - coefficients[-1]
            parts = [f"{-c / dt:.7g}*{texts[k]}" for k, c in zip(chosen, coefficients)]
            if abs(constant) > 1e-7 * np.abs(every).max():
                parts.append(f"{constant / dt:.7g}")
            best = RewardFit(" + ".join(parts), explained, count)
            # The terms of inputs alone: the inputs themselves, and their products.
            alone = [k for k in chosen if not any(name in re.split(r"\W+", texts[k]) for name in names)]
            depends = len(alone) < len(chosen)
    assert best is not None
    if not depends:
        said = f"the reward does not depend on the state in {trial}: what it rewards was not reached"
        raise UserError(said, hint="give cost=, with a weight on the distance from the goal")
    if best.explained < _LEAST:
        said = f"a formula explains only {100 * max(best.explained, 0.0):.3g} % of the variance of the reward in runs that were held out"
        raise UserError(said, hint="squares and products of states, inputs, sines and cosines were tried; give cost=")
    return best
