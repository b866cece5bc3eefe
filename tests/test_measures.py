"""The measures of the geometry engine: against loops, under what they ignore, at their edges."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA, TruncatedSVD
from threadpoolctl import threadpool_limits

from utils import geometry
from utils.geometry import (
    KINDS,
    anisotropy,
    intra_sentence_similarity,
    max_explainable_variance,
    mean_cosine,
    norms,
    sampled_baseline,
    sampled_self_similarity,
    self_similarity,
)

QUICK = settings(derandomize=True, deadline=None, max_examples=40)
# float64 sums of a few hundred terms of size 1: far above their rounding, far below any effect.
TOLERANCE = 1e-10
SEEDS = st.integers(0, 2**32 - 1)
LOPSIDED = [[1, 0], [0, 1], [1, 1]]


def draw_rows(seed, n, n_dims, shift=1.0):
    """Rows with a common direction and lengths from 0.1 to 10."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, n_dims)) + shift * rng.normal(size=n_dims)
    return rows * 10 ** rng.uniform(-1, 1, size=(n, 1))


def cos(a, b):
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def loop_mean_cosine(rows):
    n = range(len(rows))
    return mean(cos(rows[i], rows[j]) for i in n for j in n if i != j)


def loop_anisotropy(rows, sentences):
    n = range(len(rows))
    return mean(cos(rows[i], rows[j]) for i in n for j in n if sentences[i] != sentences[j])


def loop_one_per_sentence(rows, sentences):
    """Mean over pairs of sentences of the mean over pairs of their rows."""
    places = {s: [i for i, other in enumerate(sentences) if other == s] for s in set(sentences)}
    return mean(
        mean(cos(rows[i], rows[j]) for i in places[a] for j in places[b])
        for a, b in itertools.combinations(places, 2)
    )


def loop_intra(rows):
    middle = [mean(column) for column in np.transpose(rows).tolist()]
    return mean(cos(row, middle) for row in rows)


def loop_variance(rows, kind):
    """From singular values and variances of the whole matrix, as the definitions read."""
    rows = np.asarray(rows, dtype=np.float64)
    if kind == "truncated_svd":
        _, _, directions = np.linalg.svd(rows)
        return (rows @ directions[0]).var() / rows.var(axis=0).sum()
    values = np.linalg.svd(rows - rows.mean(axis=0) * (kind == "centred"), compute_uv=False)
    return values[0] ** 2 / (values**2).sum()


# --- closed forms against loops ---------------------------------------------------------------


@QUICK
@given(SEEDS, st.integers(2, 9), st.integers(1, 12))
def test_closed_forms_are_the_means_that_they_stand_for(seed, n, n_dims):
    rows = draw_rows(seed, n, n_dims)
    sentences = np.random.default_rng(seed).integers(3, size=n).tolist()
    sentences[:2] = [0, 1]
    near = {"abs": TOLERANCE}
    assert mean_cosine(rows) == pytest.approx(loop_mean_cosine(rows), **near)
    assert self_similarity(rows) == pytest.approx(loop_mean_cosine(rows), **near)
    assert self_similarity(rows, range(n)) == pytest.approx(loop_mean_cosine(rows), **near)
    assert anisotropy(rows, sentences) == pytest.approx(loop_anisotropy(rows, sentences), **near)
    expected = loop_one_per_sentence(rows, sentences)
    assert self_similarity(rows, sentences) == pytest.approx(expected, **near)
    assert intra_sentence_similarity(rows) == pytest.approx(loop_intra(rows), **near)
    np.testing.assert_allclose(norms(rows), [math.hypot(*row) for row in rows], rtol=1e-14)


@QUICK
@given(SEEDS, st.integers(2, 12), st.integers(1, 12), st.sampled_from(KINDS))
def test_explained_variance_is_its_definition_and_sklearns(seed, n, n_dims, kind):
    rows = draw_rows(seed, n, n_dims)
    share = max_explainable_variance(rows, kind)
    assert share == pytest.approx(loop_variance(rows, kind), abs=TOLERANCE)
    if kind == "centred":
        assert share == pytest.approx(PCA().fit(rows).explained_variance_ratio_[0], abs=TOLERANCE)
    if kind == "truncated_svd" and min(n, n_dims) > 1:
        svd = TruncatedSVD(1, algorithm="arpack", random_state=0).fit(rows)
        # arpack iterates, to a precision of its own.
        assert share == pytest.approx(svd.explained_variance_ratio_[0], abs=1e-8)


