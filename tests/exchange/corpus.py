# ruff: noqa: E501  a case is a line
"""What is written and read in both directions: objects, each by an expression, and what to call.

A line is an expression of `torch`, `nn` and `F`, and behind `=>` what its object `o` gives. The
object is made from seed 0, and called from seed 1.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any

x3, x4, x5 = "torch.ones(2, 4, 6)", "torch.ones(2, 4, 6, 6)", "torch.ones(1, 4, 4, 4, 4)"

MODULES = f"""
nn.Identity() => o({x3})
nn.Linear(2, 3) => o(torch.ones(1, 2))
nn.Bilinear(2, 3, 2) => o(torch.ones(1, 2), torch.ones(1, 3))
nn.Flatten() => o({x3})
nn.Unflatten(1, (2, 2)) => o({x3})
nn.Conv1d(4, 2, 3, padding="same") => o({x3})
nn.Conv2d(4, 2, (3, 2), padding_mode="circular", padding=1, groups=2) => o({x4})
nn.Conv3d(4, 2, 2, bias=False) => o({x5})
nn.ConvTranspose1d(4, 2, 3) => o({x3})
nn.ConvTranspose2d(4, 2, 3, 2, output_padding=1) => o({x4})
nn.ConvTranspose3d(4, 2, 2) => o({x5})
nn.Unfold(2) => o({x4})
nn.Fold((3, 3), (2, 2)) => o(torch.ones(1, 8, 4))
nn.MaxPool1d(2) => o({x3})
nn.MaxPool2d(2, return_indices=True) => o({x4})[0]
nn.MaxPool3d(2) => o({x5})
nn.MaxUnpool1d(2) => o(torch.ones(1, 1, 2), torch.tensor([[[0, 2]]]))
nn.MaxUnpool2d(2) => o(torch.ones(1, 1, 1, 2), torch.tensor([[[[0, 2]]]]))
nn.MaxUnpool3d(2) => o(torch.ones(1, 1, 1, 1, 2), torch.tensor([[[[[0, 2]]]]]))
nn.AvgPool1d(2) => o({x3})
nn.AvgPool2d(2) => o({x4})
nn.AvgPool3d(2) => o({x5})
nn.FractionalMaxPool2d(2, output_ratio=0.5) => o({x4})
nn.FractionalMaxPool3d(2, output_size=2) => o({x5})
nn.LPPool1d(2, 2) => o({x3})
nn.LPPool2d(2, 2) => o({x4})
nn.LPPool3d(2, 2) => o({x5})
nn.AdaptiveMaxPool1d(2) => o({x3})
nn.AdaptiveMaxPool2d((2, None)) => o({x4})
nn.AdaptiveMaxPool3d(2) => o({x5})
nn.AdaptiveAvgPool1d(2) => o({x3})
nn.AdaptiveAvgPool2d((2, None)) => o({x4})
nn.AdaptiveAvgPool3d(2) => o({x5})
nn.ReflectionPad1d(1) => o({x3})
nn.ReflectionPad2d(1) => o({x4})
nn.ReflectionPad3d(1) => o({x5})
nn.ReplicationPad1d(1) => o({x3})
nn.ReplicationPad2d(1) => o({x4})
nn.ReplicationPad3d(1) => o({x5})
nn.ZeroPad1d(1) => o({x3})
nn.ZeroPad2d(1) => o({x4})
nn.ZeroPad3d(1) => o({x5})
nn.ConstantPad1d(1, 2.0) => o({x3})
nn.ConstantPad2d((1, 2, 0, 1), 2.0) => o({x4})
nn.ConstantPad3d(1, 2.0) => o({x5})
nn.CircularPad1d(1) => o({x3})
nn.CircularPad2d(1) => o({x4})
nn.CircularPad3d(1) => o({x5})
nn.ELU(0.5) => o({x3})
nn.Hardshrink() => o({x3})
nn.Hardsigmoid() => o({x3})
nn.Hardtanh(-2, 2) => o({x3})
nn.Hardswish(True) => o({x3})
nn.LeakyReLU(0.1) => o({x3})
nn.LogSigmoid() => o({x3})
nn.MultiheadAttention(4, 2) => o(torch.ones(2, 1, 4), torch.ones(2, 1, 4), torch.ones(2, 1, 4))
nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True, batch_first=True)
nn.PReLU(4) => o({x3})
nn.ReLU() => o({x3})
nn.ReLU6() => o({x3})
nn.RReLU() => o({x3})
nn.SELU() => o({x3})
nn.CELU() => o({x3})
nn.GELU("tanh") => o({x3})
nn.Sigmoid() => o({x3})
nn.SiLU() => o({x3})
nn.Mish() => o({x3})
nn.Softplus() => o({x3})
nn.Softshrink() => o({x3})
nn.Softsign() => o({x3})
nn.Tanh() => o({x3})
nn.Tanhshrink() => o({x3})
nn.Threshold(0.5, 2.0) => o({x3})
nn.GLU() => o({x3})
nn.Softmin(1) => o({x3})
nn.Softmax(1) => o({x3})
nn.Softmax2d() => o({x4})
nn.LogSoftmax(1) => o({x3})
nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4]) => o.log_prob(torch.ones(1, 4))
nn.BatchNorm1d(4) => o({x3})
nn.BatchNorm2d(4, affine=False) => o({x4})
nn.BatchNorm3d(4, track_running_stats=False) => o({x5})
nn.SyncBatchNorm(4)
nn.GroupNorm(2, 4) => o({x4})
nn.InstanceNorm1d(4) => o({x3})
nn.InstanceNorm2d(4, affine=True, track_running_stats=True) => o({x4})
nn.InstanceNorm3d(4) => o({x5})
nn.LayerNorm((4, 6)) => o({x3})
nn.LocalResponseNorm(2) => o({x4})
nn.CrossMapLRN2d(2) => o({x4})
nn.RMSNorm(6) => o({x3})
nn.RNN(3, 2, 2, nonlinearity="relu", bidirectional=True) => o(torch.ones(2, 1, 3))[0]
nn.LSTM(3, 2, proj_size=1, batch_first=True) => o(torch.ones(1, 2, 3))[0]
nn.GRU(3, 2, bias=False) => o(torch.ones(2, 1, 3))[0]
nn.RNNCell(3, 2) => o(torch.ones(1, 3))
nn.LSTMCell(3, 2) => o(torch.ones(1, 3))[1]
nn.GRUCell(3, 2) => o(torch.ones(1, 3))
nn.Transformer(4, 2, 1, 1, 4, 0.0) => o(torch.ones(2, 1, 4), torch.ones(2, 1, 4))
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4, 0.0), 2) => o(torch.ones(2, 1, 4))
nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 4, 0.0), 1)
nn.TransformerEncoderLayer(4, 2, 4, 0.0, activation="gelu") => o(torch.ones(2, 1, 4))
nn.TransformerEncoderLayer(4, 2, 4, 0.0, activation=torch.tanh) => o(torch.ones(2, 1, 4))
nn.TransformerDecoderLayer(4, 2, 4, 0.0, F.gelu) => o(torch.ones(2, 1, 4), torch.ones(2, 1, 4))
nn.Dropout(0.25) => o.eval()({x3})
nn.Dropout1d(0.25) => o.eval()({x3})
nn.Dropout2d(0.25) => o.eval()({x4})
nn.Dropout3d(0.25) => o.eval()({x5})
nn.AlphaDropout(0.25) => o.eval()({x3})
nn.FeatureAlphaDropout(0.25) => o.eval()({x3})
nn.Embedding(3, 2, padding_idx=0, max_norm=1.0) => o(torch.tensor([1, 0]))
nn.Embedding.from_pretrained(torch.ones(2, 2)) => o(torch.tensor([1, 0]))
nn.EmbeddingBag(3, 2, mode="max") => o(torch.tensor([[1, 0]]))
nn.CosineSimilarity() => o({x3}, {x3})
nn.PairwiseDistance() => o({x3}, {x3} * 2)
nn.L1Loss() => o({x3}, {x3} * 2)
nn.MSELoss(reduction="sum") => o({x3}, {x3} * 2)
nn.CrossEntropyLoss(torch.ones(4), label_smoothing=0.1) => o(torch.ones(2, 4), torch.tensor([1, 0]))
nn.LinearCrossEntropyLoss(4, 3) => o(torch.ones(2, 4), torch.tensor([1, 0]))
nn.CTCLoss()
nn.NLLLoss() => o(torch.ones(2, 4), torch.tensor([1, 0]))
nn.NLLLoss2d()
nn.PoissonNLLLoss() => o({x3}, {x3} * 2)
nn.GaussianNLLLoss() => o({x3}, {x3} * 2, {x3})
nn.KLDivLoss(reduction="batchmean") => o({x3}, {x3} * 2)
nn.BCELoss() => o({x3}, {x3})
nn.BCEWithLogitsLoss(pos_weight=torch.ones(6)) => o({x3}, {x3})
nn.MarginRankingLoss() => o(torch.ones(2), torch.ones(2), torch.ones(2))
nn.HingeEmbeddingLoss() => o({x3}, {x3})
nn.MultiLabelMarginLoss() => o(torch.ones(1, 4), torch.tensor([[1, 0, -1, 2]]))
nn.HuberLoss(delta=2.0) => o({x3}, {x3} * 2)
nn.SmoothL1Loss() => o({x3}, {x3} * 2)
nn.SoftMarginLoss() => o({x3}, {x3})
nn.MultiLabelSoftMarginLoss() => o(torch.ones(2, 4), torch.ones(2, 4))
nn.CosineEmbeddingLoss() => o(torch.ones(2, 4), torch.ones(2, 4), torch.ones(2))
nn.MultiMarginLoss() => o(torch.ones(2, 4), torch.tensor([1, 0]))
nn.TripletMarginLoss() => o({x3}, {x3}, {x3} * 2)
nn.TripletMarginWithDistanceLoss() => o({x3}, {x3}, {x3} * 2)
nn.TripletMarginWithDistanceLoss(distance_function=F.pairwise_distance)
nn.PixelShuffle(2) => o({x4})
nn.PixelUnshuffle(2) => o({x4})
nn.ChannelShuffle(2) => o({x4})
nn.Upsample(scale_factor=2, mode="bilinear") => o({x4})
nn.UpsamplingNearest2d(scale_factor=2) => o({x4})
nn.UpsamplingBilinear2d((3, 3)) => o({x4})
nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=True), nn.Linear(3, 1)) => o(torch.ones(1, 2))
nn.ModuleList([nn.ReLU(), nn.Linear(1, 1)]) => o[1](torch.ones(1, 1))
nn.ModuleDict({{"a": nn.ReLU(), "b": nn.Linear(1, 1)}}) => o["b"](torch.ones(1, 1))
nn.ParameterList([torch.ones(2), 3]) => o[0]
nn.ParameterDict({{"a": torch.ones(2), "b": 3}}) => o["a"]
nn.Container()
nn.Module()
nn.RNNBase("GRU", 2, 2)
nn.RNNCellBase(2, 2, True, 3)
nn.DataParallel(nn.Linear(1, 1)) => o(torch.ones(1, 1))
nn.LinearCrossEntropyOptions()
nn.LazyLinear(3)
nn.LazyConv1d(2, 3)
nn.LazyConv2d(2, 3)
nn.LazyConv3d(2, 3)
nn.LazyConvTranspose1d(2, 3)
nn.LazyConvTranspose2d(2, 3)
nn.LazyConvTranspose3d(2, 3)
nn.LazyBatchNorm1d()
nn.LazyBatchNorm2d()
nn.LazyBatchNorm3d()
nn.LazyInstanceNorm1d()
nn.LazyInstanceNorm2d()
nn.LazyInstanceNorm3d(affine=True)
after(nn.LazyLinear(3), lambda m: m(torch.ones(1, 2))) => o(torch.ones(1, 2))
nn.Sequential(nn.LazyConv2d(2, 3), nn.ReLU())
nn.utils.weight_norm(nn.Linear(2, 3)) => o(torch.ones(1, 2))
nn.utils.spectral_norm(nn.Linear(2, 3)) => o(torch.ones(1, 2))
nn.utils.prune.l1_unstructured(nn.Linear(2, 3), "weight", 2) => o(torch.ones(1, 2))
nn.utils.prune.random_structured(nn.Linear(2, 3), "weight", 1, dim=0) => o(torch.ones(1, 2))
nn.utils.prune.custom_from_mask(nn.Linear(2, 1), "bias", torch.ones(1)) => o(torch.ones(1, 2))
after(nn.Sequential(nn.Linear(2, 3)), prune_globally) => o(torch.ones(1, 2))
put(nn.Module(), f=torch.tanh) => o.f(torch.ones(2))
put(nn.Module(), f=F.gelu, g=F.softplus, h=F.relu) => o.f(torch.ones(2)) + o.g(torch.ones(2))
put(nn.Module(), f=torch.nn.functional.log_softmax, g=torch.einsum, h=torch.add)
put(nn.Module(), f=torch.Tensor.add, g=torch.special.expit, h=torch.fft.fft, i=torch.linalg.norm)
put(nn.Module(), f=nn.init.xavier_uniform_, g=torch.ones, h=torch.float32, i=torch.Tensor)
put(nn.Linear(1, 1), p=nn.Parameter(torch.ones(1)), dtype=torch.float16, device=torch.device("cpu"))
put(nn.Linear(1, 1), n=None, s="x", l=[1, (2.0, True)], d={{"a": {{1}}}}, t=torch.ones(2))
nn.Linear(2, 3).double().requires_grad_(False).eval() => o(torch.ones(1, 2).double())
nn.Linear(2, 3, dtype=torch.bfloat16)
nn.Linear(2, 3, device="meta")
after(nn.Linear(2, 2), lambda m: m(torch.ones(1, 2)).sum().backward()) => o(torch.ones(1, 2))
after(nn.Linear(1, 1), lambda m: m.register_buffer("b", torch.ones(1), persistent=False)) => o.b
after(nn.Linear(1, 1), lambda m: m.register_forward_hook(torch.nn.functional.relu))
after(nn.Linear(1, 1), lambda m: m.register_full_backward_pre_hook(torch.is_tensor))
after(nn.Linear(1, 1), lambda m: m.register_state_dict_pre_hook(torch.is_tensor))
after(nn.Linear(1, 1), lambda m: m.register_load_state_dict_post_hook(torch.is_tensor))
after(nn.Linear(1, 1), lambda m: m.register_parameter("none", None))
shared_weights() => o[1](torch.ones(1, 2))
torch.optim.swa_utils.AveragedModel(nn.Linear(1, 1))
torch.ao.quantization.QuantStub()
nn.Linear(2, 3).state_dict()
nn.BatchNorm1d(2).state_dict()
"""

# Their class is made by register_parametrization, and pickle cannot name it, in PyTorch either:
# their state goes.
STATES = """
nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)).state_dict()
nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3)).state_dict()
nn.utils.parametrizations.orthogonal(nn.Linear(2, 3)).state_dict()
list(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)).children())
list(nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3)).children())
"""

OPTIMIZERS = (
    "\n".join(
        f"trained(torch.optim.{call}) => step(o)"
        for call in (
            "SGD, lr=0.1",
            "SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1",
            "Adam",
            "Adam, amsgrad=True, lr=torch.tensor(0.1)",
            "Adam, capturable=False, maximize=True",
            "AdamW",
            "Adamax",
            "Adadelta",
            "Adagrad",
            "Adafactor",
            "ASGD",
            "NAdam, decoupled_weight_decay=True",
            "RAdam",
            "RMSprop, momentum=0.1, centered=True",
            "Rprop",
        )
    )
    + """
