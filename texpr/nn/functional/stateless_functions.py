"""Functions of modules without parameters: activations, pooling, losses, dropout."""

from __future__ import annotations

from texpr.nn.functional.module_function import ModuleFunction
from texpr.nn.losses.classification import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    NLLLoss,
)
from texpr.nn.losses.regression import (
    CosineEmbeddingLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from texpr.nn.losses.sequence import CTCLoss
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
from texpr.nn.modules.along_axis import GLU, LogSoftmax, Softmax, Softmin
from texpr.nn.modules.convolution import Fold, Unfold
from texpr.nn.modules.distance import CosineSimilarity, PairwiseDistance
from texpr.nn.modules.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from texpr.nn.modules.normalization import LocalResponseNorm
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
    ReLU,
    ReLU6,
    RReLU,
    Softshrink,
    Threshold,
)
from texpr.nn.modules.resizing import ChannelShuffle, PixelShuffle, PixelUnshuffle, Upsample
from texpr.nn.modules.unpooling import MaxUnpool1d, MaxUnpool2d, MaxUnpool3d

relu = ModuleFunction("relu", ReLU)
relu6 = ModuleFunction("relu6", ReLU6)
elu = ModuleFunction("elu", ELU)
selu = ModuleFunction("selu", SELU)
celu = ModuleFunction("celu", CELU)
leaky_relu = ModuleFunction("leaky_relu", LeakyReLU)
glu = ModuleFunction("glu", GLU)
gelu = ModuleFunction("gelu", GELU)
logsigmoid = ModuleFunction("logsigmoid", LogSigmoid)
hardshrink = ModuleFunction("hardshrink", Hardshrink)
tanhshrink = ModuleFunction("tanhshrink", Tanhshrink)
softsign = ModuleFunction("softsign", Softsign)
softplus = ModuleFunction("softplus", Softplus)
softmin = ModuleFunction("softmin", Softmin)
softmax = ModuleFunction("softmax", Softmax)
softshrink = ModuleFunction("softshrink", Softshrink)
log_softmax = ModuleFunction("log_softmax", LogSoftmax)
tanh = ModuleFunction("tanh", Tanh)
sigmoid = ModuleFunction("sigmoid", Sigmoid)
hardsigmoid = ModuleFunction("hardsigmoid", Hardsigmoid)
hardswish = ModuleFunction("hardswish", Hardswish)
hardtanh = ModuleFunction("hardtanh", Hardtanh)
silu = ModuleFunction("silu", SiLU)
mish = ModuleFunction("mish", Mish)
threshold = ModuleFunction("threshold", Threshold)
local_response_norm = ModuleFunction("local_response_norm", LocalResponseNorm)
cosine_similarity = ModuleFunction("cosine_similarity", CosineSimilarity)
pairwise_distance = ModuleFunction("pairwise_distance", PairwiseDistance)
pixel_shuffle = ModuleFunction("pixel_shuffle", PixelShuffle)
pixel_unshuffle = ModuleFunction("pixel_unshuffle", PixelUnshuffle)
channel_shuffle = ModuleFunction("channel_shuffle", ChannelShuffle)
interpolate = ModuleFunction("interpolate", Upsample)
fold = ModuleFunction("fold", Fold)
unfold = ModuleFunction("unfold", Unfold)
avg_pool1d = ModuleFunction("avg_pool1d", AvgPool1d)
avg_pool2d = ModuleFunction("avg_pool2d", AvgPool2d)
avg_pool3d = ModuleFunction("avg_pool3d", AvgPool3d)
max_pool1d = ModuleFunction("max_pool1d", MaxPool1d)
max_pool2d = ModuleFunction("max_pool2d", MaxPool2d)
max_pool3d = ModuleFunction("max_pool3d", MaxPool3d)
lp_pool1d = ModuleFunction("lp_pool1d", LPPool1d)
lp_pool2d = ModuleFunction("lp_pool2d", LPPool2d)
lp_pool3d = ModuleFunction("lp_pool3d", LPPool3d)
adaptive_avg_pool1d = ModuleFunction("adaptive_avg_pool1d", AdaptiveAvgPool1d)
adaptive_avg_pool2d = ModuleFunction("adaptive_avg_pool2d", AdaptiveAvgPool2d)
adaptive_avg_pool3d = ModuleFunction("adaptive_avg_pool3d", AdaptiveAvgPool3d)
adaptive_max_pool1d = ModuleFunction("adaptive_max_pool1d", AdaptiveMaxPool1d)
adaptive_max_pool2d = ModuleFunction("adaptive_max_pool2d", AdaptiveMaxPool2d)
adaptive_max_pool3d = ModuleFunction("adaptive_max_pool3d", AdaptiveMaxPool3d)
max_unpool1d = ModuleFunction("max_unpool1d", MaxUnpool1d)
max_unpool2d = ModuleFunction("max_unpool2d", MaxUnpool2d)
max_unpool3d = ModuleFunction("max_unpool3d", MaxUnpool3d)
binary_cross_entropy = ModuleFunction("binary_cross_entropy", BCELoss)
binary_cross_entropy_with_logits = ModuleFunction("binary_cross_entropy_with_logits", BCEWithLogitsLoss)
cosine_embedding_loss = ModuleFunction("cosine_embedding_loss", CosineEmbeddingLoss)
cross_entropy = ModuleFunction("cross_entropy", CrossEntropyLoss)
ctc_loss = ModuleFunction("ctc_loss", CTCLoss)
gaussian_nll_loss = ModuleFunction("gaussian_nll_loss", GaussianNLLLoss)
hinge_embedding_loss = ModuleFunction("hinge_embedding_loss", HingeEmbeddingLoss)
huber_loss = ModuleFunction("huber_loss", HuberLoss)
kl_div = ModuleFunction("kl_div", KLDivLoss)
l1_loss = ModuleFunction("l1_loss", L1Loss)
margin_ranking_loss = ModuleFunction("margin_ranking_loss", MarginRankingLoss)
mse_loss = ModuleFunction("mse_loss", MSELoss)
multi_margin_loss = ModuleFunction("multi_margin_loss", MultiMarginLoss)
multilabel_margin_loss = ModuleFunction("multilabel_margin_loss", MultiLabelMarginLoss)
multilabel_soft_margin_loss = ModuleFunction("multilabel_soft_margin_loss", MultiLabelSoftMarginLoss)
nll_loss = ModuleFunction("nll_loss", NLLLoss)
poisson_nll_loss = ModuleFunction("poisson_nll_loss", PoissonNLLLoss)
smooth_l1_loss = ModuleFunction("smooth_l1_loss", SmoothL1Loss)
soft_margin_loss = ModuleFunction("soft_margin_loss", SoftMarginLoss)
triplet_margin_loss = ModuleFunction("triplet_margin_loss", TripletMarginLoss)
triplet_margin_with_distance_loss = ModuleFunction(
    "triplet_margin_with_distance_loss", TripletMarginWithDistanceLoss
)
dropout = ModuleFunction("dropout", Dropout, training=True)
dropout1d = ModuleFunction("dropout1d", Dropout1d, training=True)
dropout2d = ModuleFunction("dropout2d", Dropout2d, training=True)
dropout3d = ModuleFunction("dropout3d", Dropout3d, training=True)
alpha_dropout = ModuleFunction("alpha_dropout", AlphaDropout, training=False)
feature_alpha_dropout = ModuleFunction("feature_alpha_dropout", FeatureAlphaDropout, training=False)
rrelu = ModuleFunction("rrelu", RReLU, training=False)