def test_the_three_kinds_by_hand():
    # Singular values squared: 12 and 2. Around the mean (2, 0) only the second column varies.
    rows = [[2, 0], [2, 1], [2, -1]]
    assert max_explainable_variance(rows) == pytest.approx(12 / 14, abs=TOLERANCE)
    assert max_explainable_variance(rows, "centred") == pytest.approx(1, abs=TOLERANCE)
    assert max_explainable_variance(rows, "truncated_svd") == pytest.approx(0, abs=TOLERANCE)


# --- what the measures ignore, and their bounds -----------------------------------------------

COSINES = {
    "mean_cosine": mean_cosine,
    "anisotropy": lambda rows: anisotropy(rows, [0, 0, 1, 1, 2, 3]),
    "self_similarity": lambda rows: self_similarity(rows, [0, 0, 1, 1, 2, 3]),
    "intra": intra_sentence_similarity,
    "baseline": lambda rows: sampled_baseline(rows, 50, rng=np.random.default_rng(1)),
    "sampled": lambda rows: sampled_self_similarity(rows, 20, rng=np.random.default_rng(1)),
}
SHARES = {kind: lambda rows, kind=kind: max_explainable_variance(rows, kind) for kind in KINDS}
ALL = COSINES | SHARES


@pytest.mark.parametrize("name", ALL)
@QUICK
@given(SEEDS, st.floats(1e-30, 1e30))
def test_rotations_and_scalings_change_nothing(name, seed, scale):
    rows = draw_rows(seed, 6, 5)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(5, 5)))
    assert ALL[name](scale * rows @ rotation) == pytest.approx(ALL[name](rows), abs=TOLERANCE)


@pytest.mark.parametrize("name", [name for name in COSINES if name != "intra"])
@QUICK
@given(SEEDS)
def test_lengths_of_single_rows_do_not_matter_to_cosines(name, seed):
    rows = draw_rows(seed, 6, 5)
    scales = 10 ** np.random.default_rng(seed).uniform(-9, 9, size=(6, 1))
    assert COSINES[name](rows * scales) == pytest.approx(COSINES[name](rows), abs=TOLERANCE)


@QUICK
@given(SEEDS, st.permutations(range(6)))
def test_the_order_of_the_rows_does_not_matter(seed, order):
    rows, sentences = draw_rows(seed, 6, 5), np.array([0, 0, 1, 1, 2, 3])
    for measure in (mean_cosine, intra_sentence_similarity, *SHARES.values()):
        assert measure(rows[order]) == pytest.approx(measure(rows), abs=TOLERANCE)
    for measure in (anisotropy, self_similarity):
        shuffled = measure(rows[order], sentences[order])
        assert shuffled == pytest.approx(measure(rows, sentences), abs=TOLERANCE)


@QUICK
@given(SEEDS, st.integers(2, 20), st.integers(2, 20))
def test_bounds(seed, n, n_dims):
    rows = draw_rows(seed, n, n_dims)
    units = geometry.unit(rows)
    assert -1 / (n - 1) - TOLERANCE <= mean_cosine(rows) <= 1
    uncentred = max_explainable_variance(units)
    assert uncentred >= (1 + (n - 1) * mean_cosine(rows)) / n - TOLERANCE
    assert uncentred >= self_similarity(units) - TOLERANCE
    centred = max_explainable_variance(rows, "centred")
    assert 1 >= centred >= 1 / min(n - 1, n_dims) - TOLERANCE
    assert 0 <= max_explainable_variance(rows, "truncated_svd") <= centred + TOLERANCE
    # For unit rows the mean's length is the intra-sentence similarity.
    expected = math.sqrt(max(0, (1 + (n - 1) * mean_cosine(rows)) / n))
    assert intra_sentence_similarity(units) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 50, 300])
def test_rows_at_right_angles(n):
    rotation, _ = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))
    for rows in (np.diag(np.arange(1.0, n + 1)), rotation):
        assert mean_cosine(rows) == pytest.approx(0, abs=1e-15)
        assert anisotropy(rows, range(n)) == pytest.approx(0, abs=1e-15)
        assert self_similarity(rows, range(n)) == pytest.approx(0, abs=1e-15)
    # The floor of intra-sentence similarity is not 0: each word is part of the mean.
    assert intra_sentence_similarity(rotation) == pytest.approx(1 / math.sqrt(n), abs=1e-13)
    assert max_explainable_variance(rotation) == pytest.approx(1 / n, abs=1e-13)
    assert max_explainable_variance(rotation, "centred") == pytest.approx(1 / (n - 1), abs=1e-13)