torch.optim.Muon([nn.Parameter(torch.ones(2, 2))]) => step(o)
torch.optim.SparseAdam([nn.Parameter(torch.ones(2, 2))])
torch.optim.SGD([{"params": [nn.Parameter(torch.ones(2))], "lr": 0.5}, {"params": [nn.Parameter(torch.ones(1))]}])
trained(torch.optim.Adam).state_dict()
trained(torch.optim.LBFGS, lr=0.1, max_iter=3).state_dict()
torch.optim.swa_utils.SWALR(trained(torch.optim.SGD), swa_lr=0.05)
"""
)

SCHEDULERS = (
    "\n".join(
        f"torch.optim.lr_scheduler.{call} => (o.step(1.0) if 'Plateau' in type(o).__name__ else o.step(), "
        "o.get_last_lr())[1]"
        for call in (
            "StepLR(trained(torch.optim.SGD), 2)",
            "MultiStepLR(trained(torch.optim.SGD), [2, 3])",
            "ConstantLR(trained(torch.optim.SGD))",
            "LinearLR(trained(torch.optim.SGD))",
            "ExponentialLR(trained(torch.optim.SGD), 0.5)",
            "PolynomialLR(trained(torch.optim.SGD))",
            "CosineAnnealingLR(trained(torch.optim.Adam), 5)",
            "CosineAnnealingWarmRestarts(trained(torch.optim.SGD), 5)",
            "ReduceLROnPlateau(trained(torch.optim.SGD))",
            "CyclicLR(trained(torch.optim.SGD), 0.1, 0.2, cycle_momentum=False)",
            "OneCycleLR(trained(torch.optim.Adam), 0.1, 5)",
            "ChainedScheduler([torch.optim.lr_scheduler.StepLR(trained(torch.optim.SGD), 2)])",
            "LambdaLR(trained(torch.optim.SGD), abs)",
            "MultiplicativeLR(trained(torch.optim.SGD), abs)",
        )
    )
    + """
