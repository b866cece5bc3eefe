"""Checks on utils/elmo.py against the original program, a slow second version, and its own claims.

"Pitfall n" in a comment points to this list of what is easily got wrong in ELMo:

1. the order of the gates; 1 is added to the forget gate at run time
2. the kernel's rows: first for the input, then for the last output; the projection has no bias
3. padding inside a word has a learned vector, and the filters see it
4. a word is cut after 48 bytes, not letters; lone surrogates are dropped
5. the words "<S>" and "</S>" are single ids; "<UNK>", "<s>" and "" are spelled like any word
6. every sentence is framed by "<S>" and "</S>", which are run and then cut off
7. the highway's "carry" gate weighs the transformed value
8. convolution without padding at the edges, then the maximum, then the activation
9. skip connection from layer 2 on; states are taken before it; the directions never mix
10. layer 0 is the token vector twice; layers 1 and 2 are bounded by 3 and 6
11. empty sentences, and batches of nothing else, keep their shape
12. options hold entries that do not matter; some models have no CNN_proj
13. the right-to-left LSTM must not see padding first
14. batches of other sizes agree up to rounding, not bit for bit
15. random weights can be chaotic; those of the tests must not be
16. float32 throughout; files are plain HDF5

Values reach 6 and pass through up to 32 steps in float32: the two programs and float64 differ by up
to 2.2e-6. `ATOL` leaves a factor of five for other processors; the smallest error that one of the
typical mistakes makes on these files is 1.4e-2.
"""

import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from utils import elmo as module
from utils.elmo import WARM_SENTENCES, Elmo, LstmWeights, char_ids, lstm_cell

ATOL = 1e-5
DATA = Path(__file__).parent / "data" / "elmo_micro"
FILES = (DATA / "options.json", DATA / "weights.hdf5")
with np.load(DATA / "oracle.npz", allow_pickle=False) as _archive:
    ORACLE = {name: _archive[name] for name in _archive.files}
SENTENCES = json.loads(str(ORACLE.pop("sentences")))
MIXED = SENTENCES["mixed"]
STARTS = ("warm", "zero")  # the two that depend on nothing but the sentence


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Small products are faster on one thread, and two may wait for each other."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def elmo():
    return Elmo.from_files(*FILES)


@pytest.fixture
def fresh():
    return Elmo.from_files(*FILES)


def read_options():
    return json.loads(FILES[0].read_text(encoding="utf-8"))


def read_weights():
    weights = {}
    with h5py.File(FILES[1]) as file:
        for name in module.weight_shapes(module.flatten_options(read_options())):
            weights[name] = file[name][...]
    return weights


def max_error(a, b):
    """Largest difference over sentences, after a check that the shapes agree."""
    assert [x.shape for x in a] == [y.shape for y in b]
    return max((np.abs(x - y).max() for x, y in zip(a, b, strict=True) if x.size), default=0.0)


# A second version: float64 NumPy, one word, one window and one step at a time


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def slow_token(word, options, weights):
    cnn = options["char_cnn"]
    special = {"<S>": [256], "</S>": [257]}
    body = special.get(word, list(word.encode("utf-8", "ignore"))[:48])
    ids = ([258] + body + [259] + [260] * 50)[:50]
    chars = weights["char_embed"][ids]
    features = []
    for i, (width, _) in enumerate(cnn["filters"]):
        kernel, bias = weights[f"CNN/W_cnn_{i}"][0], weights[f"CNN/b_cnn_{i}"]
        windows = [chars[p : p + width] for p in range(50 - width + 1)]
        features.append(np.max([(w[..., None] * kernel).sum((0, 1)) + bias for w in windows], 0))
    relu = lambda v: np.maximum(v, 0)  # noqa: E731
    x = {"relu": relu, "tanh": np.tanh}[cnn["activation"]](np.concatenate(features))
    for i in range(cnn.get("n_highway") or 0):
        carry, transform = (
            x @ weights[f"CNN_high_{i}/W_{part}"] + weights[f"CNN_high_{i}/b_{part}"]
            for part in ("carry", "transform")
        )
        x = sigmoid(carry) * relu(transform) + (1 - sigmoid(carry)) * x
    if "CNN_proj/W_proj" in weights:
        x = x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
    return x


