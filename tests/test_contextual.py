"""From pieces to words: the right pieces and rows, and the same vectors in every batch.

The letters and numbers in the names are those of the course's list of pitfalls.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import utils
from utils import contextual, geometry, models
from utils.contextual import embed_words, hidden_states, pieces_of, word_vectors
from utils.corpora import words_in

QUICK = settings(derandomize=True, deadline=None, max_examples=25)
# float32 sums in another order: values of a few units, errors of a few 1e-6.
TOLERANCE = 1e-5

SENTENCES = [
    "the cat sat",
    "the bank, by the river bank.",
    "bank",
    "the banker robbed the bank by the river",
]


def by_hand(model, sentence, start, end):
    """Average the rows of the pieces over these characters: one sentence, no batch, no mask."""
    encoding = model.tokenizer(sentence, return_offsets_mapping=True, add_special_tokens=True)
    special = model.tokenizer(sentence, return_special_tokens_mask=True)["special_tokens_mask"]
    with torch.no_grad():
        states = model.network(
            torch.tensor([encoding["input_ids"]]), output_hidden_states=True
        ).hidden_states
    rows = []
    for i, (a, b) in enumerate(encoding["offset_mapping"]):
        if not special[i] and set(range(a, b)) & set(range(start, end)):
            rows.append(i)
    return np.stack([layer[0, rows].mean(0).numpy() for layer in states]), rows


def all_vectors(model, sentences, **options):
    """The vectors of every word, in the order of the text."""
    found = [
        (occurrence, vectors[:, i])
        for occurrences, vectors in embed_words(model, sentences, **options)
        for i, occurrence in enumerate(occurrences)
    ]
    found.sort(key=lambda pair: (pair[0].sentence, pair[0].start))
    return [occurrence for occurrence, _ in found], np.stack([v for _, v in found], axis=1)


def test_words_are_the_means_of_their_pieces_computed_one_by_one(any_model):
    occurrences, vectors = all_vectors(any_model, SENTENCES)
    assert [(o.sentence, o.word) for o in occurrences] == [
        (i, word.text) for i, sentence in enumerate(SENTENCES) for word in words_in(sentence)
    ]
    for k, o in enumerate(occurrences):
        expected, rows = by_hand(any_model, SENTENCES[o.sentence], o.start, o.end)
        assert (o.first_piece, o.n_pieces) == (rows[0], len(rows))
        np.testing.assert_allclose(vectors[:, k], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("batch_pieces", [1, 20, 10_000])
def test_b1_alone_and_in_a_padded_batch_are_the_same(any_model, batch_pieces):
    _, together = all_vectors(any_model, SENTENCES, batch_pieces=batch_pieces)
    alone = [all_vectors(any_model, [sentence])[1] for sentence in SENTENCES]
    np.testing.assert_allclose(together, np.concatenate(alone, 1), rtol=0, atol=TOLERANCE)


def test_b1_padding_on_the_left_gives_the_same(any_model):
    _, right = all_vectors(any_model, SENTENCES)
    _, left = all_vectors(any_model, SENTENCES, padding="left")
    np.testing.assert_allclose(left, right, rtol=0, atol=TOLERANCE)


class WithoutPositions(torch.nn.Module):
    """A network that cannot be told positions."""

    def __init__(self, network):
        super().__init__()
        self.network, self.config = network, network.config

    def forward(self, input_ids, attention_mask, output_hidden_states, return_dict):
        return self.network(
            input_ids, attention_mask, output_hidden_states=True, return_dict=return_dict
        )


def test_b1_padding_on_the_left_is_refused_where_it_would_shift_positions(bert):
    model = replace(bert, network=WithoutPositions(bert.network))
    np.testing.assert_array_equal(all_vectors(model, SENTENCES)[1], all_vectors(bert, SENTENCES)[1])
    with pytest.raises(ValueError, match=r"cannot be told the positions.*padding=.right"):
        all_vectors(model, SENTENCES, padding="left")


def test_b1_a_tokenizer_set_to_pad_on_the_left_changes_nothing(bert, gpt2):
    for model in (bert, gpt2):
        tokenizer = tiny.tokenizer_of(model.network.config.model_type)
        tokenizer.padding_side = "left"
        _, vectors = all_vectors(replace(model, tokenizer=tokenizer), SENTENCES)
        np.testing.assert_array_equal(vectors, all_vectors(model, SENTENCES)[1])


@QUICK
@given(order=st.permutations(range(len(SENTENCES))))
def test_the_order_of_the_sentences_changes_nothing(bert, order):
    _, straight = all_vectors(bert, SENTENCES)
    places, _ = all_vectors(bert, SENTENCES)
    found, shuffled = all_vectors(bert, [SENTENCES[i] for i in order])
    for k, o in enumerate(found):
        same = next(
            j for j, p in enumerate(places) if (p.sentence, p.start) == (order[o.sentence], o.start)
        )
        np.testing.assert_allclose(shuffled[:, k], straight[:, same], rtol=0, atol=TOLERANCE)


def test_a1_a_word_in_pieces_is_pooled_by_the_stated_rule(bert):
    sentence = "the jellyfish sat"
    assert pieces_of(bert, sentence) == ["[CLS]", "the", "jelly", "##fish", "sat", "[SEP]"]
    states = hidden_states(bert, [bert.tokenizer(sentence)["input_ids"]])[:, 0].numpy()
    expected = {"mean": states[:, 2:4].mean(1), "first": states[:, 2], "last": states[:, 3]}
    for pool, value in expected.items():
        found = word_vectors(bert, [sentence], "jellyfish", pool=pool)
        assert found.occurrences[0].n_pieces == 2
        np.testing.assert_allclose(found.vectors[:, 0], value, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("sentence", "target", "piece"),
    [
        pytest.param("the jellyfish sat by the bank", "bank", 7, id="a2-no-splitting-at-blanks"),
        pytest.param("bank", "bank", 1, id="a3-not-the-cls-row"),
        pytest.param("The Bank robbed the banker.", "bank", 2, id="a8-case-of-the-text"),
        pytest.param("the bank robbed the banker.", "Bank", 2, id="a8-case-of-the-target"),
        pytest.param("the cat's mat", "mat", 5, id="a9-clitic"),
        pytest.param("the café sat", "café", 2, id="a12-accent-composed"),
        pytest.param("the cafe\u0301 sat", "café", 2, id="a12-accent-combining"),
        pytest.param("the bank sat", "the", 1, id="a23-first-word"),
    ],
)
def test_the_right_piece(bert, sentence, target, piece):
    (found,) = word_vectors(bert, [sentence], target).occurrences
    assert (found.first_piece, found.n_pieces) == (piece, 1)


class Framed:
    """A tokenizer whose special pieces claim the characters of the first word."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)

    def __call__(self, text, **options):
        encoding = self.tokenizer(text, **options)
        special = encoding["special_tokens_mask"]
        spans = zip(encoding["offset_mapping"], special, strict=True)
        encoding["offset_mapping"] = [(0, 3) if marked else span for span, marked in spans]
        return encoding


