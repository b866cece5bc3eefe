"""All measures of one model and corpus, in one pass over batches of vectors.

The formulas are those of :mod:`utils.geometry`. Cosines need only sums of unit rows, so no vector
is stored for them; explained variance keeps the rows of the words that are asked for.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from utils.geometry import CANCELLED, KINDS, explained_shares, moments, unit

__all__ = ["Measurer"]


class Measurer:
    """Measure every layer, batch by batch, and read the tables at the end.

    Sentences of one text count once: the first is kept. A row that is all zeros or holds NaN or
    infinity at any layer is left out at every layer, so that all layers are measured on the same
    rows; ``counts`` says how many. Every table has each measure twice: ``with_first`` true, and
    false for the rows that are not at the model's first position (for a decoder a special case).

    Memory: ``n_layers * n_dims * 8`` bytes for each of ``words``, whatever the corpus; and for each
    of ``variance_words`` its rows, until they are more than ``n_dims``, where the matrix X'X gets
    smaller than they are. Both are doubled once a first position is flagged.

    Args:
        words: The words whose self-similarity and norm are wanted.
        variance_words: The words whose explained variance is wanted; they need not be in ``words``.
        rng: A seeded ``numpy.random.default_rng(seed)``, for the random rows that explained
            variance is compared with. They depend on the seed and the sentences, not on the order
            of the batches.
        n_random: How many random rows to keep.
        max_bytes: What ``variance_words`` and the random rows may take; beyond it an error comes.

    Raises:
        ValueError: If ``words`` is one string, or ``variance_words`` are asked for without ``rng``.

    >>> measurer = Measurer(words=["bank"])
    >>> vectors = np.array([[[1, 0], [0, 1], [1, 1], [0, 2]]])  # one layer, four rows
    >>> measurer.add(vectors, ["bank", "sat", "bank", "sat"], sentences=[0, 0, 1, 1])
    >>> measurer.words()[["n", "n_sentences", "self_similarity"]].iloc[0].round(3).tolist()
    [2.0, 2.0, 0.707]
    """

    def __init__(
        self,
        words: Collection[str] = (),
        *,
        variance_words: Collection[str] = (),
        rng: np.random.Generator | None = None,
        n_random: int = 1000,
        max_bytes: int = 2**30,
    ):
        if isinstance(words, str) or isinstance(variance_words, str):
            raise ValueError("expected a list of words, got one string: put it into brackets")
        if len(variance_words) and not isinstance(rng, np.random.Generator):
            raise ValueError(
                "expected rng=numpy.random.default_rng(seed): explained variance is compared with "
                "that of random rows"
            )
        self.counts: Counter[str] = Counter()
        self._seed = int(rng.integers(2**63)) if rng is not None else 0
        self._n_random, self._max_bytes = n_random, max_bytes
        self._words = sorted(set(words))
        self._variance_words = frozenset(variance_words)
        self._sentence_of: dict[Hashable, Hashable] = {}  # by text
        self._done: set[Hashable] = set()
        self._all: _Tally | None = None
        self._later: _Tally | None = None  # without first positions, once there is one

    def add(
        self,
        vectors: np.ndarray,
        words: Sequence[str],
        sentences: Sequence[Hashable],
        *,
        texts: Sequence[Hashable] | None = None,
        first: Sequence[bool] | None = None,
    ) -> None:
        """Take one batch of whole sentences, as :func:`utils.contextual.embed_words` yields them.

        Args:
            vectors: Shape ``(n_layers + 1, n_rows, n_dims)``, float16 to float64.
            words: For each row its word, in the form in which words are counted.
            sentences: For each row a number of its own for each sentence.
            texts: For each row its sentence's normalised text, if the corpus repeats sentences.
            first: For each row whether it is at the model's first position.

        Raises:
            ValueError: If the shapes do not fit each other or the batches before, a sentence came
                in an earlier batch, or more than ``max_bytes`` would be kept. Nothing of the batch
                is taken then.
        """
        vectors = np.asarray(vectors)
        texts = sentences if texts is None else texts
        first = [False] * len(words) if first is None else first
        self._check(vectors, words=words, sentences=sentences, texts=texts, first=first)
        rows = self._with_direction(vectors, self._new_texts(sentences, texts))
        later = ~np.asarray(first, dtype=bool)[rows]
        self.counts["rows"] += len(rows)
        self.counts["first_positions"] += int((~later).sum())
        own_texts = [texts[i] for i in rows]
        numbers = {text: i for i, text in enumerate(dict.fromkeys(own_texts))}
        batch = _Batch(
            vectors[:, rows],
            np.array([words[i] for i in rows], dtype=object),
            np.array([numbers[text] for text in own_texts], dtype=int),
            self._priorities(own_texts) if self._variance_words else np.zeros(len(rows)),
        )
        if self._all is None:
            kept = _Kept(self._variance_words, self._n_random)
            self._all = _Tally(vectors.shape[0], vectors.shape[2], self._words, kept)
        if self._later is None and not later.all():
            self._later = copy.deepcopy(self._all)  # up to here the two are the same
        self._all.add(batch)
        if self._later is not None:
            self._later.add(batch.take(np.flatnonzero(later)))

    def layers(self) -> pd.DataFrame:
        """Return one row for each layer: what holds for words in general.

        ``baseline`` is the mean cosine of two words of different sentences (see
        :func:`utils.geometry.anisotropy`), ``baseline_all_pairs`` that of any two words, and
        ``baseline_one_per_sentence`` the expected value if one word is drawn from each sentence.
        ``intra_sentence_similarity`` is the mean over the ``n_intra`` sentences that have it:
        neither the ``n_one_word`` with a single row nor the ``n_zero_mean`` whose rows cancel out.
        ``adjusted`` is raw minus ``baseline``. ``norm`` is the mean length. What is not defined,
        as a baseline with ``n_sentences`` below 2, is NaN.

        Raises:
            ValueError: If no batch has been added.
        """
        return self._both(_Tally.layers)

    def words(self) -> pd.DataFrame:
        """Return one row for each word and layer: self-similarity, raw and adjusted, and norm.

        See :func:`utils.geometry.self_similarity`. ``n`` counts rows, ``n_sentences`` the distinct
        sentences; below 2 of them self-similarity is not defined: it is NaN, which means of pandas
        leave out. Words that never came are left out and counted in ``counts["absent_words"]``.

        Raises:
            ValueError: If no batch has been added.
        """
        table = self._both(_Tally.words)
        self.counts["absent_words"] = len(self._words) - table["word"].nunique()
        return table

    def explained_variance(self, n_draws: int = 5) -> pd.DataFrame:
        """Return one row for each variance word, layer and kind, with two baselines.

        ``raw`` is :func:`utils.geometry.max_explainable_variance`, ``baseline_random`` that of the
        ``n_random`` random rows, as in the paper, and ``baseline_matched`` the mean over
        ``n_draws`` times as many of these as the word has rows (all of them if it has more), which
        is fair to rare words. ``adjusted`` is raw minus random, ``adjusted_matched`` raw minus
        matched. A word with one row, and rows that are the same vector, are undefined: NaN.

        Raises:
            ValueError: If no batch has been added, there were no variance words, or ``n_draws`` is
                below 1.
        """
        if n_draws < 1:
            raise ValueError(f"expected n_draws to be at least 1, got {n_draws}")
        if not self._variance_words:
            raise ValueError("expected variance_words=[...] when the Measurer was made, got none")
        return self._both(lambda tally: tally.kept.explained_variance(self._seed, n_draws))

    def _both(self, table: Callable[[_Tally], pd.DataFrame]) -> pd.DataFrame:
        if self._all is None:
            raise ValueError("expected at least one batch before the tables are read: call add()")
        every, later = table(self._all), table(self._later or self._all)
        both = [every.assign(with_first=True), later.assign(with_first=False)]
        filled = [frame for frame in both if len(frame)] or both[:1]
        return pd.concat(filled, ignore_index=True)

    def _check(self, vectors: np.ndarray, **columns: Sequence) -> None:
        if vectors.ndim != 3 or 0 in vectors.shape[::2]:
            raise ValueError(
                f"expected vectors (n_layers + 1, n_rows, n_dims), got shape {vectors.shape}"
            )
        for name, column in columns.items():
            if isinstance(column, str) or len(column) != vectors.shape[1]:
                raise ValueError(
                    f"expected {name} to have an entry for each of the {vectors.shape[1]} rows, "
                    f"got {len(column)}" + (" characters" if isinstance(column, str) else "")
                )
        before = self._all.shape if self._all else (vectors.shape[0], vectors.shape[2])
        if (vectors.shape[0], vectors.shape[2]) != before:
            raise ValueError(
                f"expected {before[0]} layers and {before[1]} dimensions as in the batches before, "
                f"got {vectors.shape[0]} and {vectors.shape[2]}"
            )
        for sentence in columns["sentences"]:
            if sentence in self._done:
                raise ValueError(
                    f"sentence {sentence!r} came in an earlier batch: batches hold whole "
                    "sentences. Give copies of a sentence other numbers and the same text"
                )
        new = sum(word in self._variance_words for word in columns["words"])
        stored = sum(tally.kept.n_bytes for tally in (self._all, self._later) if tally)
        need = stored + 2 * new * vectors[:, :1].nbytes
        if need > self._max_bytes:
            raise ValueError(
                f"explained variance would keep {need:,} bytes, more than max_bytes "
                f"({self._max_bytes:,}). Ask for fewer variance_words or layers, or allow more"
            )

    def _new_texts(self, sentences: Sequence[Hashable], texts: Sequence[Hashable]) -> np.ndarray:
        """Which rows belong to the first sentence of their text; count the other sentences."""
        pairs = list(zip(sentences, texts, strict=True))
        first = [
            self._sentence_of.setdefault(text, sentence) == sentence for sentence, text in pairs
        ]
        self._done.update(sentences)
        repeated = {sentence for sentence, kept in zip(sentences, first, strict=True) if not kept}
        self.counts["repeated_sentences"] += len(repeated)
        return np.flatnonzero(first)

    def _with_direction(self, vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Which of the rows can be measured at every layer; the others are counted."""
        finite = np.isfinite(vectors[:, rows]).all(axis=(0, 2))
        zero = finite & (vectors[:, rows] == 0).all(axis=2).any(axis=0)
        self.counts["not_finite"] += int((~finite).sum())
        self.counts["all_zeros"] += int(zero.sum())
        return rows[finite & ~zero]

    def _priorities(self, texts: Sequence[Hashable]) -> np.ndarray:
        """Give each row a random number that hangs on the seed, its text and its place in it."""
        streams: dict[Hashable, np.random.Generator] = {}
        for text in texts:
            if text not in streams:
                number = int.from_bytes(blake2b(str(text).encode(), digest_size=8).digest())
                streams[text] = np.random.default_rng([self._seed, number])
        return np.array([streams[text].random() for text in texts])


