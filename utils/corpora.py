"""Texts to measure on, and where the words are in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import pandas as pd

__all__ = [
    "Corpus",
    "Word",
    "find_word",
    "homonyms",
    "lee",
    "normalise",
    "split_sentences",
    "unique_sentences",
    "words_in",
]

# A word is a run of letters and digits, with the combining marks and soft hyphens between them; an
# apostrophe inside belongs to it (don't), except in the endings 's 'm 'd 're 've 'll, which are
# words of their own (cat's).
_LETTER = r"[\w\u0300-\u036f\u00ad]"
_RUN = rf"\w{_LETTER}*"
_ENDING = r"['’](?:s|m|d|re|ve|ll)\b"
_WORD = re.compile(rf"{_RUN}(?:(?!{_ENDING})['’]{_RUN})*|(?<={_LETTER}){_ENDING}", re.IGNORECASE)
_ENDING_ALONE = re.compile(rf"\s*({_ENDING})\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Word:
    """One word in a sentence: ``sentence[start:end] == text``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Corpus:
    """Distinct sentences, and the count of everything that was left out."""

    name: str
    sentences: tuple[str, ...]
    counts: dict[str, int] = field(default_factory=dict)


def words_in(sentence: str) -> list[Word]:
    """Find the words of a sentence, with their character positions.

    Args:
        sentence: Any text.

    Returns:
        The words in order. Punctuation and blanks are not words.

    >>> [word.text for word in words_in("The cat's mat, don't you see?")]
    ['The', 'cat', "'s", 'mat', "don't", 'you', 'see']
    """
    return [Word(match.group(), *match.span()) for match in _WORD.finditer(sentence)]


def find_word(sentence: str, target: str, *, match_case: bool = False) -> list[Word]:
    """Find every occurrence of a word: whole words of exactly this form.

    ``bank`` is found in "The Bank, by the river-bank" (twice: a hyphen parts words) and not in
    "banker" or "banks". A target of several words ("New York") is found where they follow each
    other with the same signs between them. How an apostrophe or an accent is typed makes no
    difference.

    Args:
        sentence: Where to look.
        target: The word, in the form to be found; plurals are other words.
        match_case: Whether ``Bank`` and ``bank`` are different words.

    Returns:
        The occurrences in order; an empty list where there is none.

    Raises:
        ValueError: If the target holds no word at all, or begins or ends with a sign that belongs
            to no word ("bank.", "C++").

    >>> [word.start for word in find_word("the bank, by the river bank.", "bank")]
    [4, 23]
    """

    def key(text: str) -> str:
        text = unicodedata.normalize("NFC", text).replace("’", "'").replace("\u00ad", "")
        return " ".join((text if match_case else text.casefold()).split())

    alone = _ENDING_ALONE.fullmatch(target)
    parts = [Word(alone[1], *alone.span(1))] if alone else words_in(target)
    if not parts:
        raise ValueError(f"expected a word to look for, got {target!r}")
    core = target[parts[0].start : parts[-1].end]
    if core != target.strip():
        raise ValueError(
            f"{target!r} holds signs that belong to no word, and only words have vectors: "
            f"look for {core!r}"
        )
    words, n, wanted = words_in(sentence), len(parts), key(core)
    spans = [(words[i].start, words[i + n - 1].end) for i in range(len(words) - n + 1)]
    # Some letters grow or shrink when their case is folded, so the keys decide, not the positions.
    return [Word(sentence[a:b], a, b) for a, b in spans if key(sentence[a:b]) == wanted]


def normalise(sentence: str) -> str:
    """What decides whether two sentences are the same: one case, single blanks.

    >>> normalise("The  Bank ")
    'the bank'
    """
    return " ".join(unicodedata.normalize("NFC", sentence).casefold().split())


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences, with the library sentencex.

    Args:
        text: A paragraph of English.

    Returns:
        The sentences in order, without the blanks around them.

    >>> split_sentences('It rained. "We met Mr. Ng," she said. "')
    ['It rained.', '"We met Mr. Ng," she said.']
    """
    from sentencex import segment

    # The splitter keeps whatever stands between two double quotes in one piece, and news texts
    # have odd numbers of them: hide them from it, and cut the pieces from the text itself. It then
    # leaves an opening quote at the end of the sentence before: give it to the one it opens.
    sentences, start, end = [], 0, 0
    for piece in segment("en", text.replace('"', "’")):
        end += len(piece)
        cut = end - 1 if re.fullmatch(r'\s"', text[end - 2 : end]) else end
        sentences.append(text[start:cut].strip().removesuffix(' "').strip())
        start = cut
    return [sentence for sentence in sentences if sentence]


def unique_sentences(sentences: Iterable[str]) -> tuple[list[str], dict[str, int]]:
    """Keep the first of equal sentences, and count what is dropped.

    Args:
        sentences: Any sentences; blanks around them are cut off.

    Returns:
        The distinct sentences in order, and the counts ``read``, ``empty``, ``duplicates``.

    Raises:
        ValueError: If a single string is given.

    >>> unique_sentences(["A cat.", "", "a  cat."])
    (['A cat.'], {'read': 3, 'empty': 1, 'duplicates': 1})
    """
    if isinstance(sentences, str):
        raise ValueError("expected sentences, got one string: put it into brackets, [sentence]")
    kept: dict[str, str] = {}
    counts = {"read": 0, "empty": 0, "duplicates": 0}
    for sentence in sentences:
        counts["read"] += 1
        key = normalise(sentence)
        if not key:
            counts["empty"] += 1
        elif key in kept:
            counts["duplicates"] += 1
        else:
            kept[key] = sentence.strip()
    return list(kept.values()), counts


def lee() -> Corpus:
    """The Lee background corpus: 300 short news texts, which gensim ships (Lee et al. 2005).

    Returns:
        Its distinct sentences. ``counts`` says how many texts were read, how many sentences they
        hold, and how many were dropped as duplicates.
    """
    from gensim.test.utils import datapath

    text = Path(datapath("lee_background.cor")).read_text(encoding="utf-8")
    documents = [line for line in text.splitlines() if line.strip()]
    sentences, counts = unique_sentences(
        sentence for document in documents for sentence in split_sentences(document)
    )
    return Corpus("lee", tuple(sentences), {"documents": len(documents), **counts})


def homonyms(words: Sequence[str] | None = None) -> pd.DataFrame:
    """The course's own sentences for words with two unrelated senses.

    Args:
        words: Only these words; without it, all of them.

    Returns:
        A table with the columns ``word``, ``sense`` and ``sentence``; each sentence holds its word
        exactly once.

    Raises:
        ValueError: If there are no sentences for one of the words, or a single string is given.

    >>> homonyms(["bank"]).sense.unique().tolist()
    ['money', 'river']
    """
    table = pd.read_csv(files("utils") / "data" / "homonyms.csv", keep_default_na=False)
    if words is None:
        return table
    if isinstance(words, str):
        raise ValueError(f"expected a list of words, got one string: write [{words!r}]")
    missing = sorted(set(words) - set(table.word))
    if missing:
        raise ValueError(
            f"there are no sentences for {', '.join(missing)}; "
            f"there are for {', '.join(table.word.unique())}"
        )
    return table[table.word.isin(words)].reset_index(drop=True)