def test_a23_special_pieces_never_match_whatever_span_they_report(bert):
    model = replace(bert, tokenizer=Framed(bert.tokenizer))
    (found,) = word_vectors(model, ["the bank sat"], "the").occurrences
    assert (found.first_piece, found.n_pieces) == (1, 1)


def test_a4_decoders_without_special_pieces_lose_no_row(gpt2):
    first = word_vectors(gpt2, ["cat sat"], "cat").occurrences[0]
    last = word_vectors(gpt2, ["cat sat"], "sat").occurrences[0]
    n = len(pieces_of(gpt2, "cat sat"))
    assert first.first_piece == 0
    assert last.first_piece + last.n_pieces == n
    assert first.n_pieces + last.n_pieces == n


def test_a5_occurrences_come_in_order_and_a_third_is_refused(any_model):
    sentence = "the bank, by the river bank."
    found = word_vectors(any_model, [sentence], "bank")
    assert [o.start for o in found.occurrences] == [4, 23]
    expected, _ = by_hand(any_model, sentence, 23, 27)
    np.testing.assert_allclose(found.at(0, 1), expected, rtol=0, atol=TOLERANCE)
    with pytest.raises(IndexError, match="there are 2"):
        found.at(0, 2)
    with pytest.raises(IndexError, match="there are 0"):
        found.at(1)


def test_a6_a_piece_of_another_word_never_matches(bert, bert_without_banker):
    sentence = "The banker robbed the bank."
    assert pieces_of(bert_without_banker, sentence)[2:4] == ["bank", "##er"]
    for model in (bert, bert_without_banker):
        (found,) = word_vectors(model, [sentence], "bank").occurrences
        assert found.start == sentence.rindex("bank")
        with pytest.raises(ValueError, match=r"'bank' is not found .* 'the banker'"):
            word_vectors(model, ["the banker"], "bank")


