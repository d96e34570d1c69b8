"""The named inputs that the comparison tables use.

A name stands for one NumPy array, the same in every case and every run: the values come from a
generator seeded with the name. `TYPED` inputs take the dtype that the case is swept over; `FIXED`
inputs have their own. `build(library, name, dtype)` makes the tensor through `from_numpy`.
"""

import zlib

import ml_dtypes
import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
ALL = (*FLOATS, *COMPLEX, *INTS, "bool")

SHAPES = {
    "x": (3, 4), "y": (3, 4), "z": (3, 4), "v": (4,), "u": (4,), "w": (3,), "s": (), "s2": (),
    "r": (1, 4), "c": (3, 1), "e": (0, 4), "e0": (0,), "m": (4, 5), "n": (4, 3), "sq": (4, 4),
    "sq2": (4, 4), "b3": (2, 3, 4), "b3b": (2, 3, 4), "b4": (2, 4, 5), "h4": (2, 3, 4, 5),
    "one": (1,), "v6": (6,), "line": (50,), "wide": (7, 130), "x43": (4, 3), "x5": (5, 4),
    "im": (1, 2, 8, 8), "sig": (1, 2, 8), "vol": (1, 2, 4, 4, 4), "k1": (3, 2, 3),
    "k2": (3, 2, 3, 3), "k2t": (2, 3, 3, 3), "k3": (3, 2, 2, 2, 2), "kg": (4, 1, 3, 3),
    "w54": (5, 4), "w5": (5,), "b1": (1, 3, 1, 4),
}  # fmt: skip

# Inputs with a domain of their own, as (shape, maker).
DOMAINS = {
    "p": (3, 4), "q": (3, 4), "unit": (3, 4), "nz": (3, 4), "nzv": (4,), "small": (3, 4),
    "ties": (3, 4), "tiesv": (9,), "special": (12,), "prob": (3, 4), "nc": (3, 4), "step": (3, 4),
    "spd": (4, 4), "tri": (4, 4), "inc": (6,), "zeros34": (3, 4), "prod1": (3, 4),
}  # fmt: skip

FIXED = {
    "idx": np.array([0, 2]),
    "idx2": np.array([[2, 0], [1, 1]]),
    "idx4": np.array([2, 0, 1, 1]),
    "neg": np.array([-1, 0]),
    "gi": np.array([[0, 1, 2, 0], [2, 0, 1, 1]]),
    "gj": np.array([[0, 3], [1, 1], [2, 0]]),
    "cls": np.array([1, 0, 3]),
    "cls2": np.array([[1, 0, 3, 2], [0, 0, 1, 2]]),
    "ids": np.array([[0, 2, 1], [1, 1, 2]]),
    "msk": np.array([[1, 0, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0]], dtype=bool),
    "msk2": np.array([[0, 0, 1, 1], [1, 0, 1, 0], [1, 1, 1, 0]], dtype=bool),
    "mskr": np.array([True, False, True]),
    "mskv": np.array([True, False, True, True]),
    "none34": np.zeros((3, 4), dtype=bool),
    "noidx": np.array([], dtype=np.int64),
    "i3": np.array([3, 1, 2]),
    "u3": np.array([3, 1, 2], dtype=np.uint8),
    "small_i": np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 1, 2, 2]]),
}

# One 3x4 and one 0-dim input of every dtype, for the promotion tables: `m_int8`, `s_float16`...
TYPES = ALL


def _rng(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def _plain(name: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = _rng(name)
    if dtype in COMPLEX:
        return rng.normal(size=shape) * 2 + 1j * rng.normal(size=shape)
    if dtype in FLOATS:
        return rng.normal(size=shape) * 2
    if dtype == "bool":
        return rng.integers(0, 2, size=shape).astype(bool)
    if dtype == "uint8":
        return rng.integers(0, 20, size=shape)
    return rng.integers(-9, 10, size=shape)


def _domain(name: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = _rng(name)
    is_float = dtype in FLOATS or dtype in COMPLEX
    if name in ("p", "q", "prod1"):
        return rng.uniform(0.3, 3.0, shape) if is_float else rng.integers(1, 6, shape)
    if name in ("unit",):
        return rng.uniform(-0.95, 0.95, shape) if is_float else rng.integers(0, 2, shape)
    if name == "prob":
        return rng.uniform(0.05, 0.95, shape) if is_float else rng.integers(0, 2, shape)
    if name in ("nz", "nzv"):
        signs = 1 if dtype in ("uint8", "bool") else rng.choice([-1, 1], shape)
        base = rng.uniform(0.5, 3.0, shape) if is_float else rng.integers(1, 7, shape)
        return base * signs
    if name == "small":
        return rng.integers(0, 4, shape)
    if name in ("ties", "tiesv"):
        return rng.integers(0, 3, shape)
    if name == "special":
        if not is_float:
            return rng.integers(0, 2, shape)
        tiny, huge = (1e-4, 3e4) if dtype == "float16" else (1e-30, 1e30)
        values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, tiny, huge, -huge]
        return np.array(values)
    if name == "zeros34":
        return np.where(rng.integers(0, 2, shape) > 0, _plain("x", shape, dtype), 0)
    if name == "inc":
        return np.sort(rng.normal(size=shape)) if is_float else np.arange(6) % 2 * 0 + np.arange(6)
    if name == "spd":
        a = _plain(name, shape, dtype)
        return a @ a.conj().T + 4 * np.eye(4)
    if name == "tri":
        return np.tril(_plain(name, shape, dtype)) + 4 * np.eye(4)
    return _plain(name, shape, dtype)


def array(name: str, dtype: str) -> np.ndarray:
    """A fresh copy of the named input; bfloat16 values arrive as float32 that bfloat16 can hold."""
    if name in FIXED:
        return FIXED[name].copy()
    if name.startswith(("m_", "s_")) and name[2:] in TYPES:
        dtype = name[2:]
        values = _plain(name[:2] + "promo", (3, 4) if name[0] == "m" else (), dtype)
        values = np.where(values == 0, np.ones_like(values), values)
    elif name in SHAPES:
        values = _plain(name, SHAPES[name], dtype)
    else:
        values = _domain(name, DOMAINS[name], dtype)
    values = np.asarray(values)
    if dtype == "bfloat16":
        return values.astype(ml_dtypes.bfloat16).astype(np.float32)
    values = values.astype(dtype)
    if name == "nc":
        return np.asfortranarray(values)
    if name == "step":
        spaced = np.zeros((3, 8), dtype)
        spaced[:, ::2] = values
        return spaced[:, ::2]
    return values


def known(name: str) -> bool:
    """Whether `name` is an input at all."""
    return (
        name in SHAPES
        or name in DOMAINS
        or name in FIXED
        or (name.startswith(("m_", "s_")) and name[2:] in TYPES)
    )


def is_typed(name: str) -> bool:
    """Whether the input follows the dtype of the sweep."""
    return name in SHAPES or name in DOMAINS


def build(library, name: str, dtype: str):
    """The named input as a tensor of `library`."""
    if name.startswith(("m_", "s_")) and name[2:] in TYPES:
        dtype = name[2:]
    tensor = library.from_numpy(array(name, dtype))
    if dtype == "bfloat16" and name not in FIXED:
        tensor = tensor.to(library.bfloat16)
    return tensor