def slow_embed(words, options, weights, state):
    """Embed one sentence and update `state`, which maps (direction, layer) to (h, c)."""
    o = options["lstm"]
    clips = [o.get(name) or np.inf for name in ("cell_clip", "proj_clip")]
    tokens = [slow_token(word, options, weights) for word in ["<S>", *words, "</S>"]]
    halves = []
    for direction in (0, 1):
        stream = tokens[::-1] if direction else tokens
        layers = [stream]
        for layer in range(o["n_layers"]):
            name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            kernel, bias, projection = (weights[f"{name}/{x}"] for x in ("W_0", "B", "W_P_0"))
            h, c = state.get(
                (direction, layer), (np.zeros(o["projection_dim"]), np.zeros(o["dim"]))
            )
            outputs = []
            for x in stream:
                i, g, f, out = np.split(np.concatenate([x, h]) @ kernel + bias, 4)
                c = np.clip(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g), -clips[0], clips[0])
                h = np.clip((sigmoid(out) * np.tanh(c)) @ projection, -clips[1], clips[1])
                outputs.append(h + x if layer and o["use_skip_connections"] else h)
            state[direction, layer] = (h, c)
            stream = outputs
            layers.append(stream)
        halves.append(np.array(layers)[:, ::-1] if direction else np.array(layers))
    return np.concatenate(halves, axis=-1)[:, 1:-1]


def slow(sentences, options, weights, states=None):
    """Embed each sentence from its own entry of `states`, or from zero."""
    wide = {name: x.astype(np.float64) for name, x in weights.items()}
    states = [{} for _ in sentences] if states is None else states
    pairs = zip(sentences, states, strict=True)
    return [slow_embed(words, options, wide, state) for words, state in pairs]


def random_model(seed=0, **changes):
    """Options that differ from those of the files, and random weights to go with them."""
    options = read_options()
    for name, value in changes.items():
        options["lstm" if name in options["lstm"] else "char_cnn"][name] = value
    rng = np.random.default_rng(seed)
    shapes = module.weight_shapes(module.flatten_options(options))
    # Small recurrent weights: the loop forgets rounding errors (pitfall 15).
    scale = {"W_0": 0.3, "W_P_0": 0.8, "char_embed": 1.0}
    weights = {
        name: rng.normal(0, scale.get(name.split("/")[-1], 0.2), shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    return options, weights


# The original program


@pytest.mark.parametrize("batch_size", [1, 2, 32])
@pytest.mark.parametrize("case", SENTENCES)
def test_zero_agrees_with_the_original(elmo, case, batch_size):
    # Pitfalls 1 to 10 and 13 all show here: mixed lengths, Unicode, words of 60 characters,
    # special words, an empty sentence.
    expected = [ORACLE[f"zero/{case}/{i}"] for i in range(len(SENTENCES[case]))]
    got = elmo.embed(SENTENCES[case], start="zero", batch_size=batch_size)
    assert max_error(got, expected) < ATOL


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_warm_agrees_with_the_original(batch_size):
    elmo = Elmo.from_files(*FILES, warm_sentences=MIXED)
    expected = [ORACLE[f"warm/{i}"] for i in range(len(MIXED))]
    assert max_error(elmo.embed(MIXED, batch_size=batch_size), expected) < ATOL


@pytest.mark.parametrize("n_calls", [1, 2, 10])
def test_stateful_agrees_with_the_original(fresh, n_calls):
    expected = [ORACLE[f"stateful/{i}"] for i in range(10)]
    per_call = np.split(np.arange(10), n_calls)
    got = []
    for call in per_call:
        sentences = [MIXED[i % 5] for i in call]
        got += fresh.embed(sentences, start="stateful", batch_size=1)
    assert max_error(got, expected) < ATOL


def test_the_oracle_is_sensitive():
    # Most of what can go wrong hides if no clip bites or the state does not matter.
    layer_1 = np.concatenate([ORACLE[f"zero/mixed/{i}"][1].ravel() for i in range(5)])
    assert (np.abs(layer_1) == 3).mean() > 0.05
    assert max_error(*[[ORACLE[f"{s}/0"]] for s in ("warm", "zero/mixed")]) > 0.5
    for clip in ("cell_clip", "proj_clip"):
        options = read_options()
        options["lstm"][clip] = None
        without = Elmo(options, read_weights()).embed(MIXED, start="zero")
        assert max_error(without, [ORACLE[f"zero/mixed/{i}"] for i in range(5)]) > 1e-3


# The second version, also for models that the oracle does not have


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_layers": 1},
        {"n_layers": 3},
        {"n_highway": 0},
        {"n_highway": None},
        {"n_highway": 1},
        {"activation": "tanh"},
        {"use_skip_connections": False},
        {"cell_clip": 0.5, "proj_clip": 0.4},
        {"cell_clip": None, "proj_clip": None},
        {"filters": [[1, 3], [7, 5]], "projection_dim": 5, "dim": 3},
    ],
    ids=str,
)
def test_agrees_with_the_slow_version(changes):
    options, weights = random_model(**changes)
    elmo = Elmo(options, weights)
    sentences = SENTENCES["with_empty"] + SENTENCES["special"] + SENTENCES["unicode"]
    got = elmo.embed(sentences, start="zero", batch_size=4)
    assert max_error(got, slow(sentences, options, weights)) < ATOL


