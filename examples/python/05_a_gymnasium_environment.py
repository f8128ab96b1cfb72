# %% [markdown]
# # A Gymnasium environment
#
# `from_gym` converts any environment with continuous actions to a plant. `known` has the description of `Pendulum-v1`.
# The torque is too weak to lift the pendulum directly; it must swing up.

# %%
import gymnasium
import numpy as np
import ocorl
from ocorl.gym import from_gym, known

plant = from_gym("Pendulum-v1", **known("Pendulum-v1"))
print(plant)
for check in plant.checks:
    print(" ", check)

# %% [markdown]
# ## Learn it
#
# Each episode has 200 steps, which are 10 s, and 20 measurements.

# %%
result = ocorl.run(plant.system, plant=plant, episodes=6, measurements=20, seed=0)

# %%
for number, run in enumerate(plant.runs):
    print(f"episode {number}: return {run.reward:8.1f}, {len(run.t)} measurements, times rounded by {run.rounding:.3f} s at most")
print("interaction time:", plant.seconds, "s")
assert plant.runs[-1].reward > -330.0, "the pendulum is swung up and balanced"

# %% [markdown]
# ## The paper's systems as environments
#
# The paper's systems are also Gymnasium environments, for other learners. Integration within a step is adaptive, so its
# accuracy does not depend on `dt`.

# %%
env = gymnasium.make("ocorl.gym:ocorl/CartPole-v0", dt=0.1, render_mode="ansi")
x, info = env.reset(seed=0)
total, ended = 0.0, False
while not ended:
    x, reward, terminated, truncated, info = env.step(np.zeros(1))
    total, ended = total + reward, terminated or truncated
print(f"cost with zero input: {-total:.2f}; {info['outcome']} at t = {info['t']:.1f}")
print(env.render())
