"""How much the one word beside the target tells of its sense, without any meaning.

These are the figures on the page "Models and data". Each sentence is guessed from counts of the
words that stand directly left of the target in the other sentences (naive Bayes with one feature);
where both senses were seen equally often, the guess is a coin.

One sentence of *each* sense is left out at a time. Leaving out a single sentence would make its own
sense the smaller class, and with add-one smoothing a word never seen before would then always be
given to that class: a right answer that nothing in the text has earned.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from fractions import Fraction
from importlib.resources import files

import pytest

TOKEN = re.compile(r"[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*")


def words_beside(step):
    """For each word and sense the words that stand ``step`` places from the target."""
    text = (files("utils") / "data" / "homonyms.csv").read_text(encoding="utf-8")
    found = defaultdict(lambda: defaultdict(list))
    for row in csv.DictReader(io.StringIO(text)):
        words = ["(start)", *TOKEN.findall(row["sentence"].lower()), "(end)"]
        found[row["word"]][row["sense"]].append(words[words.index(row["word"]) + step])
    return found


def coin_or_count(own, other):
    return Fraction(1, 2) if own == other else Fraction(own > other)


def leave_two_out(first, second):
    """Share of right guesses, over every pair of one sentence of each sense."""
    counts = Counter(first), Counter(second)
    right = Fraction(0)
    for a in first:
        for b in second:
            seen = [counts[0] - Counter([a]), counts[1] - Counter([b])]
            right += coin_or_count(seen[0][a], seen[1][a])
            right += coin_or_count(seen[1][b], seen[0][b])
    return right / (2 * len(first) * len(second))


def leave_one_out(first, second):
    """The usual estimate, with add-one smoothing and equal priors: biased, see above."""
    right = Fraction(0)
    n_words = len(set(first) | set(second))
    for own, other in ((first, second), (second, first)):
        for word in own:
            mine = Fraction(own.count(word), len(own) - 1 + n_words)
            theirs = Fraction(other.count(word) + 1, len(other) + n_words)
            right += coin_or_count(mine, theirs)
    return right / (len(first) + len(second))


def accuracies(step, estimate=leave_two_out):
    return {word: estimate(*senses.values()) for word, senses in words_beside(step).items()}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def percent(value):
    return round(100 * float(value))


# The figures on the page


def test_the_word_to_the_left_tells_little():
    found = accuracies(-1)
    assert len(found) == 14
    assert percent(mean(found.values())) == 53
    assert percent(mean(value for word, value in found.items() if word != "book")) == 51


def test_book_is_the_exception():
    found = accuracies(-1)
    assert percent(found["book"]) == 78
    assert max(found, key=found.get) == "book"
    second = sorted(found, key=found.get)[-2]
    assert (second, percent(found[second])) == ("bark", 64)
    # No word stands left of both: the noun has "the", "a", "your", the verb "to", "may", "must".
    senses = words_beside(-1)["book"]
    assert set(senses["reading"]).isdisjoint(senses["reserve"])


def test_the_word_to_the_right_tells_nothing():
    assert percent(mean(accuracies(+1).values())) == 50


def test_the_usual_estimate_would_say_seventy():
    found = accuracies(-1, leave_one_out)
    assert percent(mean(found.values())) == 70
    assert found["book"] == 1


# The estimates themselves, on cases that can be worked out by hand


@pytest.mark.parametrize(
    ("first", "second", "fair", "usual"),
    [
        (["the"] * 3, ["to"] * 3, 1, 1),  # the word tells
        (["the"] * 3, ["the"] * 3, 0.5, 0.5),  # it does not: both senses look the same
        (list("abc"), list("def"), 0.5, 1),  # every word is new: nothing to go by
    ],
)
def test_estimates_by_hand(first, second, fair, usual):
    assert leave_two_out(first, second) == fair
    assert leave_one_out(first, second) == usual
