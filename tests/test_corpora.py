"""Words in sentences, sentences in texts, and the course's two corpora."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.corpora import (
    Word,
    find_word,
    homonyms,
    lee,
    normalise,
    split_sentences,
    unique_sentences,
    words_in,
)

QUICK = settings(derandomize=True, deadline=None, max_examples=200)
# Letters of several scripts, marks, digits, apostrophes of both kinds, signs, blanks, an emoji.
ODD = st.text("abSsTtéßİ水ж\u0301\u00ad79_'’\"-.,(+ \t\n\u00a0🙂", max_size=30)
FRAGMENTS = ("bank", "Bank", "banker", "banks", "cat's", "don't", "don’t", "'s", "river-bank")
PHRASES = st.lists(st.sampled_from([*FRAGMENTS, ".", ",", "🙂", "café", "(", "C++"])).map(" ".join)


def texts(words):
    return [word.text for word in words]


# words_in


@QUICK
@given(ODD | PHRASES | st.text(max_size=30))
def test_words_are_spans_in_order_without_overlap(sentence):
    words = words_in(sentence)
    assert all(sentence[word.start : word.end] == word.text != "" for word in words)
    assert all(a.end <= b.start for a, b in pairwise(words))
    # Every letter and digit is in a word, and nothing in a word is a blank.
    inside = {i for word in words for i in range(word.start, word.end)}
    assert {i for i, char in enumerate(sentence) if char.isalnum()} <= inside
    assert not any(sentence[i].isspace() for i in inside)


@QUICK
@given(PHRASES, PHRASES)
def test_words_of_a_text_are_the_words_of_its_parts(a, b):
    assert texts(words_in(f"{a} . {b}")) == texts(words_in(a)) + texts(words_in(b))


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("", []),
        (" \t\n", []),
        ("... (!) -- 🙂 👩‍🚀", []),
        ("\u0301\u00ad", []),
        ("The Bank, by the river-bank.", ["The", "Bank", "by", "the", "river", "bank"]),
        ("the cat's mat", ["the", "cat", "'s", "mat"]),
        ("the cats' mat", ["the", "cats", "mat"]),
        ("I don't, can’t and o'clock", ["I", "don't", "can’t", "and", "o'clock"]),
        ("I'm we'd've they'll you're", ["I", "'m", "we", "'d", "'ve", "they", "'ll", "you", "'re"]),
        ("THE CAT’S MAT", ["THE", "CAT", "’S", "MAT"]),
        ("'tis the 'bank'", ["tis", "the", "bank"]),
        ("ma'am and y'all", ["ma'am", "and", "y'all"]),
        ("say 'sad' or 's", ["say", "sad", "or", "s"]),
        ("the 水 cat, 🙂cat", ["the", "水", "cat", "cat"]),
        ("cafe\u0301 na\u00efve", ["cafe\u0301", "na\u00efve"]),
        ("ba\u00adnk", ["ba\u00adnk"]),
        ("at 4:00pm in 1,000 C++", ["at", "4", "00pm", "in", "1", "000", "C"]),
        ("a\tb\nc\u00a0d", ["a", "b", "c", "d"]),
    ],
)
def test_words_of(sentence, words):
    assert texts(words_in(sentence)) == words


# find_word


@QUICK
@given(PHRASES | ODD, st.sampled_from([f for f in FRAGMENTS if f != "river-bank"]), st.booleans())
def test_found_words_are_words_of_the_sentence(sentence, target, match_case):
    found = find_word(sentence, target, match_case=match_case)
    words = words_in(sentence)
    if len(words_in(target)) == 1:
        assert set(found) <= set(words)
    assert found == sorted(found, key=lambda word: word.start)
    strict = {word for word in words if word.text == target}
    loose = {word for word in words if word.text.lower() == target.lower()}
    assert strict <= set(found) or len(words_in(target)) > 1
    assert len(find_word(sentence, target)) >= len(find_word(sentence, target, match_case=True))
    if not match_case:
        assert loose <= set(found) or len(words_in(target)) > 1


@QUICK
@given(st.lists(st.sampled_from(["bank", "Bank", "banker", "banks", "a", "bank-note"]), min_size=1))
def test_every_whole_word_is_found_and_nothing_else(parts):
    sentence = ", ".join(parts)
    expected = [m.start() for m in re.finditer(r"(?<![a-z])[Bb]ank(?![a-z])", sentence)]
    assert [word.start for word in find_word(sentence, "bank")] == expected


@pytest.mark.parametrize(
    ("sentence", "target", "starts"),
    [
        pytest.param("the jellyfish sat by the bank", "bank", [25], id="a2"),
        pytest.param("bank", "bank", [0], id="a3"),
        pytest.param("the bank, by the river bank.", "bank", [4, 23], id="a5"),
        pytest.param("The banker robbed the bank.", "bank", [22], id="a6"),
        pytest.param("the banker", "bank", [], id="a6-none"),
        pytest.param("the banks", "bank", [], id="a7"),
        pytest.param("the bank", "banks", [], id="a7-plural"),
        pytest.param("The Bank robbed the banker.", "Bank", [4], id="a8"),
        pytest.param("The Bank robbed the banker.", "bank", [4], id="a8-lower"),
        pytest.param("the cat's mat", "mat", [10], id="a9"),
        pytest.param("the cat's mat", "cat", [4], id="a9-cat"),
        pytest.param("the cat's mat", "'s", [7], id="apostrophe-s"),
        pytest.param("the cat’s mat", "'s", [7], id="apostrophe-s-curly"),
        pytest.param("the cat's", " ’S ", [7], id="apostrophe-s-upper"),
        pytest.param("cats is s", "'s", [], id="s-is-another-word"),
        pytest.param("I don't", "don't", [2], id="dont"),
        pytest.param("I don’t", "don't", [2], id="dont-curly-text"),
        pytest.param("I don't", "don’t", [2], id="dont-curly-target"),
        pytest.param("I don't", "don", [], id="don-is-no-word"),
        pytest.param("a café", "café", [2], id="a12"),
        pytest.param("a cafe\u0301", "café", [2], id="a12-nfd-text"),
        pytest.param("a café", "cafe\u0301", [2], id="a12-nfd-target"),
        pytest.param("a cafe", "café", [], id="a12-accents-count"),
        pytest.param("the 水 cat", "水", [4], id="a16"),
        pytest.param("cat cat", "cat", [0, 4], id="a19"),
        pytest.param("🙂🙂 cat 🙂", "cat", [3], id="emoji"),
        pytest.param("the\tbank\n", "bank", [4], id="tab"),
        pytest.param("a_bank bank_note", "bank", [], id="underscore"),
        pytest.param("a ba\u00adnk", "bank", [2], id="soft-hyphen"),
        pytest.param("in New York.", "New York", [3], id="two-words"),
        pytest.param("in new  york.", "New York", [3], id="two-blanks"),
        pytest.param("in New\nYork.", "New York", [3], id="two-lines"),
        pytest.param("in New, York.", "New York", [], id="a-comma-between"),
        pytest.param("in New-York.", "New York", [], id="a-hyphen-between"),
        pytest.param("a well-known cat", "well-known", [2], id="hyphen"),
        pytest.param("a well/known cat", "well-known", [], id="slash"),
        pytest.param("the river-bank", "bank", [10], id="hyphen-parts-words"),
        pytest.param("a.b a+b", "a+b", [4], id="signs-are-no-pattern"),
        pytest.param("Die Straße", "STRASSE", [4], id="folded-case-is-longer"),
        pytest.param("İi İ", "İ", [3], id="folded-case-changes-length"),
        pytest.param("", "bank", [], id="empty-sentence"),
    ],
)
def test_where_a_word_is_found(sentence, target, starts):
    found = find_word(sentence, target)
    assert [word.start for word in found] == starts
    assert all(sentence[word.start : word.end] == word.text for word in found)


def test_found_words_keep_the_texts_own_spelling():
    assert find_word("The BANK and the bank", "Bank") == [Word("BANK", 4, 8), Word("bank", 17, 21)]
    assert find_word("in new  york", "New York") == [Word("new  york", 3, 12)]
    nfd = unicodedata.normalize("NFD", "a café")
    assert find_word(nfd, "café") == [Word("cafe\u0301", 2, 7)]


def test_match_case_tells_upper_from_lower():
    sentence = "The Bank robbed the bank."
    assert texts(find_word(sentence, "Bank", match_case=True)) == ["Bank"]
    assert texts(find_word(sentence, "bank", match_case=True)) == ["bank"]
    assert find_word(sentence, "BANK", match_case=True) == []


@pytest.mark.parametrize("target", ["", "  ", "(", "...", "🙂", "'", "\u0301"])
def test_a_target_without_a_word_is_refused(target):
    with pytest.raises(ValueError, match="expected a word to look for") as error:
        find_word("a ( . 🙂 bank", target)
    assert repr(target) in str(error.value)


@pytest.mark.parametrize(
    ("target", "core"), [("C++", "C"), ("bank.", "bank"), ("(bank", "bank"), ("'bank'", "bank")]
)
def test_a_target_with_signs_around_its_word_is_refused(target, core):
    # The vectors of "bank." would hold the full stop's, and those of "C++" be those of "C".
    with pytest.raises(ValueError, match="belong to no word") as error:
        find_word("the C++ bank.", target)
    assert f"look for {core!r}" in str(error.value)


# Sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n ", []),
        ("One.\n\nTwo is here.  Three.", ["One.", "Two is here.", "Three."]),
        ("Mr. Ng met Dr. Lee. They sat.", ["Mr. Ng met Dr. Lee.", "They sat."]),
        ('It rained. "We met," she said. "', ["It rained.", '"We met," she said.']),
        ('It rained.\n"We met." "', ["It rained.", '"We met."']),
        ('She asked. "Yes. No." We left.', ["She asked.", '"Yes.', 'No." We left.']),
        ('He said "no. It was odd. We left.', ['He said "no.', "It was odd.", "We left."]),
        ('"A first one." "A second one." Done.', ['"A first one."', '"A second one."', "Done."]),
        ("It’s Dr. Who’s. Done.", ["It’s Dr. Who’s.", "Done."]),
    ],
)
def test_sentences_of(text, sentences):
    assert split_sentences(text) == sentences


@QUICK
@given(st.lists(st.sampled_from(["It rained.", '"We met', "Mr. Ng,", '"', "(", "x", "\n"])))
def test_no_words_are_lost_between_sentences(parts):
    text = " ".join(parts)
    sentences = split_sentences(text)
    assert [w for s in sentences for w in texts(words_in(s))] == texts(words_in(text))
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)


@QUICK
@given(st.lists(PHRASES | st.sampled_from(["A cat.", "a  CAT. ", " ", ""])))
def test_unique_sentences_are_the_first_of_each_kind(sentences):
    kept, counts = unique_sentences(iter(sentences))
    keys = [normalise(sentence) for sentence in sentences]
    firsts = [i for i, key in enumerate(keys) if key and key not in keys[:i]]
    assert kept == [sentences[i].strip() for i in firsts]
    assert counts["read"] == len(sentences)
    assert counts["empty"] == keys.count("")
    assert counts["read"] == len(kept) + counts["empty"] + counts["duplicates"]
    assert unique_sentences(kept) == (kept, {"read": len(kept), "empty": 0, "duplicates": 0})


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("The Bank", " the  bank\n", True),
        ("cafe\u0301", "café", True),
        ("STRASSE", "straße", True),
        ("the bank", "the bank.", False),
        ("the bank", "the banks", False),
    ],
)
def test_which_sentences_are_the_same(a, b, same):
    assert (normalise(a) == normalise(b)) is same


def test_one_string_is_no_list_of_sentences():
    with pytest.raises(ValueError, match=r"put it into brackets, \[sentence\]"):
        unique_sentences("the bank")


# The two corpora


def test_lee_is_the_news_corpus_that_gensim_ships():
    corpus = lee()
    assert corpus.name == "lee"
    assert corpus.counts == {"documents": 300, "read": 2691, "empty": 0, "duplicates": 86}
    assert len(corpus.sentences) == 2691 - 86
    assert len({normalise(sentence) for sentence in corpus.sentences}) == len(corpus.sentences)
    assert corpus.sentences[0].startswith("Hundreds of people have been forced to vacate")
    assert '"The falls have been quite isolated' in corpus.sentences[10]
    assert not any(sentence.endswith((' "', " ")) for sentence in corpus.sentences)


def test_homonyms_are_found_once_in_each_of_their_sentences():
    table = homonyms()
    assert list(table.columns) == ["word", "sense", "sentence"]
    assert len(table) > 600
    assert all(len(find_word(row.sentence, row.word)) == 1 for row in table.itertuples())


def test_homonyms_of_some_words():
    whole, some = homonyms(), homonyms(["bank", "bat"])
    assert set(some.word) == {"bank", "bat"}
    assert len(some) == whole.word.isin(["bank", "bat"]).sum()
    assert list(some.index) == list(range(len(some)))
    assert len(homonyms([])) == 0


def test_homonyms_say_which_words_there_are():
    with pytest.raises(ValueError, match="there are no sentences for bnak, tree; there are for ba"):
        homonyms(["tree", "bank", "bnak"])
    with pytest.raises(ValueError, match=r"one string: write \['bank'\]"):
        homonyms("bank")
