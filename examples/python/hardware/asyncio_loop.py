"""Control and measurement as tasks of one asyncio loop: the controller never waits for the record.

Run: python asyncio_loop.py [folder]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile

import numpy as np
from simulated_rig import PERIOD, TASK, Record, Rig

import ocorl

#: Seconds of the rig in one second of the clock: 1 on hardware.
SPEED = 50.0


async def drive(rig: Rig, controller: ocorl.Controller, samples: asyncio.Queue[tuple[np.ndarray, float] | None]) -> None:
    """Set the input once per period, and pass on what was read."""
    clock, x = asyncio.get_running_loop(), rig.reset()
    begin = clock.time()
    for k in range(round(controller.horizon / PERIOD)):
        u = float(controller(k * PERIOD, x)[0])
        samples.put_nowait((x, u))
        x = rig.step(u)
        # A late period does not shift those after it.
        await asyncio.sleep(max(0.0, begin + (k + 1) * PERIOD / SPEED - clock.time()))
    samples.put_nowait((x, np.nan))
    samples.put_nowait(None)


async def listen(samples: asyncio.Queue[tuple[np.ndarray, float] | None]) -> Record:
    """Collect the samples of an episode."""
    record = Record()
    while (sample := await samples.get()) is not None:
        record.x.append(sample[0])
        if np.isfinite(sample[1]):
            record.u.append(sample[1])
    return record


async def main(folder: str) -> None:
    """Learn until the study is finished."""
    rig = Rig()
    with ocorl.Study.open_or_create(folder, TASK) as study:
        for plan in study:
            samples: asyncio.Queue[tuple[np.ndarray, float] | None] = asyncio.Queue()
            _, record = await asyncio.gather(drive(rig, plan.controller(), samples), listen(samples))
            receipt = study.tell(plan, **record.told(plan.measure_at))
            print(f"episode {receipt.episode}: {receipt.stored} measurements")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()))
