"""Callbacks that hand the episodes of a run to a tracker: TensorBoard, MLflow, Weights & Biases.

A callback is called with a dictionary for each episode. Its numbers become curves over the episodes; everything else is left out.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     with TensorBoard(folder) as log:
...         log({"episode": 0, "cost": 63.4, "outcome": "completed"})
...         log({"episode": 1, "cost": 31.1, "outcome": "completed"})
...     events = read_events(log.path)
>>> [(event.step, event.tag, round(event.value, 1)) for event in events]
[(0, 'cost', 63.4), (1, 'cost', 31.1)]

Whatever happens to a tracker, the run goes on: the first failure is a warning, and then it is left alone.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Event", "Many", "MlFlow", "TensorBoard", "Tracker", "WandB", "event_record", "read_events", "scalars"]

Callback = Callable[[dict[str, Any]], None]

#: The number of an episode is what curves are drawn over; times are no curve.
_NO_CURVES = ("episode", "measurement_times", "synchronizations")


def scalars(episode: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The finite numbers of a dictionary, by path; lists by their places, truth values and texts not at all.

    >>> scalars({"episode": 3, "cost": 1.5, "beta": [1.0, 2.0], "timing": {"plan": 0.2}, "outcome": "completed", "regret": None})
    {'cost': 1.5, 'beta/0': 1.0, 'beta/1': 2.0, 'timing/plan': 0.2}
    """
    found: dict[str, float] = {}
    for key, value in episode.items():
        if not prefix and key in _NO_CURVES:
            continue
        if isinstance(value, Mapping):
            found |= scalars(value, f"{prefix}{key}/")
        elif isinstance(value, Real) and not isinstance(value, bool):
            if math.isfinite(float(value)):
                found[prefix + key] = float(value)
        elif isinstance(value, list | tuple) and len(value) <= 32:
            found |= scalars({str(i): v for i, v in enumerate(value)}, f"{prefix}{key}/")
    return found


