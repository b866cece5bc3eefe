"""Checks on the homonym sentences in utils/data/homonyms.csv.

Every later lesson compares the two senses of a word, so anything that separates
them without meaning (length, position, one cue word, a shared frame) would be
mistaken for sense. These tests keep such short cuts out of the file.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from importlib.resources import files

import pytest

SENSES = {
    "bank": ("money", "river"),
    "bark": ("dog", "tree"),
    "bass": ("fish", "music"),
    "bat": ("animal", "sport"),
    "book": ("reading", "reserve"),
    "bow": ("ship", "weapon"),
    "crane": ("bird", "machine"),
    "match": ("fire", "game"),
    "mole": ("animal", "spy"),
    "organ": ("body", "music"),
    "palm": ("hand", "tree"),
    "pitcher": ("baseball", "jug"),
    "seal": ("animal", "closure"),
    "spring": ("season", "water"),
}
PER_SENSE = 24


def word_set(text):
    return set(text.split())


# The course uses these three elsewhere; lower case, no final punctuation.
USED_ELSEWHERE = {
    "i sat on the river bank and watched the boats",
    "i deposited the cheque at the bank",
    "the money is safe in my bank account",
}

# Words from the field of the *other* sense. At least three sentences of each
# sense must contain one, so that a reader of the cues alone is sometimes wrong.
DISTRACTORS = {
    ("bank", "money"): "fisherman scales flood water mud ferry boats swans canal",
    ("bank", "river"): "purse coin treasurer cash fee investors",
    ("bark", "dog"): "oak pine birches woodcutter's trunk squirrel",
    ("bark", "tree"): "dog puppy hounds moose",
    ("bass", "fish"): "guitarist instrument band's drummer songs singer scales",
    ("bass", "music"): "river boat angler rods fishmonger harbour",
    ("bat", "animal"): "cricket pitch umpire goalkeeper training sports",
    ("bat", "sport"): "owl asleep moths swallows roost dusk",
    ("book", "reading"): "hotel guest table travel agent brochures flight",
    ("book", "reserve"): "author library novel reading atlas publisher",
    ("bow", "ship"): "archer's arrows hunters deer",
    ("bow", "weapon"): "sailor cabin canoe harbour deck pirate",
    ("crane", "bird"): "building site workers dock unloading roof engineer foundations",
    ("crane", "machine"): "stork nest pigeons marsh geese",
    ("match", "fire"): "referee score stadium fan team coach",
    ("match", "game"): "candles smoke fire brigade",
    ("mole", "animal"): "agent's embassy ambassador's spy",
    ("mole", "spy"): "lawn tunnel gardener plants worms beetles",
    ("organ", "body"): "church choir pianist concert drummer",
    ("organ", "music"): "illness surgeon heart teeth doctor lungs",
    ("palm", "hand"): "beach coconut tree date",
    ("palm", "tree"): "hand fingers nail scratched",
    ("pitcher", "baseball"): "water milk beer waiter poured ice",
    ("pitcher", "jug"): "batter team game baseball umpire catcher's players",
    ("seal", "animal"): "plumber envelope glued rubber tube",
    ("seal", "closure"): "diver sea swimmer's fish coast zoo penguin",
    ("spring", "season"): "well streams river water",
    ("spring", "water"): "winter summer january august easter",
}

# Nouns that form a compound with the word when they stand next to it.
COMPOUND_PARTNERS = {
    "bank": "river account manager clerk loan holiday robber robbery note branch vault card",
    "bark": "tree dog oak birch cork pine cedar willow elm beech chip chips canoe",
    "bass": "sea guitar player drum line clef double voice note part rod boat fillet",
    "bat": "fruit cricket baseball mother vampire box cave handle house tennis",
    "book": "school library picture exercise shop club cover review poetry cookery",
    "bow": "ship boat wave door deck string hunter wood toy cross target yew",
    "crane": "paper tower dock port driver operator cab hook chick egg nest camera",
    "match": "football hockey chess tennis cricket charity report day box head flame ball",
    "mole": "hill skin catcher trap hunt hunter hole run garden embassy",
    "organ": "church pipe barrel donor transplant music loft pipes sense stop cinema chapel",
    "palm": "tree coconut date oil leaf leaves house hand print reader sugar wine",
    "pitcher": "relief league baseball water milk beer glass clay enamel silver plant cream",
    "seal": "elephant harbour fur pup colony rubber wax door oil lead ring wing",
    "spring": "water hot mountain morning flowers cleaning mineral term rain tide day",
}
MAX_COMPOUNDS = 4

NEGATIONS = word_set("no not never nobody nothing none neither nor without hardly cannot")

POSSESSIVES = word_set("my your his her its our their")

STOP_WORDS = word_set(
    """
    a about above across after again against all almost along already also although always
    am among an and another any anyone anything apart are around as ask at away back be
    became become been before began behind being below beneath beside between both but by
    came can cannot could did do does down during each either else ever every everyone far
    few first for from further gave get give go goes gone got had half has have he her hers
    him his how i if in inside instead into is it its itself just last least less let like
    long longer made make makes many may me might mine more most much must my near nearly
    neither never next no nobody none nor not nothing now of off often on once one only onto
    or other our ours out outside over own rather same shall she should since so some
    somebody someone something soon still such than that the their theirs them then there
    these they this those though three through to too towards two under unless unlike until
    up upon us used very was we well were what when where whether which while who whole whom
    whose why will with within without would yet you your yours
    """
)

AMERICAN = word_set(
    """
    airplane airplanes aluminum analyze analyzed apologize apologized canceled catalog
    center centers color colored colors cozy defense favor favorite fiber fibers flavor
    fueled gotten gray harbor honor humor humored jewelry labor leveled license liter liters
    math meter meters modeled mold molds mom mustache mustaches neighbor neighbors odor
    offense organize organized pajamas plow practiced practices practicing program realize
    realized recognize recognized rumor savior skeptical theater tire tires traveled
    traveler travelers traveling vapor
    """
)

TOKEN = re.compile(r"[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*")
PAIRS = [(word, sense) for word, senses in SENSES.items() for sense in senses]


def read_text():
    return (files("utils") / "data" / "homonyms.csv").read_bytes().decode("utf-8")


def tokens(sentence):
    return TOKEN.findall(sentence.lower())


def runs(words, length):
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}


def position(word, words):
    """Place of the word in its sentence: 0 is the first word, 1 the last."""
    return words.index(word) / (len(words) - 1)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def singular(token):
    """Join a plural or possessive with its singular, so that both count as one cue."""
    token = token.removesuffix("'s")
    is_plural = len(token) > 3 and token.endswith("s") and not token.endswith("ss")
    return token[:-1] if is_plural else token


def cue_words(words, target):
    skipped = STOP_WORDS | {target}
    return {singular(w) for w in words if w not in skipped and "n't" not in w and len(w) > 1}


def determiner(token):
    if token in POSSESSIVES or token.endswith("'s"):
        return "possessive"
    return {"an": "a"}.get(token, token)


ROWS = [(r["word"], r["sense"], r["sentence"]) for r in csv.DictReader(io.StringIO(read_text()))]
BY_SENSE = defaultdict(list)
for _word, _sense, _sentence in ROWS:
    BY_SENSE[_word, _sense].append(_sentence)


# The file


def test_file_is_a_plain_csv():
    text = read_text()
    assert text.isascii(), "ASCII only: straight apostrophes, no accents"
    assert "\r" not in text
    assert text.endswith("\n")
    parsed = list(csv.reader(io.StringIO(text)))
    assert parsed[0] == ["word", "sense", "sentence"]
    assert all(len(row) == 3 for row in parsed)
    rewritten = io.StringIO()
    csv.writer(rewritten, lineterminator="\n").writerows(parsed)
    assert rewritten.getvalue() == text, "quote a field only where the csv module would"


def test_words_and_senses_in_order():
    order = list(dict.fromkeys((word, sense) for word, sense, _ in ROWS))
    assert order == sorted(PAIRS)
    assert [row[:2] for row in ROWS] == sorted(row[:2] for row in ROWS)


def test_counts():
    assert len(ROWS) == len(PAIRS) * PER_SENSE == 672
    assert {pair: len(BY_SENSE[pair]) for pair in PAIRS} == dict.fromkeys(PAIRS, PER_SENSE)


def test_no_sentence_twice_and_none_used_elsewhere():
    plain = [" ".join(tokens(sentence)) for _, _, sentence in ROWS]
    assert [s for s, n in Counter(plain).items() if n > 1] == []
    assert USED_ELSEWHERE.isdisjoint(plain)


# One sentence


@pytest.mark.parametrize(("word", "sense"), PAIRS)
def test_sentence_form(word, sense):
    for sentence in BY_SENSE[word, sense]:
        assert 6 <= len(tokens(sentence)) <= 20, sentence
        assert sentence == " ".join(sentence.split()), sentence
        assert sentence[0].isupper(), sentence
        assert sentence[-1] in ".?!", sentence
        assert not re.search(r"[.?!]", sentence[:-1]), f"more than one sentence: {sentence}"
        unexpected = re.findall(r"[^A-Za-z0-9 ,;:.?!'-]", sentence)
        assert not unexpected, f"{unexpected}: {sentence}"


@pytest.mark.parametrize(("word", "sense"), PAIRS)
def test_word_occurs_once_in_exactly_that_form(word, sense):
    for sentence in BY_SENSE[word, sense]:
        assert tokens(sentence).count(word) == 1, sentence
        # A looser search finds plurals, possessives, compounds and derived forms as well.
        inflected = re.findall(rf"\b{word}(?:s|es|ed|ing|er|ers)?\b", sentence.lower())
        assert inflected == [word], sentence
        assert not re.search(rf"-{word}\b|\b{word}[-']", sentence.lower()), sentence


def test_british_spelling():
    for _, _, sentence in ROWS:
        wrong = AMERICAN.intersection(tokens(sentence))
        assert not wrong, f"{wrong}: {sentence}"


# The sentences of one sense


@pytest.mark.parametrize(("word", "sense"), PAIRS)
def test_openings(word, sense):
    starts = [tokens(sentence)[:2] for sentence in BY_SENSE[word, sense]]
    assert sum(start[0] == word for start in starts) <= 2
    assert sum(start == ["the", word] for start in starts) <= 3


@pytest.mark.parametrize(("word", "sense"), PAIRS)
def test_no_single_cue_word(word, sense):
    counts = Counter()
    for sentence in BY_SENSE[word, sense]:
        counts.update(cue_words(tokens(sentence), word))
    assert counts.most_common(1)[0][1] <= 6, counts.most_common(3)


@pytest.mark.parametrize(("word", "sense"), PAIRS)
def test_few_compounds(word, sense):
    partners = word_set(COMPOUND_PARTNERS[word])
    found = []
    for sentence in BY_SENSE[word, sense]:
        words = tokens(sentence)
        i = words.index(word)
        if partners.intersection(words[max(i - 1, 0) : i] + words[i + 1 : i + 2]):
            found.append(sentence)
    assert len(found) <= MAX_COMPOUNDS, found


@pytest.mark.parametrize(("word", "sense"), PAIRS)
def test_distractors(word, sense):
    field = word_set(DISTRACTORS[word, sense])
    found = [s for s in BY_SENSE[word, sense] if field.intersection(tokens(s))]
    assert len(found) >= 3, found


@pytest.mark.parametrize(("word", "sense"), PAIRS)
def test_variety(word, sense):
    sentences = BY_SENSE[word, sense]
    lengths = [len(tokens(s)) for s in sentences]
    places = [position(word, tokens(s)) for s in sentences]
    assert sum(n <= 10 for n in lengths) >= 3, "too few short sentences"
    assert sum(n >= 15 for n in lengths) >= 3, "too few long sentences"
    assert sum(p < 1 / 3 for p in places) >= 3, "too few with the word early"
    assert sum(1 / 3 <= p <= 2 / 3 for p in places) >= 3, "too few with the word in the middle"
    assert sum(p > 2 / 3 for p in places) >= 3, "too few with the word late"
    assert any(s.endswith("?") for s in sentences), "no question"
    negated = [s for s in sentences if NEGATIONS.intersection(tokens(s)) or "n't" in s]
    assert len(negated) >= 2, "too few negations"


# The two senses of one word


@pytest.mark.parametrize("word", SENSES)
def test_senses_are_balanced(word):
    first, second = ([tokens(s) for s in BY_SENSE[word, sense]] for sense in SENSES[word])
    lengths = [mean(len(s) for s in group) for group in (first, second)]
    places = [mean(position(word, s) for s in group) for group in (first, second)]
    assert abs(lengths[0] - lengths[1]) <= 1, lengths
    assert abs(places[0] - places[1]) <= 0.1, places


@pytest.mark.parametrize("word", [w for w in SENSES if w != "book"])
def test_determiners_are_balanced(word):
    """The word before the target must not tell; "book" is left out, since a verb has none."""
    before = []
    for sense in SENSES[word]:
        sentences = [tokens(s) for s in BY_SENSE[word, sense]]
        before.append(Counter(determiner(s[max(s.index(word) - 1, 0)]) for s in sentences))
    for kind in ("a", "the", "possessive"):
        assert abs(before[0][kind] - before[1][kind]) <= 7, (kind, before)


@pytest.mark.parametrize("word", SENSES)
def test_no_shared_frames(word):
    sentences = [s for sense in SENSES[word] for s in BY_SENSE[word, sense]]
    openings = Counter(tuple(tokens(s)[:3]) for s in sentences)
    assert [o for o, n in openings.items() if n > 1] == []
    fives = Counter(run for s in sentences for run in runs(tokens(s), 5))
    assert [run for run, n in fives.items() if n > 1] == []
