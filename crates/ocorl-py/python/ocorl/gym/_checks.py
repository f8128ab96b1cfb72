"""Checks of an environment before learning: whether its state is writable and complete, determinism, step length."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from .._errors import UserError
from ._canvas import Array
from ._reader import Reader, circles, differences

#: Number of steps of the trial run that the checks use.
_TRIAL = 60
#: dt is coarse if the relative uncertainty of a derivative exceeds this value: nine steps per period of a sine.
_COARSE = 0.02
#: Advice about noise.
_NOISE = "its noise is not in the estimate, raise noise="


@dataclass(frozen=True)
class Check:
    """Result of one check of an environment."""

    #: Name of the check: ``write``, ``state``, ``deterministic``, ``dt``.
    name: str
    #: Whether the check passed.
    ok: bool
    #: The finding, and what to do about it.
    words: str

    def __str__(self) -> str:
        return f"{'ok' if self.ok else 'attention'}: {self.words}"


def look(reader: Reader, x0: Array, given: bool, observed: bool, names: Sequence[str], dt: float) -> tuple[list[Check], Array]:
    """Run the four checks and estimate the noise of a derivative.

    A writer that does not work is taken from the reader, and the reader learns whether all episodes are reset with
    the seed.
    """
    inputs = _trial(reader)
    tried = reader.write is not None
    trouble = _trouble(reader, x0, inputs)
    if trouble is not None:
        if given:
            raise UserError(
                f"x0 is given, but {trouble}",
                hint="say how to write it: write=lambda env, x: ..., or leave x0 out: episodes then begin where reset does",
            )
        reader.write = None
    start = x0 if reader.write is not None else None
    path = reader.follow(start, inputs, seed=reader.seed)
    again = reader.follow(start, inputs, seed=reader.seed)
    # Without a seed, the random numbers continue; this also changes noise that ignores the seed.
    other = reader.follow(start, inputs, seed=None if start is None else reader.seed + 1)
    wanders = start is None and not _same(path[:1], other[:1])
    draws = wanders and _draws(reader, inputs)
    # The seed fixes the initial state but also the noise, which would then be learned as dynamics.
    reader.repeats = wanders and not draws
    checks = [
        _write(trouble, tried, wanders and not reader.repeats),
        _is_state(path, observed, names),
        _deterministic(reader, inputs, path, again, None if wanders else other, draws),
    ]
    slopes, spread = differences(path, dt)
    size, error = np.sqrt((slopes**2).mean(axis=0)), np.sqrt((spread**2).mean(axis=0))
    share = float(np.max(error / np.maximum(size, 1e-12)))
    coarse = f"a derivative is known to {100 * share:.2g} % from steps of {dt:g}"
    if share > _COARSE:
        coarse += ": the steps are long for these dynamics; a shorter dt, if the environment has one, would do better"
    checks.append(Check("dt", share <= _COARSE, coarse))
    rough = _rough(reader, slopes, names)
    if rough is not None:
        checks.append(Check("smooth", False, rough))
    # Each state has its own unit. One that the trial does not move gets a noise from its magnitude, so that none is zero.
    still = 1e-3 * np.maximum(np.abs(path).max(axis=0), 1e-3) / (dt * len(path))
    return checks, np.maximum(error, 1e-3 * np.maximum(size, still))


#: A derivative that changes in one step by this part of its range, and by this multiple of its usual change, jumps.
_JUMP = (0.5, 100.0)


def _rough(reader: Reader, slopes: Array, names: Sequence[str]) -> str | None:
    """Return why the dynamics do not look smooth; None if they do."""
    data = getattr(reader.env.unwrapped, "data", None)
    if reader.touched or (data is not None and getattr(data, "ncon", 0) > 0):
        return "bodies touch each other in the trial run. This will probably not work, because contacts make dx/dt jump; the model is smooth"
    changes = np.abs(np.diff(slopes, axis=0))
    if len(changes) < 10:
        return None
    worst, usual, width = changes.max(axis=0), np.median(changes, axis=0), np.ptp(slopes, axis=0)
    # A jump is alone, in contrast to the growth of an unstable motion.
    near = np.clip(changes.argmax(axis=0), 2, len(changes) - 3)
    columns = np.arange(changes.shape[1])
    alone = np.maximum(changes[near - 2, columns], changes[near + 2, columns]) < 0.05 * worst
    alone &= changes[near, columns] == worst
    jumps = (worst > _JUMP[0] * width) & (worst > _JUMP[1] * usual) & (width > 1e-9) & alone
    if not jumps.any():
        return None
    i = int(np.argmax(jumps))
    return f"d{names[i]}/dt jumps by {worst[i]:.3g} in one step of the trial run. This will probably not work, because the model is smooth"


def _trial(reader: Reader) -> Array:
    """Return inputs of a trial run: slow oscillations within the limits."""
    rng = np.random.default_rng(reader.seed)
    middle, half = (reader.low + reader.high) / 2.0, (reader.high - reader.low) / 2.0
    phases, speeds = rng.uniform(0.0, 2.0 * np.pi, (3, len(middle))), rng.uniform(0.02, 0.15, (3, len(middle)))
    swing = np.sin(phases[None] + speeds[None] * np.arange(_TRIAL)[:, None, None]).mean(axis=1)
    return np.asarray(middle + 0.8 * half * swing, dtype=np.float64)


def _trouble(reader: Reader, x0: Array, inputs: Array) -> str | None:
    """Return the reason why states cannot be written; None if they can."""
    if reader.write is None:
        return "states cannot be written"
    try:
        here = reader.follow(x0, inputs[:1], seed=reader.seed)
        there = reader.follow(x0 + 1e-3 * np.maximum(np.abs(x0), 1.0), inputs[:1], seed=reader.seed)
    except Exception as error:
        return f"writing a state raised {type(error).__name__}: {error}"
    if len(here) < 2 or len(there) < 2 or np.allclose(here[1], there[1], rtol=0.0, atol=1e-9):
        return "writing a state does not change where the environment goes next"
    return None


def _write(trouble: str | None, tried: bool, wanders: bool) -> Check:
    if trouble is None:
        return Check("write", True, "states can be written; every episode begins at x0")
    if wanders:
        said = f"{trouble}, and reset begins elsewhere each time: so do episodes; say how to write a state: write=lambda env, x: ..."
        return Check("write", False, said)
    return Check("write", not tried, f"{trouble}; every episode begins where reset(seed) does")


def _is_state(path: Array, observed: bool, names: Sequence[str]) -> Check:
    if not observed:
        return Check("state", True, "the state is read as you said")
    for i, j in circles(path):
        said = f"{names[i]} and {names[j]} look like cosine and sine of an angle: read it with state='angles', or state= and angles="
        return Check("state", False, said)
    return Check("state", True, "the observation is taken for the state")


def _deterministic(reader: Reader, inputs: Array, path: Array, again: Array, other: Array | None, draws: bool) -> Check:
    """Return whether three trials agree: the same seed twice, and another one if it has the same initial state."""
    if not _same(path, again) or (other is not None and not _same(path, other)):
        return Check("deterministic", False, f"the same inputs from the same start give another path: {_NOISE}")
    if draws:
        return Check("deterministic", False, f"its steps draw random numbers: {_NOISE}")
    hidden = _hidden(reader, path, inputs) if reader.write is not None else None
    if hidden is not None:
        said = f"from the same state the next one differs by {hidden:.2g}: something about this environment is not in the state"
        return Check("deterministic", False, said)
    return Check("deterministic", True, "the same inputs from the same start give the same path")


def _same(path: Array, other: Array) -> bool:
    """Return whether two paths agree.

    Differences due to solver state that a simulator keeps over a reset, such as an initial guess of forces, are
    allowed.
    """
    if path.shape != other.shape:
        return False
    size = np.abs(path).max(axis=0)
    return bool((np.abs(path - other) <= 1e-7 * np.maximum(size, 1e-3 * size.max()) + 1e-12).all())


def _draws(reader: Reader, inputs: Array) -> bool:
    """Return whether steps use the environment's random number generator."""
    reader.begin(seed=reader.seed)
    before = deepcopy(reader.env.unwrapped.np_random).random()
    for u in inputs:
        _, _, terminated, truncated = reader.step(u)
        if terminated or truncated:
            break
    return bool(deepcopy(reader.env.unwrapped.np_random).random() != before)


def _hidden(reader: Reader, path: Array, inputs: Array) -> float | None:
    """Return by how much the next state differs if the same state is written; None if it does not."""
    worst = 0.0
    for k in (len(path) // 3, 2 * len(path) // 3):
        if k + 1 < len(path):
            once = reader.follow(path[k], inputs[k : k + 1], seed=reader.seed)
            if len(once) > 1:
                scale = np.maximum(np.abs(path[k + 1]), 1.0)
                worst = max(worst, float(np.max(np.abs(once[1] - path[k + 1]) / scale)))
    # Environments that store their state in single precision return it rounded.
    return worst if worst > 1e-5 else None
