"""Models and vectors that many tests read. Each is made or loaded once; nothing changes them."""

from dataclasses import replace

import pytest
import tiny
import torch

from utils import models, static

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """The tiny models' folders, by family."""
    root = tmp_path_factory.mktemp("models")
    return {family: tiny.save(family, root / family) for family in tiny.FAMILIES}


@pytest.fixture(scope="session")
def tiny_models(folders):
    """The tiny models as the package loads them, by family."""
    return {family: models.load(str(folder)) for family, folder in folders.items()}


@pytest.fixture(scope="session", params=tiny.FAMILIES)
def model(request, tiny_models):
    """Each tiny model in turn."""
    return tiny_models[request.param]


@pytest.fixture(scope="session", params=[*tiny.FAMILIES, "minilm"])
def any_model(request, tiny_models):
    """Each tiny model in turn, then the real one."""
    if request.param == "minilm":
        return request.getfixturevalue("minilm")
    return tiny_models[request.param]


@pytest.fixture(scope="session")
def bert(tiny_models):
    return tiny_models["bert"]


@pytest.fixture(scope="session")
def gpt2(tiny_models):
    return tiny_models["gpt2"]


@pytest.fixture(scope="session")
def bert_without_banker(tiny_models):
    """The tiny BERT whose vocabulary lacks ``banker``, which falls apart into ``bank ##er``."""
    tokenizer = tiny.tokenizer_of("bert", without=("banker",))
    return replace(tiny_models["bert"], tokenizer=tokenizer)


@pytest.fixture(scope="session")
def minilm():
    return models.load("minilm")


@pytest.fixture(scope="session")
def glove():
    return static.load_glove()
