"""Small networks of transformers with random weights as folders, with arguments and results: the tests'
data. Runs in an environment with transformers.

    python scripts/peers/folders_torch.py FILE
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as t

ROTATIONS: dict[str, dict[str, Any]] = {
    "linear": {"factor": 2.0},
    "dynamic": {"factor": 2.0},
    "llama3": {
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    },
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 32},
}


def rotated(kind: str) -> Any:
    """Angles by a small Llama, whose heads have many pairs: texts of twice the usual length."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    rotations = {"rope_type": kind, "rope_theta": 100.0, **ROTATIONS[kind]}
    longest = 8 if kind == "dynamic" else 128
    return t.LlamaForCausalLM(
        t.LlamaConfig(**sizes, vocab_size=20, max_position_embeddings=longest, rope_parameters=rotations)
    )


def heads(sizes: dict[str, Any], tokens: Any, mask: Any) -> dict[str, tuple[Any, tuple, dict]]:
    """BERT with its heads."""
    config = t.BertConfig(**sizes, vocab_size=50, max_position_embeddings=12, num_labels=3)
    classes = {
        "masked": t.BertForMaskedLM,
        "texts": t.BertForSequenceClassification,
        "tokens": t.BertForTokenClassification,
    }
    found = {n: (c(config), (tokens,), {"attention_mask": mask}) for n, c in classes.items()}
    two = t.BertConfig(**sizes, vocab_size=50, max_position_embeddings=12)
    return found | {"answers": (t.BertForQuestionAnswering(two), (tokens,), {"attention_mask": mask})}


def made() -> dict[str, tuple[Any, tuple, dict]]:
    """Networks, their arguments by place and by name."""
    tokens, mask = torch.randint(0, 50, (2, 7)), torch.ones(2, 7, dtype=torch.int64)
    mask[1, 4:] = 0
    common = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
    ends = {"bos_token_id": 1, "eos_token_id": 2}
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12}
    text = torch.randint(0, 20, (1, 16))
    return {
        **{kind: (rotated(kind), (text,), {}) for kind in ROTATIONS},
        **heads(small, tokens, mask),
        "narrow": (t.LlamaForCausalLM(t.LlamaConfig(**small, vocab_size=50)).bfloat16(), (tokens,), {}),
        "gpt2": (
            t.GPT2LMHeadModel(
                t.GPT2Config(n_embd=16, n_layer=2, n_head=4, vocab_size=50, n_positions=12, **ends)
            ),
            (tokens,),
            {},
        ),
        "llama": (
            t.LlamaForCausalLM(
                t.LlamaConfig(**common, num_key_value_heads=2, vocab_size=50, rope_theta=500.0)
            ),
            (tokens,),
            {},
        ),
        "bert": (
            t.BertModel(t.BertConfig(**common, vocab_size=50, max_position_embeddings=12)),
            (tokens,),
            {"attention_mask": mask},
        ),
        "vit": (
            t.ViTForImageClassification(t.ViTConfig(**common, image_size=8, patch_size=4, num_labels=3)),
            (torch.randn(2, 3, 8, 8),),
            {},
        ),
    }


def write(path: Path) -> None:
    """Folders, and `NAME.npz` for each."""
    torch.manual_seed(0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, (model, args, kwargs) in made().items():
            model = model.eval()
            for parameter in model.parameters():
                parameter.data += 0.1 * torch.randn_like(parameter)
            with torch.no_grad():
                results = model(*args, **kwargs).to_tuple()
            with tempfile.TemporaryDirectory() as folder:
                model.save_pretrained(folder, max_shard_size="12KB" if name == "llama" else "1GB")
                for each in sorted(Path(folder).glob("model*")):
                    file.write(each, f"{name}/{each.name}")
                config = json.loads((Path(folder) / "config.json").read_text())
                file.writestr(f"{name}/config.json", json.dumps(config))
            arrays: dict[str, Any] = {f"arg{k}": a.numpy() for k, a in enumerate(args)}
            arrays |= {f"named_{n}": a.numpy() for n, a in kwargs.items()}
            arrays |= {
                f"result{k}": r.float().numpy() for k, r in enumerate(results) if isinstance(r, torch.Tensor)
            }
            data = io.BytesIO()
            np.savez(data, **arrays)
            file.writestr(f"{name}.npz", data.getvalue())
            print(name, [list(r.shape) for r in results if isinstance(r, torch.Tensor)], flush=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
