"""A small anti-aliased canvas, drawn with NumPy alone.

Every shape is a signed distance d in pixels (negative inside); a pixel is covered by ``clip(1/2 - d, 0, 1)``. That is
all the anti-aliasing there is, and it is enough for lines, discs, polygons and the ground below a curve.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Colour = tuple[int, int, int]
Point = tuple[float, float]

INK: Colour = (38, 50, 56)
PALE: Colour = (207, 216, 220)
PAPER: Colour = (250, 250, 248)
BLUE: Colour = (0, 114, 178)
ORANGE: Colour = (213, 94, 0)
GREEN: Colour = (0, 158, 115)

# Glyphs of three by five dots; each row is three bits, from the top.
_FONT: dict[str, tuple[int, int, int, int, int]] = {
    "0": (7, 5, 5, 5, 7), "1": (2, 6, 2, 2, 7), "2": (7, 1, 7, 4, 7), "3": (7, 1, 7, 1, 7), "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 7, 1, 7), "6": (7, 4, 7, 5, 7), "7": (7, 1, 2, 2, 2), "8": (7, 5, 7, 5, 7), "9": (7, 5, 7, 1, 7),
    "a": (2, 5, 7, 5, 5), "b": (6, 5, 6, 5, 6), "c": (3, 4, 4, 4, 3), "d": (6, 5, 5, 5, 6), "e": (7, 4, 6, 4, 7),
    "f": (7, 4, 6, 4, 4), "g": (3, 4, 5, 5, 3), "h": (5, 5, 7, 5, 5), "i": (7, 2, 2, 2, 7), "j": (1, 1, 1, 5, 2),
    "k": (5, 5, 6, 5, 5), "l": (4, 4, 4, 4, 7), "m": (5, 7, 7, 5, 5), "n": (6, 5, 5, 5, 5), "o": (2, 5, 5, 5, 2),
    "p": (6, 5, 6, 4, 4), "q": (2, 5, 5, 6, 3), "r": (6, 5, 6, 5, 5), "s": (3, 4, 2, 1, 6), "t": (7, 2, 2, 2, 2),
    "u": (5, 5, 5, 5, 7), "v": (5, 5, 5, 5, 2), "w": (5, 5, 7, 7, 5), "x": (5, 5, 2, 5, 5), "y": (5, 5, 2, 2, 2),
    "z": (7, 1, 2, 4, 7), ".": (0, 0, 0, 0, 2), "-": (0, 0, 7, 0, 0), "+": (0, 2, 7, 2, 0), "=": (0, 7, 0, 7, 0),
    "/": (1, 1, 2, 4, 4), "_": (0, 0, 0, 0, 7), ":": (0, 2, 0, 2, 0),
}  # fmt: skip


class Canvas:
    """A canvas whose origin is its upper left corner; x to the right, y down, in pixels.

    Examples
    --------
    >>> canvas = Canvas(20, 10)
    >>> canvas.disc((10, 5), 3, BLUE)
    >>> canvas.image().shape
    (10, 20, 3)
    """

    def __init__(self, width: int, height: int, background: Colour = PAPER) -> None:
        self.width, self.height = width, height
        self._pixels: Array = np.empty((height, width, 3))
        self._pixels[:] = background

    def image(self) -> npt.NDArray[np.uint8]:
        """Return the image so far: rows, columns, RGB."""
        return np.rint(self._pixels).astype(np.uint8)

    def _window(self, points: Sequence[Point], margin: float) -> tuple[slice, slice, Array, Array] | None:
        """Return the pixel rows and columns around some points and their centres; None if all are outside."""
        if not np.isfinite(points).all():
            return None
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        left, right = max(0, int(min(xs) - margin)), min(self.width, int(max(xs) + margin) + 1)
        top, bottom = max(0, int(min(ys) - margin)), min(self.height, int(max(ys) + margin) + 1)
        if left >= right or top >= bottom:
            return None
        x = np.arange(left, right, dtype=np.float64)[None, :] + 0.5
        y = np.arange(top, bottom, dtype=np.float64)[:, None] + 0.5
        return slice(top, bottom), slice(left, right), x, y

    def _blend(self, rows: slice, columns: slice, distance: Array, colour: Colour) -> None:
        covered = np.clip(0.5 - distance, 0.0, 1.0)[..., None]
        part = self._pixels[rows, columns]
        part += covered * (np.asarray(colour, dtype=np.float64) - part)

    def disc(self, center: Point, radius: float, colour: Colour) -> None:
        """Draw a filled disc."""
        if window := self._window([center], radius + 1):
            rows, columns, x, y = window
            self._blend(rows, columns, np.hypot(x - center[0], y - center[1]) - radius, colour)

    def line(self, begin: Point, end: Point, width: float, colour: Colour) -> None:
        """Draw a line segment with round ends."""
        if window := self._window([begin, end], width / 2 + 1):
            rows, columns, x, y = window
            self._blend(rows, columns, _to_segment(x, y, begin, end) - width / 2, colour)

    def path(self, points: Sequence[Point], width: float, colour: Colour) -> None:
        """Draw a polyline."""
        for begin, end in zip(points, points[1:], strict=False):
            self.line(begin, end, width, colour)

    def polygon(self, corners: Sequence[Point], colour: Colour) -> None:
        """Draw a filled polygon, which may be non-convex."""
        if window := self._window(corners, 1):
            rows, columns, x, y = window
            distance = np.full(np.broadcast(x, y).shape, np.inf)
            inside = np.zeros(distance.shape, dtype=bool)
            for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
                distance = np.minimum(distance, _to_segment(x, y, (x0, y0), (x1, y1)))
                if y0 != y1:
                    crosses = (y0 > y) != (y1 > y)
                    inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
            self._blend(rows, columns, np.where(inside, -distance, distance), colour)

    def rectangle(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """Draw a filled axis-parallel rectangle."""
        self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], colour)

    def ground(self, heights: Array, colour: Colour) -> None:
        """Fills the area below a curve: one y for each column."""
        y = np.arange(self.height, dtype=np.float64)[:, None] + 0.5
        slope = np.gradient(heights)
        distance = (np.asarray(heights)[None, :] - y) / np.hypot(1.0, slope)[None, :]
        self._blend(slice(None), slice(None), distance, colour)

    def text(self, place: Point, letters: str, colour: Colour = INK, size: int = 2) -> None:
        """Draw text in small letters from the upper left; unknown letters are left blank."""
        left, top = int(place[0]), int(place[1])
        for letter in letters.lower():
            for row, bits in enumerate(_FONT.get(letter, (0, 0, 0, 0, 0))):
                for column in range(3):
                    if bits & (4 >> column):
                        y, x = top + row * size, left + column * size
                        if 0 <= y and 0 <= x:
                            self._pixels[y : y + size, x : x + size] = colour
            left += 4 * size


def _to_segment(x: Array, y: Array, begin: Point, end: Point) -> Array:
    """Return the distance of each pixel from a segment."""
    dx, dy = end[0] - begin[0], end[1] - begin[1]
    length = dx * dx + dy * dy
    if length == 0.0:
        return np.hypot(x - begin[0], y - begin[1])
    share = np.clip(((x - begin[0]) * dx + (y - begin[1]) * dy) / length, 0.0, 1.0)
    out: Array = np.hypot(x - begin[0] - share * dx, y - begin[1] - share * dy)
    return out