sequential_schedule() => (o.step(), o.get_last_lr())[1]
torch.optim.lr_scheduler.StepLR(trained(torch.optim.SGD), 2).state_dict()
torch.optim.lr_scheduler.OneCycleLR(trained(torch.optim.SGD), 0.1, 5).state_dict()
"""
)

DATA = """
torch.utils.data.TensorDataset(torch.ones(3, 2), torch.arange(3)) => o[1][0]
torch.utils.data.ConcatDataset([[1, 2], [3]]) => o[2]
torch.utils.data.ChainDataset([[1, 2], [3]])
torch.utils.data.StackDataset(torch.ones(3), torch.zeros(3)) => o[1][1]
torch.utils.data.StackDataset(a=torch.ones(3)) => o[1]["a"]
torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.ones(3)), [2, 0]) => o[1][0]
torch.utils.data.random_split(range(4), [2, 2]) => list(o[0])
torch.utils.data.Dataset()
torch.utils.data.IterableDataset
torch.utils.data.Sampler()
torch.utils.data.SequentialSampler(range(3)) => list(o)
torch.utils.data.RandomSampler(range(3)) => list(o)
torch.utils.data.RandomSampler(range(3), generator=torch.Generator().manual_seed(3)) => list(o)
torch.utils.data.SubsetRandomSampler([3, 1, 2]) => list(o)
torch.utils.data.WeightedRandomSampler([0.5, 1.0], 3) => list(o)
torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(3)), 2, False) => list(o)
torch.utils.data.DistributedSampler(range(4), 2, 1) => list(o)
torch.utils.data.DataLoader(range(4), batch_size=2) => next(iter(o))
torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(3)), 2, shuffle=True) => next(iter(o))[0]
torch.utils.data.DataLoader([1, 2], collate_fn=list) => next(iter(o))
torch.utils.data.default_collate
torch.utils.data.dataloader.default_convert
torch.utils.data.datapipes.iter.IterableWrapper([1, 2]) => list(o)
torch.utils.data.datapipes.map.SequenceWrapper([1, 2]) => list(o)
"""

d, positive = "torch.distributions", "torch.tensor([0.5, 2.0])"
DISTRIBUTIONS = (
    "\n".join(
        f"{d}.{call} => o.sample()"
        for call in f"""
