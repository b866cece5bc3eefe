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
from utils.streaming import Measurer

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
@given(SEEDS, st.integers(2, 20), st.integers(1, 20))
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
    squared = (1 + (n - 1) * mean_cosine(rows)) / n
    if squared > 1e-6:  # else the rows nearly cancel out, and the root magnifies every error
        assert intra_sentence_similarity(units) == pytest.approx(math.sqrt(squared), abs=TOLERANCE)


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
    # A float32 entry is off by up to 6e-8 of itself; over 300 entries errors average to 4e-9.
    assert ALL[name](rows.astype(np.float32)) == pytest.approx(ALL[name](rows), abs=2e-8)
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
# In float64 their sum is not quite zero.
NEARLY_CANCELLED = [[0.1, 0.2], [0.7, 2.1], [-0.1 - 0.7, -0.2 - 2.1]]


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
        (lambda: intra_sentence_similarity(NEARLY_CANCELLED), "cancel out"),
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


# --- streaming --------------------------------------------------------------------------------

N_LAYERS, N_DIMS = 3, 6
LISTED = ["bank", "river", "sat", "absent"]


def draw_corpus(seed, n_sentences=9):
    """Sentences as (number, text, words, first flags, vectors), some with one word or repeated."""
    rng = np.random.default_rng(seed)
    shift = 2 * rng.normal(size=(N_LAYERS, 1, N_DIMS))
    corpus = []
    for number in range(n_sentences):
        n = int(rng.integers(1, 6)) if number > 2 else 4
        words = rng.choice(["bank", "river", "sat", "by", "the"], size=n).tolist()
        vectors = (rng.normal(size=(N_LAYERS, n, N_DIMS)) + shift) * rng.uniform(1, 9, (n, 1))
        corpus.append((number, f"text {number}", words, [i == 0 for i in range(n)], vectors))
    for number in (3, 0):  # copies: the same vectors under other numbers
        corpus.append((n_sentences + number, *corpus[number][1:]))
    return corpus


def measure(corpus, sizes=(None,), dtype=np.float64, flags=True, **options):
    """Feed a corpus in batches of so many sentences."""
    options = {"variance_words": LISTED, "rng": np.random.default_rng(0), "n_random": 8} | options
    measurer, corpus, sizes = Measurer(LISTED, **options), list(corpus), itertools.cycle(sizes)
    while corpus:
        size = next(sizes)
        batch, corpus = corpus[:size], corpus[size:] if size else []
        rows = [
            (number, text, *row)
            for number, text, *rows in batch
            for row in zip(*rows[:2], strict=True)
        ]
        numbers, texts, words, first = zip(*rows, strict=True)
        vectors = np.concatenate([sentence[-1] for sentence in batch], axis=1).astype(dtype)
        first = first if flags else None
        measurer.add(vectors, words, numbers, texts=texts, first=first)
    return measurer


def tables(measurer):
    frames = measurer.layers(), measurer.words(), measurer.explained_variance(n_draws=2)
    keys = ["layer"], ["word", "layer"], ["word", "layer", "kind"]
    return [
        frame.set_index([*key, "with_first"]).sort_index()
        for frame, key in zip(frames, keys, strict=True)
    ]


def same_tables(some, others, atol=TOLERANCE):
    for one, other in zip(tables(some), tables(others), strict=True):
        assert (one.index == other.index).all()
        np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=0, atol=atol)


def rows_of(corpus, with_first, layer, word=None):
    """The rows of the distinct sentences, and their sentences, one by one."""
    distinct = {text: (words, first, vectors) for _, text, words, first, vectors in corpus[::-1]}
    found = [
        (vectors[layer, i].tolist(), text)
        for text, (words, first, vectors) in distinct.items()
        for i in range(len(words))
        if (with_first or not first[i]) and word in (None, words[i])
    ]
    return [row for row, _ in found], [text for _, text in found]


@settings(QUICK, max_examples=10)
@given(SEEDS)
def test_streamed_layers_are_what_loops_find(seed):
    corpus = draw_corpus(seed)
    table, _, _ = tables(measure(corpus, (2, 3)))
    for (layer, with_first), line in table.iterrows():
        rows, texts = rows_of(corpus, with_first, layer)
        sentences = [
            [r for r, t in zip(rows, texts, strict=True) if t == text] for text in set(texts)
        ]
        long = [sentence for sentence in sentences if len(sentence) > 1]
        baseline, intra = loop_anisotropy(rows, texts), mean(map(loop_intra, long))
        expected = {
            "n": len(rows),
            "n_sentences": len(sentences),
            "baseline": baseline,
            "baseline_all_pairs": loop_mean_cosine(rows),
            "baseline_one_per_sentence": loop_one_per_sentence(rows, texts),
            "intra_sentence_similarity": intra,
            "adjusted_intra_sentence_similarity": intra - baseline,
            "n_intra": len(long),
            "n_one_word": len(sentences) - len(long),
            "n_zero_mean": 0,
            "norm": mean(math.hypot(*row) for row in rows),
        }
        assert line.to_dict() == pytest.approx(expected, abs=TOLERANCE)


