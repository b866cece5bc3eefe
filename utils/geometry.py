"""Measures of vectors: pure functions of arrays, which never load, download or print."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["cosine", "cosine_matrix", "unit"]


def unit(vectors: ArrayLike) -> np.ndarray:
    """Scale every row to length 1, in float64.

    Args:
        vectors: Shape ``(n_dims,)`` or ``(n_vectors, n_dims)``.

    Returns:
        An array of the same shape, each row divided by its Euclidean norm.

    Raises:
        ValueError: If a row is all zeros (it has no direction) or holds NaN or infinity; the
            message names the row. Or if the array has neither one nor two axes, or no dimensions.

    >>> unit([3.0, 4.0])
    array([0.6, 0.8])
    """
    return _unit(vectors)


def _unit(vectors: ArrayLike, of: str = "") -> np.ndarray:
    """Do what :func:`unit` says; ``of`` tells in an error which of two arrays is meant."""
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(
            f"expected one vector (n_dims,) or rows (n_vectors, n_dims), got shape {array.shape}"
        )
    # Dividing by the largest entry first keeps very large and very small rows from overflowing.
    largest = np.abs(array).max(axis=-1, keepdims=True, initial=0.0)
    bad = ~np.isfinite(largest[..., 0]) | (largest[..., 0] == 0)
    if bad.any():
        row = int(np.flatnonzero(np.atleast_1d(bad))[0])
        values = np.atleast_2d(array)[row]
        what = "is all zeros" if (values == 0).all() else "holds NaN or infinity"
        which = f"row {row}{of}" if array.ndim == 2 else f"the vector{of}"
        raise ValueError(f"{which} {what}: it has no direction, so no cosine. Leave it out first")
    scaled = array / largest
    return scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)


def cosine(a: ArrayLike, b: ArrayLike) -> float:
    """Cosine of the angle between two vectors, in [-1, 1].

    ``cos(a, b) = a . b / (|a| |b|)``: 1 for the same direction, 0 for a right angle, -1 for
    opposite directions. Lengths do not matter.

    Args:
        a: Shape ``(n_dims,)``.
        b: Shape ``(n_dims,)``.

    Raises:
        ValueError: If the shapes differ or are not one-dimensional, or a vector is all zeros.

    >>> cosine([1, 0], [1, 1])
    0.7071067811865475

    Taught in: lesson 1, "Look up a word's one vector".
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"expected two vectors of one shape (n_dims,), got shapes {a.shape} and {b.shape}"
        )
    return float(np.clip(_unit(a, " a") @ _unit(b, " b"), -1.0, 1.0))


def cosine_matrix(rows: ArrayLike, columns: ArrayLike | None = None) -> np.ndarray:
    """Cosine of every row of one array with every row of another.

    Args:
        rows: Shape ``(n, n_dims)``.
        columns: Shape ``(m, n_dims)``; without it, the rows are compared with each other.

    Returns:
        Shape ``(n, m)``, entries in [-1, 1].

    Raises:
        ValueError: If an array is not two-dimensional, the dimensions differ, or a row is zero.

    >>> cosine_matrix([[1, 0], [0, 2], [1, 1]]).round(3)
    array([[1.   , 0.   , 0.707],
           [0.   , 1.   , 0.707],
           [0.707, 0.707, 1.   ]])
    """
    rows = np.asarray(rows)
    columns, of = (rows, " of rows") if columns is None else (np.asarray(columns), " of columns")
    if rows.ndim != 2 or columns.ndim != 2 or rows.shape[1] != columns.shape[1]:
        raise ValueError(
            "expected arrays of shapes (n, n_dims) and (m, n_dims), "
            f"got {rows.shape} and {columns.shape}"
        )
    return np.clip(_unit(rows, " of rows") @ _unit(columns, of).T, -1.0, 1.0)
