"""ELMo: vectors for every word, from its letters and from both sides of its sentence.

A character CNN turns each word into a token vector. Two stacked LSTMs read the token vectors from
left to right, two others from right to left (Peters et al. 2018, sections 3.1 and 3.4). The model
is read from the published `options.json` and `weights.hdf5`: plain numbers, no code.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import h5py
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv1d
from torch.nn.utils import rnn

__all__ = ["WARM_SENTENCES", "Elmo", "char_ids", "lstm_cell"]

# Ids 0 to 255 are bytes; these five follow. Each is a row of `char_embed`, padding too.
SENTENCE_START, SENTENCE_END, WORD_START, WORD_END, PADDING = range(256, 261)
BOUNDARIES = {"<S>": SENTENCE_START, "</S>": SENTENCE_END}
CELL = "RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"  # 0 reads left to right, 1 back

WARM_SENTENCES = tuple(
    text.split()
    for text in (
        "The baker opens her shop before the sun is up .",
        "We walked along the canal until it started to rain .",
        "Have you seen the keys that I left on the kitchen table ?",
        "Prices rose again last month , mostly because of the cost of fuel .",
        "My brother plays the violin , but he has never liked to practise .",
        "The council will decide in May whether the old bridge can be saved .",
        "After lunch the children built a boat from two boxes and a sheet .",
        "Most of the guests had gone home when the band began to play .",
        "He reads the paper on the train and leaves it there for others .",
        "There was nothing to see , so they turned round and drove back .",
    )
)


# The model: pure functions, in the order in which a word passes them


class LstmWeights(NamedTuple):
    """One LSTM. Its gates lie side by side: input, candidate, forget, output, as in TensorFlow."""

    inputs: Tensor  # (n_token, 4 * n_cell)
    recurrent: Tensor  # (n_token, 4 * n_cell)
    bias: Tensor  # (4 * n_cell,)
    projection: Tensor  # (n_cell, n_token)


class State(NamedTuple):
    """Where all LSTMs stand: their outputs before the skip connection, and their cells."""

    h: Tensor  # (n_lstm_layers, 2 directions, n_rows, n_token)
    c: Tensor  # (n_lstm_layers, 2 directions, n_rows, n_cell)


def char_ids(word: str, n_positions: int = 50) -> list[int]:
    """Spell a word as its UTF-8 bytes between two marks, padded to a fixed length.

    Only the first `n_positions - 2` bytes count, even if that splits a letter. "<S>" and "</S>",
    the edges of a sentence, are one id each. AllenNLP's ids are these plus one: it keeps 0 free.

    Args:
        word: any string, even an empty one.
        n_positions: length of the result, at least 3.

    Returns:
        `n_positions` ids from 0 to 260.

    Raises:
        TypeError: if `word` is not a string.

    >>> char_ids("né", n_positions=7)
    [258, 110, 195, 169, 259, 260, 260]
    """
    if not isinstance(word, str):
        raise TypeError(f"Expected a word (str), got {type(word).__name__} {word!r}.")
    if word in BOUNDARIES:
        body = [BOUNDARIES[word]]
    else:  # "ignore" drops halves of surrogate pairs, which UTF-8 cannot express
        body = list(word.encode("utf-8", "ignore")[: n_positions - 2])
    ids = [WORD_START, *body, WORD_END]
    return ids + [PADDING] * (n_positions - len(ids))


def highway(x: Tensor, w_gate: Tensor, b_gate: Tensor, w_new: Tensor, b_new: Tensor) -> Tensor:
    """Keep or replace each feature: `g * relu(x W_new + b_new) + (1 - g) * x`.

    `g = sigmoid(x W_gate + b_gate)` is the gate (Srivastava et al. 2015). The files call it
    "carry", although it weighs what is new. x has shape (n_words, n_features).

    >>> x, shut, wide = torch.ones(1, 1), torch.tensor([-99.0]), torch.tensor([99.0])
    >>> [highway(x, x, gate, 3 * x, 0 * gate).item() for gate in (shut, wide)]
    [1.0, 3.0]
    """
    gate = torch.sigmoid(x @ w_gate + b_gate)
    return gate * torch.relu(x @ w_new + b_new) + (1 - gate) * x


def char_cnn(ids: Tensor, weights: Mapping[str, Tensor], options: Mapping[str, Any]) -> Tensor:
    """Turn ids (n_words, n_positions) into token vectors (n_words, n_token).

    Each filter slides along the word and keeps its strongest response (Jozefowicz et al. 2016).
    """
    chars = weights["char_embed"][ids].transpose(1, 2)
    responses = []
    for i in range(len(options["filters"])):
        kernel = weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)  # conv1d wants (out, in, width)
        responses.append(conv1d(chars, kernel, weights[f"CNN/b_cnn_{i}"]).amax(dim=-1))
    x = getattr(torch, options["activation"])(torch.cat(responses, dim=-1))
    for i in range(options["n_highway"]):
        names = ("W_carry", "b_carry", "W_transform", "b_transform")
        x = highway(x, *(weights[f"CNN_high_{i}/{name}"] for name in names))
    if "CNN_proj/W_proj" in weights:
        x = x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
    return x


def lstm_cell(
    drive: Tensor, h: Tensor, c: Tensor, weights: LstmWeights, clips: tuple[float, float]
) -> tuple[Tensor, Tensor]:
    """Read one word: an LSTM step with a projection (Sak et al. 2014) and the clips of bilm-tf.

    `c' = clip(sigmoid(f) * c + sigmoid(i) * tanh(g))`, `h' = clip((sigmoid(o) * tanh(c')) W_p)`,
    where i, g, f, o are the four parts of `drive + h W_r`. ELMo was trained with the clips, so
    `torch.nn.LSTM`, which has none, would give other vectors.

    Args:
        drive: the word's share of the gates, `x W_x + b`, shape (n_rows, 4 * n_cell).
        h: last outputs, shape (n_rows, n_token).
        c: last cells, shape (n_rows, n_cell).
        weights: of this LSTM; `inputs` and `bias` are already in `drive`.
        clips: largest magnitude of a cell and of an output; infinity for no clip.

    Returns:
        The new h, within ±`clips[1]`, and the new c, within ±`clips[0]`.

    Raises:
        ValueError: if the shapes do not fit each other.
    """
    n_cell, n_token = weights.projection.shape
    expected = [(len(drive), size) for size in (4 * n_cell, n_token, n_cell)]
    got = [tuple(x.shape) for x in (drive, h, c)]
    if got != expected:
        raise ValueError(
            f"drive, h, c: expected shapes {expected}, got {got}. Give each one row per sentence."
        )
    i, g, f, o = (drive + h @ weights.recurrent).chunk(4, dim=-1)
    c = (torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)).clamp(-clips[0], clips[0])
    h = ((torch.sigmoid(o) * torch.tanh(c)) @ weights.projection).clamp(-clips[1], clips[1])
    return h, c


def run_lstm(
    packed: rnn.PackedSequence, h: Tensor, c: Tensor, weights: LstmWeights, clips: tuple
) -> tuple[rnn.PackedSequence, Tensor, Tensor]:
    """Read packed sentences: in `packed.data`, all first words come first, then all second words.

    Returns the outputs, packed in the same way, and the last h and c, one row per sentence.
    """
    # While packed, the longest sentence is on top, so that those still being read are the first.
    h, c = h[packed.sorted_indices], c[packed.sorted_indices]
    drive = packed.data @ weights.inputs + weights.bias  # one large product for all steps
    outputs = []
    for step in drive.split(packed.batch_sizes.tolist()):
        n = len(step)  # the sentences that go on; the others keep what they ended with
        new_h, new_c = lstm_cell(step, h[:n], c[:n], weights, clips)
        h[:n], c[:n] = new_h, new_c
        outputs.append(new_h)
    back = packed.unsorted_indices
    return packed._replace(data=torch.cat(outputs)), h[back], c[back]


def reverse(x: Tensor, lengths: Tensor) -> Tensor:
    """Turn each sentence of (n_rows, n_steps, n_dims) round and leave its padding at the end.

    >>> reverse(torch.tensor([[[1], [2], [3]], [[4], [5], [0]]]), torch.tensor([3, 2])).squeeze(2)
    tensor([[3, 2, 1],
            [5, 4, 0]])
    """
    time, end = torch.arange(x.shape[1]), lengths[:, None]
    return x[torch.arange(len(x))[:, None], torch.where(time < end, end - 1 - time, time)]


def run_bilm(
    tokens: Tensor, lengths: Tensor, start: State, lstms: Mapping, options: Mapping[str, Any]
) -> tuple[list[Tensor], State]:
    """Run all `lstms[layer, direction]` on padded tokens (n_rows, n_steps, n_token).

    Each direction reads only itself: the two stand side by side in the result and never mix.
    Returns one (n_rows, n_steps, 2 * n_token) per layer and the state at the end.
    """
    clips = (options["cell_clip"], options["proj_clip"])
    streams, layers = [tokens, reverse(tokens, lengths)], []
    end = State(start.h.clone(), start.c.clone())
    for layer in range(options["n_layers"]):
        for direction in (0, 1):
            at, x = (layer, direction), streams[direction]
            packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            packed, end.h[at], end.c[at] = run_lstm(
                packed, start.h[at], start.c[at], lstms[at], clips
            )
            y = rnn.pad_packed_sequence(packed, batch_first=True)[0]
            skip = options["use_skip_connections"] and layer > 0
            streams[direction] = x + y if skip else y
        layers.append(torch.cat([streams[0], reverse(streams[1], lengths)], dim=-1))
    return layers, end


# The files and the input: what they must look like


def weight_shapes(options: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """List the tensors of `weights.hdf5`: maps as (in, out), filters as (1, width, in, out)."""
    n_token, n_cell, n_char = (options[name] for name in ("projection_dim", "dim", "char_dim"))
    n_features = sum(n for _, n in options["filters"])
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (PADDING + 1, n_char)}
    for i, (width, n) in enumerate(options["filters"]):
        shapes |= {f"CNN/W_cnn_{i}": (1, width, n_char, n), f"CNN/b_cnn_{i}": (n,)}
    for i, part in product(range(options["n_highway"]), ("carry", "transform")):
        shapes[f"CNN_high_{i}/W_{part}"] = (n_features, n_features)
        shapes[f"CNN_high_{i}/b_{part}"] = (n_features,)
    shapes |= {"CNN_proj/W_proj": (n_features, n_token), "CNN_proj/b_proj": (n_token,)}
    for layer, direction in product(range(options["n_layers"]), (0, 1)):
        cell = CELL.format(layer=layer, direction=direction)
        shapes[cell + "W_0"] = (2 * n_token, 4 * n_cell)  # rows for the input, then rows for h
        shapes |= {cell + "B": (4 * n_cell,), cell + "W_P_0": (n_cell, n_token)}
    return shapes


def flatten_options(raw: Any) -> dict[str, Any]:
    """Join the two parts of `options.json` under their published names, or raise ValueError."""
    try:
        lstm, cnn = raw["lstm"], raw["char_cnn"]
        options = {**lstm, **cnn, "char_dim": cnn["embedding"]["dim"]}
        options["n_highway"] = cnn.get("n_highway") or 0
        for name in ("cell_clip", "proj_clip"):
            options[name] = float(lstm.get(name) or "inf")
        options["use_skip_connections"] = bool(lstm["use_skip_connections"])
        options["max_characters_per_token"] = int(cnn["max_characters_per_token"])
        if options["activation"] not in ("relu", "tanh"):
            raise ValueError(f"activation {options['activation']!r}, neither 'relu' nor 'tanh'")
        weight_shapes(options)  # fails if a size is missing or no number
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            "Expected the content of ELMo's options.json, with the parts 'lstm' and 'char_cnn'; "
            f"got {type(error).__name__}: {error}. Use the file published with the weights."
        ) from error
    return options


def check_weights(weights: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights that the options describe; ValueError unless they fit exactly."""
    shapes = weight_shapes(options)
    n_features, n_token = shapes["CNN_proj/W_proj"]
    if n_features == n_token and "CNN_proj/W_proj" not in weights:
        del shapes["CNN_proj/W_proj"], shapes["CNN_proj/b_proj"]  # trained without that map
    further = [name for name in weights if name.startswith(("CNN", "RNN"))]
    for name in dict.fromkeys([*shapes, *further]):
        expected = f"float {shapes[name]}" if name in shapes else "nothing"
        got = "nothing"
        if name in weights:
            kind = "float" if weights[name].dtype.kind == "f" else weights[name].dtype
            got = f"{kind} {tuple(weights[name].shape)}"
        if got != expected:
            raise ValueError(
                f"These weights do not fit these options: for {name!r} expected {expected}, "
                f"got {got}. Use an options.json and a weights.hdf5 published together."
            )
    return {name: weights[name] for name in shapes}