def test_slow_version_agrees_with_the_original():
    # Pitfall 15: float64 and float32 agree, so these weights let no rounding error grow.
    expected = [ORACLE[f"zero/mixed/{i}"] for i in range(5)]
    assert max_error(slow(MIXED, read_options(), read_weights()), expected) < ATOL


def test_stateful_batches_agree_with_the_slow_version(fresh):
    # Row r goes on where row r stood; rows without a sentence wait; new rows start at zero.
    sentences = [MIXED[i] for i in (0, 4, 1, 2, 3, 0, 2, 4)]
    options, weights = read_options(), read_weights()
    states = [{} for _ in range(4)]
    first = 0
    for n in (3, 1, 4):
        batch = sentences[first : first + n]
        got = fresh.embed(batch, start="stateful", batch_size=n)
        assert max_error(got, slow(batch, options, weights, states[:n])) < ATOL
        first += n


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_cell_agrees_with_torch_without_clips():
    # Pitfalls 1 and 2: torch orders the gates i, f, g, o and stores its matrices transposed.
    torch.manual_seed(0)
    theirs = torch.nn.LSTM(3, 5, proj_size=3)
    to_tensorflow = torch.tensor([0, 2, 1, 3])
    inputs, recurrent = (
        w.detach().unflatten(0, (4, 5))[to_tensorflow].flatten(0, 1).T
        for w in (theirs.weight_ih_l0, theirs.weight_hh_l0)
    )
    bias = (theirs.bias_ih_l0 + theirs.bias_hh_l0).detach()
    bias = bias.unflatten(0, (4, 5))[to_tensorflow].flatten()
    ours = LstmWeights(inputs, recurrent, bias, theirs.weight_hr_l0.detach().T)
    x, h, c = torch.randn(7, 3), torch.randn(7, 3), torch.randn(7, 5)
    with torch.no_grad():
        _, expected = theirs(x[None], (h[None], c[None]))
    got = lstm_cell(x @ inputs + bias, h, c, ours, (np.inf, np.inf))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b[0], atol=1e-6)


def test_cell_is_clipped():
    weights = LstmWeights(torch.ones(1, 8), torch.ones(1, 8), torch.zeros(8), torch.ones(2, 1))
    drive = torch.full((1, 8), 99.0)
    h, c = lstm_cell(drive, torch.ones(1, 1), torch.full((1, 2), 9.0), weights, (3.0, 0.5))
    assert c.tolist() == [[3, 3]]
    assert h.tolist() == [[0.5]]
    h, c = lstm_cell(drive, torch.ones(1, 1), torch.full((1, 2), -9.0), weights, (3.0, 0.5))
    assert c.tolist() == [[-3, -3]]
    assert h.tolist() == [[-0.5]]


def test_one_is_added_to_the_forget_gate_alone():
    # Pitfall 1
    weights = {name: torch.tensor(x) for name, x in read_weights().items()}
    stored = weights["RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/B"]
    before = stored.clone()
    added = (module.lstm_weights(weights, 0, 1).bias - stored).view(4, -1).mean(dim=1)
    np.testing.assert_allclose(added, [0, 0, 1, 0], atol=1e-6)
    assert torch.equal(stored, before), "the weights that were given must not change"


# Properties


