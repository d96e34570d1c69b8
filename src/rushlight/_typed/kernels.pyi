"""The functions of the module `kernels`: native/bindings. Written by tools/public_stub.py."""

from collections.abc import Sequence
from os import PathLike
from types import NotImplementedType
from typing import Any, Protocol, TypeVar

from .._base.dtypes import dtype as _dtype
from .._core import Tensor, _Array

_T = TypeVar("_T", Tensor, _Array)

class Kernels(Protocol):
    isa: str
    def adam_step(
        self,
        params: Sequence[_T | None],
        grads: Sequence[_T | None],
        exp_avgs: Sequence[_T | None],
        exp_avg_sqs: Sequence[_T | None],
        max_exp_avg_sqs: Any,
        steps: Sequence[_T | None],
        lr: float,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float,
        amsgrad: bool,
        maximize: bool,
        decoupled: bool,
        /,
    ) -> NotImplementedType | None: ...
    def adaptive_avg_pool(self, x: _T, output_size: int | Sequence[int], /) -> _T: ...
    def adaptive_avg_pool_backward(self, g: _T, input_size: int | Sequence[int], /) -> _T: ...
    def adaptive_max_pool(self, x: _T, output_size: int | Sequence[int], /) -> tuple[_T, _T]: ...
    def addmm(self, bias: _T | None, a: _T, b: _T, alpha: float = 1, beta: float = 1, /) -> _T: ...
    def all(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def amax(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def amin(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def any(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def argmax(self, a: _T, dim: int | None = None, keepdim: bool = False, /) -> _T: ...
    def argmin(self, a: _T, dim: int | None = None, keepdim: bool = False, /) -> _T: ...
    def attention(
        self,
        query: _T,
        key: _T,
        value: _T,
        mask: _T | None,
        noise: _T | None,
        causal: bool,
        scale: float,
        /,
    ) -> tuple[_T, _T]: ...
    def attention_backward(
        self,
        g: _T,
        query: _T,
        key: _T,
        value: _T,
        mask: _T | None,
        noise: _T | None,
        causal: bool,
        scale: float,
        out: _T,
        lse: _T,
        needs: tuple[int, ...],
        /,
    ) -> tuple[_T | None, ...]: ...
    def avg_pool(
        self,
        x: _T,
        kernel: int | Sequence[int],
        stride: Any,
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor: int | None,
        /,
    ) -> _T: ...
    def avg_pool_backward(
        self,
        g: _T,
        x_shape: int | Sequence[int],
        kernel: int | Sequence[int],
        stride: Any,
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor: int | None,
        /,
    ) -> _T: ...
    def batch_norm(
        self,
        x: _T,
        weight: _T | None,
        bias: _T | None,
        running_mean: _T | None,
        running_var: _T | None,
        training: bool,
        momentum: float | None,
        eps: float,
        /,
    ) -> tuple[_T, _T, _T]: ...
    def batch_norm_backward(
        self,
        g: _T,
        x: _T,
        weight: _T | None,
        mean: _T,
        rstd: _T,
        training: bool,
        needs: tuple[int, ...],
        /,
    ) -> tuple[_T | None, ...]: ...
    def bernoulli_(self, generator: object, out: _T, p: float | _T, /) -> _T: ...
    def beta_gradient(self, a: _T, b: _T, x: _T, digammas: _T, /) -> _T: ...
    def binomial_numbers(self, generator: object, count: _T, p: _T, /) -> _T: ...
    def blas_available(self) -> bool: ...
    def cat(self, tensors: Sequence[_T], dim: Any, /) -> _T: ...
    def cat_backward(
        self, g: _T, dim: int, shapes: tuple[Sequence[int], ...], /
    ) -> tuple[_T, ...]: ...
    def cauchy_(self, generator: object, out: _T, median: float, sigma: float, /) -> _T: ...
    def clone(self, a: _T, memory_format: Any = None, /) -> _T: ...
    def convolution(
        self,
        x: _T,
        w: _T,
        bias: _T | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        /,
    ) -> _T: ...
    def convolution_input(
        self,
        g: _T,
        w: _T,
        bias: _T | None,
        x_shape: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        /,
    ) -> _T: ...
    def convolution_weight(
        self,
        g: _T,
        x: _T,
        w_shape: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        /,
    ) -> _T: ...
    def cross_entropy(
        self,
        logits: _T,
        target: _T,
        weight: _T | None,
        ignore_index: int,
        reduction: int,
        label_smoothing: float,
        /,
    ) -> tuple[_T, _T]: ...
    def cross_entropy_backward(
        self,
        g: _T,
        log_probabilities: _T,
        target: _T,
        weight: _T | None,
        ignore_index: int,
        reduction: int,
        label_smoothing: float,
        /,
    ) -> _T: ...
    def cumprod(self, a: _T, dim: int, /) -> _T: ...
    def cumsum(self, a: _T, dim: int, /) -> _T: ...
    def diagonal(self, a: _T, offset: int, dim1: int, dim2: int, /) -> _T: ...
    def diagonal_backward(
        self, g: _T, shape: int | Sequence[int], offset: int, dim1: int, dim2: int, /
    ) -> _T: ...
    def embedding(self, weight: _T, indices: _T, padding_idx: int, /) -> _T: ...
    def embedding_backward(self, g: _T, indices: _T, padding_idx: int, n: int, /) -> _T: ...
    def expand(self, a: _T, size: int | Sequence[int], implicit: bool = False, /) -> _T: ...
    def exponential_(self, generator: object, out: _T, rate: float, /) -> _T: ...
    def gamma_gradient(self, alpha: _T, x: _T, digamma: _T, /) -> _T: ...
    def gamma_numbers(self, generator: object, alpha: _T, /) -> _T: ...
    def gamma_numbers_single(self, generator: object, alpha: _T, /) -> _T: ...
    def gather(self, x: _T, dim: int, index: _T, sparse_grad: bool = False, /) -> _T: ...
    def gather_backward(self, g: _T, dim: int, index: _T, shape: int | Sequence[int], /) -> _T: ...
    def geometric_(self, generator: object, out: _T, p: float, /) -> _T: ...
    def group_norm(
        self, x: _T, groups: int, weight: _T | None, bias: _T | None, eps: float, /
    ) -> tuple[_T, _T, _T]: ...
    def group_norm_backward(
        self,
        g: _T,
        g1: Any,
        g2: Any,
        x: _T,
        groups: int,
        means: _T,
        rstds: _T,
        weight: _T | None,
        eps: float,
        needs: tuple[int, ...],
        /,
    ) -> tuple[_T | None, ...]: ...
    def gru_layer(
        self,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        b_ih: _T | None,
        b_hh: _T | None,
        reverse: bool,
        sizes: Sequence[int] | None,
        /,
    ) -> tuple[_T | None, ...]: ...
    def gru_layer_backward(
        self,
        g: _T | None,
        g_h_n: _T | None,
        g_c_n: _T | None,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        states: _T | None,
        saved: _T,
        reverse: bool,
        sizes: Sequence[int] | None,
        needs: tuple[int, ...],
        /,
    ) -> tuple[_T | None, ...]: ...
    def index_add(
        self, x: _T, dim: int, index: _T, source: _T, alpha: Any, /
    ) -> NotImplementedType | None: ...
    def index_backward(
        self, g: _T, index: _T, dims: tuple[int, ...], at: int, shape: int | Sequence[int], /
    ) -> _T: ...
    def index_get(self, x: _T, index: _T, dims: tuple[int, ...], at: int, /) -> _T: ...
    def index_put(
        self, x: _T, index: _T, dims: tuple[int, ...], at: int, values: _T, accumulate: bool, /
    ) -> NotImplementedType | None: ...
    def index_select(self, x: _T, dim: int, index: _T, /) -> _T: ...
    def largest_in_bags(self, rows: _T, bags: _T, kept: _T, n: int, /) -> _T: ...
    def layer_norm(
        self, x: _T, normalized: int, weight: _T | None, bias: _T | None, eps: float, /
    ) -> tuple[_T, _T, _T]: ...
    def layer_norm_backward(
        self,
        g: _T,
        x: _T,
        normalized: int,
        mean: _T,
        rstd: _T,
        weight: _T | None,
        needs: tuple[int, ...],
        eps: float | None = None,
        /,
    ) -> tuple[_T | None, ...]: ...
    def linear(self, x: _T, w: _T, bias: _T | None = None, /) -> _T: ...
    def linear_backward(
        self, g: _T, x: _T | None, w: _T | None, needs: tuple[int, ...], /
    ) -> tuple[_T | None, ...]: ...
    def linear_index(
        self, sizes: tuple[int, ...], tensors: list[_T], counts: tuple[int, ...], check: bool, /
    ) -> _T: ...
    def log_normal_(self, generator: object, out: _T, mean: float, std: float, /) -> _T: ...
    def log_softmax(self, a: _T, dim: int, dtype: Any = None, /) -> _T: ...
    def log_softmax_backward(self, g: _T, y: _T, dim: int, /) -> _T: ...
    def logsumexp(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def lstm_layer(
        self,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        b_ih: _T | None,
        b_hh: _T | None,
        reverse: bool,
        sizes: Sequence[int] | None,
        /,
    ) -> tuple[_T | None, ...]: ...
    def lstm_layer_backward(
        self,
        g: _T | None,
        g_h_n: _T | None,
        g_c_n: _T | None,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        states: _T | None,
        saved: _T,
        reverse: bool,
        sizes: Sequence[int] | None,
        needs: tuple[int, ...],
        /,
    ) -> tuple[_T | None, ...]: ...
    def matmul(self, a: _T, b: _T, /) -> _T: ...
    def matmul_backward(
        self, g: _T, a: _T | None, b: _T | None, needs: tuple[int, ...], /
    ) -> tuple[_T | None, ...]: ...
    def max_pool(
        self,
        x: _T,
        kernel: int | Sequence[int],
        stride: Any,
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        /,
    ) -> tuple[_T, _T]: ...
    def max_pool_backward(
        self, g: _T, indices: _T, x_shape: int | Sequence[int], kernel: int | Sequence[int], /
    ) -> _T: ...
    def mean(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def mean_backward(
        self, g: _T, shape: int | Sequence[int], dim: int | Sequence[int] | None, keepdim: bool, /
    ) -> _T: ...
    def mm(self, a: _T, b: _T, /) -> _T: ...
    def mse_loss(self, x: _T, y: _T, reduction: str, /) -> _T: ...
    def mse_loss_backward(
        self, g: _T, x: _T, y: _T, reduction: str, needs: tuple[int, ...], /
    ) -> tuple[_T | None, ...]: ...
    def multinomial(
        self, generator: object, weights: _T, samples: int, replacement: bool, /
    ) -> _T: ...
    def nll_loss(
        self,
        log_probabilities: _T,
        target: _T,
        weight: _T | None,
        ignore_index: int,
        reduction: int,
        /,
    ) -> _T: ...
    def nll_loss_backward(
        self,
        g: _T,
        log_probabilities: _T,
        target: _T,
        weight: _T | None,
        ignore_index: int,
        reduction: int,
        /,
    ) -> _T: ...
    def norm2(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def normal_(self, generator: object, out: _T, mean: float, std: float, /) -> _T: ...
    def permute(self, a: _T, dims: int | Sequence[int], /) -> _T: ...
    def permute_back(self, g: _T, dims: int | Sequence[int], /) -> _T: ...
    def poisson_numbers(self, generator: object, rate: _T, /) -> _T: ...
    def prod(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def randint_(self, generator: object, out: _T, low: int, high: int, /) -> _T: ...
    def random_(self, generator: object, out: _T, low: int | None = None, /) -> _T: ...
    def random_bits64(self, generator: object, /) -> int: ...
    def random_get_state(self, generator: object, /) -> bytes: ...
    def random_initial_seed(self, generator: object, /) -> int: ...
    def random_new(self, seed: int | None = None, /) -> object: ...
    def random_seed(self, generator: object, seed: int, /) -> NotImplementedType | None: ...
    def random_set_state(self, generator: object, state: Any, /) -> NotImplementedType | None: ...
    def randperm(self, generator: object, n: int, /) -> Tensor: ...
    def reshape(self, a: _T, shape: int | Sequence[int], /) -> _T: ...
    def rnn_relu_layer(
        self,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        b_ih: _T | None,
        b_hh: _T | None,
        reverse: bool,
        sizes: Sequence[int] | None,
        /,
    ) -> tuple[_T | None, ...]: ...
    def rnn_relu_layer_backward(
        self,
        g: _T | None,
        g_h_n: _T | None,
        g_c_n: _T | None,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        states: _T | None,
        saved: _T,
        reverse: bool,
        sizes: Sequence[int] | None,
        needs: tuple[int, ...],
        /,
    ) -> tuple[_T | None, ...]: ...
    def rnn_tanh_layer(
        self,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        b_ih: _T | None,
        b_hh: _T | None,
        reverse: bool,
        sizes: Sequence[int] | None,
        /,
    ) -> tuple[_T | None, ...]: ...
    def rnn_tanh_layer_backward(
        self,
        g: _T | None,
        g_h_n: _T | None,
        g_c_n: _T | None,
        input: _T,
        h0: _T,
        c0: _T | None,
        w_ih: _T,
        w_hh: _T,
        states: _T | None,
        saved: _T,
        reverse: bool,
        sizes: Sequence[int] | None,
        needs: tuple[int, ...],
        /,
    ) -> tuple[_T | None, ...]: ...
    def scale_(
        self, tensors: Sequence[_T | None], factor: float, /
    ) -> NotImplementedType | None: ...
    def scatter(
        self, x: _T, dim: int, index: _T, src: _T, mode: int, /
    ) -> NotImplementedType | None: ...
    def scatter_add(self, x: _T, dim: int, index: _T, src: _T, /) -> NotImplementedType | None: ...
    def scatter_set(self, x: _T, dim: int, index: _T, src: _T, /) -> NotImplementedType | None: ...
    def select(self, a: _T, dim: int, index: int, /) -> _T: ...
    def select_backward(self, g: _T, shape: int | Sequence[int], dim: int, index: int, /) -> _T: ...
    def set_blas_library(
        self, path: str | bytes | PathLike[str], /
    ) -> NotImplementedType | None: ...
    def set_winograd(self, tile: int, everywhere: bool = False, /) -> NotImplementedType | None: ...
    def sgd_step(
        self,
        params: Sequence[_T | None],
        grads: Sequence[_T | None],
        buffers: Any,
        lr: float,
        momentum: float,
        dampening: float,
        weight_decay: float,
        nesterov: bool,
        maximize: bool,
        /,
    ) -> NotImplementedType | None: ...
    def slice(
        self, a: _T, dim: int, start: int | None, end: int | None, step: int | None, /
    ) -> _T: ...
    def slice_backward(
        self,
        g: _T,
        shape: int | Sequence[int],
        dim: int,
        start: int | None,
        end: int | None,
        step: int | None,
        /,
    ) -> _T: ...
    def softmax(self, a: _T, dim: int, dtype: Any = None, /) -> _T: ...
    def softmax_backward(self, g: _T, y: _T, dim: int, /) -> _T: ...
    def sparse_coalesce(
        self, indices: _T, values: _T, sizes: int | Sequence[int], /
    ) -> tuple[_T, _T]: ...
    def sparse_dots(self, first: _T, second: _T | None, x: _T, y: _T, /) -> _T: ...
    def sparse_multiply(
        self,
        a_indices: _T,
        a_values: _T,
        b_indices: _T,
        b_values: _T,
        rows: int,
        inner: int,
        columns: int,
        /,
    ) -> tuple[_T, _T]: ...
    def sparse_product(
        self,
        first: _T,
        second: _T | None,
        values: _T,
        dense: _T,
        rows: int,
        columns: int,
        transposed: bool,
        /,
    ) -> _T: ...
    def sparse_rows(self, starts: _T, n: int, /) -> _T: ...
    def sparse_starts(self, rows: _T, count: int, /) -> _T: ...
    def sparse_to_dense(
        self, first: _T, second: _T | None, values: _T, sizes: int | Sequence[int], /
    ) -> _T: ...
    def split(self, a: _T, size_or_sizes: int | Sequence[int], dim: Any, /) -> tuple[_T, ...]: ...
    def spread(
        self, g: _T, shape: int | Sequence[int], dim: int | Sequence[int] | None, keepdim: bool, /
    ) -> _T: ...
    def squeeze(self, a: _T, dim: int | Sequence[int] | None = None, /) -> _T: ...
    def stack(self, tensors: Sequence[_T], dim: Any, /) -> _T: ...
    def storage_offset(self, a: _T, /) -> int: ...
    def strided(
        self,
        a: _T,
        size: int | Sequence[int],
        stride: int | Sequence[int],
        offset: int,
        implicit: bool = False,
        /,
    ) -> _T: ...
    def sum(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        /,
    ) -> _T: ...
    def sum_to(self, a: _T, shape: int | Sequence[int], /) -> _T: ...
    def t(self, a: _T, /) -> _T: ...
    def to_copy(self, a: _T, dtype: _dtype, /) -> _T: ...
    def total_norm2(self, tensors: Sequence[_T | None], /) -> _T: ...
    def transpose(self, a: _T, dim0: int, dim1: int, /) -> _T: ...
    def unbind(self, a: _T, dim: Any, /) -> tuple[_T, ...]: ...
    def unfold(self, a: _T, dim: int, size: int, step: int, /) -> _T: ...
    def uniform_(self, generator: object, out: _T, low: float, high: float, /) -> _T: ...
    def unsqueeze(self, a: _T, dim: int, /) -> _T: ...
    def var(
        self,
        a: _T,
        dims: int | Sequence[int] | None = None,
        correction: float = 1,
        keepdim: bool = False,
        /,
    ) -> _T: ...
    def view(self, a: _T, size: int | Sequence[int], /) -> _T: ...
    def viewable(self, a: _T, shape: int | Sequence[int], /) -> bool: ...
    def winograd(self) -> int: ...
