# %% [markdown]
# # A Gymnasium environment
#
# `from_gym` makes a plant of any environment with continuous actions: `Pendulum-v1` here, which is described already. Its torque is too weak to
# lift it at once; it has to be swung.

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
# Each episode is 10 s of the environment, its 200 steps, of which 20 are measured.

# %%
result = ocorl.run(plant.system, plant=plant, episodes=6, measurements=20, seed=0)

# %%
for number, run in enumerate(plant.runs):
    print(f"episode {number}: return {run.reward:8.1f}, {len(run.t)} measurements, times rounded by {run.rounding:.3f} s at most")
print("interaction time:", plant.seconds, "s")
assert plant.runs[-1].reward > -330.0, "it is swung up and held"

# %% [markdown]
# ## The other way round
#
# The paper's systems are environments too, for learners of other kinds. Steps are integrated exactly, whatever `dt` is.

# %%
env = gymnasium.make("ocorl.gym:ocorl/CartPole-v0", dt=0.1, render_mode="ansi")
x, info = env.reset(seed=0)
total, ended = 0.0, False
while not ended:
    x, reward, terminated, truncated, info = env.step(np.zeros(1))
    total, ended = total + reward, terminated or truncated
print(f"doing nothing costs {-total:.2f}; {info['outcome']} at t = {info['t']:.1f}")
print(env.render())