@pytest.mark.parametrize("start", ["warm", "zero", "stateful"])
def test_shape_type_and_bounds(fresh, start):
    vectors = fresh.embed(MIXED, start=start)
    assert (fresh.n_layers, fresh.n_dims) == (3, 16)
    for words, x in zip(MIXED, vectors, strict=True):
        assert x.shape == (3, len(words), 16)
        assert x.dtype == np.float32  # pitfall 16
        np.testing.assert_array_equal(x[0, :, :8], x[0, :, 8:])  # pitfall 10
        assert np.abs(x[1]).max() <= 3
        assert np.abs(x[2]).max() <= 6


@pytest.mark.parametrize("start", STARTS)
def test_neither_batch_nor_order_matters(elmo, start):
    # Pitfalls 13 and 14
    sentences = [words for case in SENTENCES.values() for words in case] + list(WARM_SENTENCES)
    alone = [elmo.embed([words], start=start)[0] for words in sentences]
    for batch_size in (1, 3, len(sentences)):
        got = elmo.embed(sentences, start=start, batch_size=batch_size)
        assert max_error(got, alone) < ATOL
    shuffled = np.random.default_rng(0).permutation(len(sentences))
    got = elmo.embed([sentences[i] for i in shuffled], start=start, batch_size=4)
    assert max_error(got, [alone[i] for i in shuffled]) < ATOL


@pytest.mark.parametrize("start", STARTS)
def test_calls_do_not_influence_each_other(fresh, start):
    first = fresh.embed(MIXED, start=start)
    for other in ("stateful", "zero", "warm"):
        fresh.embed(SENTENCES["unicode"], start=other)
    for _ in range(2):
        assert max_error(fresh.embed(MIXED, start=start), first) < 1e-6
    assert max_error(Elmo.from_files(*FILES).embed(MIXED, start=start), first) < 1e-6


def test_warm_and_zero_leave_the_carried_state_alone(fresh):
    expected = [ORACLE[f"stateful/{i}"] for i in range(2)]
    first = fresh.embed(MIXED[:1], start="stateful", batch_size=1)
    fresh.embed(MIXED, start="warm")
    fresh.embed(MIXED, start="zero")
    second = fresh.embed(MIXED[1:2], start="stateful", batch_size=1)
    assert max_error(first + second, expected) < ATOL


def test_reset_forgets(fresh):
    first = fresh.embed(MIXED, start="stateful", batch_size=2)
    assert max_error(fresh.embed(MIXED, start="stateful", batch_size=2), first) > 0.1
    fresh.reset()
    assert max_error(fresh.embed(MIXED, start="stateful", batch_size=2), first) < 1e-6


def test_stateful_starts_at_zero(fresh):
    zero = fresh.embed(MIXED, start="zero")
    assert max_error(fresh.embed(MIXED, start="stateful"), zero) < ATOL


def test_stateful_keeps_the_given_order(fresh):
    # Columns of the batches are independent readers, whatever the lengths in a batch are.
    columns = [[MIXED[i] for i in order] for order in ((0, 1, 4), (4, 2, 1), (1, 3, 0))]
    rows = [words for batch in zip(*columns, strict=True) for words in batch]
    together = fresh.embed(rows, start="stateful", batch_size=3)
    for k, column in enumerate(columns):
        fresh.reset()
        alone = fresh.embed(column, start="stateful", batch_size=1)
        assert max_error(together[k::3], alone) < ATOL


def test_warm_continues_after_the_warm_sentences(fresh):
    warm = fresh.embed(MIXED, start="warm")
    for words, expected in zip(MIXED, warm, strict=True):
        fresh.reset()
        fresh.embed(WARM_SENTENCES, start="stateful", batch_size=1)
        assert max_error(fresh.embed([words], start="stateful"), [expected]) < ATOL
    given = Elmo.from_files(*FILES, warm_sentences=WARM_SENTENCES)
    assert max_error(given.embed(MIXED), warm) < 1e-6
    without = Elmo.from_files(*FILES, warm_sentences=[])
    assert max_error(without.embed(MIXED), fresh.embed(MIXED, start="zero")) < ATOL


def test_warm_sentences_are_ordinary():
    assert len(WARM_SENTENCES) == 10
    assert len({tuple(words) for words in WARM_SENTENCES}) == 10
    for words in WARM_SENTENCES:
        assert 8 <= len(words) <= 20
        assert words[0][0].isupper()
        assert words[-1] in (".", "?")
        assert all(word.isalpha() or word in (".", ",", "?") for word in words)


