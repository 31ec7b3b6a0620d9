"""Further networks, of which none had a part in how texpr was tuned: `--only wider`, or their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

IMAGE = (3, 224, 224)
TORCHVISION = {
    "alexnet": IMAGE,
    "vgg11_bn": IMAGE,
    "densenet121": IMAGE,
    "googlenet": IMAGE,
    "mnasnet1_0": IMAGE,
    "mobilenet_v3_large": IMAGE,
    "regnet_y_400mf": IMAGE,
    "regnet_x_1_6gf": IMAGE,
    "resnext50_32x4d": IMAGE,
    "efficientnet_v2_s": IMAGE,
    "swin_t": IMAGE,
    "vit_b_32": IMAGE,
    "maxvit_t": IMAGE,
    "r3d_18": (3, 8, 64, 64),
    "deeplabv3_mobilenet_v3_large": IMAGE,
    "lraspp_mobilenet_v3_large": IMAGE,
}
TIMM = {
    name: IMAGE
    for name in (
        "mixer_s16_224",
        "deit_tiny_patch16_224",
        "resmlp_12_224",
        "gmlp_ti16_224",
        "repvgg_a0",
        "ghostnet_100",
        "mobilevit_xxs",
        "edgenext_x_small",
        "poolformer_s12",
        "efficientformer_l1",
        "xcit_nano_12_p16_224",
        "convmixer_768_32",
        "hrnet_w18_small",
        "dla34",
        "res2net50_14w_8s",
        "mixnet_s",
        "dpn68",
        "cspresnet50",
        "eca_nfnet_l0",
        "botnet26t_256",
        "pvt_v2_b0",
        "coat_tiny",
        "levit_128s",
        "fastvit_t8",
        "selecsls42b",
    )
}
TIMM["botnet26t_256"] = (3, 256, 256)


def torchvision_model(name: str) -> Callable[[], Any]:
    """A function that makes a model of torchvision with random weights."""
    folder = {"r3d": "video", "deeplabv3": "segmentation", "lraspp": "segmentation"}.get(name.split("_")[0])

    def make() -> Any:
        import torchvision

        models = torchvision.models
        options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        if folder == "segmentation":
            options["weights_backbone"] = None
        return getattr(getattr(models, folder) if folder else models, name)(weights=None, **options)

    return make


def timm_model(name: str) -> Callable[[], Any]:
    """A function that makes a model of timm with random weights."""

    def make() -> Any:
        import timm

        return timm.create_model(name, pretrained=False, exportable=True)

    return make


def encoder(kind: str, **sizes: int) -> Callable[[], Any]:
    """A function that makes a model of transformers with random weights, whose hidden states it gives."""

    def make() -> Any:
        import torch
        import transformers
        from torch import nn

        config = getattr(transformers, f"{kind}Config")(attn_implementation="eager", use_cache=False, **sizes)
        if kind == "T5":
            inside = transformers.T5EncoderModel(config)
        else:
            inside = getattr(transformers, f"{kind}Model")(config)

        class Hidden(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inside = inside

            def forward(self, x: Any) -> Any:
                mask = {"attention_mask": torch.ones_like(x)} if x.dtype == torch.int64 else {}
                return self.inside(x, **mask).last_hidden_state

        return Hidden()

    return make


SMALL = {"hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 688}
TRANSFORMERS = {
    "distilbert": ((64,), 30522, encoder("DistilBert")),
    "albert": (
        (128,),
        30000,
        encoder("Albert", hidden_size=768, num_attention_heads=12, intermediate_size=3072),
    ),
    "t5_encoder": ((64,), 32128, encoder("T5")),
    "llama_small": ((96,), 32000, encoder("Llama", num_key_value_heads=4, **SMALL)),
    "qwen2_small": ((96,), 151936, encoder("Qwen2", num_key_value_heads=2, **SMALL)),
    "gpt_neox_small": ((96,), 50432, encoder("GPTNeoX", **SMALL)),
    "wav2vec2": ((16000,), 0, encoder("Wav2Vec2", num_hidden_layers=4)),
    "convnextv2": (IMAGE, 0, encoder("ConvNextV2", hidden_sizes=[40, 80, 160, 320], depths=[2, 2, 6, 2])),
    "segformer": (IMAGE, 0, encoder("Segformer")),
    "dinov2_small": (
        IMAGE,
        0,
        encoder("Dinov2", hidden_size=384, num_attention_heads=6, num_hidden_layers=6),
    ),
}