def _record(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What an event says about an episode that is over; none if it is about something else."""
    if event.get("event", "episode") != "episode":
        return None
    inner = event.get("record")
    return inner if isinstance(inner, Mapping) else event


class Tracker:
    """What all trackers share: they are called with an episode, never raise, and are closed at the end."""

    _broken = False
    _count = 0

    def __call__(self, episode: dict[str, Any]) -> None:
        """Hands over an episode."""
        record = _record(episode)
        if self._broken or record is None:
            return
        number = record.get("episode", record.get("number"))
        step = int(float(number)) if isinstance(number, Real) else self._count
        self._count = step + 1
        try:
            self._log(step, scalars(record))
        except Exception as error:
            self._broken = True
            warnings.warn(
                f"{type(self).__name__} stopped: {type(error).__name__}: {error}; the run goes on", RuntimeWarning, stacklevel=2
            )

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Ends the log."""

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except Exception as error:
            warnings.warn(f"{type(self).__name__} was not closed: {error}", RuntimeWarning, stacklevel=2)


class Many(Tracker):
    """Several callbacks as one. One that raises is warned about and left alone; the others go on.

    >>> seen = []
    >>> many = Many([seen.append, lambda episode: None])
    >>> many({"episode": 0, "cost": 1.0})
    >>> len(seen)
    1
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks: list[Callback] = list(callbacks)

    def __call__(self, episode: dict[str, Any]) -> None:
        """Hands an episode to all of them."""
        for callback in list(self._callbacks):
            try:
                callback(episode)
            except Exception as error:
                self._callbacks.remove(callback)
                name = getattr(callback, "__name__", type(callback).__name__)
                warnings.warn(
                    f"{name} stopped: {type(error).__name__}: {error}; the run goes on", RuntimeWarning, stacklevel=2
                )

    def close(self) -> None:
        """Closes all that can be closed."""
        for callback in self._callbacks:
            close = getattr(callback, "close", None)
            if callable(close):
                close()


class TensorBoard(Tracker):
    """Event files for TensorBoard, which need not be installed: ``tensorboard --logdir runs``."""

    def __init__(self, folder: str | os.PathLike[str], prefix: str = "") -> None:
        self._folder, self._prefix = Path(folder), prefix
        self._file: Any = None
        #: The file, once there is one.
        self.path: Path = self._folder

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        now = time.time()
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"events.out.tfevents.{now:.6f}.{socket.gethostname()}.{os.getpid()}"
            self.path = self._folder / name
            self._file = self.path.open("xb")
            self._file.write(_framed(_version_event(now)))
        for tag, value in values.items():
            self._file.write(event_record(now, step, self._prefix + tag, value))
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file, self._broken = None, True


class MlFlow(Tracker):
    """The active run of MLflow, or a new one. Needs ``pip install mlflow``."""

    def __init__(self, experiment: str | None = None, run: str | None = None, **parameters: object) -> None:
        mlflow: Any = import_module("mlflow")
        self._mlflow = mlflow
        self._mine = mlflow.active_run() is None
        if experiment is not None:
            mlflow.set_experiment(experiment)
        if self._mine:
            mlflow.start_run(run_name=run)
        if parameters:
            mlflow.log_params(parameters)

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        self._mlflow.log_metrics(dict(values), step=step)

    def close(self) -> None:
        """Ends the run if it was begun here."""
        if self._mine:
            self._mlflow.end_run()


class WandB(Tracker):
    """The active run of Weights & Biases, or a new one. Needs ``pip install wandb``; it is a service, so data leaves the machine."""

    def __init__(self, project: str = "ocorl", name: str | None = None, **config: object) -> None:
        wandb: Any = import_module("wandb")
        self._mine = wandb.run is None
        self._run: Any = wandb.run if wandb.run is not None else wandb.init(project=project, name=name, config=config)

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """Ends the run if it was begun here."""
        if self._mine:
            self._run.finish()


# TensorBoard's format: records with lengths and checksums, and in each an `Event` in the encoding of protocol buffers.
#
#   record = length: u64 | masked CRC-32C of length: u32 | data | masked CRC-32C of data: u32        (little-endian)
#   Event   { 1: wall_time: double, 2: step: int64, 3: file_version: string, 5: summary: Summary }
#   Summary { 1: repeated Value }     Value { 1: tag: string, 2: simple_value: float }


def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _block(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _version_event(wall_time: float) -> bytes:
    return b"\x09" + struct.pack("<d", wall_time) + _block(3, b"brain.Event:2")


def event_record(wall_time: float, step: int, tag: str, value: float) -> bytes:
    """The bytes of one number in an event file.

    >>> event_record(0.0, 1, "a", 1.0).hex()[:24]
    '1700000000000000e7cef81e'
    """
    number = _block(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
    event = b"\x09" + struct.pack("<d", wall_time) + b"\x10" + _varint(step) + _block(5, _block(1, number))
    return _framed(event)


@dataclass(frozen=True)
class Event:
    """One number of an event file."""

    wall_time: float
    step: int
    tag: str
    value: float


def read_events(path: str | os.PathLike[str]) -> list[Event]:
    """The numbers in an event file, with every checksum looked at. For tests, and for those without TensorBoard.

    Raises:
        ValueError: A checksum is wrong or the file ends within a record.
    """
    data = Path(path).read_bytes()
    events, place = [], 0
    while place < len(data):
        head = data[place : place + 8]
        length = int.from_bytes(head, "little")
        body = data[place + 12 : place + 12 + length]
        if data[place + 8 : place + 12] != _masked(head) or data[place + 12 + length : place + 16 + length] != _masked(body):
            raise ValueError(f"a record at byte {place} of '{path}' is damaged")
        fields = dict(_fields(body))
        if 5 in fields:
            for _, number in _fields(fields[5]):
                entry = dict(_fields(number))
                wall_time: float = struct.unpack("<d", fields[1])[0]
                value: float = struct.unpack("<f", entry[2])[0]
                step = int.from_bytes(fields.get(2, b""), "little")
                events.append(Event(wall_time, step, entry[1].decode(), value))
        place += 16 + length
    return events


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each field; of a number its eight bytes."""
    place = 0

    def varint() -> int:
        nonlocal place
        number, shift = 0, 0
        while True:
            byte = data[place]
            place += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while place < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint().to_bytes(8, "little")
            continue
        size = {1: 8, 5: 4}[key & 7] if key & 7 != 2 else varint()
        yield key >> 3, data[place : place + size]
        place += size
