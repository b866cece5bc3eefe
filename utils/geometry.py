"""Measures of vectors: pure functions of arrays, which never load, download or print."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

__all__ = [
    "KINDS",
    "anisotropy",
    "cosine",
    "cosine_matrix",
    "intra_sentence_similarity",
    "max_explainable_variance",
    "mean_cosine",
    "norms",
    "sampled_baseline",
    "sampled_self_similarity",
    "self_similarity",
    "unit",
]

#: The three things that "variance explained by the first component" can mean.
KINDS = ("uncentred", "centred", "truncated_svd")
# A spread below a millionth of the length is what float32 and padding leave of equal vectors.
SAME = 1e-6
# A sum this much shorter than its terms is what float64 leaves of terms that cancel out.
CANCELLED = 1e-12


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


def norms(rows: ArrayLike) -> np.ndarray:
    """Length of every row, in float64.

    Args:
        rows: Shape ``(n_occurrences, n_dims)``.

    Returns:
        Shape ``(n_occurrences,)``, each at least 0.

    Raises:
        ValueError: If the array is not two-dimensional, or holds NaN or infinity.

    >>> norms([[3, 4], [0, 0]])
    array([5., 0.])
    """
    array = _rows(rows)
    # As in unit(): no square may overflow or vanish.
    largest = np.abs(array).max(axis=1, initial=0.0)
    scale = np.where(largest == 0, 1.0, largest)
    return scale * np.linalg.norm(array / scale[:, None], axis=1)


def mean_cosine(rows: ArrayLike) -> float:
    """Mean cosine over all pairs of different rows, in [-1/(n - 1), 1].

    The cosines of all ordered pairs, self-pairs included, add up to the squared length of the sum
    of the unit rows u: ``(|sum u|^2 - n) / (n (n - 1))``. No pair has to be looked at.

    Args:
        rows: Shape ``(n_occurrences, n_dims)``, at least two rows. Equal rows are still two.

    Raises:
        ValueError: If the shape is another, there are fewer than two rows (there is no pair), or a
            row has no direction.

    >>> round(mean_cosine([[1, 0], [0, 1], [1, 1]]), 7)
    0.4714045
    """
    units = unit(_rows(rows, at_least=2))
    n = len(units)
    total = units.sum(axis=0)
    return _clip((total @ total - n) / (n * (n - 1)))


def anisotropy(rows: ArrayLike, sentences: Sequence[Hashable]) -> float:
    """Mean cosine over all pairs of rows from different sentences: the anisotropy baseline.

    Ethayarajh (2019), section 3.4, takes words "from different contexts" and draws 1,000 of them;
    this is exact. With u the unit rows and s the sentences, ``(|sum u|^2 - sum_s |sum_{i in s}
    u_i|^2)`` over the number of such pairs, ``n^2 - sum_s n_s^2``.

    Args:
        rows: Shape ``(n_occurrences, n_dims)``, words of any kind.
        sentences: For each row its sentence: a number, or the normalised text.

    Returns:
        In [-1, 1]. Each pair of words counts once, so long sentences weigh more.

    Raises:
        ValueError: If the shape is another, the sentences are not one a row, there are fewer than
            two of them, or a row has no direction.

    >>> anisotropy([[1, 0], [1, 0], [0, 1]], ["a", "a", "b"])
    0.0
    """
    units = unit(_rows(rows, at_least=2))
    sums, counts = _sums_by(units, sentences)
    total = units.sum(axis=0)
    pairs = len(units) ** 2 - (counts**2).sum()
    return _clip((total @ total - (sums**2).sum()) / pairs)


def self_similarity(rows: ArrayLike, sentences: Sequence[Hashable] | None = None) -> float:
    """Mean cosine between the occurrences of one word in different sentences.

    ``SelfSim(w) = 1/(n^2 - n) sum_j sum_{k != j} cos(g(s_j)_w, g(s_k)_w)`` over the word's n
    unique contexts: Ethayarajh (2019), section 3.3, definition 1. 1 for a static embedding.

    Args:
        rows: Shape ``(n_occurrences, n_dims)``, the vectors of one word at one layer.
        sentences: For each row its sentence; give normalised texts, so that copies of a sentence
            count once. A sentence with several of the rows counts once too, with the mean of their
            cosines: the expected value if one of them is drawn. Without sentences, each row is a
            context of its own.

    Returns:
        In [-1/(n - 1), 1], n being the number of contexts.

    Raises:
        ValueError: If the shape is another, the sentences are not one a row, there are fewer than
            two contexts (undefined: leave the word out of averages), or a row has no direction.

    >>> round(self_similarity([[1, 0], [0, 1], [1, 1]]), 7)
    0.4714045
    >>> rows = [[1, 0], [0, 1], [1, 1], [1, 0], [1, 0]]
    >>> round(self_similarity(rows, ["a", "b", "c", "a", "a"]), 7)
    0.4714045
    """
    if sentences is None:
        return mean_cosine(rows)
    sums, counts = _sums_by(unit(_rows(rows, at_least=2)), sentences)
    means = sums / counts[:, None]
    n, total = len(means), means.sum(axis=0)
    return _clip((total @ total - (means**2).sum()) / (n * (n - 1)))


def intra_sentence_similarity(rows: ArrayLike) -> float:
    """Mean cosine of a sentence's words with the sentence's mean vector.

    ``IntraSim(s) = 1/n sum_i cos(m, g(s)_i)`` with ``m = 1/n sum_i g(s)_i``: Ethayarajh (2019),
    section 3.3, definition 2. The mean is that of the vectors, not of the unit vectors, and each
    word is part of it: for n vectors of one length at right angles the value is 1/sqrt(n), not 0.

    Args:
        rows: Shape ``(n_words, n_dims)``, the words of one sentence at one layer.

    Returns:
        In [-1, 1]. Below 0 only if a few long vectors pull the mean away from the others.

    Raises:
        ValueError: If the shape is another, there are fewer than two words (a word is its own mean:
            leave the sentence out and count it), a row has no direction, or the mean has none.

    >>> round(intra_sentence_similarity([[2, 0], [0, 2]]), 7)
    0.7071068
    """
    array = _rows(rows, at_least=2)
    units = unit(array)
    array = array / np.abs(array).max()
    mean = array.mean(axis=0)
    if np.linalg.norm(mean) <= CANCELLED * norms(array).mean():
        raise ValueError(
            f"the {len(array)} rows cancel out: their mean is zero and has no direction, so there "
            "is no cosine with it. Leave the sentence out and count it"
        )
    return _clip((units @ unit(mean)).mean())


def max_explainable_variance(rows: ArrayLike, kind: str = "uncentred") -> float:
    """Share of one word's variance that a single direction explains, in [0, 1].

    Ethayarajh (2019), section 3.3, definition 3, is ``sigma_1^2 / sum_i sigma_i^2`` with the
    singular values of the matrix of occurrences; his text calls it a principal component, and his
    code computed a third thing. All three, for X with n rows:

    - ``uncentred``: the definition. For unit rows it is at least the mean cosine.
    - ``centred``: the same of X minus its mean row, as a principal component analysis has it. At
      least 1/min(n - 1, n_dims), so it depends on n, and 1 for two different rows.
    - ``truncated_svd``: the variance of X v over that of X, v being the first direction of the
      uncentred X; what scikit-learn's ``TruncatedSVD`` calls its explained variance ratio. v is
      nearly the mean direction, along which occurrences differ little.

    Args:
        rows: Shape ``(n_occurrences, n_dims)``, at least two rows.
        kind: ``uncentred``, ``centred`` or ``truncated_svd``.

    Raises:
        ValueError: If the shape or the kind is another; if there are fewer than two rows (one
            explains itself); if all are zero; and, except for ``uncentred``, if they are the same
            vector within float32's precision (a millionth of its length): no variance, no share.

    >>> rows = [[2, 0], [2, 1], [2, -1]]
    >>> [round(max_explainable_variance(rows, kind), 3) for kind in KINDS]
    [0.857, 1.0, 0.0]
    """
    if kind not in KINDS:
        raise ValueError(f"expected kind to be one of {', '.join(KINDS)}, got {kind!r}")
    share = explained_shares(*moments(_rows(rows, at_least=2)))[kind]
    if np.isnan(share):
        raise ValueError(
            f"the {len(rows)} rows are the same vector, or zero: there is no variance of the kind "
            f"{kind!r} to explain. Leave the word out and count it"
        )
    return share


def moments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X'X of the rows and of the rows minus their mean, in the fewest dimensions.

    n rows span at most n dimensions. Written in a basis of those, the rows keep all lengths and
    angles, and the matrices are n x n instead of n_dims x n_dims.
    """
    array = rows / (np.abs(rows).max() or 1.0)  # shares do not depend on the scale
    if array.shape[0] < array.shape[1]:
        array = np.linalg.qr(array.T, mode="r").T
    centred = array - array.mean(axis=0)
    return array.T @ array, centred.T @ centred


