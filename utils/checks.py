"""The checks behind the exercises: what was expected, what came, and the likely cause.

A check prints one line or two and never raises: a notebook runs through, whatever the answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from gensim.models import KeyedVectors

from utils.geometry import cosine
from utils.static import similarity

__all__ = ["nearest", "sense_gap", "surprising_pair", "two_senses"]


def _say(problem: str | None, right: str) -> None:
    print(f"Not yet. {problem}" if problem else f"Right. {right}")


def _not_started(answer: object) -> bool:
    if answer is ... or (isinstance(answer, tuple | list) and any(x is ... for x in answer)):
        print("Not started: write your answer in place of the three dots, and run both cells.")
        return True
    return False


def _call(function: Callable, *arguments: object) -> tuple[object, str | None]:
    """Call the reader's function; an exception becomes a sentence."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, f"Your function stopped with {type(error).__name__}: {error}"


def nearest(answer: Callable[[str, Mapping[str, Sequence[float]]], str]) -> None:
    """Check the exercise "write nearest" of lesson 1.

    Args:
        answer: A function of a word and a table {word: vector} that returns another word.
    """
    # "close" has the smallest angle with "start", "long" the largest dot product, "beside" the
    # smallest distance.
    table = {"start": [1.0, 0.2], "long": [9.0, 9.0], "close": [5.0, 1.5]}
    table |= {"beside": [0.6, 0.9], "far": [-1.0, 0.3]}
    got, problem = _call(answer, "start", {k: np.array(v) for k, v in table.items()})
    if got is ...:
        _not_started(got)
        return
    causes = {
        "start": "it found the word itself; leave it out before you look for the largest cosine",
        "long": "that is the largest dot product; divide by both lengths, or call cosine",
        "beside": "that is the smallest distance between the tips; compare directions with cosine",
        "far": "that is the smallest cosine; you want the largest",
        None: "it returned nothing; the return may be missing",
    }
    if problem is None and got != "close":
        problem = (
            f"Expected 'close' for a test table, got {got!r}. Likely cause: "
            f"{causes.get(got, 'it should return one word of the table, as a string')}."
        )
    _say(problem, "It goes by angle, not by length, and does not return the word itself.")


def two_senses(vectors: KeyedVectors, answer: tuple[str, str, str]) -> None:
    """Check the exercise "find a word that kept both its meanings" of lesson 1.

    Args:
        vectors: GloVe.
        answer: A word, and one cue word for each of two meanings.
    """
    if _not_started(answer):
        return
    try:
        word, first, second = answer
    except (ValueError, TypeError):
        _say(f"Expected three words, got {answer!r}.", "")
        return
    try:
        a, b = similarity(vectors, word, first), similarity(vectors, word, second)
        apart = similarity(vectors, first, second)
    except LookupError as error:
        _say(f"{error}.", "")
        return
    problem = None
    if min(a, b) < 0.5:
        low, cue = min((a, first), (b, second))
        problem = (
            f"Expected a cosine of at least 0.50 with both cues, got {low:.2f} for "
            f"{word!r} and {cue!r}. Likely cause: that meaning is too rare in the news and "
            "encyclopaedia texts that GloVe read, or another cue stands closer to it."
        )
    elif apart > 0.3:
        problem = (
            f"Expected cues that have little to do with each other, at most 0.30, got {apart:.2f}. "
            "Likely cause: both cues belong to the same meaning."
        )
    _say(
        problem,
        f"By the numbers, {word!r} stands at {a:.2f} from {first!r} and at {b:.2f} from "
        f"{second!r}, which stand at {apart:.2f} from each other.",
    )


def sense_gap(answer: float, vectors: np.ndarray, senses: Sequence[str]) -> None:
    """Check the exercise "bat" of lesson 2: mean cosine within senses minus between senses.

    Args:
        answer: The reader's number.
        vectors: Shape ``(n_occurrences, n_dims)``.
        senses: The sense of each occurrence.
    """
    if _not_started(answer):
        return
    n = len(senses)
    same, other, itself = [], [], []
    for i in range(n):
        for j in range(n):
            value = cosine(vectors[i], vectors[j])
            (itself if i == j else same if senses[i] == senses[j] else other).append(value)
    right = np.mean(same) - np.mean(other)
    wrong = {
        "each vector was compared with itself too, which adds cosines of 1": np.mean(same + itself)
        - np.mean(other),
        "the sign is turned round: take within minus between": -right,
        "this is the mean within senses alone; subtract the mean between them": np.mean(same),
        "this is the mean between senses alone; subtract it from the mean within": np.mean(other),
    }
    try:
        got = float(answer)
    except (TypeError, ValueError):
        two = (
            "two: subtract the second from the first" if np.shape(answer) == (2,) else repr(answer)
        )
        _say(f"Expected one number, got {two}.", "")
        return
    problem = None
    if not abs(got - right) < 5e-4:
        cause = next(
            (text for text, value in wrong.items() if abs(got - value) < 5e-4),
            "another layer than the last, or the pairs are not all there",
        )
        problem = f"Expected {right:.3f}, got {got:.3f}. Likely cause: {cause}."
    _say(
        problem,
        f"Within a sense the cosines are larger by {right:.3f} on average: a gap, not a wall.",
    )


def surprising_pair(answer: tuple[int, int], vectors: np.ndarray, senses: Sequence[str]) -> None:
    """Check the exercise "find a failure" of lesson 2.

    Args:
        answer: Two row numbers of different senses, closer than row one is to its own sense.
        vectors: Shape ``(n_occurrences, n_dims)``.
        senses: The sense of each occurrence.
    """
    if _not_started(answer):
        return
    try:
        i, j = (operator.index(number) for number in answer)
        if min(i, j) < 0:
            raise IndexError(min(i, j))
        across = cosine(vectors[i], vectors[j])
    except (TypeError, ValueError, IndexError):
        _say(f"Expected two row numbers from 0 to {len(senses) - 1}, got {answer!r}.", "")
        return
    if senses[i] == senses[j]:
        _say(f"Rows {i} and {j} are both {senses[i]!r}: choose two senses.", "")
        return
    own = np.mean(
        [
            cosine(vectors[i], vectors[k])
            for k in range(len(senses))
            if k != i and senses[k] == senses[i]
        ]
    )
    problem = None
    if across <= own:
        problem = (
            f"Expected a cosine across senses above row {i}'s mean with its own sense, "
            f"{own:.3f}; got {across:.3f}. Likely cause: the pair separates as it should. "
            "Go through the rows and look at the largest cosine across senses."
        )
    _say(
        problem,
        f"Row {i} is closer to row {j} of the other sense ({across:.3f}) than to its own on "
        f"average ({own:.3f}).",
    )
