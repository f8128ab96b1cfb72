"""Reads and writes the state of an environment, and estimates derivatives from its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from .._errors import MistakeError
from ._canvas import Array


def differences(states: Array, dt: float) -> tuple[Array, Array]:
    """Returns derivatives in the middle of each step, and their uncertainty.

    The difference over a step is a central difference around its middle, with the input that was held in it. The one over three steps has nine
    times its error, so an eighth of what they differ by is what the first one is wrong by. Single precision adds what it rounds off.

    >>> slopes, spread = differences(np.array([[0.0], [1.0], [4.0], [9.0]]), 1.0)
    >>> slopes.ravel().tolist(), bool(spread.max() < 1e-5)
    ([1.0, 3.0, 5.0], True)
    """
    slopes = np.diff(states, axis=0) / dt
    spread = np.zeros_like(slopes)
    if len(slopes) >= 3:
        wide = (states[3:] - states[:-3]) / (3.0 * dt)
        spread[1:-1] = np.abs(wide - slopes[1:-1]) / 8.0
        spread[0], spread[-1] = spread[1], spread[-2]
    rounded = float(np.finfo(np.float32).eps) * np.abs(states[1:]) / dt
    return slopes, np.hypot(spread, rounded)


class Reader:
    """Reads and writes the state of an environment; angles are unwrapped."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        state: Callable[[Any], npt.ArrayLike] | None,
        write: Callable[[Any, Array], None] | None,
        action: Callable[[Array], npt.ArrayLike] | None,
        angles: Sequence[int],
        limits: tuple[Array, Array],
        seed: int,
    ) -> None:
        self.env, self._state, self._action = env, state, action
        #: Function that writes the state; None if that is not possible.
        self.write = write
        self._angles = list(angles)
        #: Seed of the first reset.
        self.seed = seed
        #: Whether all episodes are reset with the seed, because they would start elsewhere without it.
        self.repeats = False
        self.low, self.high = limits
        self._last: Array | None = None

    def begin(self, x0: Array | None = None, needed: bool = False, *, seed: int | None) -> Array:
        """Resets, and writes the state if possible. Without a seed the environment's random numbers continue."""
        observation, _ = self.env.reset(seed=seed)
        if x0 is not None and self.write is not None:
            self.write(self.env.unwrapped, x0.copy())
        elif needed:
            raise MistakeError("the state of this environment cannot be written; give from_gym a function: write=lambda env, x: ...")
        self._last = x0
        if self._state is None and x0 is not None and self.write is not None:
            # The observation was made before the state was written and is outdated.
            return np.array(x0)
        return self.read(observation)

    def read(self, observation: Any) -> Array:
        """Returns the state with angles unwrapped relative to the last one."""
        value = observation if self._state is None else self._state(self.env.unwrapped)
        x = np.array(value, dtype=np.float64).reshape(-1)
        if self._last is not None and self._last.shape == x.shape:
            for i in self._angles:
                x[i] -= 2.0 * np.pi * np.round((x[i] - self._last[i]) / (2.0 * np.pi))
        self._last = x.copy()
        return x

    def step(self, u: Array) -> tuple[Array, float, bool, bool]:
        """Applies an input: returns the state after it, its reward, and whether the environment ended."""
        action = u if self._action is None else np.asarray(self._action(u))
        space = self.env.action_space
        action = np.asarray(action).astype(space.dtype or np.float64).reshape(space.shape or (-1,))
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return self.read(observation), float(reward), bool(terminated), bool(truncated)

    def follow(self, x0: Array | None, inputs: Array, *, seed: int | None) -> Array:
        """Returns the states under some inputs."""
        states = [self.begin(x0, seed=seed)]
        for u in inputs:
            x, _, terminated, truncated = self.step(u)
            states.append(x)
            if terminated or truncated:
                break
        return np.array(states)
