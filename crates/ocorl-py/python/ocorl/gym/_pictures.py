"""Drawings of the nine systems from a state and an input; the dynamics are not used here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, sin

import numpy as np
import numpy.typing as npt

from ._canvas import BLUE, GREEN, INK, ORANGE, PALE, Array, Canvas, Point

#: Width and height of an image in pixels.
SIDE = 400

Draw = Callable[[Canvas, Array], None]


class _View:
    """Transforms world coordinates to pixels: `center` in the middle, `reach` to each side, y up."""

    def __init__(self, center: Point, reach: float) -> None:
        self.center, self.scale = center, SIDE / (2.0 * reach)

    def __call__(self, x: float, y: float) -> Point:
        return (SIDE / 2 + (x - self.center[0]) * self.scale, SIDE / 2 - (y - self.center[1]) * self.scale)

    def oblique(self, x: float, y: float, z: float) -> Point:
        """Projects a point in space, seen from the front and slightly from above."""
        return self(x + 0.45 * y, z + 0.3 * y)


def _turned(corners: Sequence[Point], angle: float, at: Point) -> list[Point]:
    """Rotates corners counterclockwise by an angle, then translates them."""
    c, s = cos(angle), sin(angle)
    return [(at[0] + c * x - s * y, at[1] + s * x + c * y) for x, y in corners]


def pendulum(canvas: Canvas, x: Array) -> None:
    """Draw a rod and a bob; the angle is zero upright."""
    view = _View((0.0, 0.0), 1.35)
    pivot, bob = view(0.0, 0.0), view(sin(x[0]), cos(x[0]))
    canvas.disc(view(0.0, 1.0), 16, PALE)
    canvas.line(pivot, bob, 9, BLUE)
    canvas.disc(bob, 16, ORANGE)
    canvas.disc(pivot, 7, INK)


def cart_pole(canvas: Canvas, x: Array) -> None:
    """Draw a cart on a rail with a pole of half a metre, which leans to the left for positive angles."""
    view = _View((0.0, 0.1), max(1.5, abs(float(x[2])) + 0.8) if abs(x[2]) < 50 else 1.5)
    rail = view(0.0, 0.0)[1]
    canvas.line((0.0, rail), (float(SIDE), rail), 3, PALE)
    canvas.path([view(0.0, 0.08), view(0.0, 0.58)], 2, PALE)
    cart = float(x[2])
    canvas.polygon([view(cart + dx, dy) for dx, dy in ((-0.2, -0.08), (0.2, -0.08), (0.2, 0.08), (-0.2, 0.08))], INK)
    tip = view(cart - 0.5 * sin(x[0]), 0.5 * cos(x[0]))
    canvas.line(view(cart, 0.0), tip, 7, BLUE)
    canvas.disc(tip, 10, ORANGE)


def furuta_pendulum(canvas: Canvas, x: Array) -> None:
    """Draw an arm that rotates in the plane, with a pendulum at its end."""
    view = _View((0.0, 0.0), 1.9)
    turn = [view.oblique(cos(a), sin(a), 0.0) for a in np.linspace(0.0, 2.0 * np.pi, 41)]
    canvas.path(turn, 2, PALE)
    arm, angle = float(x[0]), float(x[2])
    end = np.array([cos(arm), sin(arm), 0.0])
    tip = end + np.array([-sin(arm) * sin(angle), cos(arm) * sin(angle), cos(angle)])
    canvas.line(view.oblique(0.0, 0.0, -1.3), view.oblique(0.0, 0.0, 0.0), 8, PALE)
    canvas.line(view.oblique(0.0, 0.0, 0.0), view.oblique(*end), 8, INK)
    canvas.line(view.oblique(*end), view.oblique(*tip), 7, BLUE)
    canvas.disc(view.oblique(*tip), 11, ORANGE)


def bicycle(canvas: Canvas, x: Array) -> None:
    """Draw a car from above, and its target position."""
    view = _View((1.0, 0.7), 2.2)
    body: list[Point] = [(-0.15, -0.1), (0.35, -0.1), (0.45, 0.0), (0.35, 0.1), (-0.15, 0.1)]
    canvas.polygon([view(*p) for p in _turned(body, np.pi / 6, (2.0, 1.0))], PALE)
    canvas.polygon([view(*p) for p in _turned(body, float(x[2]), (float(x[0]), float(x[1])))], BLUE)
    nose = _turned([(0.3, 0.0)], float(x[2]), (float(x[0]), float(x[1])))[0]
    canvas.disc(view(*nose), 5, ORANGE)


def quadrotor_2d(canvas: Canvas, x: Array) -> None:
    """Draw a beam with two rotors from behind; the first state points down."""
    view = _View((0.0, 0.0), 2.0)
    _cross(canvas, view(0.0, 0.0))
    at, roll = (float(x[1]), -float(x[0])), float(x[2])
    left, right = _turned([(-0.35, 0.0), (0.35, 0.0)], -roll, at)
    canvas.line(view(*left), view(*right), 7, BLUE)
    for end in (-0.35, 0.35):
        blades = _turned([(end - 0.14, 0.09), (end + 0.14, 0.09)], -roll, at)
        canvas.line(view(*blades[0]), view(*blades[1]), 4, INK)
    canvas.disc(view(*at), 8, ORANGE)


def quadrotor_3d(canvas: Canvas, x: Array) -> None:
    """Draw two crossed beams in space, and their shadow."""
    view = _View((0.0, 0.2), 2.0)
    _cross(canvas, view.oblique(0.0, 0.0, 0.0))
    at, turn = np.asarray(x[:3]), _rotation(*(float(a) for a in x[6:9]))
    canvas.disc(view.oblique(float(at[0]), float(at[1]), -1.2), 5, PALE)
    for axis in (0, 1):
        beam = 0.4 * turn[:, axis]
        canvas.line(view.oblique(*(at - beam)), view.oblique(*(at + beam)), 5, (BLUE, GREEN)[axis])
        for end in (at - beam, at + beam):
            canvas.disc(view.oblique(*(end + 0.05 * turn[:, 2])), 6, INK)
    canvas.disc(view.oblique(*(at + 0.4 * turn[:, 0])), 6, ORANGE)


def _rotation(roll: float, pitch: float, yaw: float) -> Array:
    """Return the rotation matrix Rz(yaw) Rx(roll) Ry(pitch)."""
    about_z = np.array([[cos(yaw), -sin(yaw), 0], [sin(yaw), cos(yaw), 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, cos(roll), -sin(roll)], [0, sin(roll), cos(roll)]])
    about_y = np.array([[cos(pitch), 0, sin(pitch)], [0, 1, 0], [-sin(pitch), 0, cos(pitch)]])
    out: Array = about_z @ about_x @ about_y
    return out


def mountain_car(canvas: Canvas, x: Array) -> None:
    """Draw a car in a valley of height sin 3x, with a flag on the top."""
    view = _View((0.0, 0.0), 1.3)
    across = (np.arange(SIDE) + 0.5 - SIDE / 2) / view.scale
    canvas.ground(SIDE / 2 - 0.6 * np.sin(3.0 * across) * view.scale, PALE)
    top = np.pi / 6
    canvas.line(view(top, 0.6), view(top, 0.95), 3, INK)
    canvas.polygon([view(top, 0.95), view(top + 0.22, 0.87), view(top, 0.79)], GREEN)
    position = float(x[0])
    slope = np.arctan(1.8 * np.cos(3.0 * position))
    at = (position, 0.6 * sin(3.0 * position))
    body = _turned([(-0.12, 0.05), (0.12, 0.05), (0.12, 0.15), (-0.12, 0.15)], float(slope), at)
    canvas.polygon([view(*p) for p in body], BLUE)
    for wheel in _turned([(-0.07, 0.04), (0.07, 0.04)], float(slope), at):
        canvas.disc(view(*wheel), 6, INK)


def _cross(canvas: Canvas, at: Point) -> None:
    canvas.line((at[0] - 8, at[1]), (at[0] + 8, at[1]), 3, PALE)
    canvas.line((at[0], at[1] - 8), (at[0], at[1] + 8), 3, PALE)


def bars(names: Sequence[str], low: Sequence[float], high: Sequence[float]) -> Draw:
    """Draw a bar for each state, between a lower and an upper value."""

    def draw(canvas: Canvas, x: Array) -> None:
        width = SIDE / len(names)
        for i, name in enumerate(names):
            left, right = (i + 0.3) * width, (i + 0.7) * width
            canvas.rectangle(left, 45, right, SIDE - 80, PALE)
            share = float(np.clip((x[i] - low[i]) / (high[i] - low[i]), 0.0, 1.0))
            canvas.rectangle(left, 45 + (1.0 - share) * (SIDE - 125), right, SIDE - 80, BLUE)
            canvas.text((left, 30), f"{x[i]:.3g}")
            canvas.text((left, SIDE - 72), name)

    return draw


def picture(draw: Draw, x: Array, names: Sequence[str], action: Array, time: float) -> npt.NDArray[np.uint8]:
    """Draw the system, the time, and each input as a bar between -1 and 1."""
    canvas = Canvas(SIDE, SIDE)
    draw(canvas, x)
    canvas.text((8, 8), f"t = {time:.2f}")
    for i, (name, share) in enumerate(zip(names, action, strict=True)):
        y = SIDE - 14.0 * (len(names) - i)
        canvas.text((8, y - 5), name)
        middle = SIDE / 2 + 40
        canvas.line((middle - 100, y), (middle + 100, y), 2, PALE)
        canvas.line((middle, y), (middle + 100 * float(np.clip(share, -1.0, 1.0)), y), 6, ORANGE)
    return canvas.image()


def text_report(names: Sequence[str], units: Sequence[str], x: Array, inputs: Sequence[str], u: Array, time: float) -> str:
    """Return the state as text: one line for the time, each state and each input.

    Examples
    --------
    >>> print(text_report(["level"], ["m"], np.array([0.5]), ["valve"], np.array([1.0]), 2.0))
    t              2
    level        0.5 m
    valve          1
    """
    rows = [("t", time, "")]
    rows += [(name, float(value), unit) for name, value, unit in zip(names, x, units, strict=True)]
    rows += [(name, float(value), "") for name, value in zip(inputs, u, strict=True)]
    width = max(len(name) for name, _, _ in rows)
    return "\n".join(f"{name:<{width}} {value:10.4g} {unit}".rstrip() for name, value, unit in rows)
