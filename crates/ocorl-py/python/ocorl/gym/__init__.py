"""Gymnasium in both directions: the paper's systems as environments, and environments as plants to learn.

Importing this module registers nine environments, ``ocorl/Pendulum-v0`` and so on; or let Gymnasium import it:

>>> import gymnasium
>>> env = gymnasium.make("ocorl.gym:ocorl/CartPole-v0", dt=0.1)
>>> env.observation_space.shape
(4,)

`from_gym` converts any environment with continuous actions to a plant; `known` describes two of Gymnasium's own:

>>> plant = from_gym("Pendulum-v1", **known("Pendulum-v1"))
>>> plant.system.states
['theta', 'omega']
"""

from __future__ import annotations

try:
    import gymnasium
except ImportError as error:
    raise ImportError("ocorl.gym needs Gymnasium: pip install 'ocorl[gym]'") from error

from ._checks import Check
from ._environment import SCENES, OcorlEnv, Scene
from ._known import known
from ._plant import GymPlant, Measured, from_gym

__all__ = ["ENVIRONMENTS", "Check", "GymPlant", "Measured", "OcorlEnv", "Scene", "from_gym", "known", "register"]

#: Ids of the environments, in the order of the paper's table.
ENVIRONMENTS: list[str] = [f"ocorl/{name}-v0" for name in SCENES]


def register() -> None:
    """Register the environments with Gymnasium. Called when this module is imported; further calls have no effect.

    Examples
    --------
    >>> register()
    >>> all(id in gymnasium.registry for id in ENVIRONMENTS)
    True
    """
    for id, name in zip(ENVIRONMENTS, SCENES, strict=True):
        if id not in gymnasium.registry:
            # The number of steps depends on dt, so the environment applies the time limit itself.
            gymnasium.register(
                id=id, entry_point="ocorl.gym._environment:OcorlEnv", kwargs={"name": name}, max_episode_steps=None
            )


register()
