"""Puts labels beside points so that none covers another one, or a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import cos, pi, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]

_RADII = (11, 17, 25, 35, 47, 61, 77)
_ANGLES = [angle * pi / 8 for angle in (2, 14, 6, 10, 0, 8, 4, 12, 1, 15, 7, 9, 3, 13, 5, 11)]
_POINT = 6.0  # half of what a marker covers, in points of 1/72 inch
_HEIGHT, _WIDTH = 11.0, 6.0  # of a line and of a digit


def place_labels(
    figure: Figure,
    axes: Axes,
    labels: Sequence[tuple[float, float, str]],
    points: Sequence[tuple[float, float]],
    line: Sequence[tuple[float, float]] = (),
) -> None:
    """Write each label near its point, with a thin line where it had to go further away.

    Points that lie upon one another share a label.

    Args:
        figure: whose layout is fixed here, for distances depend on it.
        axes: with the points, and its limits.
        labels: (x, y, text) of each point that has one.
        points: (x, y) of all.
        line: corners of a line that labels should not lie upon.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    scale = 72 / figure.dpi
    where = [_pixels(axes, x, y, scale) for x, y in points]
    frame = axes.get_window_extent()
    inside = (frame.x0 * scale, frame.y0 * scale, frame.x1 * scale, frame.y1 * scale)
    taken: list[Box] = [(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in where]
    taken += [(x - 1, y - 1, x + 1, y + 1) for x, y in _along([_pixels(axes, x, y, scale) for x, y in line])]
    for (px, py), text in _together(axes, labels, scale):
        offset = next(
            (place for place in _places(text, px, py) if _fits(_box(text, px, py, place), taken, inside)), None
        )
        if offset is None:
            continue
        taken.append(_box(text, px, py, offset))
        far = offset[0] ** 2 + offset[1] ** 2 > 20**2
        x, y = axes.transData.inverted().transform((px / scale, py / scale))
        axes.annotate(
            text,
            (x, y),
            xytext=offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8.5,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "0.5", "lw": 0.6, "shrinkB": 4, "shrinkA": 0} if far else None,
            zorder=4,
        )


def _together(
    axes: Axes, labels: Sequence[tuple[float, float, str]], scale: float
) -> Iterator[tuple[tuple[float, float], str]]:
    """Labels by where their points are to be seen; those of points that look like one are joined."""
    found: list[tuple[tuple[float, float], list[str]]] = []
    for x, y, text in labels:
        px, py = _pixels(axes, x, y, scale)
        near = next((each for each in found if abs(each[0][0] - px) < 3 and abs(each[0][1] - py) < 3), None)
        if near:
            near[1].append(text)
        else:
            found.append(((px, py), [text]))
    yield from ((place, ",".join(texts)) for place, texts in found)


def _along(corners: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Places on a line, close enough to one another for no digit to pass between."""
    for (x, y), (to_x, to_y) in pairwise(corners):
        steps = int(max(abs(to_x - x), abs(to_y - y)) / 4) + 1
        yield from ((x + (to_x - x) * step / steps, y + (to_y - y) * step / steps) for step in range(steps + 1))


def _pixels(axes: Axes, x: float, y: float, scale: float) -> tuple[float, float]:
    across, up = axes.transData.transform((x, y))
    return float(across) * scale, float(up) * scale


def _places(text: str, px: float, py: float) -> Iterator[tuple[float, float]]:
    """Offsets from near to far; a wide label starts further to the side."""
    aside = _WIDTH * len(text) / 2
    for radius in _RADII:
        for angle in _ANGLES:
            yield cos(angle) * (radius + aside), sin(angle) * radius


def _box(text: str, px: float, py: float, offset: tuple[float, float]) -> Box:
    x, y = px + offset[0], py + offset[1]
    half = _WIDTH * len(text) / 2
    return x - half, y - _HEIGHT / 2, x + half, y + _HEIGHT / 2


def _fits(box: Box, taken: Sequence[Box], inside: Box) -> bool:
    left, bottom, right, top = box
    if left < inside[0] or right > inside[2] or bottom < inside[1] or top > inside[3]:
        return False
    return all(right <= other[0] or left >= other[2] or top <= other[1] or bottom >= other[3] for other in taken)
