"""The layers and losses, in a file for each family, imported with the first name from the file.

Editors read __init__.pyi.
"""

from ..._base.missing import missing_name as _missing_name
from ..._base.missing import show_whole as _show_whole
from . import module as module
from .module import Module as Module

_DIMS = (1, 2, 3)
# The names in each file.
_FILES = {
    "_lazy_layers": "LazyLinear "
    + " ".join(
        f"Lazy{kind}{n}d"
        for kind in ("BatchNorm", "Conv", "ConvTranspose", "InstanceNorm")
        for n in _DIMS
    ),
    "padding": " ".join(
        f"{kind}Pad{n}d"
        for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
        for n in _DIMS
    ),
    "activation": """CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU
        LogSigmoid LogSoftmax Mish MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid
        Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold""",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm",
    "channelshuffle": "ChannelShuffle",
    "container": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "linear": "Bilinear Identity Linear",
    "loss": """BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss
        GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss
        MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d
        PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss
        TripletMarginWithDistanceLoss""",
    "linear_loss": "LinearCrossEntropyLoss LinearCrossEntropyOptions",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": """AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
        AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d
        FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d
        MaxUnpool2d MaxUnpool3d""",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": """Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
        TransformerEncoderLayer""",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
LATE = {name: file for file, names in _FILES.items() for name in [file, *names.split()]}
LATE["lazy"] = "lazy"

__all__ = sorted(["Module", *" ".join(_FILES.values()).split()])

__getattr__ = _missing_name(__name__, late=LATE)
_show_whole(__name__)