# --- precision --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_float32_and_float64_agree_to_the_rounding_of_the_input(name):
    rows = draw_rows(7, 6, 300, shift=3.0)
    # A float32 entry is off by 6e-8 of itself, and errors of 300 entries average out.
    assert ALL[name](rows.astype(np.float32)) == pytest.approx(ALL[name](rows), abs=2e-7)
    assert ALL[name](rows.astype(np.float32)) == ALL[name](rows.astype(np.float32).astype(float))


@pytest.mark.parametrize("name", ALL)
def test_float16_with_large_entries_does_not_overflow(name):
    rows = draw_rows(8, 6, 40)
    rows = (rows / np.abs(rows).max() * 3000).astype(np.float16)
    with np.errstate(over="ignore"):
        assert np.isinf((rows * rows).sum())
    assert ALL[name](rows) == ALL[name](rows.astype(np.float64))
    assert norms(rows).max() == pytest.approx(math.hypot(*rows[norms(rows).argmax()].tolist()))


@pytest.mark.parametrize("name", ALL)
def test_one_and_two_threads_agree(name):
    rows = draw_rows(9, 400, 300)
    measure = ALL[name] if name not in ("anisotropy", "self_similarity") else mean_cosine
    with threadpool_limits(1):
        one = measure(rows)
    with threadpool_limits(2):
        assert measure(rows) == pytest.approx(one, abs=1e-12)


def test_c3_equal_rows_give_1_and_not_more():
    for row in np.random.default_rng(0).normal(size=(200, 384)).astype(np.float32):
        rows = np.stack([row] * 3)
        for measure in (mean_cosine, intra_sentence_similarity, max_explainable_variance):
            assert 1 - 1e-12 < measure(rows) <= 1


# --- pitfalls and stated rules ----------------------------------------------------------------


def test_c6_the_diagonal_and_copies_do_not_count():
    copies = [*LOPSIDED, [1, 0], [1, 0]]
    assert self_similarity(LOPSIDED) == pytest.approx(0.4714045, abs=5e-8)
    assert self_similarity(copies, list("abcaa")) == pytest.approx(0.4714045, abs=5e-8)
    assert self_similarity(copies) == pytest.approx(0.5828427, abs=5e-8)  # what copies would do
    assert geometry.cosine_matrix(LOPSIDED).mean() == pytest.approx(0.6476030, abs=5e-8)


def test_two_rows_and_identical_rows_follow_the_stated_rule():
    two = draw_rows(3, 2, 5)
    assert max_explainable_variance(two, "centred") == pytest.approx(1, abs=TOLERANCE)
    assert 0.5 <= max_explainable_variance(two) < 1
    same = np.stack([two[0]] * 4)
    assert max_explainable_variance(same) == pytest.approx(1, abs=TOLERANCE)
    noise = 1e-8 * np.random.default_rng(0).normal(size=same.shape)
    for kind in ("centred", "truncated_svd"):
        for rows in (same, (same + noise).astype(np.float32)):
            with pytest.raises(ValueError, match="4 rows are the same vector"):
                max_explainable_variance(rows, kind)
        assert 0 <= max_explainable_variance(same + 1e4 * noise, kind) <= 1


ONE, NOT_FINITE, ZERO = [[1.0, 2.0]], [[1.0, 2], [np.inf, 0]], [[1.0, 2], [0, 0]]
RNG = np.random.default_rng(0)


def two_sentences(measure):
    return lambda rows: measure(rows, list(range(len(rows))))


BY_ROWS = {
    **{measure.__name__: measure for measure in (mean_cosine, self_similarity)},
    "anisotropy": two_sentences(anisotropy),
    "self_similarity of sentences": two_sentences(self_similarity),
    "intra": intra_sentence_similarity,
    "baseline": lambda rows: sampled_baseline(rows, rng=RNG),
    "sampled": lambda rows: sampled_self_similarity(rows, rng=RNG),
    **SHARES,
}