def explained_shares(second: np.ndarray, scatter: np.ndarray) -> dict[str, float]:
    """Return the three kinds of explained variance from X'X and its centred version.

    A share of nothing is NaN.
    """
    last = [len(second) - 1] * 2  # eigenvalues ascend: only the largest is wanted
    (largest,), direction = eigh(second, subset_by_index=last)
    direction, total = direction[:, 0], np.trace(second)
    shares = dict.fromkeys(KINDS, np.nan)
    if total > 0:
        shares["uncentred"] = float(np.clip(largest / total, 0, 1))
    variance = np.trace(scatter)
    if variance > SAME**2 * total:
        (largest,) = eigh(scatter, subset_by_index=last, eigvals_only=True)
        shares["centred"] = float(np.clip(largest / variance, 0, 1))
        along = direction @ scatter @ direction
        shares["truncated_svd"] = float(np.clip(along / variance, 0, 1))
    return shares


def sampled_baseline(rows: ArrayLike, n_pairs: int = 1000, *, rng: np.random.Generator) -> float:
    """Estimate the anisotropy baseline from random pairs, as the paper's released code did.

    Both members of a pair are drawn with replacement, so a row can meet itself: with n rows and the
    exact value A the expected value is ``A + (1 - A) / n``. The code drew one token from each of
    1,000 sentences, then 1,000 pairs: Ethayarajh (2019), section 3.4. Use
    :func:`anisotropy` for the exact value.

    Args:
        rows: Shape ``(n_sentences, n_dims)``, one token of each sentence.
        n_pairs: How many pairs to draw.
        rng: A seeded ``numpy.random.default_rng(seed)``.

    Returns:
        In [-1, 1], with a standard error of the cosines' standard deviation over sqrt(n_pairs).

    Raises:
        ValueError: If the shape is another, there are fewer than two rows or no pairs are asked
            for, or a row has no direction.

    >>> sampled_baseline([[1, 0], [2, 0]], rng=np.random.default_rng(0))
    1.0
    """
    units = unit(_rows(rows, at_least=2))
    first, second = _generator(rng).integers(len(units), size=(2, _positive(n_pairs)))
    return _clip(np.einsum("ij,ij->i", units[first], units[second]).mean())