@settings(QUICK, max_examples=10)
@given(SEEDS)
def test_streamed_words_are_what_loops_find(seed):
    corpus = draw_corpus(seed)
    measurer = measure(corpus, (2, 3))
    layers, words, shares = tables(measurer)
    assert measurer.counts["absent_words"] == len(LISTED) - len(
        set(words.index.get_level_values(0))
    )
    for with_first, layer, word in itertools.product((True, False), range(N_LAYERS), LISTED):
        rows, texts = rows_of(corpus, with_first, layer, word)
        key = (word, layer, with_first)
        assert (key in words.index) == bool(rows)
        if not rows:
            continue
        raw = loop_one_per_sentence(rows, texts) if len(set(texts)) > 1 else np.nan
        expected = {
            "n": len(rows),
            "n_sentences": len(set(texts)),
            "self_similarity": raw,
            "adjusted_self_similarity": raw - layers.loc[(layer, with_first), "baseline"],
            "norm": mean(math.hypot(*row) for row in rows),
        }
        found = words.loc[key].to_dict()
        assert found == pytest.approx(expected, abs=TOLERANCE, nan_ok=True)
        for kind in KINDS:  # words with more than N_DIMS rows go through X'X
            line = shares.loc[(word, layer, kind, with_first)]
            raw = loop_variance(rows, kind) if len(rows) > 1 else np.nan
            assert line["raw"] == pytest.approx(raw, abs=TOLERANCE, nan_ok=True)
            assert line["n"] == len(rows)


@settings(QUICK, max_examples=10)
@given(SEEDS, st.permutations(range(11)), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_one_batch_is_many_in_any_order(seed, order, sizes):
    corpus = draw_corpus(seed)
    whole, parts = measure(corpus), measure([corpus[i] for i in order], sizes)
    same_tables(whole, parts)
    assert whole.counts == parts.counts


@settings(QUICK, max_examples=10)
@given(SEEDS)
def test_streaming_ignores_rotations_and_scalings(seed):
    corpus = draw_corpus(seed)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(N_DIMS, N_DIMS)))
    turned = [(*rest, 1000 * vectors @ rotation) for *rest, vectors in corpus]
    for one, other in zip(tables(measure(corpus)), tables(measure(turned)), strict=True):
        one, other = (frame.drop(columns="norm", errors="ignore") for frame in (one, other))
        np.testing.assert_allclose(one.astype(float), other.astype(float), atol=TOLERANCE)


def test_without_flags_both_halves_are_the_same_and_equal_to_the_one_with_first():
    corpus = draw_corpus(1)
    for flagged, plain in zip(
        tables(measure(corpus)), tables(measure(corpus, flags=False)), strict=True
    ):
        with_first = flagged.xs(True, level="with_first")
        for half in (True, False):
            np.testing.assert_array_equal(
                plain.xs(half, level="with_first").astype(float), with_first.astype(float)
            )


def test_a_flag_that_comes_late_counts_from_the_start():
    corpus = draw_corpus(2)
    late = [
        (number, text, words, [number == 8 and flag for flag in first], vectors)
        for number, text, words, first, vectors in corpus[:9]
    ]
    same_tables(measure(late), measure(late, (1,)))
    assert measure(late, (1,)).counts["first_positions"] == 1


def test_float32_batches_and_threads():
    corpus = draw_corpus(3)
    with threadpool_limits(1):
        one = measure(corpus)
    with threadpool_limits(2):
        same_tables(one, measure(corpus), atol=1e-12)
    # Six entries a row, each off by 6e-8 of itself; a norm near 30 by as much of itself.
    for exact, rounded in zip(tables(one), tables(measure(corpus, dtype=np.float32)), strict=True):
        np.testing.assert_allclose(rounded.astype(float), exact.astype(float), rtol=1e-6, atol=1e-6)


def test_float16_batches_with_large_entries():
    corpus = [
        (*rest, (vectors / np.abs(vectors).max() * 3000).astype(np.float16))
        for *rest, vectors in draw_corpus(4)
    ]
    same_tables(measure(corpus, (2,), np.float16), measure(corpus, (2,), np.float64), atol=0)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_c1_rows_without_direction_are_left_out_at_every_layer_and_counted(bad):
    corpus = draw_corpus(5)
    number, text, words, first, vectors = corpus[1]
    broken = vectors.copy()
    broken[1, 2] = bad  # at one layer
    if bad != 0:
        broken[1, 2, 1:] = 1.0  # one entry is enough
    keep = [0, 1, 3]
    without = (
        number, text, [words[i] for i in keep], [first[i] for i in keep], vectors[:, keep],
    )  # fmt: skip
    found = measure([corpus[0], (number, text, words, first, broken), *corpus[2:]], (2,))
    same_tables(found, measure([corpus[0], without, *corpus[2:]], (2,)), atol=1e-12)
    assert found.counts["all_zeros" if bad == 0 else "not_finite"] == 1
    assert found.counts["all_zeros"] + found.counts["not_finite"] == 1
    assert not found.layers().isna().any(axis=None)


