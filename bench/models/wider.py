"""Further networks, chosen without looking at how fast texpr is for them."""

from __future__ import annotations

from bench.models.makers import timm_model, torchvision_model, transformer
from bench.models.network import IMAGE, Network, of_images

TORCHVISION = (
    *of_images(
        torchvision_model,
        "alexnet",
        "vgg11_bn",
        "densenet121",
        "mnasnet1_0",
        "mobilenet_v3_large",
        "regnet_y_400mf",
        "regnet_x_1_6gf",
        "resnext50_32x4d",
        "efficientnet_v2_s",
        "swin_t",
        "vit_b_32",
        "maxvit_t",
    ),
    Network("googlenet", IMAGE, torchvision_model("googlenet", init_weights=False)),
    Network("r3d_18", (3, 8, 64, 64), torchvision_model("video.r3d_18")),
    *(
        Network(name, IMAGE, torchvision_model(f"segmentation.{name}", weights_backbone=None))
        for name in ("deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large")
    ),
)
TIMM = (
    *of_images(
        timm_model,
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
        "pvt_v2_b0",
        "coat_tiny",
        "levit_128s",
        "fastvit_t8",
        "selecsls42b",
    ),
    Network("botnet26t_256", (3, 256, 256), timm_model("botnet26t_256")),
)
SMALL = {"hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 688}
ALBERT = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
DINOV2 = {"hidden_size": 384, "num_attention_heads": 6, "num_hidden_layers": 6}
CONVNEXT = {"hidden_sizes": [40, 80, 160, 320], "depths": [2, 2, 6, 2]}
TRANSFORMERS = (
    Network("distilbert", (64,), transformer("DistilBert"), words=30522),
    Network("albert", (128,), transformer("Albert", **ALBERT), words=30000),
    Network("t5_encoder", (64,), transformer("T5", "EncoderModel"), words=32128),
    Network("llama_small", (96,), transformer("Llama", num_key_value_heads=4, **SMALL), words=32000),
    Network("qwen2_small", (96,), transformer("Qwen2", num_key_value_heads=2, **SMALL), words=151936),
    Network("gpt_neox_small", (96,), transformer("GPTNeoX", **SMALL), words=50432),
    Network("wav2vec2", (16000,), transformer("Wav2Vec2", num_hidden_layers=4)),
    Network("convnextv2", IMAGE, transformer("ConvNextV2", **CONVNEXT)),
    Network("segformer", IMAGE, transformer("Segformer")),
    Network("dinov2_small", IMAGE, transformer("Dinov2", **DINOV2)),
)
WIDER = {n.name: n for n in (*TORCHVISION, *TIMM, *TRANSFORMERS)}
