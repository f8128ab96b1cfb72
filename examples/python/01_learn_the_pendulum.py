# %% [markdown]
# # Learn the pendulum
#
# The learner controls a pendulum without knowing its equations. In each episode it measures the state and its derivative
# ten times. After a few episodes its cost is near the optimum, which is computed with the true equations.

# %%
import ocorl

result = ocorl.run("pendulum", seed=0, episodes=5)

# %% [markdown]
# `cost` is the cost of an episode. `regret` is the cost above the optimum. The paper reports 20.20 after twenty episodes.

# %%
print("costs: ", [round(float(cost), 2) for cost in result.costs])
print("final cost:", round(result.final_cost, 3), "  optimum:", round(result.optimum, 3))

# %% [markdown]
# ## Measurement times
#
# The strategy selects the most informative times, not equidistant ones.

# %%
for episode in result.episodes:
    print(episode.number, [round(float(t), 1) for t in episode.measurement_times])

# %% [markdown]
# ## The trajectory of the last episode
#
# Rows are times, columns are states. `result.plot("phase")` draws the trajectory in a notebook.

# %%
last = result.episodes[-1]
print("from", last.x[0].round(2), "to", last.x[-1].round(2), "in", float(last.t[-1]), "s")

# %% [markdown]
# ## The same seed gives the same run
#
# The runs are equal bit for bit, on any number of threads. `ocorl run pendulum --seed 0` on the command line gives the
# same run.

# %%
again = ocorl.run("pendulum", seed=0, episodes=5, quiet=True, threads=1)
assert list(again.costs) == list(result.costs)
assert result.final_cost < 1.02 * result.optimum
