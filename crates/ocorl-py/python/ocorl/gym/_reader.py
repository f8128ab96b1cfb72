"""Reads and writes the state of an environment, and estimates derivatives from its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from .._errors import UserError
from ._canvas import Array


def differences(states: Array, dt: float) -> tuple[Array, Array]:
    """Return derivatives in the middle of each step, and their uncertainty.

    The difference over a step is a central difference around its middle, with the input that was held in it. The one
    over three steps has nine times its error, so an eighth of what they differ by is what the first one is wrong by.
    Single precision adds what it rounds off.

    Examples
    --------
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


def circles(path: Array) -> list[tuple[int, int]]:
    """Return the pairs of columns that move on the unit circle: cosine and sine of an angle."""
    found: list[tuple[int, int]] = []
    for i in range(path.shape[1]):
        for j in range(i + 1, path.shape[1]):
            free = all(i not in pair and j not in pair for pair in found)
            if free and np.ptp(path[:, i]) > 1e-3 and np.allclose(np.hypot(path[:, i], path[:, j]), 1.0, atol=1e-4):
                found.append((i, j))
    return found


@dataclass(frozen=True)
class AnglePairs:
    """Converts each pair of cosine and sine in an observation to an angle, which takes the place of the cosine.

    Examples
    --------
    >>> AnglePairs([(0, 1)], 3)(np.array([0.0, 1.0, 7.0])).round(4).tolist()
    [1.5708, 7.0]
    """

    #: Columns of cosine and sine.
    pairs: list[tuple[int, int]]
    #: Number of columns of the observation.
    size: int

    @classmethod
    def of(cls, env: gymnasium.Env[Any, Any], seed: int) -> AnglePairs:
        """Find the pairs by a trial run with random actions."""
        path = [np.asarray(env.reset(seed=seed)[0], dtype=float).reshape(-1)]
        env.action_space.seed(seed)
        for _ in range(30):
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            path.append(np.asarray(observation, dtype=float).reshape(-1))
            if terminated or truncated:
                break
        pairs = circles(np.array(path))
        if not pairs:
            raise UserError("no two observations look like cosine and sine of an angle", hint="say how to read the state: state=lambda env: ...")
        return cls(pairs, len(path[0]))

    def __call__(self, observation: Array) -> Array:
        """Return the state."""
        x, sines = observation.copy(), [j for _, j in self.pairs]
        for i, j in self.pairs:
            x[i] = np.arctan2(observation[j], observation[i])
        return np.delete(x, sines)

    @property
    def names(self) -> list[str]:
        """Names of the states: ``angle0`` for an angle, ``x2`` for an observation."""
        sines, cosines = [j for _, j in self.pairs], [i for i, _ in self.pairs]
        return [f"angle{cosines.index(k)}" if k in cosines else f"x{k}" for k in range(self.size) if k not in sines]

    @property
    def angles(self) -> list[str]:
        """Names of the angles."""
        return [f"angle{k}" for k in range(len(self.pairs))]


@dataclass(frozen=True)
class MujocoState:
    """Reads positions and velocities of the joints of a MuJoCo environment."""

    #: Names of the states.
    names: list[str]
    #: Names of the states that are angles.
    angles: list[str]

    def __call__(self, env: Any) -> Array:
        """Return the state."""
        return np.concatenate([env.data.qpos, env.data.qvel])


def mujoco_state(env: gymnasium.Env[Any, Any]) -> MujocoState:
    """Describe the state of a MuJoCo environment, with names of its joints."""
    model: Any = getattr(env.unwrapped, "model", None)
    if model is None or not hasattr(model, "nq"):
        raise UserError("state='mujoco' needs an environment of MuJoCo", hint="say how to read the state: state=lambda env: ...")
    if model.nq != model.nv:
        raise UserError(
            f"a joint of this environment is free or a ball ({model.nq} positions, {model.nv} velocities): its orientation has no chart without a jump",
            hint="read other coordinates: state=lambda env: ..., write=lambda env, x: ...",
        )
    names, angles = [], []
    for i in range(model.njnt):
        joint = model.joint(i)
        letters = [letter if letter.isalnum() else "_" for letter in (joint.name or f"q{i}")]
        name = "".join(letters).strip("_")
        names.append(name if name[:1].isalpha() else f"q{i}")
        # A hinge without limits turns.
        if int(joint.type[0]) == 3 and not bool(model.jnt_limited[i]):
            angles.append(names[-1])
    if len(set(names)) < len(names):
        names = [f"q{i}" for i in range(len(names))]
        angles = [names[i] for i in range(model.njnt) if int(model.jnt_type[i]) == 3 and not model.jnt_limited[i]]
    return MujocoState([*names, *(f"{name}_rate" for name in names)], angles)


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
        convert: AnglePairs | None = None,
    ) -> None:
        self.env, self._state, self._action, self._convert = env, state, action, convert
        #: Function that writes the state; None if that is not possible.
        self.write = write
        self._angles = list(angles)
        #: Seed of the first reset.
        self.seed = seed
        #: Whether all episodes are reset with the seed, because they would start elsewhere without it.
        self.repeats = False
        self.low, self.high = limits
        self._last: Array | None = None
        #: Whether bodies of a MuJoCo environment have touched each other.
        self.touched = False

    def begin(self, x0: Array | None = None, needed: bool = False, *, seed: int | None) -> Array:
        """Resets, and writes the state if possible. Without a seed the environment's random numbers continue."""
        observation, _ = self.env.reset(seed=seed)
        if x0 is not None and self.write is not None:
            self.write(self.env.unwrapped, x0.copy())
        elif needed:
            raise UserError("the state of this environment cannot be written; give from_gym a function: write=lambda env, x: ...")
        self._last = x0
        if self._state is None and self._convert is None and x0 is not None and self.write is not None:
            # The observation was made before the state was written and is outdated.
            return np.array(x0)
        return self.read(observation)

    def read(self, observation: Any) -> Array:
        """Return the state with angles unwrapped relative to the last one."""
        value = observation if self._state is None else self._state(self.env.unwrapped)
        x = np.array(value, dtype=np.float64).reshape(-1)
        if self._convert is not None:
            x = self._convert(x)
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
        data = getattr(self.env.unwrapped, "data", None)
        self.touched = self.touched or getattr(data, "ncon", 0) > 0
        return self.read(observation), float(reward), bool(terminated), bool(truncated)

    def follow(self, x0: Array | None, inputs: Array, *, seed: int | None) -> Array:
        """Return the states under some inputs."""
        states = [self.begin(x0, seed=seed)]
        for u in inputs:
            x, _, terminated, truncated = self.step(u)
            states.append(x)
            if terminated or truncated:
                break
        return np.array(states)
