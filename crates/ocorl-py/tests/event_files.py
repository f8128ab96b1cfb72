"""A reader of TensorBoard's event files, written apart from the writer: every checksum is looked at.

    record  = length: u64 | masked CRC-32C of length: u32 | data | masked CRC-32C of data: u32        (little-endian)
    Event   { 1: wall_time: double, 2: step: int64, 3: file_version: string, 5: summary: Summary }
    Summary { 1: repeated Value }     Value { 1: tag: string, 2: simple_value: float }
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


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
    """The Castagnoli checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


@dataclass(frozen=True)
class Event:
    """One number of an event file."""

    wall_time: float
    step: int
    tag: str
    value: float


def read_events(path: str | os.PathLike[str]) -> list[Event]:
    """The numbers in an event file.

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