Bernoulli(torch.tensor([0.5, 0.2]))
Bernoulli(logits=torch.tensor([0.5, 0.2]))
Beta({positive}, {positive})
Binomial(3, torch.tensor([0.5, 0.2]))
Categorical(torch.tensor([0.5, 0.2]))
Cauchy(0.0, 1.0)
Chi2({positive})
ContinuousBernoulli(torch.tensor([0.5, 0.2]))
Dirichlet({positive})
Exponential({positive})
FisherSnedecor({positive}, {positive})
Gamma({positive}, {positive})
GeneralizedPareto(torch.zeros(2), {positive}, {positive})
Geometric(torch.tensor([0.5, 0.2]))
HalfCauchy({positive})
HalfNormal({positive})
Independent({d}.Normal(torch.zeros(2), 1.0), 1)
InverseGamma({positive}, {positive})
Kumaraswamy({positive}, {positive})
LKJCholesky(3, 1.5)
Laplace(0.0, {positive})
LogNormal(0.0, {positive})
LogisticNormal(torch.zeros(2), {positive})
LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
MixtureSameFamily({d}.Categorical(torch.ones(2)), {d}.Normal(torch.zeros(2), torch.ones(2)))
Multinomial(3, torch.tensor([0.5, 0.2]))
MultivariateNormal(torch.zeros(2), torch.eye(2))
NegativeBinomial(3, torch.tensor([0.5, 0.2]))
Normal(torch.zeros(2), torch.ones(2))
OneHotCategorical(torch.tensor([0.5, 0.2]))
OneHotCategoricalStraightThrough(torch.tensor([0.5, 0.2]))
Pareto(1.0, {positive})
Poisson({positive})
RelaxedBernoulli(torch.tensor(2.0), torch.tensor([0.5, 0.2]))
RelaxedOneHotCategorical(torch.tensor(2.0), torch.tensor([0.5, 0.2]))
StudentT({positive})
TransformedDistribution({d}.Normal(0.0, 1.0), [{d}.ExpTransform()])
Uniform(0.0, {positive})
VonMises(torch.zeros(2), {positive})
Weibull({positive}, {positive})
Wishart(torch.tensor(3.0), torch.eye(2))
""".split("\n")
        if call
    )
    + "\n"
    + "\n".join(
        f"{d}.{call} => o({positive})"
        for call in f"""
