"""Networks of PyTorch as archives of NNEF, by torch-to-nnef, with inputs and PyTorch's outputs.

    python scripts/peers/nnef_networks.py FOLDER [NAMES...]

It runs where torch, torchvision and torch-to-nnef are. Weights are random: torch's own initial ones,
with running statistics that are not 0 and 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torchvision
from torch import nn
from torch_to_nnef import KhronosNNEF, TractNNEF, export_model_to_nnef


class Attention(nn.Module):
    """A causal transformer: embedding, blocks of attention by its scaled product, a head."""

    def __init__(self, words: int = 50, width: int = 32, heads: int = 4, depth: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(16, width) * 0.1)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(width),
                    "qkv": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "after": nn.LayerNorm(width),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }
            )
            for _ in range(depth)
        )
        self.head = nn.Linear(width, words)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Scores of the next words."""
        x = self.embedding(words) + self.places[: words.shape[1]]
        n, length, width = x.shape
        for b in self.blocks:
            q, k, v = b["qkv"](b["norm"](x)).reshape(n, length, 3, self.heads, width // self.heads).unbind(2)
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + b["out"](mixed.transpose(1, 2).reshape(n, length, width))
            x = x + b["down"](nn.functional.gelu(b["up"](b["after"](x))))
        return self.head(x)


class Recurrent(nn.Module):
    """An LSTM and a GRU, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTM(8, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Numbers for each step."""
        return self.head(self.gru(self.lstm(x)[0])[0])


class Small(nn.Module):
    """Convolutions of several kinds, and layers that larger networks do not have."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.SiLU(),
            nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8),
            nn.GroupNorm(2, 8),
            nn.ELU(),
            nn.ConvTranspose2d(8, 4, 2, stride=2),
            nn.Hardswish(),
            nn.AvgPool2d(2),
            nn.Upsample(scale_factor=2, mode="nearest"),
            nn.PReLU(4),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 5),
            nn.Softmax(-1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Five weights."""
        return self.layers(x)


def _image(size: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(1, 3, size, size)


def _vision(name: str) -> Callable[[], nn.Module]:
    more = {"init_weights": True} if name == "googlenet" else {}
    return lambda: getattr(torchvision.models, name)(weights=None, **more)


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


_SIZES = {
    "alexnet": 224,
    "resnet18": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "squeezenet1_1": 64,
    "densenet121": 64,
    "shufflenet_v2_x0_5": 64,
    "mnasnet0_5": 64,
    "efficientnet_b0": 64,
    "googlenet": 64,
    "vgg11": 224,
    "regnet_y_400mf": 64,
    "vit_b_16": 224,
}
NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "small": (Small, _image(16)),
    "transformer": (Attention, lambda: torch.randint(0, 50, (2, 12))),
    "encoder": (_encoder, lambda: torch.randn(2, 10, 32)),
    "recurrent": (Recurrent, lambda: torch.randn(2, 7, 8)),
    **{name: (_vision(name), _image(size)) for name, size in _SIZES.items()},
}


def export(name: str, folder: Path, target: object) -> None:
    """Write one network, its input and output."""
    torch.manual_seed(7)
    make, data = NETWORKS[name]
    model = make().eval()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
        elif isinstance(module, nn.Linear) and not module.weight.any():  # the untrained head of a ViT
            module.weight.data.normal_(0, 0.02)
    x = data()
    with torch.no_grad():
        y = model(x)
    export_model_to_nnef(
        model, (x,), folder / f"{name}.nnef.tgz", target, ["input"], ["output"], compression_level=1
    )
    np.savez(folder / f"{name}.npz", input=x.numpy(), output=y.numpy())


def _tract(folder: Path) -> TractNNEF:
    """The target of tract. torch-to-nnef asks its program for a version only, and would download it."""
    version = TractNNEF.latest_version()
    program = folder / "tract_version"
    program.write_text(f"#!/bin/sh\necho tract {version.to_str()}\n", encoding="utf-8")
    program.chmod(0o755)
    return TractNNEF(version, check_io=False, specific_tract_binary_path=program.absolute())


def main() -> None:
    """Write the networks that are asked for, or all."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        for kind, target in (("tract", _tract(folder)), ("khronos", KhronosNNEF("1.0.5", check_io=False))):
            place = folder / kind
            place.mkdir(exist_ok=True)
            try:
                export(name, place, target)
                print(f"{kind} {name}: written", flush=True)
            except Exception as error:
                print(
                    f"{kind} {name}: torch-to-nnef refuses it: {type(error).__name__}: {str(error)[:200]}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
