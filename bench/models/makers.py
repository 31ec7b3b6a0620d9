"""Functions that make torch modules with random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any


def torchvision_model(path: str, **options: object) -> Callable[[], Any]:
    """A function that makes a model of torchvision, which is named as in `torchvision.models`."""

    def make() -> Any:
        import torchvision

        return reduce(getattr, path.split("."), torchvision.models)(weights=None, **options)

    return make


def timm_model(name: str) -> Callable[[], Any]:
    """A function that makes a model of timm."""

    def make() -> Any:
        import timm

        return timm.create_model(name, pretrained=False, exportable=True)

    return make


def transformer(kind: str, model: str = "Model", **sizes: object) -> Callable[[], Any]:
    """A function that makes a model of transformers without a cache, which gives its last hidden states."""

    def make() -> Any:
        import torch
        import transformers
        from torch import nn

        config = getattr(transformers, f"{kind}Config")(attn_implementation="eager", use_cache=False, **sizes)

        class Hidden(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inside = getattr(transformers, kind + model)(config)

            def forward(self, x: Any) -> Any:
                # Without a mask they look for sequences packed in a row, which ONNX does not know.
                mask = {} if x.is_floating_point() else {"attention_mask": torch.ones_like(x)}
                return self.inside(x, **mask).last_hidden_state

        return Hidden()

    return make


def unet() -> Any:
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


def fill(module: Any) -> None:
    """Give parameters that are all 0 random values: a last layer of zeros gives nothing to compare."""
    from torch import nn

    for p in module.parameters():
        if not p.any():
            nn.init.normal_(p, std=0.02)