def test_each_half_reads_from_its_side(elmo):
    # Pitfall 9: the directions do not mix, in any layer.
    a, b = elmo.embed([["the", "bank", "was", "steep"], ["the", "bank", "was", "closed"]])
    np.testing.assert_allclose(a[:, :3, :8], b[:, :3, :8], atol=ATOL)
    assert (np.abs(a[1:, :3, 8:] - b[1:, :3, 8:]).max(axis=-1) > 1e-3).all()
    a, b = elmo.embed([["Steep", "banks", "are", "here"], ["Closed", "banks", "are", "here"]])
    np.testing.assert_allclose(a[:, 1:, 8:], b[:, 1:, 8:], atol=ATOL)
    assert (np.abs(a[1:, 1:, :8] - b[1:, 1:, :8]).max(axis=-1) > 1e-3).all()


def test_layer_0_knows_only_the_word(elmo):
    sentences = [["bank"], ["the", "bank", "was"], ["bank", "bank"]]
    vectors = [
        x[0, words.index("bank")] for words, x in zip(sentences, elmo.embed(sentences), strict=True)
    ]
    zero = elmo.embed([["bank"]], start="zero")[0][0, 0]
    for x in [*vectors, zero]:
        np.testing.assert_allclose(x, vectors[0], atol=1e-6)


@pytest.mark.parametrize("skip", [True, False])
def test_skip_connection(skip):
    # Pitfall 9: with a second layer that says nothing, only what skips it is left.
    options, weights = read_options(), read_weights()
    options["lstm"]["use_skip_connections"] = skip
    for direction in (0, 1):
        weights[f"RNN_{direction}/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0"][:] = 0
    x = Elmo(options, weights).embed([MIXED[0]])[0]
    np.testing.assert_array_equal(x[2], x[1] if skip else 0 * x[1])


def test_a_shut_highway_changes_nothing():
    # Pitfall 7
    options, weights = read_options(), read_weights()
    for i in (0, 1):
        weights[f"CNN_high_{i}/b_carry"][:] = -1000
    shut = Elmo(options, weights).embed([MIXED[0]])[0]
    options["char_cnn"]["n_highway"] = 0
    none = {name: x for name, x in weights.items() if "high" not in name}
    np.testing.assert_allclose(shut, Elmo(options, none).embed([MIXED[0]])[0], atol=ATOL)


@pytest.mark.parametrize("row", [256, 257, 258, 259, 260])
def test_marks_have_learned_vectors(elmo, row):
    # Pitfalls 3 and 6: padding and the edges of word and sentence all count.
    weights = read_weights()
    weights["char_embed"][row] += 1
    changed = Elmo(read_options(), weights).embed([["Hello"]], start="zero")
    layer = 1 if row in (256, 257) else 0  # the sentence's edges reach the word by the LSTMs
    assert max_error([changed[0][layer]], [elmo.embed([["Hello"]], start="zero")[0][layer]]) > 1e-3


def test_tensors_of_other_names_and_training_options_do_not_matter(elmo):
    # Pitfall 12
    options, weights = read_options(), read_weights()
    options |= {"n_tokens_vocab": 793471, "unroll_steps": 20, "dropout": 0.1}
    options["char_cnn"]["n_characters"] = 261
    weights["softmax/W"] = np.array(["no", "numbers"])
    assert max_error(Elmo(options, weights).embed(MIXED), elmo.embed(MIXED)) < ATOL


def test_cnn_proj_may_be_missing_if_sizes_agree():
    # Pitfall 12
    options, weights = random_model(filters=[[1, 3], [2, 5]])
    for name in ("W_proj", "b_proj"):
        del weights[f"CNN_proj/{name}"]
    got = Elmo(options, weights).embed(MIXED, start="zero")
    assert max_error(got, slow(MIXED, options, weights)) < ATOL


@pytest.mark.parametrize("start", ["warm", "zero", "stateful"])
def test_empty_sentences(fresh, start):
    # Pitfall 11
    assert fresh.embed([], start=start) == []
    assert [x.shape for x in fresh.embed([[]], start=start)] == [(3, 0, 16)]
    assert [x.shape for x in fresh.embed([[], []], start=start)] == [(3, 0, 16)] * 2


