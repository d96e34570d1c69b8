"""torch.backends.cuda: its switches. Those of products hold on devices of CUDA's driver; the others
are kept, and without effect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .._base.missing import missing_name as _missing_name


class _Matmul:
    """How products may be computed; allow_tf32: float32 numbers with 10 bits of their fractions."""

    precision = "highest"
    """torch.get_float32_matmul_precision()."""

    @property
    def allow_tf32(self) -> bool:
        return self.precision != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        self.precision = "high" if allowed else "highest"

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul: _Matmul = _Matmul()


def is_built() -> bool:
    """False: CUDA is not here.

    >>> torch.backends.cuda.is_built() and torch.cuda.is_available()
    False
    """
    return False


# Which implementations of attention may be used: noted, without effect.
_allowed = dict.fromkeys(("flash", "math", "mem_efficient", "cudnn", "fp16_bf16_math"), True)
_allowed["fp16_bf16_math"] = False


def _pair(
    key: str, question: str, setter: str
) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """A question and its switch."""

    def enabled() -> bool:
        return _allowed[key]

    def enable(enabled: bool) -> None:
        _allowed[key] = enabled

    enabled.__name__ = enabled.__qualname__ = question
    enable.__name__ = enable.__qualname__ = setter
    enabled.__doc__ = f"""Whether this implementation of attention may be used; it has no effect.

    >>> torch.backends.cuda.{question}()
    {_allowed[key]}
    """
    enable.__doc__ = f"""Say whether this implementation of attention may be used; it has no effect.

    >>> torch.backends.cuda.{setter}({_allowed[key]})
    >>> torch.backends.cuda.{question}()
    {_allowed[key]}
    """
    return enabled, enable


flash_sdp_enabled: Callable[[], bool]
enable_flash_sdp: Callable[[bool], None]
math_sdp_enabled: Callable[[], bool]
enable_math_sdp: Callable[[bool], None]
mem_efficient_sdp_enabled: Callable[[], bool]
enable_mem_efficient_sdp: Callable[[bool], None]
cudnn_sdp_enabled: Callable[[], bool]
enable_cudnn_sdp: Callable[[bool], None]
fp16_bf16_reduction_math_sdp_allowed: Callable[[], bool]
allow_fp16_bf16_reduction_math_sdp: Callable[[bool], None]
flash_sdp_enabled, enable_flash_sdp = _pair("flash", "flash_sdp_enabled", "enable_flash_sdp")
math_sdp_enabled, enable_math_sdp = _pair("math", "math_sdp_enabled", "enable_math_sdp")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _pair(
    "mem_efficient", "mem_efficient_sdp_enabled", "enable_mem_efficient_sdp"
)
cudnn_sdp_enabled, enable_cudnn_sdp = _pair("cudnn", "cudnn_sdp_enabled", "enable_cudnn_sdp")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = _pair(
    "fp16_bf16_math",
    "fp16_bf16_reduction_math_sdp_allowed",
    "allow_fp16_bf16_reduction_math_sdp",
)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """A block that may use these implementations of attention; the values are the same.

    >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    """
    before = dict(_allowed)
    asked = (enable_flash, enable_math, enable_mem_efficient, enable_cudnn)
    _allowed.update(zip(("flash", "math", "mem_efficient", "cudnn"), asked, strict=True))
    try:
        yield
    finally:
        _allowed.update(before)


def is_flash_attention_available() -> bool:
    """False: CUDA is not here.

    >>> torch.backends.cuda.is_flash_attention_available() and torch.cuda.is_available()
    False
    """
    return False


__getattr__ = _missing_name(__name__)
