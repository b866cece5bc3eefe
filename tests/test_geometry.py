"""Cosines: what they are invariant to, where they are undefined, and what the errors say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from utils.geometry import cosine, cosine_matrix, unit

QUICK = settings(derandomize=True, deadline=None, max_examples=60)
# float64 cosines of a few dozen terms: the rounding errors stay below 1e-15 a term.
TOLERANCE = 1e-12

numbers = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: 0.0 if abs(x) < 1e-3 else x)


def rows(n, n_dims=5):
    """Arrays without a row of zeros."""
    return arrays(np.float64, (n, n_dims), elements=numbers).filter(lambda a: a.any(axis=1).all())


def by_hand(a, b):
    """Compute the cosine from its formula, in plain Python."""
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


def test_cosines_that_can_be_checked_by_hand():
    assert cosine([3, 4], [4, 3]) == pytest.approx(24 / 25, abs=TOLERANCE)
    assert cosine([1, 0], [0, 5]) == 0
    assert cosine([1, 2], [-2, -4]) == pytest.approx(-1, abs=TOLERANCE)
    assert isinstance(cosine([1, 0], [1, 1]), float)


@QUICK
@given(rows(2))
def test_cosine_is_its_formula_and_symmetric(pair):
    a, b = pair
    assert cosine(a, b) == pytest.approx(by_hand(a, b), abs=TOLERANCE)
    assert cosine(a, b) == cosine(b, a)
    assert cosine(a, a) == pytest.approx(1, abs=TOLERANCE)
    assert -1 <= cosine(a, b) <= 1


@QUICK
@given(rows(2), st.floats(1e-6, 1e6), st.floats(-1e6, -1e-6))
def test_cosine_ignores_lengths_and_turns_with_the_sign(pair, positive, negative):
    a, b = pair
    assert cosine(positive * a, b) == pytest.approx(cosine(a, b), abs=TOLERANCE)
    assert cosine(a, negative * b) == pytest.approx(-cosine(a, b), abs=TOLERANCE)


@QUICK
@given(rows(4), st.integers(0, 2**32 - 1))
def test_cosines_ignore_rotations(vectors, seed):
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))
    np.testing.assert_allclose(
        cosine_matrix(vectors @ rotation), cosine_matrix(vectors), atol=TOLERANCE
    )


@QUICK
@given(rows(4), rows(3))
def test_cosine_matrix_holds_the_pairwise_cosines(some, others):
    expected = [[by_hand(a, b) for b in others] for a in some]
    np.testing.assert_allclose(cosine_matrix(some, others), expected, atol=TOLERANCE)
    np.testing.assert_array_equal(cosine_matrix(some, others), cosine_matrix(others, some).T)


@QUICK
@given(rows(5), st.permutations(range(5)))
def test_cosine_matrix_follows_the_order_of_its_rows(vectors, order):
    whole = cosine_matrix(vectors)
    np.testing.assert_allclose(
        cosine_matrix(vectors[order]), whole[np.ix_(order, order)], atol=TOLERANCE
    )
    np.testing.assert_array_equal(whole, cosine_matrix(vectors, vectors))


@QUICK
@given(rows(3))
def test_unit_rows_have_length_1_and_keep_their_direction(vectors):
    scaled = unit(vectors)
    np.testing.assert_allclose(np.sqrt((scaled**2).sum(axis=1)), 1, atol=TOLERANCE)
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(scaled * lengths, vectors, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(unit(vectors[1]), scaled[1], atol=TOLERANCE)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 5e-324], ids=["tiny", "huge", "subnormal"])
def test_lengths_whose_squares_overflow_or_vanish(scale):
    assert cosine(np.array([1, 1]) * scale, [1, 0]) == pytest.approx(math.sqrt(0.5), abs=TOLERANCE)


def test_float32_rows_are_measured_in_float64():
    vectors = np.random.default_rng(3).normal(size=(4, 300)).astype(np.float32)
    assert unit(vectors).dtype == np.float64
    expected = [[by_hand(a.tolist(), b.tolist()) for b in vectors] for a in vectors]
    np.testing.assert_allclose(cosine_matrix(vectors), expected, atol=TOLERANCE)


def test_c3_cosines_are_clipped_before_any_arccos():
    y = np.random.default_rng(0).normal(size=(2000, 384)).astype(np.float32)
    u = unit(y)
    assert (np.einsum("ij,ij->i", u, u) > 1).any()  # what clipping is for
    assert all(cosine(row, row) <= 1 for row in y)
    angles = np.arccos([cosine(row, row) for row in y])
    # The smallest angle that float64 can tell from 0 is the square root of its precision.
    assert np.isfinite(angles).all()
    assert angles.max() < 1e-7
    assert all(cosine(row, -row) >= -1 for row in y)
    some = y[:400]
    assert (unit(some) @ unit(some).T > 1).any()
    assert cosine_matrix(some).max() <= 1
    assert cosine_matrix(some, -some).min() >= -1


ZEROS = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 0]])
NAN = np.array([[1.0, 0], [np.nan, 1]])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cosine([1, 2, 3], [0, 0, 0]), "the vector b is all zeros"),
        (lambda: cosine([0, 0, 0], [1, 2, 3]), "the vector a is all zeros"),
        (lambda: unit([0, 0, 0]), "the vector is all zeros"),
        (lambda: unit(ZEROS), "row 2 is all zeros"),
        (lambda: cosine_matrix(ZEROS), "row 2 of rows is all zeros"),
        (lambda: cosine_matrix(ZEROS[:2], ZEROS[1:]), "row 1 of columns is all zeros"),
        (lambda: unit(NAN), "row 1 holds NaN or infinity"),
        (lambda: cosine([1, 0], [np.inf, 0]), "the vector b holds NaN or infinity"),
    ],
)
def test_c1_a_vector_without_direction_is_named(call, said):
    with pytest.raises(ValueError, match=said) as error:
        call()
    assert "Leave it out first" in str(error.value)


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        (lambda: cosine([[1, 0]], [[0, 1]]), ["(n_dims,)", "(1, 2)"]),
        (lambda: cosine([1, 0], [1, 0, 0]), ["(n_dims,)", "(2,)", "(3,)"]),
        (lambda: cosine(1.0, 2.0), ["(n_dims,)", "()"]),
        (lambda: cosine_matrix([1.0, 2.0]), ["(n, n_dims)", "(2,)"]),
        (lambda: cosine_matrix(np.ones((2, 3)), np.ones((3, 2))), ["(m, n_dims)", "(2, 3)"]),
        (lambda: cosine_matrix(np.ones((2, 3)), np.ones(3)), ["(m, n_dims)", "(3,)"]),
        (lambda: cosine_matrix(np.ones((7, 2, 3))), ["(n, n_dims)", "(7, 2, 3)"]),
        (lambda: unit(np.ones((2, 2, 2))), ["(n_vectors, n_dims)", "(2, 2, 2)"]),
        (lambda: unit(3.0), ["(n_dims,)", "()"]),
        (lambda: unit([]), ["(n_dims,)", "(0,)"]),
    ],
)
def test_c13_a_wrong_shape_is_told_with_the_right_one(call, shapes):
    with pytest.raises(ValueError, match="expected") as error:
        call()
    assert all(shape in str(error.value) for shape in shapes)


def test_no_rows_make_no_cosines():
    assert cosine_matrix(np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