def test_results_are_the_callers_own(fresh):
    first = fresh.embed([["Hello", "there"], ["Hello"]])
    expected = [x.copy() for x in first]
    assert all(x.flags.owndata for x in first), "a view would keep its whole batch in memory"
    first[0][:] = 7
    np.testing.assert_array_equal(first[1], expected[1])
    assert max_error(fresh.embed([["Hello", "there"], ["Hello"]]), expected) < 1e-6


def test_weights_are_not_shared(elmo):
    weights = read_weights()
    copy = Elmo(read_options(), weights)
    for x in weights.values():
        x[:] = 7
    assert max_error(copy.embed(MIXED), elmo.embed(MIXED)) < ATOL


def test_each_word_passes_the_cnn_once(fresh, monkeypatch):
    seen = []

    def counting(ids, *args):
        seen.extend(map(tuple, ids.tolist()))
        return char_cnn(ids, *args)

    char_cnn = module.char_cnn
    monkeypatch.setattr(module, "char_cnn", counting)
    words = [f"word{i}" for i in range(600)]  # more than one portion
    for _ in range(2):
        fresh.embed([words, words[::-1], words[:300] * 2])
    assert len(seen) == len(set(seen)) == 600


def test_accepts_what_holds_words_in_order(elmo):
    expected = elmo.embed([["A", "cat", "sat"]])
    for sentences in (
        [("A", "cat", "sat")],
        np.array([["A", "cat", "sat"]]),
        iter([["A", "cat", "sat"]]),
    ):
        assert max_error(elmo.embed(sentences), expected) < 1e-6


# Character ids (pitfalls 4 and 5)


def spelled(body):
    return [258, *body, 259] + [260] * (48 - len(body))


@pytest.mark.parametrize(
    ("word", "body"),
    [
        ("", []),
        (" ", [32]),
        ("cat", [99, 97, 116]),
        ("Cat", [67, 97, 116]),
        ("é", [0xC3, 0xA9]),
        ("日", [0xE6, 0x97, 0xA5]),
        ("\0", [0]),
        ("a" * 47, [97] * 47),
        ("a" * 48, [97] * 48),
        ("a" * 49, [97] * 48),
        ("日" * 17, [0xE6, 0x97, 0xA5] * 16),
        ("x" + "é" * 24, [120, *[0xC3, 0xA9] * 23, 0xC3]),  # half a letter
        ("a\ud800b", [97, 98]),
        ("<S>", [256]),
        ("</S>", [257]),
        ("<s>", [60, 115, 62]),
        ("<UNK>", [60, 85, 78, 75, 62]),
        ("<S>.", [60, 83, 62, 46]),
    ],
)
def test_char_ids(word, body):
    assert char_ids(word) == spelled(body)


@settings(derandomize=True, database=None)
@given(st.text(st.characters(), max_size=60), st.integers(3, 60))
def test_char_ids_have_one_form(word, n_positions):
    ids = char_ids(word, n_positions)
    end = ids.index(259)
    assert len(ids) == n_positions
    assert ids[0] == 258
    assert set(ids[end + 1 :]) <= {260}
    kept = bytes(ids[1:end]) if word not in ("<S>", "</S>") else b""
    assert word.encode("utf-8", "ignore").startswith(kept)
    assert len(kept) <= n_positions - 2


def test_words_alike_in_48_bytes_are_one(elmo):
    a, b, c = elmo.embed([["x" * 48 + "a"], ["x" * 48 + "b"], ["x" * 47 + "a"]])
    assert max_error([a], [b]) < ATOL
    assert max_error([a], [c]) > 1e-3


# Errors: what was expected, what came, what to do


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_file(tmp_path, missing):
    paths = list(FILES)
    paths[missing] = tmp_path / "none"
    with pytest.raises(FileNotFoundError, match=r"Expected a file .*none.*Check the path"):
        Elmo.from_files(*paths)


def test_folder_in_place_of_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="found none"):
        Elmo.from_files(FILES[0], tmp_path)


