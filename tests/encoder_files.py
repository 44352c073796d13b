"""An empty cache, and tiny files in it that pass for those of MiniLM."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from ngm.text.encoders import (
    minilm,
    static,
)

Patch = pytest.MonkeyPatch
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "blue", "apple", "car", "##s", "old"]


def weights(width: int = 8, layers: int = 2, inner: int = 16) -> dict[str, torch.Tensor]:
    """Random weights by the names of a published BERT."""
    g = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g) / 2

    out = {
        "embeddings.word_embeddings.weight": random(len(PIECES), width),
        "embeddings.position_embeddings.weight": random(minilm.WINDOW, width),
        "embeddings.token_type_embeddings.weight": random(2, width),
    }
    norms = ["embeddings"]
    for layer in (f"encoder.layer.{i}" for i in range(layers)):
        norms += [f"{layer}.attention.output", f"{layer}.output"]
        sizes = {f"attention.self.{part}": (width, width) for part in ("query", "key", "value")}
        sizes |= {"attention.output.dense": (width, width), "intermediate.dense": (inner, width)}
        for name, size in (sizes | {"output.dense": (width, inner)}).items():
            out |= {f"{layer}.{name}.weight": random(*size), f"{layer}.{name}.bias": random(size[0])}
    for name in norms:
        out |= {f"{name}.LayerNorm.weight": 1 + random(width), f"{name}.LayerNorm.bias": random(width)}
    return out


@pytest.fixture
def published(alone: Path, tmp_path: Path, monkeypatch: Patch) -> Path:
    """Tiny files in the cache that pass for those of MiniLM."""
    tokenizers = pytest.importorskip("tokenizers")
    monkeypatch.setattr(minilm, "WIDTH", 8)
    monkeypatch.setattr(minilm, "HEADS", 2)
    monkeypatch.setattr(static, "WIDTH", 8)
    model = tokenizers.models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    folder = alone / "encoders" / "minilm"
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(weights(), folder / "model.safetensors")
    monkeypatch.setattr(minilm, "TOKENIZER", _hashed(minilm.TOKENIZER, folder / "tokenizer.json"))
    monkeypatch.setitem(minilm.WEIGHTS, "float32", _hashed(minilm.WEIGHTS["float32"], folder / "model.safetensors"))
    return folder


def _hashed(file: minilm.DataFile, path: Path) -> minilm.DataFile:
    return replace(file, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
