"""Networks by name: their inputs, and how torch makes them with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.models.wider import TIMM, TORCHVISION, TRANSFORMERS, timm_model, torchvision_model


@dataclass(frozen=True)
class Network:
    """A network.

    Attributes:
        shape: of an input without the batch.
        words: what is given are so many different whole numbers; 0: floats.
        make: the torch module.
    """

    name: str
    shape: tuple[int, ...]
    make: Callable[[], Any]
    words: int = 0

    def input(self, batch: int) -> np.ndarray:
        """Random data, the same in every process."""
        rng = np.random.default_rng(0)
        if self.words:
            return rng.integers(0, self.words, (batch, *self.shape))
        return rng.standard_normal((batch, *self.shape), dtype=np.float32)


def _torchvision(name: str, **options: object) -> Callable[[], Any]:
    def make() -> Any:
        import torchvision

        return getattr(torchvision.models, name)(weights=None, **options)

    return make


def _unet() -> Any:
    """U-Net of 16, 32 and 64 channels. Ronneberger et al., 2015."""
    import torch
    from torch import nn

    def twice(i: int, o: int) -> nn.Sequential:
        layers = (nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU())
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList([twice(3, 16), twice(16, 32), twice(32, 64)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)])
            self.join = nn.ModuleList([twice(64, 32), twice(32, 16)])
            self.last = nn.Conv2d(16, 2, 1)

        def forward(self, x: Any) -> Any:
            first = self.down[0](x)
            second = self.down[1](nn.functional.max_pool2d(first, 2))
            x = self.down[2](nn.functional.max_pool2d(second, 2))
            for up, join, skipped in zip(self.up, self.join, (second, first)):
                x = join(torch.cat([up(x), skipped], 1))
            return self.last(x)

    return UNet()


def _transformer(kind: str) -> Callable[[], Any]:
    """BERT-base or GPT-2-small, without their caches."""

    def make() -> Any:
        import torch
        import transformers
        from torch import nn

        class Hidden(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                if kind == "bert":
                    self.inside = transformers.BertModel(transformers.BertConfig(attn_implementation="eager"))
                else:
                    config = transformers.GPT2Config(attn_implementation="eager", use_cache=False)
                    self.inside = transformers.GPT2Model(config)

            def forward(self, x: Any) -> Any:
                # Without a mask they look for sequences packed in a row, which ONNX does not know.
                return self.inside(x, attention_mask=torch.ones_like(x)).last_hidden_state

        return Hidden()

    return make


IMAGE = (3, 224, 224)
NETWORKS = {
    n.name: n
    for n in (
        *(
            Network(name, IMAGE, _torchvision(name))
            for name in (
                "resnet18",
                "resnet50",
                "mobilenet_v2",
                "mobilenet_v3_small",
                "efficientnet_b0",
                "squeezenet1_1",
                "shufflenet_v2_x1_0",
                "convnext_tiny",
            )
        ),
        Network("inception_v3", (3, 299, 299), _torchvision("inception_v3", init_weights=False)),
        Network("unet", (3, 128, 128), _unet),
        Network("bert_base", (128,), _transformer("bert"), words=30522),
        Network("gpt2_small", (128,), _transformer("gpt2"), words=50257),
    )
}
"""In the order of the table."""
WIDER = {
    **{name: Network(name, shape, torchvision_model(name)) for name, shape in TORCHVISION.items()},
    **{name: Network(name, shape, timm_model(name)) for name, shape in TIMM.items()},
    **{name: Network(name, shape, make, words) for name, (shape, words, make) in TRANSFORMERS.items()},
}
EVERY = {**NETWORKS, **WIDER}


def file_of(folder: Path, name: str, batch: int | str) -> Path:
    """The ONNX file of a network for a batch."""
    return folder / f"{name}.{batch}.onnx"


def torch_module(name: str) -> Any:
    """The module of a network with weights that are the same in every process, for inference."""
    import torch

    torch.manual_seed(0)
    return EVERY[name].make().eval()
