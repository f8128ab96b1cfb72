# %% [markdown]
# # Your own hardware
#
# A study plans an episode, your rig executes it, and the study records the measurements. The study is stored in a folder.
# You can stop at any time and resume later. After a crash, `ask` returns the same plan again.

# %%
import tempfile
from pathlib import Path

import numpy as np
import ocorl

# %% [markdown]
# ## A simulated rig
#
# This rig simulates a cart with a spring and a noisy sensor. Your rig reads encoders and drives a motor. It needs a loop
# that calls the controller for the next input, and records state, derivative and input at the requested times.

# %%
SYSTEM = """
[system]
name    = "cart"
states  = ["position", "speed"]
inputs  = { force = [-2, 2] }
x0      = [1, 0]
horizon = 6
[cost]
state = { position = 1, speed = 1 }
input = { force = 0.1 }
[learning]
episodes     = 4
measurements = 8
noise        = 0.02
[hardware]
period     = 0.02
safe_input = { force = 0 }
"""
rng = np.random.default_rng(0)


def nature(x, u):
    """Return dx/dt of the true system, which the learner does not know."""
    return np.array([x[1], -2.0 * np.sin(x[0]) - 0.3 * x[1] + u[0]])


def rig(controller, measure_at, horizon, period=0.02):
    """Run an episode and return its measurements."""
    x, log, due = np.array([1.0, 0.0]), [], sorted(measure_at)
    for k in range(round(horizon / period)):
        t = k * period
        u = np.asarray(controller(t, x))
        while due and due[0] < t + period:
            log.append((t, x.copy(), u, nature(x, u) + 0.02 * rng.standard_normal(2)))
            due.pop(0)
        for _ in range(4):
            x = x + period / 4 * nature(x + period / 8 * nature(x, u), u)
    t, states, inputs, derivatives = zip(*log, strict=True)
    return np.array(t), np.array(states), np.array(inputs), np.array(derivatives)


# %% [markdown]
# ## The loop
#
# `plan.controller()` is a function of time and state. It always returns finite inputs within their limits. After the end
# of the plan it returns the safe input.

# %%
folder = Path(tempfile.mkdtemp()) / "lab"
description = folder.with_name("cart.toml")
description.write_text(SYSTEM)
study = ocorl.Study.open_or_create(str(folder), system=str(description))
while not study.done:
    plan = study.ask()
    t, x, u, x_dot = rig(plan.controller(), plan.measure_at, 6.0)
    receipt = study.tell(plan, t=t, x=x, u=u, x_dot=x_dot)
    print(f"episode {receipt['episode']}: {receipt['stored']} measurements stored, cost about {receipt['closed']['cost']:.2f}")

# %% [markdown]
# ## Status of the study

# %%
status = study.status()
print({key: status[key] for key in ("episodes", "measurements", "best_cost", "last_cost")})
assert study.done and len(study.episodes) == 4
study.close()

# %% [markdown]
# `study.report()` writes a page with all figures. `ocorl watch` shows the study live. Other processes can read the study
# while this one writes.
