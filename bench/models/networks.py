"""Networks by name, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.models.makers import fill, torchvision_model, transformer, unet
from bench.models.network import Network, of_images
from bench.models.wider import WIDER

PAGE = (
    *of_images(
        torchvision_model,
        "resnet18",
        "resnet50",
        "mobilenet_v2",
        "mobilenet_v3_small",
        "efficientnet_b0",
        "squeezenet1_1",
        "shufflenet_v2_x1_0",
        "convnext_tiny",
    ),
    Network("inception_v3", (3, 299, 299), torchvision_model("inception_v3", init_weights=False)),
    Network("unet", (3, 128, 128), unet),
    Network("bert_base", (128,), transformer("Bert"), words=30522),
    Network("gpt2_small", (128,), transformer("GPT2"), words=50257),
)
NETWORKS = {n.name: n for n in PAGE}
"""In the order of the table."""
EVERY = {**NETWORKS, **WIDER}


def file_of(folder: Path, name: str, batch: int | str) -> Path:
    """The ONNX file of a network for a batch."""
    return folder / f"{name}.{batch}.onnx"


def torch_module(name: str) -> Any:
    """The module of a network with weights that are the same in every process, for inference."""
    import torch

    torch.manual_seed(0)
    module = EVERY[name].make().eval()
    fill(module)
    return module
