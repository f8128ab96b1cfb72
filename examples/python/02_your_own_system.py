# %% [markdown]
# # Your own system
#
# A system has a function, a cost and names. This example is a tank. Its outflow grows with the square root of its level.
# A slow valve fills it.

# %%
import numpy as np
import ocorl


def tank(x, u):
    """Return dx/dt of level and flow for an opening of the valve."""
    level, flow = x
    return np.array([flow - 0.1 * np.sqrt(max(level, 0.0)), (u[0] - flow) / 2.0])


system = ocorl.System(
    tank,
    states=["level", "flow"],
    inputs={"valve": (0.0, 1.0)},
    x0=[0.2, 0.0],
    horizon=20.0,
    cost=ocorl.quadratic(Q=[1.0, 1.0], R=[1.0], target={"level": 1.0, "flow": 0.1, "valve": 0.1}),
)
system

# %% [markdown]
# ## Simulate it before learning
#
# This simulation keeps the valve half open.

# %%
run = system.simulate(lambda t, x: [0.5], dt=5.0)
for t, x in zip(run.t, run.x, strict=True):
    print(f"t = {t:4.1f}   level {x[0]:.3f}   flow {x[1]:.3f}")

# %% [markdown]
# ## Learn it
#
# Only the simulation of episodes uses the function. The learner sees ten noisy measurements of each episode.

# %%
result = ocorl.run(system, episodes=4, measurements=10, seed=1)

# %%
last = result.episodes[-1]
print("level at the end:", round(float(last.x[-1, 0]), 3), "(target: 1)")
assert result.costs[-1] < result.costs[0]

# %% [markdown]
# The system can also be a text file: `ocorl new tank` writes a template, and `ocorl.run("tank.toml")` learns it. This is
# much faster than a Python function.