def test_c5_c15_what_is_undefined_is_nan_beside_its_count():
    vectors = np.array([[[1.0, 0], [1, 0], [-1, 0]]])
    measurer = Measurer(["a"], variance_words=["a", "b"], rng=np.random.default_rng(0))
    measurer.add(vectors[:, :1], ["a"], [0])
    line = measurer.layers().iloc[0]
    assert line[["n_one_word", "n_intra", "n_zero_mean"]].tolist() == [1, 0, 0]
    assert line.filter(regex="baseline|similarity").isna().all()
    measurer.add(vectors[:, 1:], ["b", "b"], [1, 1])
    line = measurer.layers().iloc[0]
    assert line[["n_one_word", "n_intra", "n_zero_mean"]].tolist() == [1, 0, 1]
    assert line["baseline"] == pytest.approx(0, abs=1e-15)
    assert math.isnan(line["intra_sentence_similarity"])
    word = measurer.words().iloc[0]
    assert word[["n", "n_sentences"]].tolist() == [1, 1]
    assert math.isnan(word["self_similarity"])
    table = measurer.explained_variance().query("with_first").set_index(["word", "kind"])
    assert table.loc["a", "raw"].isna().all()
    assert table.loc[("b", "uncentred"), "raw"] == pytest.approx(1)
    assert table.loc[("b", "centred"), "raw"] == pytest.approx(1)
    assert table.loc[("b", "truncated_svd"), "raw"] == pytest.approx(1)


def test_c18_identical_vectors_have_no_variance_to_explain():
    measurer = Measurer(["a"], variance_words=["a"], rng=np.random.default_rng(0))
    row = np.float32([[[0.1, 0.7, -0.3]]])
    for number in range(9):  # more than the dimensions: through X'X too
        measurer.add(row, ["a"], [number])
        table = measurer.explained_variance().query("with_first").set_index("kind")["raw"]
        assert table[["centred", "truncated_svd"]].isna().all()
    assert table["uncentred"] == pytest.approx(1)
    assert measurer.words()["self_similarity"].tolist() == pytest.approx([1, 1])


def test_c6_c17_copies_and_first_positions_in_a_stream():
    rows = np.array([LOPSIDED])
    measurer = Measurer(["bank"])
    measurer.add(rows, ["bank"] * 3, [0, 1, 2], texts=["a", "b", "c"])
    measurer.add(rows[:, [0, 0]], ["bank"] * 2, [3, 4], texts=["a", "a"])
    assert measurer.words()["self_similarity"][0] == pytest.approx(0.4714045, abs=5e-8)
    assert measurer.counts["repeated_sentences"] == 2
    # A long vector at the first position takes nearly all of the variance.
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(1, 40, 20))
    vectors[0, 0] = 3000.0
    options = {"variance_words": ["w"], "rng": rng}
    measurer = Measurer(**options)
    measurer.add(vectors, ["w"] * 40, range(40), first=[True] + [False] * 39)
    raw = measurer.explained_variance().set_index(["kind", "with_first"])["raw"]
    assert raw["uncentred", True] > 0.99
    assert raw["uncentred", False] < 0.3


def test_cosines_and_variance_survive_a_mean_ten_thousand_times_the_spread():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 8)) + 1e4 * rng.normal(size=8)
    measurer = Measurer(["w"], variance_words=["w"], rng=rng)
    measurer.add(rows[None], ["w"] * 50, range(50))
    table = measurer.explained_variance().query("with_first").set_index("kind")["raw"]
    # X'X minus the mean's part loses (1e4)^2 of the 1e-16.
    for kind in ("uncentred", "centred"):
        assert table[kind] == pytest.approx(loop_variance(rows, kind), abs=1e-7)
    spread = 1 - measurer.words()["self_similarity"][0]
    assert spread == pytest.approx(1 - loop_mean_cosine(rows), abs=1e-13)