def test_a7_other_forms_are_other_words(bert):
    with pytest.raises(ValueError, match="Plurals and other forms"):
        word_vectors(bert, ["the banks"], "bank")


def test_a8_a_word_the_model_does_not_know_is_never_silent(bert):
    with pytest.raises(ValueError, match=r"knows no piece of 'zebra' in sentence 0: 'the zebra'"):
        word_vectors(bert, ["the zebra"], "zebra")
    (partly,) = word_vectors(bert, ["the 水bank"], "水bank").occurrences
    assert partly.n_pieces == 2  # [UNK] and a piece that is known
    skipped = Counter()
    occurrences, _ = all_vectors(
        bert, ["the zebra sat", "a zebra"], on_unknown="skip", skipped=skipped
    )
    assert [o.word for o in occurrences] == ["the", "sat", "a"]
    assert skipped["unknown"] == 2
    with pytest.raises(ValueError, match="no occurrence of 'zebra' is left"):
        word_vectors(bert, ["the zebra"], "zebra", on_unknown="skip")


def test_a16_all_byte_pieces_of_a_character(gpt2):
    sentence = "the 水 cat"
    (water,) = word_vectors(gpt2, [sentence], "水").occurrences
    (cat,) = word_vectors(gpt2, [sentence], "cat").occurrences
    assert water.n_pieces >= 3  # three bytes, and perhaps the blank
    assert cat.first_piece == water.first_piece + water.n_pieces


def test_a19_a20_the_same_word_with_and_without_its_blank(gpt2):
    ids = gpt2.tokenizer("cat cat")["input_ids"]
    found = word_vectors(gpt2, ["cat cat"], "cat")
    assert [o.start for o in found.occurrences] == [0, 4]
    assert ids[found.occurrences[0].first_piece] != ids[found.occurrences[1].first_piece]
    (inside,) = word_vectors(gpt2, ["the cat sat"], "cat").occurrences
    assert pieces_of(gpt2, "the cat sat")[inside.first_piece] == "Ġcat"


def test_a26_useless_word_ids_do_no_harm(tiny_models):
    llama = tiny_models["llama"]
    sentence = "the cat sat by the bank"
    assert set(llama.tokenizer(sentence).word_ids()) <= {None, 0}
    (found,) = word_vectors(llama, [sentence], "bank").occurrences
    _, rows = by_hand(llama, sentence, 19, 23)
    assert (found.first_piece, found.n_pieces) == (rows[0], len(rows))


def test_b2_padding_takes_no_part_in_a_mean():
    states = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 2.0]]])
    assert contextual._pool(states, [0], [2], "mean").tolist() == [[[1.0, 0.0]]]


def test_b6_evaluation_mode_is_set_by_the_extractor(bert):
    network = tiny.network_of("bert", len(bert.tokenizer))
    network.config.hidden_dropout_prob = 0.5
    model = replace(bert, network=type(network)(network.config).train())
    _, once = all_vectors(model, SENTENCES)
    model.network.train()
    _, again = all_vectors(model, SENTENCES)
    np.testing.assert_array_equal(once, again)
    assert not model.network.training


def layer_0_from_the_tables(model, ids):
    """Add up what goes into the first block, from the weights alone."""
    weights = model.network.state_dict()
    family = model.network.config.model_type
    places = torch.arange(len(ids)) + (2 if family == "roberta" else 0)
    if family == "llama":  # its positions enter inside the blocks
        return weights["embed_tokens.weight"][ids]
    if family == "gpt2":
        return weights["wte.weight"][ids] + weights["wpe.weight"][places]
    table = "embeddings.{}.weight".format
    total = weights[table("word_embeddings")][ids] + weights[table("position_embeddings")][places]
    if family != "distilbert":
        total = total + weights[table("token_type_embeddings")][0]
    scale, shift = weights[table("LayerNorm")], weights["embeddings.LayerNorm.bias"]
    centred = total - total.mean(-1, keepdim=True)
    deviation = centred.square().mean(-1, keepdim=True).sqrt()
    return centred / deviation * scale + shift


