"""`assert_close`: whether values are close, and in the error how far apart they are and where."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from .. import _root as rl
from .._base import dtypes
from .._base.errors import taking_pytorchs, warn
from .._base.outside import np, np_types
from .._core import Tensor

__all__ = ["assert_allclose", "assert_close"]

_Message: TypeAlias = str | Callable[[str], str] | None

# (rtol, atol) by type; 0 for the others.
_FLOAT32, _FLOAT64 = (1.3e-6, 1e-5), (1e-7, 1e-7)
_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: _FLOAT32,
    dtypes.float64: _FLOAT64,
    dtypes.complex64: _FLOAT32,
    dtypes.complex128: _FLOAT64,
}
_OF_PYTHON = {float: dtypes.float64, complex: dtypes.complex128, int: dtypes.int64}


class _Rules(NamedTuple):
    """The settings of a comparison of two values."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    msg: _Message
    what: str = "Tensor-likes"

    def tolerances(self, *types: Any) -> tuple[float, float]:
        """(rtol, atol): those given, or the largest that the types have."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(t, (0.0, 0.0)) for t in types]
        return max(r for r, _ in known), max(a for _, a in known)

    def fail(self, text: str, path: tuple[object, ...]) -> NoReturn:
        """Raise the error, with the place within containers and the caller's words."""
        if path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"
        if self.msg is not None:
            text = self.msg if isinstance(self.msg, str) else self.msg(text)
        raise AssertionError(text)


def assert_close(
    actual: object,
    expected: object,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: _Message = None,
) -> None:
    """Assert that |actual - expected| <= atol + rtol * |expected|, element by element.

    Tensors, arrays, numbers, and sequences and mappings of them. Without tolerances those of the
    types are used; integers and truth values must be equal.

    Raises AssertionError where they differ, ValueError for one tolerance without the other,
    TypeError for values that cannot be compared.

    >>> torch.testing.assert_close(torch.ones(2) / 3 * 3, torch.ones(2))
    >>> torch.testing.assert_close([1.0], [1.1])
    Traceback (most recent call last):
        ...
    AssertionError: Scalars are not close!...
    """
    if (rtol is None) is not (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        )
    rules = _Rules(
        *(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype),
        *(check_layout, check_stride, msg),
    )
    _compare(actual, expected, rules, ())


def _compare(actual: Any, expected: Any, rules: _Rules, path: tuple[object, ...]) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _compare_mappings(actual, expected, rules, path)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            rules.fail(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
            )
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, b, rules, (*path, i))
    elif actual is None or expected is None:
        if actual is not expected:
            rules.fail(f"None mismatch: {_plain(actual)} is not {_plain(expected)}", path)
    elif isinstance(actual, (bool, np_types.bool_)) and isinstance(
        expected, (bool, np_types.bool_)
    ):
        if bool(actual) is not bool(expected):
            rules.fail(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", path)
    elif isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
        types = [_OF_PYTHON.get(type(v)) for v in (actual, expected)]
        _compare_numbers(actual, expected, rules.tolerances(*types), rules, path)
    elif _like_tensor(actual) and _like_tensor(expected):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not (related if rules.allow_subclasses else type(actual) is type(expected)):
            _refuse(actual, expected)
        _compare_tensors(rl.as_tensor(actual), rl.as_tensor(expected), rules, path)
    else:
        _refuse(actual, expected)


def _refuse(actual: object, expected: object) -> NoReturn:
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}"
        f"{taking_pytorchs(actual) or taking_pytorchs(expected)}."
    )


def _plain(value: object) -> object:
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 else value


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _like_tensor(value: object) -> bool:
    return isinstance(value, (Tensor, np_types.ndarray, np_types.generic))


def _compare_mappings(
    actual: Mapping[object, object],
    expected: Mapping[object, object],
    rules: _Rules,
    path: tuple[object, ...],
) -> None:
    missing = [k for k in expected if k not in actual]
    additional = [k for k in actual if k not in expected]
    if missing or additional:
        rules.fail(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {_sorted(missing)}\n"
            f"Additional keys in the actual mapping: {_sorted(additional)}",
            path,
        )
    for key in _sorted(list(actual)):
        _compare(actual[key], expected[key], rules, (*path, key))