@dataclass(frozen=True)
class _Batch:
    """Clean rows: ``vectors`` (n_layers, n_rows, n_dims), and an entry a row of the others."""

    vectors: np.ndarray
    words: np.ndarray
    sentences: np.ndarray
    priorities: np.ndarray

    def take(self, rows: np.ndarray) -> _Batch:
        columns = (self.words[rows], self.sentences[rows], self.priorities[rows])
        return _Batch(self.vectors[:, rows], *columns)


class _Tally:
    """The sums from which all measures of one selection of rows follow."""

    def __init__(self, n_layers: int, n_dims: int, words: Sequence[str], kept: _Kept):
        self.shape, self.names, self.kept = (n_layers, n_dims), words, kept
        self.place = {word: i for i, word in enumerate(words)}
        self.n = self.n_squared = self.n_sentences = self.n_one_word = 0
        self.total = np.zeros((n_layers, n_dims))  # sum of unit rows u
        self.within = np.zeros(n_layers)  # sum over sentences of |sum of its u|^2
        self.means = np.zeros((n_layers, n_dims))  # sum over sentences of the mean of its u
        self.means_squared = np.zeros(n_layers)  # ... of that mean's squared length
        self.norm = np.zeros(n_layers)
        self.intra = np.zeros(n_layers)
        self.n_intra = np.zeros(n_layers, dtype=int)
        # The same for each word: the means are over the word's rows in a sentence.
        self.word_n, self.word_sentences = np.zeros((2, len(words)), dtype=int)
        self.word_means = np.zeros((n_layers, len(words), n_dims))
        self.word_means_squared = np.zeros((n_layers, len(words)))
        self.word_norm = np.zeros((n_layers, len(words)))

    def add(self, batch: _Batch) -> None:
        """Add a batch of whole sentences to the sums."""
        if not len(batch.words):
            return
        self.kept.add(batch)
        members, _, counts = _members(batch.sentences)
        self.n += counts.sum()
        self.n_squared += (counts**2).sum()
        self.n_sentences += len(counts)
        self.n_one_word += (counts == 1).sum()
        words = np.array([self.place.get(word, -1) for word in batch.words])
        listed = np.flatnonzero(words >= 0)
        words = words[listed]
        np.add.at(self.word_n, words, 1)
        # A context is a word in a sentence.
        labels = words * len(batch.words) + batch.sentences[listed]
        contexts, start, uses = _members(labels)
        owners = words[start]
        np.add.at(self.word_sentences, owners, 1)
        for layer, vectors in enumerate(batch.vectors):
            rows = vectors.astype(np.float64)
            units = unit(rows)
            lengths = np.einsum("ij,ij->i", units, rows)
            self._add_sentences(layer, rows, units, lengths, members, counts)
            means = (contexts @ units[listed]) / uses[:, None]
            np.add.at(self.word_means[layer], owners, means)
            np.add.at(self.word_means_squared[layer], owners, (means**2).sum(axis=1))
            np.add.at(self.word_norm[layer], words, lengths[listed])

    def _add_sentences(self, layer, rows, units, lengths, members, counts) -> None:
        sums = members @ units
        means = sums / counts[:, None]
        self.total[layer] += sums.sum(axis=0)
        self.within[layer] += (sums**2).sum()
        self.means[layer] += means.sum(axis=0)
        self.means_squared[layer] += (means**2).sum()
        self.norm[layer] += lengths.sum()
        # The sum of the rows points where their mean does.
        whole = members @ rows
        long = np.linalg.norm(whole, axis=1)
        usable = (counts > 1) & (long > CANCELLED * (members @ lengths))
        along = np.einsum("ij,ij->i", means, whole)[usable] / long[usable]
        self.intra[layer] += along.sum()
        self.n_intra[layer] += usable.sum()

    def baseline(self) -> np.ndarray:
        """Mean cosine of rows from different sentences, for each layer."""
        pairs = self.n**2 - self.n_squared
        return _share(_squares(self.total) - self.within, pairs)

    def layers(self) -> pd.DataFrame:
        n, k = self.n, self.n_sentences
        baseline, intra = self.baseline(), _share(self.intra, self.n_intra)
        return pd.DataFrame(
            {
                "layer": range(self.shape[0]),
                "n": n,
                "n_sentences": k,
                "baseline": baseline,
                "baseline_all_pairs": _share(_squares(self.total) - n, n * (n - 1)),
                "baseline_one_per_sentence": _share(
                    _squares(self.means) - self.means_squared, k * (k - 1)
                ),
                "intra_sentence_similarity": intra,
                "adjusted_intra_sentence_similarity": intra - baseline,
                "n_intra": self.n_intra,
                "n_one_word": self.n_one_word,
                "n_zero_mean": k - self.n_one_word - self.n_intra,
                "norm": _share(self.norm, n),
            }
        )

    def words(self) -> pd.DataFrame:
        k = self.word_sentences
        raw = _share(_squares(self.word_means) - self.word_means_squared, k * (k - 1))
        present = self.word_n > 0
        n_layers, n_words = raw.shape
        table = pd.DataFrame(
            {
                "word": np.tile(np.array(self.names, dtype=object), n_layers),
                "layer": np.repeat(range(n_layers), n_words),
                "n": np.tile(self.word_n, n_layers),
                "n_sentences": np.tile(k, n_layers),
                "self_similarity": raw.ravel(),
                "adjusted_self_similarity": (raw - self.baseline()[:, None]).ravel(),
                "norm": _share(self.word_norm, self.word_n).ravel(),
            }
        )
        return table[np.tile(present, n_layers)]