def test_b7_layer_0_is_what_goes_into_the_first_block(model):
    ids = model.tokenizer("the cat sat")["input_ids"]
    states = hidden_states(model, [ids])
    assert states.shape == (4, 1, len(ids), 16) == (model.n_layers + 1, 1, len(ids), model.n_dims)
    # Where the padding of a longer neighbour is on the left, the positions must not move.
    beside = hidden_states(model, [ids, [*ids, *ids]], padding="left")[0, 0, -len(ids) :]
    for found in (states[0, 0], beside):
        expected = layer_0_from_the_tables(model, ids)
        torch.testing.assert_close(found, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_b8_the_last_layer_of_a_decoder_is_after_its_final_norm(tiny_models, family):
    model = tiny_models[family]
    blocks, norm = (
        (model.network.h, model.network.ln_f)
        if family == "gpt2"
        else (model.network.layers, model.network.norm)
    )
    seen = []
    hook = blocks[-1].register_forward_hook(
        lambda module, inputs, output: seen.append(output if torch.is_tensor(output) else output[0])
    )
    states = hidden_states(model, [model.tokenizer("the cat sat")["input_ids"]])
    hook.remove()
    before = seen[0].reshape(states[-1].shape)
    with torch.no_grad():
        torch.testing.assert_close(states[-1], norm(before), rtol=0, atol=TOLERANCE)
    assert (states[-1] - before).abs().max() > 0.1


def test_b9_the_pooler_is_never_used(folders):
    model = models.load(str(folders["bert"]))
    before = all_vectors(model, SENTENCES)[1]
    with torch.no_grad():
        for weights in model.network.pooler.parameters():
            weights.fill_(float("nan"))
    np.testing.assert_array_equal(all_vectors(model, SENTENCES)[1], before)


def test_b10_models_that_return_tuples_by_default_are_read_by_name(bert):
    network = bert.network
    network.config.return_dict = False
    try:
        assert hidden_states(bert, [[2, 5, 3]]).shape == (4, 1, 3, 16)
    finally:
        network.config.return_dict = True


def test_b16_the_mask_is_made_from_lengths_not_from_ids(gpt2, bert):
    assert gpt2.tokenizer.pad_token_id is None
    # Id 0 is both what rows are filled with and a piece of the text.
    ids = [[0, 5, 0, 7], [9, 0]]
    together = hidden_states(gpt2, ids)
    for i, row in enumerate(ids):
        alone = hidden_states(gpt2, [row])[:, 0]
        torch.testing.assert_close(together[:, i, : len(row)], alone, rtol=0, atol=TOLERANCE)
    # An encoder sees what follows: text that looks like padding must still be seen.
    seen, changed = hidden_states(bert, [[2, 6, 0, 3]]), hidden_states(bert, [[2, 6, 9, 3]])
    padded = hidden_states(bert, [[2, 6, 0, 3], [2, 6, 7, 8, 9, 3]])[:, :1, :4]
    torch.testing.assert_close(seen, padded, rtol=0, atol=TOLERANCE)
    assert (seen[-1, 0, 1] - changed[-1, 0, 1]).abs().max() > 0.01


def test_b16_special_pieces_written_in_a_text_are_text(bert, tiny_models):
    for model, sentence in ((bert, "the [PAD] cat"), (tiny_models["roberta"], "the<pad> cat")):
        pad = model.tokenizer.pad_token_id
        assert pad in model.tokenizer(sentence)["input_ids"]
        sentences = [sentence, "the bank, by the river bank."]
        for padding in ("right", "left"):
            _, vectors = all_vectors(model, sentences, padding=padding, words=lambda s: words_in(s))
            expected = [
                by_hand(model, s, w.start, w.end)[0] for s in sentences for w in words_in(s)
            ]
            np.testing.assert_allclose(vectors, np.stack(expected, 1), rtol=0, atol=TOLERANCE)


def test_b1_positions_counted_from_padding_do_not_need_the_tokenizers_pad(tiny_models):
    roberta = tiny_models["roberta"]
    tokenizer = tiny.tokenizer_of("roberta")
    tokenizer.pad_token = None
    model = replace(roberta, tokenizer=tokenizer)
    _, expected = all_vectors(roberta, SENTENCES)
    for padding in ("right", "left"):
        _, vectors = all_vectors(model, SENTENCES, padding=padding)
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=TOLERANCE)


def test_b17_the_first_position_of_a_decoder_is_marked(gpt2):
    found = word_vectors(gpt2, ["cat sat by the cat"], "cat")
    assert [o.first_piece == 0 for o in found.occurrences] == [True, False]
    other = word_vectors(gpt2, ["cat by the bank"], "cat")
    np.testing.assert_allclose(found.at(0, 0), other.at(0, 0), rtol=0, atol=TOLERANCE)


