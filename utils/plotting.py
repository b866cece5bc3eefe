"""The house style, and the few figures that several lessons draw.

Every function takes an ``Axes`` and returns it, so that figures can be put side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["MODEL_STYLE", "SENSE_STYLE", "cosine_heatmap", "layer_lines", "use_style"]

#: One colour (Okabe and Ito's) and one marker for each model, everywhere in the course.
MODEL_STYLE: dict[str, dict[str, str]] = {
    "glove": {"color": "#000000", "marker": "s"},
    "minilm": {"color": "#0072B2", "marker": "o"},
}

#: The same for the first and the second sense of a homonym.
SENSE_STYLE: tuple[dict[str, str], dict[str, str]] = (
    {"color": "#D55E00", "marker": "o"},
    {"color": "#009E73", "marker": "^"},
)


def use_style() -> None:
    """Draw all following figures in the house style."""
    with as_file(files("utils") / "course.mplstyle") as path:
        plt.style.use(path)


def cosine_heatmap(ax: Axes, matrix: ArrayLike, labels: Sequence[str]) -> Axes:
    """Draw a table of cosines, each cell with its number.

    Args:
        ax: Where to draw.
        matrix: Shape ``(n, n)``, entries in [-1, 1].
        labels: n labels.

    Returns:
        The same ``Axes``.

    Raises:
        ValueError: If the matrix is not square, or the labels are not as many as its rows.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape != (len(labels), len(labels)):
        raise ValueError(
            f"expected a matrix of shape (n, n) and n labels, got {matrix.shape} and {len(labels)}"
        )
    sns.heatmap(
        matrix,
        ax=ax,
        vmin=0,
        vmax=1,
        cmap=sns.light_palette("#56B4E9", as_cmap=True),  # dark numbers read on all of it
        annot=True,
        fmt=".2f",
        annot_kws={"color": "#222222"},
        square=True,
        cbar_kws={"label": "cosine", "shrink": 0.8},
        xticklabels=list(labels),
        yticklabels=list(labels),
    )
    ax.tick_params(axis="x", rotation=30)
    ax.tick_params(axis="y", rotation=0)
    return ax


def layer_lines(
    ax: Axes,
    lines: Mapping[str, ArrayLike],
    *,
    styles: Mapping[str, Mapping[str, object]] | None = None,
    band: tuple[ArrayLike, ArrayLike] | None = None,
    band_label: str = "",
) -> Axes:
    """Draw one value per layer for one or more series, each named at its right end.

    Args:
        ax: Where to draw.
        lines: For each name its values, shape ``(n_layers + 1,)``.
        styles: For each name colour, marker and line style; without it, the house style's cycle,
            with markers and line styles that differ too.
        band: Lower and upper edge of a grey band, each of shape ``(n_layers + 1,)``.
        band_label: What the band is.

    Returns:
        The same ``Axes``.

    Raises:
        ValueError: If the series differ in length.
    """
    lengths = {name: len(np.asarray(values)) for name, values in lines.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"expected series of one length, one value per layer, got {lengths}")
    layers = np.arange(next(iter(lengths.values())))
    if band is not None:
        ax.fill_between(layers, *map(np.asarray, band), color="0.88", linewidth=0, zorder=0)
        ax.annotate(
            band_label,
            (layers[0], float(np.asarray(band[1])[0])),
            xytext=(4, -12),
            textcoords="offset points",
            color="0.35",
            fontsize=9,
        )
    cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    ends = []
    for i, (name, values) in enumerate(lines.items()):
        style = {
            "color": cycle[i % len(cycle)],
            "marker": "os^Dv*X"[i % 7],
            "linestyle": ("-", "--", "-.", ":")[i % 4],
        }
        style |= dict((styles or {}).get(name, {}))
        values = np.asarray(values, dtype=float)
        ax.plot(layers, values, **style)
        ends.append((float(values[-1]), name, style["color"]))
    _name_ends(ax, layers[-1], ends)
    ax.set_xticks(layers)
    ax.set_xlabel("layer (0 = what goes into the first block)")
    ax.set_ylabel("cosine")
    return ax


def _name_ends(ax: Axes, x: float, ends: list[tuple[float, str, str]]) -> None:
    """Write each line's name beside its last point, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    gap = 0.055 * (high - low)
    previous = -np.inf
    for y, name, colour in sorted(ends):
        height = max(y, previous + gap)
        previous = height
        ax.annotate(
            name,
            (x, height),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
        )