AbsTransform()
AffineTransform(1.0, 2.0)
CatTransform([{d}.ExpTransform(), {d}.AbsTransform()], lengths=[1, 1])
ComposeTransform([{d}.ExpTransform(), {d}.AbsTransform()])
CumulativeDistributionTransform({d}.Normal(0.0, 1.0))
ExpTransform()
IndependentTransform({d}.ExpTransform(), 1)
PowerTransform(torch.tensor(2.0))
ReshapeTransform((2,), (1, 2))
SigmoidTransform()
SoftmaxTransform()
SoftplusTransform()
StackTransform([{d}.ExpTransform(), {d}.AbsTransform()])
StickBreakingTransform()
TanhTransform()
""".split("\n")
        if call
    )
    + f"""
{d}.CorrCholeskyTransform() => o(torch.ones(3))
{d}.LowerCholeskyTransform() => o(torch.ones(2, 2))
{d}.PositiveDefiniteTransform() => o(torch.ones(2, 2))
{d}.Distribution(validate_args=False)
{d}.constraints.positive
{d}.constraints.real
{d}.constraints.simplex
{d}.constraints.interval(0.0, 1.0)
{d}.constraints.independent({d}.constraints.real, 1)
{d}.constraints.cat([{d}.constraints.real])
{d}.constraints.greater_than(0)
{d}.transforms.identity_transform
"""
)

dtypes = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 "
    "complex128 complex32 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()
TENSORS = (
    "\n".join(f"torch.tensor([0, 1, 2]).to(torch.{name})" for name in dtypes)
    + """
