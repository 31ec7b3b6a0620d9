"""Neural networks: names, argument order, formulas and weight layouts of torch.nn, and a Keras-like
Trainer above.

A module is a shell around operators of `texpr.ops`: called on arrays or trained, it is captured as
a Program (`texpr.graph`), so that forward, backward and the optimizer's update are one compiled
plan. NumPy holds data; it computes nothing but metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.elsewhere import NETWORKS
from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nn import data, functional, init, metrics, optim, sklearn, utils
    from texpr.nn.checkpoint import save
    from texpr.nn.core.module import Module
    from texpr.nn.core.parameter import Buffer, Parameter
    from texpr.nn.core.summary import summary
    from texpr.nn.export import export
    from texpr.nn.init import manual_seed
    from texpr.nn.losses import (
        BCELoss,
        BCEWithLogitsLoss,
        CosineEmbeddingLoss,
        CrossEntropyLoss,
        CTCLoss,
        GaussianNLLLoss,
        HingeEmbeddingLoss,
        HuberLoss,
        KLDivLoss,
        L1Loss,
        LinearCrossEntropyLoss,
        Loss,
        MarginRankingLoss,
        MSELoss,
        MultiLabelMarginLoss,
        MultiLabelSoftMarginLoss,
        MultiMarginLoss,
        NLLLoss,
        PoissonNLLLoss,
        SmoothL1Loss,
        SoftMarginLoss,
        TripletMarginLoss,
        TripletMarginWithDistanceLoss,
    )
    from texpr.nn.metrics.metric import Metric
    from texpr.nn.modules.activations import (
        CELU,
        ELU,
        GELU,
        SELU,
        LogSigmoid,
        Mish,
        Sigmoid,
        SiLU,
        Softplus,
        Softsign,
        Tanh,
        Tanhshrink,
    )
    from texpr.nn.modules.adaptive_softmax import AdaptiveLogSoftmaxWithLoss
    from texpr.nn.modules.along_axis import GLU, LogSoftmax, Softmax, Softmax2d, Softmin
    from texpr.nn.modules.attention import MultiheadAttention
    from texpr.nn.modules.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
    from texpr.nn.modules.convolution import (
        Conv1d,
        Conv2d,
        Conv3d,
        ConvTranspose1d,
        ConvTranspose2d,
        ConvTranspose3d,
        Fold,
        Unfold,
    )
    from texpr.nn.modules.distance import CosineSimilarity, PairwiseDistance
    from texpr.nn.modules.dropout import (
        AlphaDropout,
        Dropout,
        Dropout1d,
        Dropout2d,
        Dropout3d,
        FeatureAlphaDropout,
        Seeded,
    )
    from texpr.nn.modules.embedding import Embedding, EmbeddingBag
    from texpr.nn.modules.fractional import FractionalMaxPool2d, FractionalMaxPool3d
    from texpr.nn.modules.linear import Bilinear, Flatten, Identity, Linear, Unflatten
    from texpr.nn.modules.normalization import (
        BatchNorm1d,
        BatchNorm2d,
        BatchNorm3d,
        GroupNorm,
        InstanceNorm1d,
        InstanceNorm2d,
        InstanceNorm3d,
        LayerNorm,
        LocalResponseNorm,
        RMSNorm,
    )
    from texpr.nn.modules.padding import (
        CircularPad1d,
        CircularPad2d,
        CircularPad3d,
        ConstantPad1d,
        ConstantPad2d,
        ConstantPad3d,
        ReflectionPad1d,
        ReflectionPad2d,
        ReflectionPad3d,
        ReplicationPad1d,
        ReplicationPad2d,
        ReplicationPad3d,
        ZeroPad1d,
        ZeroPad2d,
        ZeroPad3d,
    )
    from texpr.nn.modules.pooling import (
        AdaptiveAvgPool1d,
        AdaptiveAvgPool2d,
        AdaptiveAvgPool3d,
        AdaptiveMaxPool1d,
        AdaptiveMaxPool2d,
        AdaptiveMaxPool3d,
        AvgPool1d,
        AvgPool2d,
        AvgPool3d,
        LPPool1d,
        LPPool2d,
        LPPool3d,
        MaxPool1d,
        MaxPool2d,
        MaxPool3d,
    )
    from texpr.nn.modules.rectifiers import (
        Hardshrink,
        Hardsigmoid,
        Hardswish,
        Hardtanh,
        LeakyReLU,
        PReLU,
        ReLU,
        ReLU6,
        RReLU,
        Softshrink,
        Threshold,
    )
    from texpr.nn.modules.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
    from texpr.nn.modules.resizing import (
        ChannelShuffle,
        PixelShuffle,
        PixelUnshuffle,
        Upsample,
        UpsamplingBilinear2d,
        UpsamplingNearest2d,
    )
    from texpr.nn.modules.synchronized import SyncBatchNorm
    from texpr.nn.modules.transformer import (
        Transformer,
        TransformerDecoder,
        TransformerDecoderLayer,
        TransformerEncoder,
        TransformerEncoderLayer,
    )
    from texpr.nn.modules.unpooling import MaxUnpool1d, MaxUnpool2d, MaxUnpool3d
    from texpr.nn.pretrained.hugging_face import load
    from texpr.nn.training import callbacks
    from texpr.nn.training.callbacks import Callback, EarlyStopping
    from texpr.nn.training.history import History
    from texpr.nn.training.precision import LossScale
    from texpr.nn.training.step import TrainingStep
    from texpr.nn.training.trainer import Trainer
    from texpr.nn.utils import parametrizations

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CELU",
    "CTCLoss",
    "Callback",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "EarlyStopping",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "History",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "Loss",
    "LossScale",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Metric",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNN",
    "RNNCell",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "SELU",
    "Seeded",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Trainer",
    "TrainingStep",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "callbacks",
    "data",
    "export",
    "functional",
    "init",
    "load",
    "manual_seed",
    "metrics",
    "optim",
    "parametrizations",
    "save",
    "sklearn",
    "summary",
    "utils",
]

_ABSENT = {
    **dict.fromkeys(
        ("DataParallel", "DistributedDataParallel", "parallel"), "nn.Trainer(comm=) trains on several ranks"
    ),
    "F": "write `from texpr.nn import functional as F`",
    **dict.fromkeys(("Checkpoint", "CSVLog", "TensorBoard"), "callbacks are in nn.callbacks"),
    "CrossMapLRN2d": "LocalResponseNorm is the same",
    "NLLLoss2d": "NLLLoss takes images too",
    "Container": "Module is the same",
    **dict.fromkeys(
        ("quantized", "qat", "quantizable", "intrinsic"),
        "model.half(), or precision='bf16' of a Trainer, compute in 16 bits",
    ),
    **dict.fromkeys((f"Lazy{name}" for name in __all__), "sizes are said where a module is made"),
    **dict.fromkeys(
        ("UninitializedParameter", "UninitializedBuffer"), "sizes are said where a module is made"
    ),
}

suggest_names(__name__, {**NETWORKS, **_ABSENT})
offer_late(__name__)
