"""A rig at the end of a serial line: lines of text in both directions.

    host to rig    RESET             rig to host    X 3.14159 0.0
                   U 0.25                           X 3.14150 -0.002

Run: python serial_line.py [folder]     A pseudo-terminal stands for the line, a thread for the rig. On hardware open the
device instead, for example with pyserial: line = serial.Serial("/dev/ttyUSB0", 115200, timeout=1).
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import tty
from typing import BinaryIO

import numpy as np
from simulated_rig import PERIOD, TASK, Record, Rig

import ocorl


def read(line: BinaryIO) -> bytes:
    """Return the next line; nothing when the other end is closed."""
    try:
        return line.readline()
    except OSError:
        return b""


def firmware(line: BinaryIO) -> None:
    """What runs on the rig."""
    rig = Rig()
    for command in iter(lambda: read(line), b""):
        word, *numbers = command.decode().split()
        x = rig.reset() if word == "RESET" else rig.step(float(numbers[0]))
        line.write(f"X {float(x[0])!r} {float(x[1])!r}\n".encode())
        line.flush()


class Line:
    """The host's side: one command, one answer."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def ask(self, command: str) -> np.ndarray:
        """Send a command and read the state."""
        self._file.write(command.encode() + b"\n")
        self._file.flush()
        word, *numbers = self._file.readline().decode().split()
        if word != "X" or len(numbers) != 2:
            raise RuntimeError(f"the rig answered {word!r}")
        return np.array([float(number) for number in numbers])


def main(folder: str) -> None:
    """Learn until the study is finished."""
    host, device = os.openpty()
    tty.setraw(host)
    tty.setraw(device)
    threading.Thread(target=firmware, args=(os.fdopen(device, "r+b", buffering=0),), daemon=True).start()
    line = Line(os.fdopen(host, "r+b", buffering=0))
    with ocorl.Study.open_or_create(folder, TASK) as study:
        for plan in study:
            controller, record, x = plan.controller(), Record(), line.ask("RESET")
            for k in range(round(plan.horizon / PERIOD)):
                u = float(controller(k * PERIOD, x)[0])
                record.x.append(x)
                record.u.append(u)
                x = line.ask(f"U {u!r}")
            record.x.append(x)
            receipt = study.tell(plan, **record.told(plan.measure_at))
            print(f"episode {receipt.episode}: {receipt.stored} measurements")


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp())
