# %% [markdown]
# # Learn the pendulum
#
# A pendulum hangs. Nobody knows its equations; ten times in each episode the state and its derivative are measured. After a few
# episodes it is swung up and balanced as well as anybody could who knows the equations.

# %%
import ocorl

result = ocorl.run("pendulum", seed=0, episodes=5)

# %% [markdown]
# `cost` is what an episode came to, `regret` what it was above the best possible. The paper needed twenty episodes for 20.20.

# %%
print("costs: ", [round(float(cost), 2) for cost in result.costs])
print("final cost:", round(result.final_cost, 3), "  best possible:", round(result.optimum, 3))

# %% [markdown]
# ## What was measured, and when
#
# The times are chosen where they tell the most about the dynamics, not evenly.

# %%
for episode in result.episodes:
    print(episode.number, [round(float(t), 1) for t in episode.measurement_times])

# %% [markdown]
# ## The path of the last episode
#
# States in columns, moments in rows. In a notebook `result.plot("phase")` draws it.

# %%
last = result.episodes[-1]
print("from", last.x[0].round(2), "to", last.x[-1].round(2), "in", float(last.t[-1]), "s")

# %% [markdown]
# ## The same seed gives the same run
#
# To the last bit, on any number of threads; the program `ocorl run pendulum --seed 0` gives it too.

# %%
again = ocorl.run("pendulum", seed=0, episodes=5, quiet=True, threads=1)
assert list(again.costs) == list(result.costs)
assert result.final_cost < 1.02 * result.optimum