class _Kept:
    """The rows, or their X'X, of the words whose explained variance is wanted; and random rows."""

    def __init__(self, words: Collection[str], n_random: int):
        self.wanted, self.n_random = words, n_random
        self.words: dict[str, _Rows] = {}
        self.random: np.ndarray | None = None
        self.priorities = np.empty(0)

    @property
    def n_bytes(self) -> int:
        random = 0 if self.random is None else self.random.nbytes
        return random + sum(rows.n_bytes for rows in self.words.values())

    def add(self, batch: _Batch) -> None:
        if not self.wanted:
            return
        for word in self.wanted & set(batch.words):
            rows = batch.vectors[:, np.flatnonzero(batch.words == word)]
            self.words.setdefault(word, _Rows()).add(rows)
        # The n_random rows of lowest priority are a uniform draw, whatever the batches were.
        vectors, priorities = batch.vectors, batch.priorities
        if self.random is not None:
            vectors = np.concatenate([self.random, vectors], axis=1)
            priorities = np.concatenate([self.priorities, priorities])
        order = np.argsort(priorities)[: self.n_random]
        self.random, self.priorities = vectors[:, order], priorities[order]

    def explained_variance(self, seed: int, n_draws: int) -> pd.DataFrame:
        """Return one row for each word, layer and kind; see :class:`Measurer`."""
        everything = self._of_random(len(self.priorities), 1, np.random.default_rng(seed))
        matched, tables = {}, []
        for word, rows in sorted(self.words.items()):
            n = min(rows.n, len(self.priorities))
            if n not in matched:
                matched[n] = self._of_random(n, n_draws, np.random.default_rng([seed, n]))
            raw = rows.shares()
            layers, kinds = np.indices(raw.shape)
            columns = {
                "word": word,
                "layer": layers.ravel(),
                "kind": np.array(KINDS)[kinds.ravel()],
                "n": rows.n,
                "raw": raw.ravel(),
                "baseline_random": everything.ravel(),
                "baseline_matched": matched[n].ravel(),
                "adjusted": (raw - everything).ravel(),
                "adjusted_matched": (raw - matched[n]).ravel(),
            }
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables) if tables else pd.DataFrame({"word": []})

    def _of_random(self, n: int, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Mean shares of n of the random rows, shape (n_layers, 3)."""
        draws = [rng.permutation(len(self.priorities))[:n] for _ in range(n_draws)]
        return np.mean([_Rows().add(self.random[:, draw]).shares() for draw in draws], axis=0)


class _Rows:
    """The rows of one word: as they came, or as X'X and their sum where that is smaller."""

    def __init__(self):
        self.n, self.waiting, self.second, self.total = 0, [], None, None

    @property
    def n_bytes(self) -> int:
        folded = 0 if self.second is None else self.second.nbytes + self.total.nbytes
        return folded + sum(rows.nbytes for rows in self.waiting)

    def add(self, vectors: np.ndarray) -> _Rows:
        """Take rows of shape ``(n_layers, n_rows, n_dims)``."""
        self.n += vectors.shape[1]
        self.waiting.append(vectors)
        if sum(rows.shape[1] for rows in self.waiting) > vectors.shape[2]:
            self._fold()
        return self

    def _fold(self) -> None:
        rows = np.concatenate(self.waiting, axis=1).astype(np.float64)
        if self.second is None:
            self.second = np.zeros((len(rows), rows.shape[2], rows.shape[2]))
            self.total = np.zeros((len(rows), rows.shape[2]))
        self.second += rows.transpose(0, 2, 1) @ rows
        self.total += rows.sum(axis=1)
        self.waiting = []

    def shares(self) -> np.ndarray:
        """Explained variance, shape (n_layers, 3), NaN where it is not defined."""
        if self.second is not None and self.waiting:
            self._fold()
        if self.second is None:
            pairs = [moments(rows.astype(np.float64)) for rows in np.concatenate(self.waiting, 1)]
        else:
            middle = self.total[:, :, None] * self.total[:, None, :] / self.n
            pairs = zip(self.second, self.second - middle, strict=True)
        shares = np.array([list(explained_shares(*pair).values()) for pair in pairs])
        return shares if self.n > 1 else np.full_like(shares, np.nan)


def _members(labels: np.ndarray) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Return the matrix that adds up the rows of each label, its first row, and its count."""
    _, start, places, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    n = len(places)
    matrix = csr_array((np.ones(n), (places, np.arange(n))), shape=(len(counts), n))
    return matrix, start, counts


def _squares(vectors: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", vectors, vectors)


def _share(sums: np.ndarray, counts: np.ndarray | int) -> np.ndarray:
    """Divide, with NaN for what is a mean of nothing."""
    counts = np.broadcast_to(counts, np.shape(sums))
    return np.divide(sums, counts, out=np.full(np.shape(sums), np.nan), where=counts > 0)
