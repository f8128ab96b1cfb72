"""The nine systems of the paper as Gymnasium environments."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .._errors import UserError
from .._system import System
from . import _pictures
from ._canvas import Array


@dataclass(frozen=True)
class Scene:
    """Parameters of an environment besides its system: default step, and the inputs that correspond to -1 and 1.

    The paper's inputs have no limits, but other learners need some. The ranges are about twice as large as the known
    optimum requires.
    """

    #: Name after ``ocorl/`` and before ``-v0``.
    name: str
    #: Name of the system.
    system: str
    #: Time between two actions.
    dt: float
    #: Lower limit of the input.
    low: tuple[float, ...]
    #: Upper limit of the input.
    high: tuple[float, ...]
    #: Function that draws it.
    draw: _pictures.Draw


SCENES: dict[str, Scene] = {
    scene.name: scene
    for scene in (
        Scene("CancerTreatment", "cancer-treatment", 0.1, (-1.0,), (3.0,), _pictures.bars(["tumour"], [0.0], [1.0])),
        Scene(
            "GlucoseInBlood",
            "glucose-in-blood",
            0.005,
            (-0.03,),
            (0.03,),
            _pictures.bars(["glucose", "hormone"], [0.0, -0.01], [1.0, 0.01]),
        ),
        Scene("Pendulum", "pendulum", 0.05, (-6.0,), (6.0,), _pictures.pendulum),
        Scene("MountainCar", "mountain-car", 0.01, (-2.5,), (2.5,), _pictures.mountain_car),
        Scene("CartPole", "cart-pole", 0.05, (-6.0,), (6.0,), _pictures.cart_pole),
        Scene("Bicycle", "bicycle", 0.05, (-2.0, -4.0), (2.0, 4.0), _pictures.bicycle),
        Scene("FurutaPendulum", "furuta-pendulum", 0.05, (-6.0,), (6.0,), _pictures.furuta_pendulum),
        Scene("Quadrotor2D", "quadrotor-2d", 0.04, (-0.4, -0.5), (0.8, 0.5), _pictures.quadrotor_2d),
        Scene(
            "Quadrotor3D",
            "quadrotor-3d",
            0.05,
            (-0.85, -2.0, -2.0, -2.0),
            (1.15, 2.0, 2.0, 2.0),
            _pictures.quadrotor_3d,
        ),
    )
}


#: A window needs pygame; without it the render mode is not offered.
_MODES = ["rgb_array", "ansi", *(["human"] if find_spec("pygame") else [])]


class OcorlEnv(gymnasium.Env[Array, npt.NDArray[Any]]):
    """One of the paper's systems, with its input held for `dt` at a time.

    Integration within a step is adaptive, with the accuracy of `ocorl.run`.

    Notes
    -----
    - The observation is the state x (float64).
    - The action is u scaled to [-1, 1] (float32, for Stable-Baselines3). With ``actions="physical"`` it is u itself
      (float64). Actions beyond their limits are clipped.
    - The reward is minus the running cost, integrated over the step. The last reward also has minus the terminal
    cost. If
      the episode was terminated, it has minus the cost rate at the stop times the remaining time instead, so that an
      early crash is not cheaper.
    - The return of an episode is minus the cost of the same run in `System.simulate`, in units of the task.
    `ocorl.run`
      reports costs in the units of the paper's table: ``system.table_scale`` times as much. For a run that stops
      early, a simulation takes the rate at its last integration step, shortly before the stop; the two differ by a
      few percent.
    - ``terminated`` when a state leaves its limits or is not finite, ``truncated`` at the horizon.
    - ``info`` has ``t``, ``x``, ``x_dot`` (the true derivative at the end of the step, under its input) and
    ``outcome``. - ``reset(options={"x0": ...})`` starts at another state.

    Examples
    --------
    >>> import gymnasium, ocorl.gym
    >>> env = gymnasium.make("ocorl/Pendulum-v0", dt=0.1)
    >>> x, info = env.reset(seed=0)
    >>> x, reward, terminated, truncated, info = env.step([0.0])
    >>> info["outcome"], round(info["t"], 3), round(reward, 3)
    ('running', 0.1, -0.987)
    """

    metadata: dict[str, Any] = {"render_modes": _MODES, "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        name: str = "Pendulum",
        dt: float | None = None,
        actions: str = "normalized",
        render_mode: str | None = None,
    ) -> None:
        if name not in SCENES:
            raise UserError(f"no environment '{name}'; there are: {', '.join(SCENES)}")
        self.scene = SCENES[name]
        self.system = System.find(self.scene.system)
        self.dt = self.scene.dt if dt is None else float(dt)
        if not 0.0 < self.dt <= self.system.horizon:
            raise UserError(f"dt is {self.dt}; it must be positive and at most the horizon, {self.system.horizon}")
        if actions not in ("normalized", "physical"):
            raise UserError(f"actions is '{actions}'; it must be 'normalized' or 'physical'")
        if render_mode is not None and render_mode not in _MODES:
            hint = " (a window needs pygame: pip install pygame)" if render_mode == "human" else ""
            raise UserError(f"render_mode is '{render_mode}'; it must be one of {', '.join(_MODES)}{hint}")
        self.render_mode = render_mode
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1.0 / self.dt))}
        self._low, self._high = np.array(self.scene.low), np.array(self.scene.high)
        self._physical = actions == "physical"
        if self._physical:
            self.action_space = spaces.Box(self._low, self._high, dtype=np.float64)
        else:
            self.action_space = spaces.Box(-1.0, 1.0, shape=self._low.shape, dtype=np.float32)
        low, high = _limits(self.system)
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self._steps = max(1, round(self.system.horizon / self.dt))
        self._count, self._time = 0, 0.0
        self._x: Array = np.array(self.system.x0)
        self._u: Array = np.array(self.system.safe_control)
        self._outcome = "running"
        self._window: Any = None

    @property
    def time(self) -> float:
        """Time since the start of the episode; at its end or when it was aborted, the horizon."""
        return self._time

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode at the system's x0, or at ``options["x0"]``."""
        super().reset(seed=seed)
        options = dict(options or {})
        x0 = np.array(options.pop("x0", self.system.x0), dtype=np.float64)
        if options:
            raise UserError(f"no option '{next(iter(options))}' of reset; there is: x0")
        if x0.shape != self.observation_space.shape:
            raise UserError(f"x0 has the shape {x0.shape}; the states have {self.observation_space.shape}")
        if not self.observation_space.contains(x0):
            raise UserError(f"x0 is {x0.tolist()}; it must be finite and within the limits of the states")
        self._count, self._time, self._x, self._outcome = 0, 0.0, x0, "running"
        self._u = np.array(self.system.safe_control)
        self._show()
        return self._x.copy(), self._info()

    def step(self, action: npt.ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold an input for `dt`; in the last step until the horizon."""
        self._u = self._input(action)
        if self._outcome != "running":
            gymnasium.logger.warn("step() after the end of the episode; reset() begins another")
        self._count += 1
        before, begin, horizon = self._x, self._time, self.system.horizon
        length = self.dt if self._count < self._steps else max(horizon - begin, 1e-9)
        x, cost, outcome = self.system.step(before, self._u, length)
        low, high = self.observation_space.low, self.observation_space.high  # type: ignore[attr-defined]
        finite = bool(np.isfinite(x).all())
        self._x = np.clip(x, low, high) if finite else np.clip(np.nan_to_num(x, nan=0.0), low, high)
        terminated = outcome != "completed" or not finite
        truncated = not terminated and self._count >= self._steps
        if terminated:
            self._time = begin + self._stop(before, length)
            # The time of a step starts at zero.
            why = outcome.split(" at t =")[0].rstrip(",") if finite else "not finite"
            self._outcome = f"{why} at t = {self._time:g}"
            cost += self._rest()
        else:
            self._time = horizon if truncated else self._count * self.dt
            self._outcome = "completed" if truncated else "running"
        if truncated:
            cost += float(self.system.terminal_cost(self._x))
        self._show()
        reward = -cost if np.isfinite(cost) else -np.finfo(np.float32).max
        return self._x.copy(), float(reward), terminated, truncated, self._info()

    def _stop(self, before: Array, length: float) -> float:
        """Return the time from the start of a step that begins at `before` until it is aborted."""
        run = self.system.simulate(lambda t, x: self._u, x0=before, horizon=length, dt=length)
        return float(run.t[-1])

    def _rest(self) -> float:
        """Return the cost of the remaining time of an aborted episode; zero if the cost rate is not finite."""
        rate = float(self.system.cost([self._time], self._x[None, :], self._u[None, :])[0])
        return rate * max(self.system.horizon - self._time, 0.0) if np.isfinite(rate) else 0.0

    def _input(self, action: npt.ArrayLike) -> Array:
        a = np.asarray(action, dtype=np.float64).reshape(-1)
        if a.shape != self._low.shape or not np.isfinite(a).all():
            raise UserError(f"an action is {len(self._low)} finite numbers, not {action!r}")
        if not self._physical:
            a = self._low + (np.clip(a, -1.0, 1.0) + 1.0) / 2.0 * (self._high - self._low)
        return np.clip(a, self._low, self._high)

    def _info(self) -> dict[str, Any]:
        x_dot = np.array(self.system.derivative(self._x[None, :], self._u[None, :]))[0]
        return {"t": self.time, "x": self._x.copy(), "x_dot": x_dot, "outcome": self._outcome}

    def render(self) -> Any:
        """Return the image (`rgb_array`) or the text (`ansi`); a window updates itself (`human`)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode; make the environment with render_mode='rgb_array'")
            return None
        if self.render_mode == "ansi":
            system = self.system
            return _pictures.text_report(
                system.states, system.state_units, self._x, system.controls, self._u, self.time
            )
        share = 2.0 * (self._u - self._low) / (self._high - self._low) - 1.0
        image = _pictures.picture(self.scene.draw, self._x, self.system.controls, share, self.time)
        if self.render_mode == "rgb_array":
            return image
        self._to_window(image)
        return None

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _to_window(self, image: npt.NDArray[np.uint8]) -> None:
        pygame: Any = import_module("pygame")
        if self._window is None:
            pygame.init()
            self._window = (pygame.display.set_mode(image.shape[1::-1]), pygame.time.Clock())
            pygame.display.set_caption(self.scene.name)
        screen, clock = self._window
        pygame.event.pump()
        screen.blit(pygame.surfarray.make_surface(image.swapaxes(0, 1)), (0, 0))
        pygame.display.flip()
        clock.tick(self.metadata["render_fps"])

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            import_module("pygame").display.quit()
            self._window = None


def _limits(system: System) -> tuple[Array, Array]:
    """Return the limits of the states; a state without limits is limited to a million."""
    low, high = np.array(system.state_lower), np.array(system.state_upper)
    return np.maximum(low, -1e6), np.minimum(high, 1e6)