torch.tensor(2.5)
torch.empty(0, 3)
torch.ones(2, requires_grad=True)
torch.arange(6.0).view(2, 3).t()
torch.arange(6.0)[2:4]
torch.arange(6.0)[::2]
torch.ones(2, 1).expand(2, 3)
torch.tensor([1 + 2j]).conj()
torch.tensor([1 + 2j]).conj().imag
torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last)
torch.ones(2, device="meta")
put(torch.ones(2), tag="x")
[torch.ones(2)] * 2
(lambda t: [t, t[1:], t.view(1, 2)])(torch.ones(2))
nn.Parameter(torch.ones(2))
nn.Parameter(torch.ones(2), requires_grad=False)
put(nn.Parameter(torch.ones(2)), tag="x", other=torch.zeros(1))
nn.Parameter(torch.arange(4.0)[1:3])
nn.Buffer(torch.ones(2))
nn.UninitializedParameter()
nn.UninitializedBuffer(requires_grad=False)
torch.eye(2).to_sparse()
torch.eye(2).to_sparse().coalesce()
torch.eye(2).to_sparse_csr()
torch.eye(2).to_sparse_csc()
torch.eye(2).to_sparse_bsr((1, 1))
torch.eye(2).to_sparse_bsc((1, 1))
torch.Size([2, 3])
torch.Size([])
torch.ones(2, 3).shape
torch.device("cpu")
torch.device("cuda", 1)
torch.device("meta")
torch.strided
torch.sparse_coo
torch.per_tensor_affine
torch.Generator().manual_seed(3) => torch.rand(2, generator=o)
torch.get_rng_state()
torch.random.get_rng_state()
torch.ones(2).untyped_storage()
torch.ones(2).storage()
torch.FloatStorage([1.0, 2.0])
torch.ones(2, dtype=torch.int64)[1:].storage()
torch.Tensor
torch.nn.Linear
torch.FloatTensor
torch.LongTensor
torch.autograd.Function
torch.no_grad
torch.ones(2, 2).max(0)
torch.ones(2, 2).sort()
torch.ones(2, 2).min(0)
torch.ones(2, 2).topk(1)
torch.ones(2, 2).median(0)
torch.ones(2, 2).mode(0)
torch.arange(3.0).kthvalue(2)
torch.ones(2, 2).cummax(0)
torch.eye(2).slogdet()
torch.linalg.eigh(torch.eye(2))
torch.linalg.qr(torch.eye(2))
torch.linalg.slogdet(torch.eye(2))
torch.ones(2).frexp()
torch.ones(2).aminmax()
torch.nn.utils.rnn.pack_sequence([torch.ones(2, 1), torch.ones(1, 1)])
torch.nn.utils.rnn.PackedSequence(torch.ones(2, 1), torch.tensor([1, 1]))
torch.distributions.kl_divergence
torch.quasirandom.SobolEngine(2) => o.draw(2)
torch.quasirandom.SobolEngine(2, scramble=True, seed=2) => o.draw(2)
torch.Size
torch.dtype
torch.return_types.max
torch.amp.GradScaler(enabled=False)
torch.amp.GradScaler("cpu", init_scale=4.0) => o.scale(torch.ones(1))
after(torch.amp.GradScaler("cpu"), lambda s: s.scale(torch.ones(1))) => o.get_scale()
torch.autograd.profiler.record_function
torch.torch_version.TorchVersion("2.1")
torch.optim.lr_scheduler.LRScheduler
torch.utils.data.get_worker_info
{d: torch.zeros(1, dtype=d) for d in (torch.float32, torch.int64)}
{"set": {1, 2}, "frozen": frozenset([1]), "bytes": b"ab", "complex": 1j, "range": range(3), "none": None}
"""
)

LINES = [
    line
    for text in (MODULES, STATES, OPTIMIZERS, SCHEDULERS, DATA, DISTRIBUTIONS, TENSORS)
    for line in text.strip().splitlines()
]
CASES = {made: called for made, _, called in (line.partition(" => ") for line in LINES)}


def _namespace(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    importlib.import_module(f"{torch.__name__}.nn.utils.prune")

    def put(target: Any, **attributes: Any) -> Any:
        for name, value in attributes.items():
            setattr(target, name, value)
        return target

    def after(target: Any, act: Any) -> Any:
        act(target)
        return target

    def prune_globally(m: Any) -> None:
        nn.utils.prune.global_unstructured(
            [(m[0], "weight"), (m[0], "bias")], nn.utils.prune.L1Unstructured, amount=3
        )

    def shared_weights() -> Any:
        first, second = nn.Linear(2, 2), nn.Linear(2, 2)
        second.weight = first.weight
        return nn.Sequential(first, second)

    def step(optimizer: Any) -> Any:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]

        def closure() -> Any:
            optimizer.zero_grad()
            loss = sum((p**2).sum() for p in parameters)
            loss.backward()
            return loss

        optimizer.step(closure)
        return [p.detach().clone() for p in parameters]

    def trained(kind: Any, **options: Any) -> Any:
        optimizer = kind([nn.Parameter(torch.tensor([[1.0, 2.0]]))], **options)
        step(optimizer)
        return optimizer

    def sequential_schedule() -> Any:
        schedules, optimizer = torch.optim.lr_scheduler, trained(torch.optim.SGD)
        parts = [schedules.ConstantLR(optimizer), schedules.StepLR(optimizer, 1)]
        return schedules.SequentialLR(optimizer, parts, [2])

    return {**locals(), "F": nn.functional, "copy": copy}


def make(torch: Any, case: str) -> Any:
    """The object of a case."""
    torch.manual_seed(0)
    torch.utils.hooks.RemovableHandle.next_id = 0
    return eval(case, _namespace(torch))


def results(torch: Any, case: str, obj: Any) -> list[Any]:
    """What the case's object gives when it is called: numbers."""
    if not CASES[case]:
        return []
    torch.manual_seed(1)
    found = eval(CASES[case], _namespace(torch) | {"o": obj})
    return _numbers(torch, found)


def _numbers(torch: Any, found: Any) -> list[Any]:
    if isinstance(found, torch.Tensor):
        return found.detach().flatten().tolist()
    if isinstance(found, (list, tuple)):
        return [number for each in found for number in _numbers(torch, each)]
    return [found]