def test_random_rows_are_a_uniform_draw_and_matched_in_number():
    # 30 rows, each its own axis: the uncentred share of m of them is 1/m.
    rows = np.eye(30)[None]
    times = np.zeros(30)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        measurer = Measurer(variance_words=["a"], rng=rng, n_random=10)
        for number in range(15):
            words = ["a" if number < 4 and i == 0 else "b" for i in range(2)]
            measurer.add(rows[:, 2 * number : 2 * number + 2], words, [number] * 2)
        times += measurer._all.kept.random[0].sum(axis=0)
        if seed < 3:
            table = measurer.explained_variance().query("kind == 'uncentred'")
            assert table["n"].tolist() == [4, 4]
            assert table["baseline_random"].tolist() == pytest.approx([1 / 10] * 2)
            assert table["baseline_matched"].tolist() == pytest.approx([1 / 4] * 2)
            assert table["adjusted"].tolist() == pytest.approx([1 / 4 - 1 / 10] * 2)
            assert table["adjusted_matched"].tolist() == pytest.approx([0] * 2)
    assert times.sum() == 300 * 10
    # Each row is kept in a third of 300 draws, 100 +- 8.2; five standard errors.
    assert np.abs(times - 100).max() < 5 * math.sqrt(300 * (1 / 3) * (2 / 3))


def test_c12_random_rows_hang_on_the_seed_alone():
    corpus = draw_corpus(6)
    one = measure(corpus)
    np.random.random(5)  # noqa: NPY002
    one.explained_variance()  # reading a table changes nothing
    same_tables(one, measure(corpus, (1,)), atol=1e-12)
    other = measure(corpus, rng=np.random.default_rng(1)).explained_variance()
    assert (other["baseline_random"] != one.explained_variance()["baseline_random"]).any()


def feed(measurer, shape=(1, 2, 3), **columns):
    columns = {"words": ["a", "b"], "sentences": [0, 1]} | columns
    measurer.add(np.ones(shape), **columns)
    return measurer


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Measurer("bank"), "a list of words, got one string"),
        (lambda: Measurer(variance_words="bank"), "a list of words, got one string"),
        (lambda: Measurer(variance_words=["bank"]), r"rng=numpy.random.default_rng\(seed\)"),
        (lambda: feed(Measurer(), shape=(2, 3)), r"n_dims\), got shape \(2, 3\)"),
        (lambda: feed(Measurer(), shape=(0, 2, 3)), "got shape"),
        (lambda: feed(Measurer(), words=["a"]), "words to have an entry for each of the 2 rows"),
        (lambda: feed(Measurer(), words="ab"), "got 2 characters"),
        (lambda: feed(Measurer(), sentences=[1]), "sentences to have an entry"),
        (lambda: feed(Measurer(), texts=["a"]), "texts to have an entry"),
        (lambda: feed(Measurer(), first=[True]), "first to have an entry"),
        (lambda: feed(feed(Measurer()), sentences=[1, 2]), "sentence 1 came in an earlier batch"),
        (lambda: feed(feed(Measurer()), (2, 2, 3), sentences=[2, 3]), "expected 1 layers and 3"),
        (lambda: feed(Measurer(variance_words=["a"], rng=RNG, max_bytes=9)), "max_bytes"),
        (lambda: Measurer().layers(), "at least one batch"),
        (lambda: Measurer().words(), "at least one batch"),
        (lambda: feed(Measurer()).explained_variance(0), "n_draws to be at least 1, got 0"),
        (lambda: feed(Measurer()).explained_variance(), r"expected variance_words=\[...\]"),
        (lambda: Measurer(variance_words=["a"], rng=RNG).explained_variance(), "at least one"),
    ],
)
def test_errors_of_the_stream(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_refused_batch_leaves_no_trace():
    measurer = feed(Measurer(["a"]))
    before = measurer.layers(), dict(measurer.counts)
    with pytest.raises(ValueError, match="came in an earlier batch"):
        feed(measurer, sentences=[7, 1])
    assert measurer.layers().equals(before[0])
    assert dict(measurer.counts) == before[1]
    feed(measurer, sentences=[7, 8])  # 7 has not been taken before


def test_words_that_are_followed_alone_are_stored_and_memory_stays_bounded():
    rng = np.random.default_rng(0)
    measurer = Measurer(["a"], variance_words=["a", "z"], rng=rng, n_random=4)
    sizes = []
    for number in range(300):
        measurer.add(rng.normal(size=(2, 3, 5)).astype(np.float32), ["a", "a", "b"], [number] * 3)
        sizes.append(measurer._all.kept.n_bytes)
    # X'X and the sum in float64, at most n_dims waiting rows and n_random rows in float32.
    assert max(sizes) <= 2 * (5 * 5 + 5) * 8 + 2 * 5 * 5 * 4 + 2 * 4 * 5 * 4
    assert measurer._later is None
    assert set(measurer.explained_variance()["word"]) == {"a"}
    empty = Measurer(variance_words=["z"], rng=rng)
    empty.add(np.ones((1, 2, 3)), ["a", "b"], [0, 1])
    assert empty.explained_variance().empty
