"""The paper's systems as Gymnasium environments."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import ocorl  # noqa: E402
import ocorl.gym  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from ocorl.gym._canvas import BLUE, PAPER, Canvas  # noqa: E402


def made(id: str, **settings: Any) -> Any:
    return gymnasium.make(id, **settings).unwrapped


@pytest.mark.parametrize("id", ocorl.gym.ENVIRONMENTS)
def test_gymnasium_has_nothing_to_say(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made(id, render_mode="rgb_array"))
        check_env(made(id))


@pytest.mark.parametrize("id", ocorl.gym.ENVIRONMENTS)
def test_stable_baselines_has_nothing_to_say(id: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(made(id), warn=True)


def lived(env: Any, u: np.ndarray) -> tuple[float, bool, dict[str, Any]]:
    """The return of an episode under one input, whether it was terminated, and what was last said."""
    env.reset(seed=0)
    total = 0.0
    while True:
        _, reward, terminated, truncated, info = env.step(u)
        total += reward
        if terminated or truncated:
            return total, terminated, info


@pytest.mark.parametrize("id", ocorl.gym.ENVIRONMENTS)
@pytest.mark.parametrize("push", [0.0, 1.0])
def test_the_return_is_minus_the_cost_of_the_same_run(id: str, push: float) -> None:
    env = made(id, actions="physical")
    u = (env._low + env._high) / 2 + push * (env._high - env._low) / 2
    total, terminated, info = lived(env, u)
    run = env.system.simulate(lambda t, x: u, dt=env.dt)
    assert terminated == (run.outcome != "completed")
    assert info["t"] == pytest.approx(run.t[-1], rel=1e-7)
    assert info["x"] == pytest.approx(run.x[-1], rel=1e-5, abs=1e-6)
    if not terminated:
        assert info["outcome"] == "completed" and info["t"] == env.system.horizon
        assert -total == pytest.approx(run.cost, rel=1e-6)
    else:
        assert "left its limits at t = " in info["outcome"]
        left = env.system.horizon - run.t[-1]
        rest = float(env.system.cost(run.t[-1:], run.x[-1:], u[None])[0]) * left
        assert rest > 0.05 * run.cost
        assert -total == pytest.approx(run.costs[-1] + rest, rel=1e-3)
        # The simulator takes the rate at the beginning of its last step, wherever that is.
        assert -total == pytest.approx(run.cost, rel=0.05)


def test_crashing_does_not_pay() -> None:
    env = made("ocorl/Pendulum-v0", actions="physical")
    thrown, terminated, _ = lived(env, env._high)
    kept, finished, _ = lived(env, np.zeros(1))
    assert terminated and not finished and thrown < kept


@pytest.mark.parametrize("dt", [0.3, 0.35, 0.4, 3.0, 10.0])
def test_an_episode_ends_at_the_horizon_whatever_dt_is(dt: float) -> None:
    env = made("ocorl/Pendulum-v0", dt=dt)
    total, _, info = lived(env, np.zeros(1))
    assert env.time == info["t"] == 10.0
    assert -total == pytest.approx(env.system.simulate(lambda t, x: [0.0]).cost, rel=1e-6)


def test_results_do_not_depend_on_dt() -> None:
    ends = []
    for dt in (0.5, 0.1, 0.02):
        env = made("ocorl/CartPole-v0", dt=dt)
        env.reset(seed=0)
        total = 0.0
        for _ in range(round(2.0 / dt)):
            x, reward, *_ = env.step([0.3])
            total += reward
        ends.append([*x, total])
    assert np.allclose(ends[0], ends[1], rtol=1e-6, atol=1e-7)
    assert np.allclose(ends[0], ends[2], rtol=1e-6, atol=1e-7)


def test_actions_are_scaled_or_not() -> None:
    plain, scaled = made("ocorl/Quadrotor2D-v0", actions="physical"), made("ocorl/Quadrotor2D-v0")
    assert plain.action_space.dtype == np.float64 and scaled.action_space.dtype == np.float32
    assert plain.observation_space.dtype == scaled.observation_space.dtype == np.float64
    plain.reset(seed=0)
    scaled.reset(seed=0)
    one, two = plain.step(plain.action_space.high), scaled.step([1.0, 1.0])
    assert one[0] == pytest.approx(two[0]) and one[1] == pytest.approx(two[1])
    far = scaled.step([5.0, 5.0])
    assert far[0] == pytest.approx(plain.step(plain.action_space.high)[0])


def test_where_an_episode_begins_can_be_said() -> None:
    env = made("ocorl/Pendulum-v0")
    x, info = env.reset(options={"x0": [0.1, -0.2]})
    assert x.tolist() == info["x"].tolist() == [0.1, -0.2]
    assert info["x_dot"] == pytest.approx([-0.2, 1.962 * np.sin(0.1)])
    assert (info["t"], info["outcome"]) == (0.0, "running")
    for options, words in [({"x0": [1.0]}, "shape"), ({"x0": [np.nan, 0]}, "finite"), ({"x": [0, 0]}, "no option 'x'")]:
        with pytest.raises(ocorl.UserError, match=words):
            env.reset(options=options)


def test_leaving_the_limits_terminates() -> None:
    env = made("ocorl/Pendulum-v0", actions="physical")
    env.reset(options={"x0": [0.0, 49.9]})
    x, reward, terminated, truncated, info = env.step(env.action_space.high)
    assert terminated and not truncated and "limits" in info["outcome"]
    assert env.observation_space.contains(x) and 0.0 < info["t"] < env.dt
    # As if it went on at this rate for all of the ten seconds.
    assert reward == pytest.approx(-10.0 * (50.0**2 + 6.0**2), rel=0.01)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dt": 0.0}, "dt is 0"),
        ({"dt": 11.0}, "at most the horizon"),
        ({"actions": "odd"}, "'normalized' or 'physical'"),
    ],
)
def test_mistakes_are_said(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ocorl.UserError, match=words):
        ocorl.gym.OcorlEnv("Pendulum", **settings)


def test_an_action_that_is_none_is_refused() -> None:
    env = made("ocorl/Bicycle-v0")
    env.reset()
    for action in ([0.0], [np.nan, 0.0]):
        with pytest.raises(ocorl.UserError, match="2 finite numbers"):
            env.step(action)


@pytest.mark.parametrize("id", ocorl.gym.ENVIRONMENTS)
def test_there_is_room_for_the_best_control(id: str) -> None:
    env = made(id)
    u = ocorl.optimal(env.system, intervals=100).u
    middle, half = (env._low + env._high) / 2, (env._high - env._low) / 2
    assert (np.abs(u - middle) < 0.8 * half).all()


@pytest.mark.parametrize("id", ocorl.gym.ENVIRONMENTS)
def test_pictures_and_words(id: str) -> None:
    env = made(id, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    assert before.dtype == np.uint8 and before.shape == (400, 400, 3)
    for _ in range(5):
        env.step(0.5 * np.ones(env.action_space.shape))
    assert (env.render() != before).any()
    text = made(id, render_mode="ansi")
    text.reset(seed=0)
    lines = text.render().splitlines()
    assert len(lines) == 1 + len(env.system.states) + len(env.system.controls)


def test_shapes_have_their_size_and_smooth_edges() -> None:
    canvas = Canvas(100, 100)
    canvas.disc((50.0, 50.0), 20.0, BLUE)
    share = (canvas.image().astype(float) - PAPER)[..., 0] / (BLUE[0] - PAPER[0])
    assert share.sum() == pytest.approx(np.pi * 400, rel=0.01)
    assert ((share > 0.05) & (share < 0.95)).sum() > 50
    canvas = Canvas(100, 100)
    canvas.polygon([(10.5, 10.0), (60.5, 10.0), (60.5, 40.0), (30.0, 25.0), (10.5, 40.0)], BLUE)
    share = (canvas.image().astype(float) - PAPER)[..., 0] / (BLUE[0] - PAPER[0])
    assert share.sum() == pytest.approx(50 * 30 - 50 * 15 / 2, rel=0.02)
    canvas.line((np.nan, 0.0), (1.0, 1.0), 3, BLUE)
    canvas.disc((1e9, 1e9), 3, BLUE)


def test_gymnasium_finds_the_module_by_itself() -> None:
    code = "import gymnasium; print(gymnasium.make('ocorl.gym:ocorl/Pendulum-v0').reset(seed=0)[0].shape)"
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "(2,)"


def test_a_step_after_the_end_is_spoken_of() -> None:
    env = made("ocorl/Pendulum-v0", dt=5.0)
    env.reset(seed=0)
    ended = False
    while not ended:
        _, _, terminated, truncated, _ = env.step(np.zeros(1))
        ended = terminated or truncated
    with pytest.warns(UserWarning, match="after the end"):
        env.step(np.zeros(1))