@pytest.mark.parametrize("name", BY_ROWS)
def test_c5_c13_c15_one_row_wrong_shapes_and_rows_without_direction(name):
    measure = BY_ROWS[name]
    with pytest.raises(ValueError, match=r"at least 2 rows .*got 1.*undefined"):
        measure(ONE)
    for wrong in ([1.0, 2.0], np.ones((2, 2, 2)), np.ones((2, 0))):
        with pytest.raises(ValueError, match=r"expected rows \(n_occurrences, n_dims\), got shape"):
            measure(wrong)
    with pytest.raises(ValueError, match="row 1 holds NaN or infinity"):
        measure(NOT_FINITE)
    if name not in KINDS:
        with pytest.raises(ValueError, match="row 1 is all zeros"):
            measure(ZERO)
    else:
        with pytest.raises(ValueError, match="same vector, or zero"):
            measure(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: norms([1.0]), "expected rows"),
        (lambda: norms(NOT_FINITE), "row 1 holds NaN"),
        (lambda: anisotropy(LOPSIDED, [0, 0, 0]), "at least 2 different sentences, got 1"),
        (lambda: self_similarity(LOPSIDED, [0, 0, 0]), "at least 2 different sentences, got 1"),
        (lambda: anisotropy(LOPSIDED, [0, 1]), "each of the 3 rows, got 2"),
        (lambda: self_similarity(LOPSIDED, "abc"), "3 characters of one string"),
        (lambda: intra_sentence_similarity([[1, 2], [-1, -2]]), "cancel out"),
        (lambda: intra_sentence_similarity([[0.1, 0.2], [0.2, 0.4], [-0.3, -0.6]]), "cancel out"),
        (lambda: max_explainable_variance(LOPSIDED, "pca"), "one of uncentred, centred, trunc"),
        (lambda: sampled_baseline(LOPSIDED, 0, rng=RNG), "n_pairs to be at least 1, got 0"),
        (lambda: sampled_self_similarity(LOPSIDED, 0, rng=RNG), "n_pairs to be at least 1"),
        (lambda: sampled_baseline(LOPSIDED, rng=0), "default_rng.*got int"),
        (lambda: sampled_self_similarity(LOPSIDED, rng=np.random), "default_rng.*got module"),
    ],
)
def test_errors_say_what_was_expected(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_norms_of_zeros_and_of_huge_and_tiny_rows():
    np.testing.assert_allclose(
        norms([[0, 0], [3e200, 4e200], [3e-200, 4e-200]]), [0, 5e200, 5e-200]
    )


# --- the paper's sampling ---------------------------------------------------------------------


def test_c12_samples_hang_on_their_generator_alone():
    rows = draw_rows(4, 60, 5)
    for sample in (sampled_baseline, sampled_self_similarity):
        value = sample(rows, rng=np.random.default_rng(5))
        np.random.random(3)  # noqa: NPY002
        assert sample(rows, rng=np.random.default_rng(5)) == value
        assert sample(rows, rng=np.random.default_rng(6)) != value


def test_sampled_baseline_meets_itself_once_in_n():
    rows = np.eye(20)  # so only self-pairs count: the mean is their share
    value = sampled_baseline(rows, 200_000, rng=np.random.default_rng(0))
    # Four standard errors of a share of 1/20.
    assert value == pytest.approx(1 / 20, abs=4 * math.sqrt(0.05 * 0.95 / 200_000))


def test_sampled_self_similarity_takes_ordered_pairs_without_replacement():
    rows = draw_rows(5, 32, 4)  # 992 ordered pairs: all of them
    value = sampled_self_similarity(rows, rng=np.random.default_rng(0))
    assert value == pytest.approx(mean_cosine(rows), abs=TOLERANCE)
    # Of 33 rows 1,000 of 1,056 pairs: without replacement, the error is that of the 56 left out.
    rows = np.eye(33)
    rows[1] = rows[0]  # two ordered pairs have cosine 1
    seen = {sampled_self_similarity(rows, rng=np.random.default_rng(s)) for s in range(60)}
    assert seen <= {0.0, 0.001, 0.002}
    assert 0.002 in seen
    # No self-pair: their cosines of 1 would show.
    assert sampled_self_similarity(np.eye(40), rng=np.random.default_rng(0)) == 0
    spread = [
        sampled_self_similarity(draw_rows(6, 60, 4), rng=np.random.default_rng(s))
        for s in range(100)
    ]
    # 1,000 cosines: the mean of 100 such means is within 0.01 of the exact value.
    assert np.mean(spread) == pytest.approx(mean_cosine(draw_rows(6, 60, 4)), abs=0.01)
