# %% [markdown]
# # Your own hardware
#
# A study asks for an episode, your rig runs it, and the study is told what was measured. It lives in a folder: stop when you like,
# come back tomorrow; after a crash it asks for the same episode again.

# %%
import tempfile
from pathlib import Path

import numpy as np
import ocorl

# %% [markdown]
# ## A rig
#
# A pretend one: a cart with a spring, a sensor with noise. Yours reads encoders and writes to a motor. All it needs is a loop that asks the
# controller for the next input, and a note of state, derivative and input at the times that were asked for.

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
    """What nobody knows."""
    return np.array([x[1], -2.0 * np.sin(x[0]) - 0.3 * x[1] + u[0]])


def rig(controller, measure_at, horizon, period=0.02):
    """Runs an episode; returns what was measured."""
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
# `plan.controller()` is a function of time and state. It always returns finite inputs within their limits, and the safe input once the plan is
# over.

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
# ## What the study knows

# %%
status = study.status()
print({key: status[key] for key in ("episodes", "measurements", "best_cost", "last_cost")})
assert study.done and len(study.episodes) == 4
study.close()

# %% [markdown]
# `study.report()` writes a page with all figures; `ocorl watch` shows it live; another process may look on while this one writes.