def test_e7_no_removed_tokenizer_method_and_no_foreign_code():
    gone = {"encode_plus", "batch_encode_plus", "build_inputs_with_special_tokens", "word_ids"}
    for path in Path(utils.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not gone & called, path.name
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "trust_remote_code":
                assert node.value.value is False
            if isinstance(node, ast.Attribute):
                assert (node.attr, getattr(node.value, "id", "")) not in {
                    ("load", "torch"), ("load", "pickle"), ("loads", "pickle")
                }  # fmt: skip


ODD = [
    "🙂 the cat 🙂🙂 sat",
    "the\tbank\nby\r\nthe river\u00a0bank",
    "  the   bank  ",
    "the bank" + "." * 20,
    "the cafe\u0301, the café",
    "the ba\u00adnk and the \u200bcat",
    "don't, don’t, the cat's",
    "(the cat) [by] {the} bank?!",
]


def test_odd_texts_give_the_rows_of_their_characters(tiny_models):
    for family in ("roberta", "gpt2", "llama"):
        model = tiny_models[family]
        occurrences, vectors = all_vectors(model, ODD)
        assert [o.word for o in occurrences] == [w.text for s in ODD for w in words_in(s)]
        for k, o in enumerate(occurrences):
            expected, rows = by_hand(model, ODD[o.sentence], o.start, o.end)
            assert (o.first_piece, o.n_pieces) == (rows[0], len(rows))
            np.testing.assert_allclose(vectors[:, k], expected, rtol=0, atol=TOLERANCE)


@QUICK
@given(sentence=st.text("cat bnk水é🙂\u0301'.,\n", max_size=12))
def test_a_words_pieces_spell_the_word(gpt2, sentence):
    words = words_in(sentence)
    found = [o for batch, _ in embed_words(gpt2, [sentence]) for o in batch]
    assert [(o.start, o.end) for o in found] == [(word.start, word.end) for word in words]
    ids = gpt2.tokenizer(sentence)["input_ids"]
    for o in found:
        spelt = gpt2.tokenizer.decode(ids[o.first_piece : o.first_piece + o.n_pieces])
        assert spelt.strip() == o.word.strip()


def test_sentences_without_words_have_no_vectors(any_model):
    assert list(embed_words(any_model, ["", "...", "🙂", " \n"])) == []
    occurrences, _ = all_vectors(any_model, ["", "a bank", "..."])
    assert [(o.sentence, o.word) for o in occurrences] == [(1, "a"), (1, "bank")]


def test_equal_sentences_are_each_measured(bert):
    found = word_vectors(bert, ["a bank", "the bank", "a bank"], "bank")
    assert [o.sentence for o in found.occurrences] == [0, 1, 2]
    np.testing.assert_allclose(found.at(0), found.at(2), rtol=0, atol=TOLERANCE)
    assert np.abs(found.at(0) - found.at(1)).max() > 0.1


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([], r"1 to 40 piece ids for .*bert, got lengths \[\]"),
        ([[2, 5, 3], []], r"got lengths \[0, 3\]"),
        ([[5] * 41], r"got lengths \[41\]"),
    ],
)
def test_rows_of_ids_that_no_model_takes_are_refused(bert, ids, said):
    with pytest.raises(ValueError, match=said):
        hidden_states(bert, ids)


def test_a_padding_that_is_no_side_is_refused(bert):
    with pytest.raises(ValueError, match="expected padding to be one of right, left, got 'lft'"):
        hidden_states(bert, [[2, 5, 3]], padding="lft")


@pytest.mark.parametrize("sentence", [["the bank"], None, 5])
def test_only_one_sentence_is_cut_into_pieces(bert, sentence):
    with pytest.raises(ValueError, match=r"expected one sentence \(a string\), got"):
        pieces_of(bert, sentence)


def test_a_long_sentence_is_never_cut(any_model):
    sentence = "the cat " * any_model.max_pieces + "bank"
    with pytest.raises(ValueError, match=rf"positions for {any_model.max_pieces}"):
        word_vectors(any_model, [sentence], "bank")
    found = word_vectors(any_model, ["the bank", sentence], "bank", on_long="skip")
    assert [o.sentence for o in found.occurrences] == [0]
    assert found.skipped == {"too_long": 1}