@pytest.mark.parametrize("n_bytes", [0, 3, 100, 5_000, 60_000, 91_655])
def test_truncated_weights(tmp_path, n_bytes):
    path = tmp_path / "weights.hdf5"
    path.write_bytes(FILES[1].read_bytes()[:n_bytes])
    with pytest.raises(ValueError, match=rf"damaged.*{n_bytes:,} bytes.*Download it again"):
        Elmo.from_files(FILES[0], path)


def test_damaged_name(tmp_path):
    path = tmp_path / "weights.hdf5"
    path.write_bytes(FILES[1].read_bytes().replace(b"char_embed", b"\xffhar_embed"))
    with pytest.raises(ValueError, match="damaged or not HDF5"):
        Elmo.from_files(FILES[0], path)


def test_a_web_page_in_place_of_the_weights(tmp_path):
    path = tmp_path / "weights.hdf5"
    path.write_text("<html>404 Not Found</html>", encoding="utf-8")
    with pytest.raises(ValueError, match="not HDF5"):
        Elmo.from_files(FILES[0], path)


def test_swapped_paths():
    with pytest.raises(ValueError, match=r"not JSON.*order of the two paths"):
        Elmo.from_files(FILES[1], FILES[0])


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("[]", "list indices"),
        ("7", "not subscriptable"),
        ("{}", "KeyError: 'lstm'"),
        ('{"lstm": {}, "char_cnn": {}}', "KeyError"),
        ('{"lstm": [], "char_cnn": 1}', "TypeError"),
    ],
)
def test_other_json(tmp_path, text, came):
    path = tmp_path / "options.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"'lstm' and 'char_cnn'.*{came}.*Use the file"):
        Elmo.from_files(path, FILES[1])


@pytest.mark.parametrize(
    ("part", "name", "value", "came"),
    [
        ("char_cnn", "activation", "gelu", "gelu"),
        ("char_cnn", "filters", 5, "TypeError"),
        ("char_cnn", "filters", [["1", "4"]], "TypeError"),
        ("char_cnn", "embedding", 4, "TypeError"),
        ("char_cnn", "max_characters_per_token", "many", "ValueError"),
        ("lstm", "cell_clip", "three", "ValueError"),
        ("lstm", "n_layers", "two", "TypeError"),
    ],
)
def test_wrong_value_in_options(part, name, value, came):
    options = read_options()
    options[part][name] = value
    with pytest.raises(ValueError, match=rf"options.json.*{came}"):
        Elmo(options, read_weights())


@pytest.mark.parametrize("part", ["lstm", "char_cnn"])
def test_each_needed_option(part):
    free = {"n_highway", "n_characters", "cell_clip", "proj_clip"}
    for name in set(read_options()[part]) - free:
        options = read_options()
        del options[part][name]
        with pytest.raises(ValueError, match=f"KeyError: '{name}'"):
            Elmo(options, read_weights())


@pytest.mark.parametrize("name", list(module.weight_shapes(module.flatten_options(read_options()))))
def test_each_tensor_is_needed_in_its_shape(name):
    weights = read_weights()
    tensor = weights.pop(name)
    with pytest.raises(ValueError, match=rf"'{name}' expected float \(.*got nothing.*together"):
        Elmo(read_options(), weights)
    for wrong in (tensor[:-1], tensor[None], tensor.astype(int)):
        with pytest.raises(ValueError, match=rf"'{name}' expected float \(.*got (float|int64) \("):
            Elmo(read_options(), {**weights, name: wrong})
    with pytest.raises(ValueError, match=r"finite.*Download"):
        Elmo(read_options(), {**weights, name: tensor * np.nan})


@pytest.mark.parametrize(("part", "name"), [("lstm", "n_layers"), ("char_cnn", "n_highway")])
def test_weights_of_a_deeper_model(part, name):
    options = read_options()
    options[part][name] = 1
    with pytest.raises(ValueError, match=r"expected nothing, got float \("):
        Elmo(options, read_weights())


def test_hdf5_of_another_kind(tmp_path):
    path = tmp_path / "weights.hdf5"
    with h5py.File(path, "w") as file:
        file["embedding"] = np.ones((3, 4))
        file.create_group("char_embed")
    with pytest.raises(ValueError, match=r"'char_embed' expected float \(261, 4\), got nothing"):
        Elmo.from_files(FILES[0], path)


