"""The checks of the exercises: right answers pass, typical wrong ones are told their cause."""

from __future__ import annotations

import numpy as np
import pytest

from utils import checks
from utils.geometry import cosine

SENSES = ["animal", "animal", "sport", "sport"]
ROWS = np.array([[1.0, 0.0, 0.1], [0.9, 0.3, 0.0], [0.2, 1.0, 0.0], [0.6, 0.9, 0.3]])


def others(word, table):
    return [other for other in table if other != word]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda w, t: max(others(w, t), key=lambda o: cosine(t[w], t[o])), "Right."),
        (lambda w, t: ..., "Not started"),
        (lambda w, t: max(t, key=lambda o: cosine(t[w], t[o])), "found the word itself"),
        (lambda w, t: max(others(w, t), key=lambda o: t[w] @ t[o]), "largest dot product"),
        (lambda w, t: min(others(w, t), key=lambda o: cosine(t[w], t[o])), "smallest cosine"),
        (
            lambda w, t: min(others(w, t), key=lambda o: np.linalg.norm(t[w] - t[o])),
            "smallest distance",
        ),
        (lambda w, t: None, "the return may be missing"),
        (lambda w, t: 3, "one word of the table, as a string"),
        (lambda w, t: t["no such word"], "stopped with KeyError"),
    ],
)
def test_nearest(capsys, answer, said):
    checks.nearest(answer)
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (("apple", "computer", "fruit"), "Right."),
        ((..., ..., ...), "Not started"),
        ([..., ..., ...], "Not started"),
        (("seal", "stamp", "otter"), "got 0.16 for 'seal' and 'otter'"),
        (("bank", "loan", "securities"), "both cues belong to the same meaning"),
        (("Apple", "computer", "fruit"), "did you mean 'apple'?"),
        (("apple", "fruit"), "Expected three words"),
    ],
)
def test_two_senses(capsys, glove, answer, said):
    checks.two_senses(glove, answer)
    assert said in capsys.readouterr().out


def means(itself=False):
    same, other = [], []
    for i in range(4):
        for j in range(4):
            if i != j or itself:
                (same if SENSES[i] == SENSES[j] else other).append(cosine(ROWS[i], ROWS[j]))
    return np.mean(same), np.mean(other)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (means()[0] - means()[1], "Right."),
        (np.float32(means()[0] - means()[1]), "Right."),
        (..., "Not started"),
        (means(itself=True)[0] - means()[1], "compared with itself"),
        (means()[1] - means()[0], "the sign is turned round"),
        (means()[0], "within senses alone"),
        (means()[1], "between senses alone"),
        (means(), "subtract the second from the first"),
        (0.5, "another layer than the last"),
        (float("nan"), "Not yet"),
        ("much", "Expected one number"),
    ],
)
def test_sense_gap(capsys, answer, said):
    checks.sense_gap(answer, ROWS, SENSES)
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((3, 0), "Not yet"),
        ((..., ...), "Not started"),
        ((0, 1), "choose two senses"),
        ((-1, 0), "row numbers from 0 to 3"),
        ((0.5, 1), "row numbers from 0 to 3"),
        ((0, 9), "row numbers from 0 to 3"),
        (7, "row numbers from 0 to 3"),
    ],
)
def test_surprising_pair(capsys, answer, said):
    checks.surprising_pair(answer, ROWS, SENSES)
    assert said in capsys.readouterr().out


def test_surprising_pair_is_right_where_a_row_is_closer_to_the_other_sense(capsys):
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 1.0]])
    checks.surprising_pair((0, 2), rows, SENSES)
    assert "Right." in capsys.readouterr().out