def sampled_self_similarity(
    rows: ArrayLike, n_pairs: int = 1000, *, rng: np.random.Generator
) -> float:
    """Estimate self-similarity from at most ``n_pairs`` pairs, as the paper's released code did.

    Ordered pairs of different rows, drawn without replacement; with no more than ``n_pairs`` of
    them all are taken, and the value is exact. The code took the same pairs at every layer: give
    each layer a generator of the same seed. Copies of a sentence counted, and nothing was seeded.

    Args:
        rows: Shape ``(n_occurrences, n_dims)``, the vectors of one word at one layer.
        n_pairs: The largest number of pairs.
        rng: A seeded ``numpy.random.default_rng(seed)``.

    Raises:
        ValueError: As for :func:`sampled_baseline`.

    >>> rows = [[1, 0], [0, 1], [1, 1]]
    >>> round(sampled_self_similarity(rows, rng=np.random.default_rng(0)), 7)
    0.4714045
    """
    units = unit(_rows(rows, at_least=2))
    n = len(units)
    all_pairs, wanted, rng = n * (n - 1), _positive(n_pairs), _generator(rng)
    drawn = np.arange(all_pairs)
    if all_pairs > wanted:
        drawn = rng.choice(all_pairs, size=wanted, replace=False, shuffle=False)
    # Pair number p: row p // (n - 1), and the (p % (n - 1))th of the other rows.
    first, second = np.divmod(drawn, n - 1)
    second += second >= first
    return _clip(np.einsum("ij,ij->i", units[first], units[second]).mean())


def _rows(rows: ArrayLike, at_least: int = 0) -> np.ndarray:
    """Return finite rows as float64, or say what is wrong with them."""
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"expected rows (n_occurrences, n_dims), got shape {array.shape}")
    if len(array) < at_least:
        raise ValueError(
            f"expected at least {at_least} rows (n_occurrences, n_dims), got {len(array)}: one row "
            "makes no pair, so the measure is undefined. Leave it out of averages and count it"
        )
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise ValueError(f"row {int(np.flatnonzero(bad)[0])} holds NaN or infinity: leave it out")
    return array


def _sums_by(units: np.ndarray, sentences: Sequence[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """Add up the rows of each sentence; return the sums and the counts of rows."""
    if isinstance(sentences, str) or len(sentences) != len(units):
        raise ValueError(
            f"expected a sentence for each of the {len(units)} rows, got {len(sentences)}"
            + (" characters of one string" if isinstance(sentences, str) else "")
        )
    numbers: dict[Hashable, int] = {}
    labels = [numbers.setdefault(sentence, len(numbers)) for sentence in sentences]
    if len(numbers) < 2:
        raise ValueError(
            "expected at least 2 different sentences, got 1: there is no pair between sentences, "
            "so the measure is undefined. Leave it out of averages and count it"
        )
    sums = np.zeros((len(numbers), units.shape[1]))
    np.add.at(sums, labels, units)
    return sums, np.bincount(labels)


def _clip(value: float) -> float:
    return float(np.clip(value, -1.0, 1.0))


def _positive(n_pairs: int) -> int:
    if n_pairs < 1:
        raise ValueError(f"expected n_pairs to be at least 1, got {n_pairs}")
    return n_pairs


def _generator(rng: np.random.Generator) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"expected rng to be numpy.random.default_rng(seed), got {type(rng).__name__}: the "
            "global random state would make the number depend on what ran before"
        )
    return rng
