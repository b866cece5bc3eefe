"""Tiny models with random weights, one per family, and their tokenizers.

They are built from configurations, saved as anyone's model is (config.json, tokenizer.json,
model.safetensors) and loaded by the code under test. Weights are drawn larger than usual, so that
a wrong row, mask or position moves a vector by far more than the tolerances.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from tokenizers import (
    Tokenizer,
    decoders,
    normalizers,
    pre_tokenizers,
    processors,
)
from tokenizers import (
    models as pieces,
)
from tokenizers.trainers import BpeTrainer
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

# The vocabulary that the pitfalls assume.
WORD_PIECES = [
    *("the", "a", "bank", "##s", "##er", "banker", "river", "robbed", "cafe", "jelly", "##fish"),
    *("sat", "by", "mat", "cat", "'", "s", "don", "t", ".", ","),
]
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# What the byte-level tokenizer is trained on: enough to know a few words with and without a blank.
TEXTS = [
    "the cat sat by the river bank.",
    "cat and bank, the bank by the river",
    "bank the cat! the banker robbed the bank.",
    "the jellyfish sat by the mat, and the cat sat on the mat",
] * 4

FAMILIES = ("bert", "roberta", "distilbert", "gpt2", "llama")
POSITIONS = 40  # pieces that each tiny model has positions for


def wordpiece(without: tuple[str, ...] = ()) -> Tokenizer:
    """Build a lower-casing WordPiece tokenizer, as BERT's."""
    vocabulary = [*BERT_SPECIAL, *(piece for piece in WORD_PIECES if piece not in without)]
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(pieces.WordPiece(ids, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    return tokenizer


def byte_level(special: list[str], trim_offsets: bool = False) -> Tokenizer:
    """Train a byte-level BPE tokenizer: a blank before a word is part of its piece (Ġcat)."""
    tokenizer = Tokenizer(pieces.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=320,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    if special:
        tokenizer.post_processor = processors.RobertaProcessing(
            ("</s>", tokenizer.token_to_id("</s>")),
            ("<s>", tokenizer.token_to_id("<s>")),
            trim_offsets,
            False,  # no blank is put in front
        )
    else:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    return tokenizer


def sentencepiece_like() -> Tokenizer:
    """Build a tokenizer as Llama 2's: a blank is ▁, nothing is split first, word_ids are all 0."""
    tokenizer = Tokenizer(pieces.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))  # noqa: S106
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    trainer = BpeTrainer(
        vocab_size=330,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
        max_token_length=8,
        show_progress=False,
    )
    # Words one by one, so that no piece is trained across a blank or holds a stop.
    tokenizer.train_from_iterator(re.findall(r"\w+|[^\w\s]", " ".join(TEXTS)), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def tokenizer_of(family: str, without: tuple[str, ...] = ()) -> PreTrainedTokenizerFast:
    """Build the tokenizer of a family, in the form in which transformers saves it."""
    if family in ("bert", "distilbert"):
        tokenizer, special = wordpiece(without), BERT_SPECIAL
        names = ("pad", "unk", "cls", "sep", "mask")
    elif family == "roberta":
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        tokenizer = byte_level(special, trim_offsets=True)
        names = ("bos", "pad", "eos", "unk", "mask")
    elif family == "gpt2":
        tokenizer, names, special = byte_level([]), (), ()
    else:
        tokenizer, special = sentencepiece_like(), ("<unk>", "<s>", "</s>")
        names = ("unk", "bos", "eos")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=10 * POSITIONS,  # the network's own limit must count
        **{f"{name}_token": token for name, token in zip(names, special, strict=True)},
    )


def network_of(family: str, n_words: int) -> PreTrainedModel:
    """Build the network of a family, 3 layers of 16 dimensions, with random weights."""
    heads = {"num_attention_heads": 2, "intermediate_size": 32}
    size = {"hidden_size": 16, "num_hidden_layers": 3}
    if family == "bert":
        config = BertConfig(
            vocab_size=n_words, max_position_embeddings=POSITIONS, pad_token_id=0, **size, **heads
        )
        network = BertModel
    elif family == "roberta":
        # Its positions begin behind the padding id 1: two more than there are pieces.
        config = RobertaConfig(
            vocab_size=n_words,
            max_position_embeddings=POSITIONS + 2,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            type_vocab_size=1,
            **size,
            **heads,
        )
        network = RobertaModel
    elif family == "distilbert":
        config = DistilBertConfig(
            vocab_size=n_words,
            max_position_embeddings=POSITIONS,
            dim=16,
            hidden_dim=32,
            n_layers=3,
            n_heads=2,
            pad_token_id=0,
        )
        network = DistilBertModel
    elif family == "gpt2":
        config = GPT2Config(
            vocab_size=n_words,
            n_positions=POSITIONS,
            n_embd=16,
            n_layer=3,
            n_head=2,
            bos_token_id=None,
            eos_token_id=None,
        )
        network = GPT2Model
    else:
        config = LlamaConfig(
            vocab_size=n_words,
            max_position_embeddings=POSITIONS,
            num_key_value_heads=1,
            **size,
            **heads,
        )
        network = LlamaModel
    with torch.random.fork_rng():
        torch.manual_seed(20)
        network = network(config)
        with torch.no_grad():
            for name, weights in network.named_parameters():
                # Norms stay near 1, all else is large enough for attention to have a say.
                centre = 1.0 if "norm" in name.lower() or "ln_" in name else 0.0
                if name.endswith("bias"):
                    centre = 0.0
                weights.copy_(centre + 0.3 * torch.randn_like(weights))
    return network


def save(family: str, folder: Path) -> Path:
    """Write a tiny model in Hugging Face's layout."""
    tokenizer = tokenizer_of(family)
    network_of(family, len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
