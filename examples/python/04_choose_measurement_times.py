# %% [markdown]
# # Choose measurement times for a model
#
# The components of the learner can be used alone: a Gaussian process model of the dynamics, and the strategies that
# select measurement times.

# %%
import numpy as np
import ocorl

pendulum = ocorl.System.find("pendulum")
rng = np.random.default_rng(0)

# %% [markdown]
# ## A model from thirty measurements
#
# The model maps states and inputs to derivatives. Each row is a point.

# %%
X = rng.uniform([-1.0, -2.0], [1.0, 2.0], size=(30, 2))
U = rng.uniform(-2.0, 2.0, size=(30, 1))
X_dot = pendulum.derivative(X, U) + 0.01 * rng.standard_normal((30, 2))
model = ocorl.GpDynamics(noise=0.01).fit(X, X_dot, U)
print(model, "\nlengthscales:\n", np.round(model.lengthscale_, 2))

# %% [markdown]
# ## Model uncertainty along a trajectory
#
# The trajectory starts where the model has data and leaves that region.

# %%
t = np.linspace(0.0, 4.0, 201)
path = np.stack([0.8 * t, np.full_like(t, 0.8)], axis=1)
inputs = np.sin(t)[:, None]
Z = np.hstack([path, inputs])
mean, std = model.predict(Z, return_std=True)
for moment in (0.0, 1.0, 2.0, 3.0, 4.0):
    i = int(np.searchsorted(t, moment))
    print(f"t = {moment:.0f}   std of d omega/dt {std[i, 1]:.3f}")

# %% [markdown]
# ## The six most informative times
#
# Half of the equidistant times lie where the model is already accurate.

# %%
for strategy in ("equidistant", "max-determinant", "max-kernel-distance"):
    chosen = ocorl.choose_times(strategy, model, t, Z, 6)
    print(f"{strategy:>20}: {np.sort(t[chosen]).round(2)}")

# %% [markdown]
# ## Uncertainty after the measurements
#
# The loop adds the measurements at the selected times and computes the largest remaining standard deviation.

# %%
left = {}
for strategy in ("equidistant", "max-determinant", "max-kernel-distance"):
    chosen = ocorl.choose_times(strategy, model, t, Z, 6)
    truth = pendulum.derivative(path[chosen], inputs[chosen])
    after = ocorl.GpDynamics(noise=0.01).fit(np.vstack([X, path[chosen]]), np.vstack([X_dot, truth]), np.vstack([U, inputs[chosen]]))
    _, std_after = after.predict(Z, return_std=True)
    left[strategy] = float(std_after.max())
    print(f"{strategy:>20}: largest std before {std.max():.3f}, after {left[strategy]:.3f}")
assert min(left.values()) < float(std.max())