def test_the_longest_sentence_that_fits_is_measured(model):
    assert model.max_pieces == tiny.POSITIONS
    n_special = len(pieces_of(model, ""))
    fits = " ".join(["the"] * (tiny.POSITIONS - n_special))
    assert len(pieces_of(model, fits)) == tiny.POSITIONS
    for padding in ("right", "left"):
        occurrences, _ = all_vectors(model, [fits, "the"], padding=padding)
        assert len(occurrences) == tiny.POSITIONS - n_special + 1
    with pytest.raises(ValueError, match=f"{tiny.POSITIONS + 1} pieces"):
        all_vectors(model, [fits + " the"])


def test_a_limit_for_sentences_in_the_tokenizers_file_cuts_nothing(minilm):
    # The file asks for 128 pieces, cut and filled up; the model has positions for 512.
    backend = minilm.tokenizer.backend_tokenizer
    sentence = "the cat " * 200 + "bank"
    backend.enable_truncation(128)
    backend.enable_padding(length=128)
    assert len(pieces_of(minilm, "the bank")) == 4
    (found,) = word_vectors(minilm, [sentence], "bank").occurrences
    assert found.first_piece == 401


def test_sentences_without_the_word_are_counted_or_refused(bert):
    found = word_vectors(bert, ["the cat", "a bank"], "bank", on_missing="skip")
    assert [o.sentence for o in found.occurrences] == [1]
    assert found.skipped == {"not_found": 1}
    with pytest.raises(ValueError, match="in any of the 2 sentences"):
        word_vectors(bert, ["the cat", "a mat"], "bank", on_missing="skip")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("the bank", "bank"), r"expected a list of sentences, got one string"),
        (([], "bank"), "at least one sentence"),
        (([None], "bank"), "sentence 0 is NoneType"),
        ((["the bank"], "..."), r"expected a word to look for, got '\.\.\.'"),
        ((["the C++ bank"], "C++"), "look for 'C'"),
    ],
)
def test_what_is_no_list_of_sentences_is_refused(bert, arguments, said):
    with pytest.raises(ValueError, match=said):
        word_vectors(bert, *arguments)


@pytest.mark.parametrize("option", ["pool", "on_long", "on_unknown", "padding", "on_missing"])
def test_unknown_choices_are_refused_with_the_known_ones(bert, option):
    with pytest.raises(ValueError, match=rf"expected {option} to be one of"):
        word_vectors(bert, ["the bank"], "bank", **{option: "sideways"})


def test_words_of_another_sentence_are_refused(bert):
    with pytest.raises(ValueError, match="Are these the words of another sentence"):
        list(embed_words(bert, ["a cat sat"], words=[words_in("the bank")]))
    with pytest.raises(ValueError, match="expected a list of words for each of the 1 sentences"):
        list(embed_words(bert, ["a cat"], words=[]))


def test_sentences_may_come_from_any_iterable(bert):
    listed = word_vectors(bert, ["the bank", "a bank"], "bank").vectors
    generated = word_vectors(bert, (s for s in ["the bank", "a bank"]), "bank").vectors
    arrayed = word_vectors(bert, np.array(["the bank", "a bank"]), np.str_("bank")).vectors
    np.testing.assert_array_equal(listed, generated)
    np.testing.assert_array_equal(listed, arrayed)


def test_batches_fit_their_budget_and_hold_everything_once():
    lengths = [3, 50, 7, 7, 1, 20, 9]
    batches = list(contextual._batches(lengths, 30))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= 30


@pytest.mark.parametrize(
    ("layer", "values"),
    [(6, (0.733, 0.690, 0.812)), (0, (0.966, 0.988, 0.988))],
)
def test_the_three_banks_of_minilm(minilm, layer, values):
    sentences = [
        "i sat on the river bank and watched the boats",
        "i deposited the cheque at the bank",
        "the money is safe in my bank account",
    ]
    rows = word_vectors(minilm, sentences, "bank").vectors[layer]
    for (i, j), value in zip([(0, 1), (0, 2), (1, 2)], values, strict=True):
        assert geometry.cosine(rows[i], rows[j]) == pytest.approx(value, abs=5e-4)


def test_a_model_without_a_padding_id_is_filled_with_one_it_has():
    network = SimpleNamespace(embeddings=SimpleNamespace(padding_idx=1))
    assert contextual._padding_id(SimpleNamespace(network=network)) == 1
    assert contextual._padding_id(SimpleNamespace(network=SimpleNamespace())) is None
