"""One vector per word and sentence, at every layer: from a model's pieces to words.

A tokenizer cuts words into pieces; a word's vector is the mean of its pieces' vectors. The pieces
are found by the characters they stand for, never by splitting at blanks or by comparing strings.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from utils.corpora import Word, find_word, words_in
from utils.models import Model

__all__ = [
    "Occurrence",
    "WordVectors",
    "embed_words",
    "hidden_states",
    "pieces_of",
    "word_vectors",
]


@dataclass(frozen=True)
class Occurrence:
    """Where one vector comes from.

    ``sentence`` is the sentence's place in the list that was given, ``start`` and ``end`` are
    characters in it, ``first_piece`` is 0 where the word begins the model's input (a decoder's
    first position is a special case), and ``n_pieces`` is how many pieces were pooled.
    """

    word: str
    sentence: int
    start: int
    end: int
    first_piece: int
    n_pieces: int


@dataclass(frozen=True)
class WordVectors:
    """Every occurrence of one word: g(sentence, position), layer by layer.

    ``vectors`` has shape ``(n_layers + 1, n_occurrences, n_dims)``, float32; layer 0 is the input
    of the first block. ``skipped`` counts what was left out, by reason: sentences under
    ``not_found`` and ``too_long``, words under ``unknown``.
    """

    word: str
    occurrences: tuple[Occurrence, ...]
    vectors: np.ndarray
    skipped: dict[str, int]

    def at(self, sentence: int, occurrence: int = 0) -> np.ndarray:
        """Return the vectors of one occurrence, shape ``(n_layers + 1, n_dims)``.

        Args:
            sentence: The sentence's place in the list that was given.
            occurrence: 0 for the word's first occurrence in that sentence, 1 for the second.

        Raises:
            IndexError: If there are fewer occurrences; the message says how many there are.
        """
        rows = [i for i, found in enumerate(self.occurrences) if found.sentence == sentence]
        if not 0 <= occurrence < len(rows):
            raise IndexError(
                f"asked for occurrence {occurrence} of {self.word!r} in sentence {sentence}, "
                f"counted from 0; there are {len(rows)}"
            )
        return self.vectors[:, rows[occurrence]]


@dataclass(frozen=True)
class _Encoded:
    """A sentence as pieces: their ids, and the characters each stands for."""

    ids: list[int]
    spans: list[tuple[int, int]]


def word_vectors(
    model: Model,
    sentences: Sequence[str],
    word: str,
    *,
    match_case: bool = False,
    on_missing: str = "raise",
    **options: object,
) -> WordVectors:
    """Give a word a new vector in every sentence.

    Args:
        model: From :func:`utils.models.load`.
        sentences: A list of sentences; each occurrence of the word in each of them counts.
        word: The word, in the form to be found: ``bank`` is not found in "banks" or "banker".
        match_case: Whether ``Bank`` and ``bank`` are different words.
        on_missing: What to do with a sentence that does not hold the word: ``raise``, or ``skip``
            it and count it under ``not_found``.
        **options: ``pool``, ``on_long``, ``on_unknown``, ``batch_pieces`` and ``padding``, as in
            :func:`embed_words`.

    Returns:
        The occurrences in the order of the text, with their vectors at every layer.

    Raises:
        ValueError: If a sentence does not hold the word, or no sentence does, or one is too long
            or holds only pieces the model does not know; the message names word and sentence.
    """
    _check_choice("on_missing", on_missing, ("raise", "skip"))
    sentences = _check_sentences(sentences)
    places = [find_word(sentence, word, match_case=match_case) for sentence in sentences]
    missing = [i for i, found in enumerate(places) if not found]
    if on_missing == "skip" and len(missing) == len(sentences):
        raise ValueError(
            f"{word!r} is not found as a whole word in any of the {len(sentences)} sentences. "
            "Plurals and other forms are other words."
        )
    if missing and on_missing == "raise":
        raise ValueError(
            f"{word!r} is not found as a whole word in sentence {missing[0]}: "
            f"{_short(sentences[missing[0]])}. Plurals and other forms are other words; "
            'pass on_missing="skip" to leave such sentences out.'
        )
    skipped = Counter(not_found=len(missing))
    batches = embed_words(model, sentences, words=places, skipped=skipped, **options)
    pairs = [
        (occurrence, vectors[:, i])
        for occurrences, vectors in batches
        for i, occurrence in enumerate(occurrences)
    ]
    if not pairs:
        raise ValueError(
            f"no occurrence of {word!r} is left; left out were {dict(+skipped)} sentences or words"
        )
    pairs.sort(key=lambda pair: (pair[0].sentence, pair[0].start))
    occurrences, vectors = zip(*pairs, strict=True)
    return WordVectors(word, occurrences, np.stack(vectors, axis=1), dict(+skipped))


def embed_words(
    model: Model,
    sentences: Sequence[str],
    *,
    words: Sequence[Sequence[Word]] | Callable[[str], Sequence[Word]] = words_in,
    pool: str = "mean",
    on_long: str = "raise",
    on_unknown: str = "raise",
    batch_pieces: int = 2048,
    padding: str = "right",
    skipped: Counter | None = None,
) -> Iterator[tuple[list[Occurrence], np.ndarray]]:
    """Run sentences through a model in batches, and yield the vectors of their words.

    Nothing is stored: use each batch as it comes. Sentences of similar length share a batch, so
    the batches do not follow the order of the text; each occurrence says where it belongs.

    Args:
        model: From :func:`utils.models.load`.
        sentences: A list of sentences.
        words: Which words of each sentence, as a list for each sentence or a function of it.
        pool: How a word's pieces become one vector: their ``mean``, or the ``first`` or ``last``.
        on_long: A sentence with more pieces than the model has positions is never cut: ``raise``,
            or ``skip`` it and count it under ``too_long``.
        on_unknown: A word of which the model knows no piece: ``raise``, or ``skip`` it and count
            it under ``unknown``.
        batch_pieces: How many pieces, padding included, go through the model at once.
        padding: Where the shorter sentences of a batch are filled up: ``right`` or ``left``. The
            vectors are the same.
        skipped: A counter that takes the number of what was left out, by reason.

    Yields:
        For each batch the occurrences and their vectors, shape
        ``(n_layers + 1, n_occurrences, n_dims)``, float32.

    Raises:
        ValueError: For a sentence too long or a word unknown to the model, if so chosen; and if
            ``words`` is not one list of words for each sentence.
    """
    _check_choice("pool", pool, ("mean", "first", "last"))
    _check_choice("on_long", on_long, ("raise", "skip"))
    _check_choice("on_unknown", on_unknown, ("raise", "skip"))
    _check_choice("padding", padding, ("right", "left"))
    sentences = _check_sentences(sentences)
    if not callable(words) and len(words) != len(sentences):
        raise ValueError(
            f"expected a list of words for each of the {len(sentences)} sentences, "
            f"got {len(words)} lists"
        )
    skipped = Counter() if skipped is None else skipped
    encoded: list[_Encoded] = []
    occurrences: list[list[Occurrence]] = []
    for i, sentence in enumerate(sentences):
        chosen = words(sentence) if callable(words) else words[i]
        pieces = _encode(model, sentence)
        if chosen and len(pieces.ids) > model.max_pieces:
            if on_long == "raise":
                raise ValueError(
                    f"sentence {i} has {len(pieces.ids)} pieces and {model.name} has positions "
                    f"for {model.max_pieces}: {_short(sentence)}. Split it, or pass "
                    'on_long="skip" to leave it out and count it.'
                )
            skipped["too_long"] += 1
            chosen = []
        encoded.append(pieces)
        occurrences.append(_locate(model, i, sentence, pieces, chosen, on_unknown, skipped))
    todo = [i for i, found in enumerate(occurrences) if found]
    for batch in _batches([len(encoded[i].ids) for i in todo], batch_pieces):
        rows = [todo[i] for i in batch]
        states = hidden_states(model, [encoded[i].ids for i in rows], padding=padding)
        found = [occurrence for i in rows for occurrence in occurrences[i]]
        starts = _starts([len(encoded[i].ids) for i in rows], padding)
        first = [
            row * states.shape[2] + starts[row] + occurrence.first_piece
            for row, i in enumerate(rows)
            for occurrence in occurrences[i]
        ]
        counts = [occurrence.n_pieces for occurrence in found]
        yield found, _pool(states.flatten(1, 2), first, counts, pool).cpu().numpy()


def hidden_states(
    model: Model, ids: Sequence[Sequence[int]], *, padding: str = "right"
) -> torch.Tensor:
    """Run piece ids of different lengths through a model as one batch.

    The mask is made from the lengths, not from the ids: a decoder may have no padding id, or use
    one that also occurs in texts.

    Args:
        model: From :func:`utils.models.load`.
        ids: For each sentence its piece ids, at least one and at most ``model.max_pieces``.
        padding: Where shorter sentences are filled up, ``right`` or ``left``.

    Returns:
        Shape ``(n_layers + 1, n_sentences, longest, n_dims)``, float32. Rows of padding hold
        numbers without meaning. For GPT-2 and Llama and their kin the last layer is the state after
        the final norm, and for all models layer 0 is what goes into the first block.

    Raises:
        ValueError: If a sentence has no pieces or too many, or a model that cannot be told the
            positions is to be padded on the left.
    """
    _check_choice("padding", padding, ("right", "left"))
    lengths = [len(row) for row in ids]
    if not lengths or min(lengths) == 0 or max(lengths) > model.max_pieces:
        raise ValueError(
            f"expected lists of 1 to {model.max_pieces} piece ids for {model.name}, "
            f"got lengths {sorted(set(lengths))}"
        )
    longest = max(lengths)
    padding_id = _padding_id(model)
    fills = (padding_id, model.tokenizer.pad_token_id, 0)
    batch = torch.full((len(ids), longest), next(fill for fill in fills if fill is not None))
    mask = torch.zeros_like(batch)
    for i, (row, start) in enumerate(zip(ids, _starts(lengths, padding), strict=True)):
        batch[i, start : start + len(row)] = torch.tensor(row)
        mask[i, start : start + len(row)] = 1
    device = next(model.network.parameters()).device
    inputs = {"input_ids": batch.to(device), "attention_mask": mask.to(device)}
    if padding == "left" and min(lengths) < longest and padding_id is None:
        if "position_ids" not in inspect.signature(model.network.forward).parameters:
            raise ValueError(
                f"{model.name} cannot be told the positions of its input, so padding on the left "
                'would shift them. Use padding="right".'
            )
        inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0).to(device)
    model.network.eval()
    with torch.inference_mode():
        output = model.network(**inputs, output_hidden_states=True, return_dict=True)
    return torch.stack(output.hidden_states).float()


def pieces_of(model: Model, sentence: str) -> list[str]:
    """Show how a model's tokenizer cuts a sentence, special pieces included.

    Args:
        model: From :func:`utils.models.load`.
        sentence: Any text.

    Raises:
        ValueError: If it is not one string.
    """
    if not isinstance(sentence, str):
        raise ValueError(f"expected one sentence (a string), got {type(sentence).__name__}")
    return model.tokenizer.convert_ids_to_tokens(_encode(model, sentence).ids)


def _encode(model: Model, sentence: str) -> _Encoded:
    encoding = model.tokenizer(
        sentence,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_attention_mask=False,
        truncation=False,
        padding=False,
        verbose=False,
    )
    # Special pieces stand for no characters, whatever span they report.
    spans = [
        (0, 0) if special else tuple(span)
        for span, special in zip(
            encoding["offset_mapping"], encoding["special_tokens_mask"], strict=True
        )
    ]
    return _Encoded(list(encoding["input_ids"]), spans)


def _locate(
    model: Model,
    number: int,
    sentence: str,
    pieces: _Encoded,
    words: Sequence[Word],
    on_unknown: str,
    skipped: Counter,
) -> list[Occurrence]:
    """Find each word's pieces: those whose characters overlap the word's."""
    found = []
    unknown = model.tokenizer.unk_token_id
    for word in words:
        if sentence[word.start : word.end] != word.text:
            raise ValueError(
                f"expected {word.text!r} at characters {word.start} to {word.end} of sentence "
                f"{number}, found {sentence[word.start : word.end]!r} there: {_short(sentence)}. "
                "Are these the words of another sentence?"
            )
        rows = [
            i
            for i, (start, end) in enumerate(pieces.spans)
            if start < word.end and end > word.start
        ]
        if not rows or all(pieces.ids[i] == unknown for i in rows):
            if on_unknown == "raise":
                raise ValueError(
                    f"{model.name} knows no piece of {word.text!r} in sentence {number}: "
                    f'{_short(sentence)}. Pass on_unknown="skip" to leave such words out.'
                )
            skipped["unknown"] += 1
            continue
        found.append(Occurrence(word.text, number, word.start, word.end, rows[0], len(rows)))
    return found


def _batches(lengths: Sequence[int], batch_pieces: int) -> Iterator[list[int]]:
    """Group items of similar length: each group, filled up to its longest, fits the budget."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[i] > batch_pieces:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _starts(lengths: Sequence[int], padding: str) -> list[int]:
    """Where each row's own pieces begin in the padded batch."""
    longest = max(lengths)
    return [longest - length if padding == "left" else 0 for length in lengths]