def _sorted(keys: list[object]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return keys


def _compare_tensors(
    actual: Tensor, expected: Tensor, rules: _Rules, path: tuple[object, ...]
) -> None:
    looked_at: list[tuple[str, object, object]] = [("shape", actual.shape, expected.shape)]
    if rules.check_layout:
        looked_at.append(("layout", actual.layout, expected.layout))
    if rules.check_device:
        looked_at.append(("device", actual.device, expected.device))
    if rules.check_dtype:
        looked_at.append(("dtype", actual.dtype, expected.dtype))
    if rules.check_stride:
        looked_at.append(("stride()", actual.stride(), expected.stride()))
    for name, a, b in looked_at:
        if a != b:
            rules.fail(f"The values for attribute '{name}' do not match: {a} != {b}.", path)
    sparse = str(actual.layout) != "torch.strided", str(expected.layout) != "torch.strided"
    if all(sparse) and actual.layout == expected.layout:
        _compare_sparse(actual, expected, rules, path)
        return
    if any(sparse):
        actual, expected = actual.to_dense(), expected.to_dense()
    rtol, atol = rules.tolerances(actual.dtype, expected.dtype)
    with rl.no_grad():
        actual, expected = actual.detach(), expected.detach()
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            kind = rl.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(kind), expected.to(kind)
        if actual.dtype is dtypes.bool:
            actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
        close = rl.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
        if bool(close.all()):
            return
        if actual.ndim == 0:
            _compare_numbers(actual.item(), expected.item(), (rtol, atol), rules, path)
        wrong = ~close
        count, total = int(wrong.sum()), actual.numel()
        mismatched = f"Mismatched elements: {count} / {total} ({count / total:.1%})"
        if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:  # it has no differences
            first = tuple(wrong.nonzero()[0].tolist())
            rules.fail(
                f"{rules.what} are not 'equal'!\n\n{mismatched}\n"
                f"The first mismatched element is at index {first}.",
                path,
            )
        absolute = (actual - expected).abs()
        relative = absolute / expected.abs()
        absolute, relative = (d.masked_fill(close, 0) for d in (absolute, relative))
    lines = [_title(rules.what, rtol, atol), "", mismatched]
    for name, difference, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        where = int(difference.flatten().argmax())
        index = tuple(int(i) for i in np.unravel_index(where, tuple(difference.shape)))
        value = difference.flatten()[where].item()
        shown = "" if not (rtol or atol) else f" (up to {allowed} allowed)"
        lines.append(f"Greatest {name} difference: {value} at index {index}{shown}")
    rules.fail("\n".join(lines), path)


_PARTS = {
    "coo": ("_indices", "_values"),
    "csr": ("crow_indices", "col_indices", "values"),
    "csc": ("ccol_indices", "row_indices", "values"),
}
_PARTS |= {"bsr": _PARTS["csr"], "bsc": _PARTS["csc"]}


def _compare_sparse(actual: Any, expected: Any, rules: _Rules, path: tuple[object, ...]) -> None:
    """Sparse tensors of one layout: as many values, the same indices, and close values."""
    kind = str(actual.layout).rpartition("_")[2]
    if kind == "coo" and actual.is_coalesced() != expected.is_coalesced():
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        rules.fail(
            f"The number of specified values in sparse {kind.upper()} tensors does not match: "
            f"{actual._nnz()} != {expected._nnz()}",
            path,
        )
    for part in _PARTS[kind]:
        name = part.lstrip("_")
        named = rules._replace(what=f"Sparse {kind.upper()} {name}")
        if name != "values":
            named = named._replace(rtol=0.0, atol=0.0)
        pair = getattr(actual.detach(), part)(), getattr(expected.detach(), part)()
        _compare_tensors(*pair, named, path)


def _title(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'close' if rtol or atol else 'equal'}!"


def _compare_numbers(
    actual: object,
    expected: Any,
    tolerances: tuple[float, float],
    rules: _Rules,
    path: tuple[object, ...],
) -> None:
    actual, expected = (
        v.item() if isinstance(v, np_types.number) else v for v in (actual, expected)
    )
    if rules.check_dtype and type(actual) is not type(expected):
        rules.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    rtol, atol = tolerances
    difference = abs(actual - expected)
    both_nan = actual != actual and expected != expected
    if actual == expected or (rules.equal_nan and both_nan):
        return
    if np.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    relative = difference / abs(expected) if expected else float("inf")
    shown = [f" (up to {t} allowed)" if rtol or atol else "" for t in (atol, rtol)]
    rules.fail(
        f"{_title('Scalars', rtol, atol)}\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{shown[0]}\nRelative difference: {relative}{shown[1]}",
        path,
    )


def assert_allclose(
    actual: object,
    expected: object,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: `assert_close` without a look at types and devices."""
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead. You can find detailed "
        "upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
    )
    if not isinstance(actual, Tensor):
        actual = rl.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = rl.tensor(expected, dtype=actual.dtype)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )
