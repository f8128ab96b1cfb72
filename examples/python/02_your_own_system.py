# %% [markdown]
# # Your own system
#
# A system is a function, a cost and a few names. Here: a tank whose outflow grows with the root of its level, filled through a valve
# that reacts slowly.

# %%
import numpy as np
import ocorl


def tank(x, u):
    """dx/dt of level and flow under the opening of the valve."""
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
# ## Look at it before learning
#
# What does it do if the valve is half open?

# %%
run = system.simulate(lambda t, x: [0.5], dt=5.0)
for t, x in zip(run.t, run.x, strict=True):
    print(f"t = {t:4.1f}   level {x[0]:.3f}   flow {x[1]:.3f}")

# %% [markdown]
# ## Learn it
#
# The function is only used to run episodes: the learner sees ten measurements of each, with noise, and nothing else.

# %%
result = ocorl.run(system, episodes=4, measurements=10, seed=1)

# %%
last = result.episodes[-1]
print("level at the end:", round(float(last.x[-1, 0]), 3), "(it should be near 1)")
assert result.costs[-1] < result.costs[0]

# %% [markdown]
# The same as text, without Python: `ocorl new tank` writes a file to begin with, `ocorl.run("tank.toml")` learns it, much faster than a
# Python function can be called.