def _pool(states: torch.Tensor, first: list[int], counts: list[int], pool: str) -> torch.Tensor:
    """Turn the pieces ``first ... first + count - 1`` of each word into one vector a layer."""
    first, counts = torch.tensor(first), torch.tensor(counts)
    if pool != "mean":
        rows = first if pool == "first" else first + counts - 1
        return states[:, rows.to(states.device)]
    owner = torch.repeat_interleave(torch.arange(len(first)), counts)
    within = torch.arange(len(owner)) - torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    rows = (first[owner] + within).to(states.device)
    sums = states.new_zeros(states.shape[0], len(first), states.shape[2])
    sums.index_add_(1, owner.to(states.device), states[:, rows])
    return sums / counts.to(states)[None, :, None]


def _padding_id(model: Model) -> int | None:
    """RoBERTa and its kin compute positions themselves, from where this id is not."""
    return getattr(getattr(model.network, "embeddings", None), "padding_idx", None)


def _check_sentences(sentences: Sequence[str]) -> list[str]:
    if isinstance(sentences, str):
        raise ValueError(
            "expected a list of sentences, got one string: put it into brackets, [sentence]"
        )
    sentences = list(sentences)
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise ValueError(
                f"expected sentences as strings, sentence {i} is {type(sentence).__name__}"
            )
    if not sentences:
        raise ValueError("expected at least one sentence, got an empty list")
    return sentences


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"expected {name} to be one of {', '.join(choices)}, got {value!r}")


def _short(sentence: str, limit: int = 80) -> str:
    return repr(sentence if len(sentence) <= limit else sentence[: limit - 3] + "...")