def test_a_wrong_shape_is_not_read(tmp_path):
    # A file of a few bytes can promise terabytes of zeros.
    path = tmp_path / "weights.hdf5"
    shutil.copy(FILES[1], path)
    with h5py.File(path, "r+") as file:
        del file["char_embed"]
        file.create_dataset("char_embed", shape=(10**7, 10**6), dtype="f4", chunks=(1, 1000))
    with pytest.raises(ValueError, match="got float"):
        Elmo.from_files(FILES[0], path)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("The cat sat", r"list of sentences, got 'The cat sat'.*text.split"),
        (None, "list of sentences, got None"),
        (7, "list of sentences, got 7"),
        (["The", "cat"], r"Sentence 0: expected a list of words, got 'The'.*text.split"),
        ([["The"], "cat sat"], "Sentence 1: expected a list of words, got 'cat sat'"),
        ([["The"], None], "Sentence 1: expected a list of words, got None"),
        ([{"The", "cat"}], "Sentence 0: expected a list of words, got {"),
        ([["The", None]], r"Sentence 0: expected words \(str\), got None"),
        ([["The", 5]], r"Sentence 0: expected words \(str\), got 5"),
        ([b"The"], r"Sentence 0: expected words \(str\), got 84"),
        ([[["The"]]], r"Sentence 0: expected words \(str\), got \['The'\]"),
    ],
)
def test_wrong_sentences(elmo, sentences, message):
    with pytest.raises(TypeError, match=message):
        elmo.embed(sentences)
    with pytest.raises(TypeError, match=message):
        Elmo.from_files(*FILES, warm_sentences=sentences)


def test_wrong_start(elmo):
    with pytest.raises(ValueError, match=r"'warm', 'zero' or 'stateful', got 'cold'"):
        elmo.embed(MIXED, start="cold")


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, None])
def test_wrong_batch_size(elmo, batch_size):
    with pytest.raises(ValueError, match=f"above 0, got {batch_size}"):
        elmo.embed(MIXED, batch_size=batch_size)


def test_wrong_word():
    with pytest.raises(TypeError, match=r"Expected a word \(str\), got list"):
        char_ids(["cat"])


@pytest.mark.parametrize(
    "shapes", [[(2, 20), (2, 3), (1, 5)], [(2, 20), (1, 3), (2, 5)], [(2, 5), (2, 3), (2, 5)]]
)
def test_wrong_shapes_for_the_cell(shapes):
    # Without the check, a single row would be broadcast to all sentences.
    weights = LstmWeights(torch.ones(3, 20), torch.ones(3, 20), torch.ones(20), torch.ones(5, 3))
    with pytest.raises(ValueError, match=r"expected shapes \[\(2, 20\), \(2, 3\), \(2, 5\)\], got"):
        lstm_cell(*map(torch.ones, shapes), weights, (3.0, 3.0))


# AllenNLP's own test model, small but trained. It is not ours to pass on.

REFERENCE = os.environ.get("ELMO_REFERENCE")
needs_reference = pytest.mark.skipif(
    not REFERENCE, reason="set ELMO_REFERENCE to the folder with AllenNLP's test files for ELMo"
)


@pytest.fixture
def reference():
    folder = Path(REFERENCE)
    return folder, Elmo.from_files(folder / "options.json", folder / "lm_weights.hdf5")


@needs_reference
def test_top_layer_of_the_tensorflow_program(reference):
    # It read the three columns side by side and never reset; the tolerance is AllenNLP's own.
    folder, elmo = reference
    columns = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    rows = [text.split() for batch in zip(*columns, strict=True) for text in batch]
    got = elmo.embed(rows, start="stateful", batch_size=3)
    for k in range(3):
        with h5py.File(folder / f"lm_embeddings_{k}.hdf5") as file:
            for i, x in enumerate(got[k::3]):
                forward, backward = file[str(i)][...]
                expected = np.concatenate([forward, backward], axis=-1)
                np.testing.assert_allclose(x[2], expected, atol=1e-6, rtol=1e-5)


@needs_reference
def test_tokens_of_the_tensorflow_program(reference):
    folder, elmo = reference
    words = (folder / "vocab_test.txt").read_text(encoding="utf-8").split()
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][...]
    layer_0 = elmo.embed([words])[0][0]
    for half in (layer_0[:, :16], layer_0[:, 16:]):
        np.testing.assert_allclose(half, expected, atol=1e-6, rtol=0)