def check_sentences(sentences: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the sentences as lists of words; TypeError if they are anything else."""
    advice = "Give a list of sentences, each a list of words, as in [['A', 'cat'], text.split()]."
    if isinstance(sentences, str) or not isinstance(sentences, Iterable):
        raise TypeError(f"Expected a list of sentences, got {sentences!r:.60}. {advice}")
    checked = []
    for i, words in enumerate(sentences):
        if isinstance(words, str) or not isinstance(words, Sequence | np.ndarray):
            raise TypeError(f"Sentence {i}: expected a list of words, got {words!r:.60}. {advice}")
        for word in words:
            if not isinstance(word, str):
                raise TypeError(f"Sentence {i}: expected words (str), got {word!r:.60}. {advice}")
        checked.append(list(words))
    return checked


def lstm_weights(weights: Mapping[str, Tensor], layer: int, direction: int) -> LstmWeights:
    """Take one LSTM out of the file's tensors."""
    cell = CELL.format(layer=layer, direction=direction)
    inputs, recurrent = weights[cell + "W_0"].chunk(2)
    # TensorFlow adds 1 to the forget gate when it runs (so that an untrained LSTM remembers);
    # the file is without it.
    bias = weights[cell + "B"].clone()
    bias.view(4, -1)[2] += 1
    return LstmWeights(inputs, recurrent, bias, weights[cell + "W_P_0"])


# All together


class Elmo:
    """A trained ELMo: sentences in, for every word one vector per layer out.

    Layer 0 is the token vector twice, the same in every sentence. In the layers above, the first
    half of a vector comes from the left, the second half from the right. With outputs clipped at
    3, layer 1 lies in [-3, 3] and layer 2, because of its skip connection, in [-6, 6].

    Attributes:
        n_layers: layers per word; 3 in the published models.
        n_dims: size of a vector, twice that of a token vector.

    >>> elmo = Elmo.from_files("options.json", "weights.hdf5")  # doctest: +SKIP
    >>> [x.shape for x in elmo.embed([["A", "river", "bank"], ["Hello"]])]  # doctest: +SKIP
    [(3, 3, 1024), (3, 1, 1024)]
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        weights: Mapping[str, Any],
        warm_sentences: Iterable[Sequence[str]] = WARM_SENTENCES,
    ) -> None:
        """Build the model from the content of the two files: a dictionary, and arrays by name."""
        self._options = flatten_options(options)
        weights = check_weights(weights, self._options)
        self._weights = {name: torch.tensor(np.asarray(x, "f4")) for name, x in weights.items()}
        damaged = [name for name, x in self._weights.items() if not x.isfinite().all()]
        if damaged:
            raise ValueError(
                f"Expected finite weights, got NaN or infinity in {damaged}. Download them again."
            )
        self.n_layers = 1 + self._options["n_layers"]
        self.n_dims = 2 * self._options["projection_dim"]
        self._lstms = {
            at: lstm_weights(self._weights, *at) for at in product(range(self.n_layers - 1), (0, 1))
        }
        self._token_vectors: dict[str, Tensor] = {}  # each word passes the CNN once
        shape = (self.n_layers - 1, 2, 1)
        n_token, n_cell = self._options["projection_dim"], self._options["dim"]
        self._zero = State(torch.zeros(*shape, n_token), torch.zeros(*shape, n_cell))
        self._carried: dict[int, State] = {}  # row of the batch -> where it stands
        self._warm = self._zero
        for words in check_sentences(warm_sentences):
            _, (self._warm,) = self._run([words], [self._warm])

    @classmethod
    def from_files(
        cls,
        options_path: str | PathLike[str],
        weights_path: str | PathLike[str],
        warm_sentences: Iterable[Sequence[str]] = WARM_SENTENCES,
    ) -> Self:
        """Read a published model.

        Args:
            options_path: `options.json`, the sizes.
            weights_path: `weights.hdf5`, the numbers.
            warm_sentences: lists of words, read one after another when the model is made. Where
                they leave the LSTMs is where `start="warm"` begins; with no sentence, at zero.

        Returns:
            The model.

        Raises:
            FileNotFoundError: if a file is missing.
            ValueError: if a file is damaged, of another layout, or not the other's partner.
            TypeError: if a warm sentence is not a list of words.
        """
        for path in (options_path, weights_path):
            if not Path(path).is_file():
                raise FileNotFoundError(
                    f"Expected a file of an ELMo model at {path}, found none. Check the path, or "
                    "download the options.json and weights.hdf5 of one model."
                )
        try:
            options = json.loads(Path(options_path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(
                f"Expected ELMo's options.json, got {options_path}, which is not JSON ({error}). "
                "Check the order of the two paths, or download it again."
            ) from error
        try:
            with h5py.File(weights_path, "r") as file:
                names: list[str] = []
                file.visit(names.append)
                tensors = {name: file[name] for name in names}
                tensors = {name: x for name, x in tensors.items() if isinstance(x, h5py.Dataset)}
                tensors = check_weights(tensors, flatten_options(options))  # before reading much
                weights = {name: x[()] for name, x in tensors.items()}
        except (OSError, RuntimeError, KeyError, TypeError, UnicodeError) as error:
            raise ValueError(
                f"Expected ELMo's weights.hdf5, got {weights_path}, which is damaged or not HDF5 "
                f"({Path(weights_path).stat().st_size:,} bytes; {error}). Download it again."
            ) from error
        return cls(options, weights, warm_sentences)

    def embed(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        start: Literal["warm", "zero", "stateful"] = "warm",
        batch_size: int = 32,
    ) -> list[np.ndarray]:
        """Turn sentences into vectors.

        ELMo was trained without ever resetting its LSTMs, so it matters where they stand when a
        sentence begins: most for the first words of the half that reads from the left, and for
        the last words of the other half.

        - "warm": where the warm sentences left them. Neither order nor batches matter (to 1e-5).
        - "zero": at zero, as before the first batch of training. Neither order nor batches matter.
        - "stateful": where the same row of the last batch left them, also across calls, as in
          AllenNLP's ElmoEmbedder; Ethayarajh (2019) used it with `batch_size=1`. Batches are
          taken in the given order, and a vector depends on everything read since `reset`.

        Args:
            sentences: lists of words; a list may be empty.
            start: where the LSTMs stand at the start of a sentence.
            batch_size: number of sentences that are read side by side.

        Returns:
            For each sentence, in the given order, float32 of shape (n_layers, n_words, n_dims).

        Raises:
            TypeError: if a sentence is not a list of words.
            ValueError: if `start` is another word or `batch_size` is below 1.
        """
        texts = check_sentences(sentences)
        if start not in ("warm", "zero", "stateful"):
            raise ValueError(f"start: expected 'warm', 'zero' or 'stateful', got {start!r}.")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size: expected a whole number above 0, got {batch_size!r}.")
        order = list(range(len(texts)))
        if start != "stateful":
            order.sort(key=lambda i: len(texts[i]))  # equal lengths side by side: fewer steps
        vectors: dict[int, np.ndarray] = {}
        for first in range(0, len(order), batch_size):
            chosen = order[first : first + batch_size]
            states = [self._zero if start == "zero" else self._warm] * len(chosen)
            if start == "stateful":
                states = [self._carried.get(row, self._zero) for row in range(len(chosen))]
            arrays, states = self._run([texts[i] for i in chosen], states)
            if start == "stateful":
                self._carried.update(enumerate(states))  # rows without a sentence stay
            vectors.update(zip(chosen, arrays, strict=True))
        return [vectors[i] for i in range(len(texts))]

    def reset(self) -> None:
        """Forget what was read with `start="stateful"`."""
        self._carried.clear()

    @torch.inference_mode()
    def _run(
        self, sentences: list[list[str]], states: list[State]
    ) -> tuple[list[np.ndarray], list[State]]:
        """Embed one batch; take and return one state, of one row, for every sentence."""
        framed = [["<S>", *words, "</S>"] for words in sentences]
        new = sorted(set(chain.from_iterable(framed)) - self._token_vectors.keys())
        for part in (new[i : i + 256] for i in range(0, len(new), 256)):  # to bound the memory
            ids = [char_ids(word, self._options["max_characters_per_token"]) for word in part]
            vectors = char_cnn(torch.tensor(ids), self._weights, self._options)
            self._token_vectors.update(zip(part, vectors, strict=True))
        rows = [torch.stack([self._token_vectors[word] for word in words]) for words in framed]
        tokens = rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(words) for words in framed])
        start = State(*(torch.cat(parts, dim=2) for parts in zip(*states, strict=True)))
        outputs, end = run_bilm(tokens, lengths, start, self._lstms, self._options)
        layers = [torch.cat([tokens, tokens], dim=-1), *outputs]  # twice: all layers equally wide
        stacked = torch.stack(layers, dim=1).numpy()
        arrays = [stacked[i, :, 1 : n - 1].copy() for i, n in enumerate(lengths.tolist())]
        return arrays, [
            State(*pair) for pair in zip(*(x.split(1, dim=2) for x in end), strict=True)
        ]
