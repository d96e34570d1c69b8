"""Products and convolutions by the tiles of NVIDIA's GPUs, computed by the stand-in: for
each case how far the result is from NumPy's in float64, in units of the bound, and the kernels that
were started."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._devices import choices
from rushlight.ops.layers.there import convolution
from rushlight.ops.matrix.there import products

TILES = {"least_product": 0, "least_side": 1, "wide_groups": 1 << 30}
KINDS = {  # unit roundoffs: of the result, of sums, and of factors before they are multiplied
    "float32": (2**-24, 2**-24, 0.0),
    "float64": (2**-53, 2**-53, 0.0),
    "float16": (2**-11, 2**-24, 0.0),
    "bfloat16": (2**-8, 2**-24, 0.0),
    "tf32": (2**-24, 2**-24, 2**-11),
}
WAYS = ("nn", "nt", "tn", "tt")
SIZES = [(64, 64, 64), (63, 65, 33), (65, 63, 31), (1, 66, 40), (66, 1, 40), (70, 33, 1), (5, 3, 2)]
GEOMETRIES = {
    "plain": ((2, 17, 9, 10), (20, 17, 3, 3), {"padding": 1}),
    "strided": ((2, 34, 9, 11), (36, 17, 3, 2), {"padding": 1, "stride": 2, "groups": 2}),
    "spread": ((1, 16, 12, 11), (16, 16, 3, 3), {"padding": 2, "dilation": 2}),
    "single": ((3, 16, 7, 7), (16, 16, 1, 1), {}),
}
CONVOLUTIONS = [
    (kind, geometry)
    for kind in KINDS
    for geometry in GEOMETRIES
    if geometry == "strided" or kind not in ("float64", "float16")
]


def bound(kind, mass, want, terms):
    """How far a sum of products may be from `want`, in any order of its terms; mass: the sum of
    absolute values. Each of `terms` sums and of four operations after them rounds once. Tensor
    cores cut off, where others round: twice as much."""
    out, sums, factors = KINDS[kind]
    each = (terms + 4) * sums * (2 if kind in ("float16", "bfloat16", "tf32") else 1)
    least = 2**-24 if kind == "float16" else 0.0  # the distance of the smallest halves
    return (each * 1.01 + 2 * factors + factors**2) * mass + out * np.abs(want) * 1.01 + least


class Runner:
    """Computes on the stand-in what NumPy computes, and keeps the answers."""

    def __init__(self, started):
        self.started = started
        self.random, self.found = np.random.default_rng(3), {}

    def numbers(self, kind, *shape):
        """A tensor of the kind on the device, and its values in float64."""
        dtype = getattr(torch, "float32" if kind == "tf32" else kind)
        values = torch.tensor(self.random.standard_normal(shape)).to(dtype)
        return values.to("cuda"), values.double().numpy()

    def tell(self, name, kind, have, want, mass, terms):
        have = have.detach().cpu().double().numpy()
        assert have.shape == want.shape, (name, have.shape, want.shape)
        off, allowed = np.abs(have - want), bound(kind, mass, want, terms)
        far = np.divide(off, allowed, out=np.where(off == 0, 0.0, np.inf), where=allowed > 0)
        worst = float(np.nan_to_num(far, nan=np.inf).max(initial=0.0))
        self.found.setdefault(name, [0.0, []])
        self.found[name][0] = max(self.found[name][0], worst)
        self.found[name][1] += self.started
        self.started.clear()

    def product(self, name, kind, m, n, k, way="nn", lead=(), odd=0, **more):
        """A product of matrices that lie transposed where `way` says "t"; odd: other columns beside
        theirs, so that rows do not begin at multiples of 16 bytes. more: of addmm or baddbmm."""
        sides = []
        for (rows, columns), turned in zip(((m, k), (k, n)), way, strict=True):
            shape = (columns, rows + odd) if turned == "t" else (rows, columns + odd)
            tensor, values = self.numbers(kind, *lead, *shape)
            cut = (..., slice(odd, None))
            pair = tensor[cut], values[cut]
            if turned == "t":
                pair = pair[0].transpose(-1, -2), np.swapaxes(pair[1], -1, -2)
            sides.append(pair)
        (a, x), (b, y) = sides
        want, mass = x @ y, np.abs(x) @ np.abs(y)
        if not more:
            return self.tell(name, kind, a @ b, want, mass, k)
        bias, added = self.numbers(kind, *more.pop("bias"))
        if more["beta"] == 0:
            bias, added = bias * float("nan"), 0.0
        function = torch.baddbmm if lead else torch.addmm
        want = more["alpha"] * want + more["beta"] * added
        mass = abs(more["alpha"]) * mass + abs(more["beta"]) * np.abs(added)
        return self.tell(name, kind, function(bias, a, b, **more), want, mass, k)

    def products(self):
        for kind in KINDS:
            torch.set_float32_matmul_precision("high" if kind == "tf32" else "highest")
            for way in WAYS:
                for odd, sizes in ((0, SIZES), (1, SIZES[1:3])):
                    for m, n, k in sizes:
                        self.product(f"{kind} {way}", kind, m, n, k, way, odd=odd)
        torch.set_float32_matmul_precision("highest")
        for kind in ("float32", "bfloat16"):
            with choices.using(8, wide_groups=0):
                for m, n, k in ((128, 128, 64), (129, 127, 67)):
                    self.product(f"{kind} wide", kind, m, n, k)
            with choices.using(8, few_groups=12, least_terms=40):
                self.product(f"{kind} pieces", kind, 65, 64, 333, "nt")
                more = {"bias": (64,), "alpha": 0.5, "beta": -2.0}
                self.product(f"{kind} pieces added", kind, 65, 64, 333, "tn", **more)
            for beta, bias in ((0.5, (65,)), (2.0, (33, 1)), (0, (65,)), (1, (33, 65))):
                more = {"bias": bias, "alpha": -1.5, "beta": beta}
                self.product(f"{kind} added", kind, 33, 65, 40, **more)
            more = {"bias": (3, 33, 17), "alpha": 1.0, "beta": 1.0}
            self.product(f"{kind} stacks", kind, 33, 17, 40, "nt", lead=(3,), **more)
            self.product(f"{kind} stacks", kind, 33, 17, 40, "tn", lead=(2, 3))
            self.stacks(kind)

    def stacks(self, kind):
        """Stacks that are spread, and summed in gradients."""
        (a, x), (b, y) = self.numbers(kind, 3, 2, 33, 40), self.numbers(kind, 2, 40, 17)
        have, (g, seed) = a @ b.requires_grad_(), self.numbers(kind, 3, 2, 33, 17)
        name = f"{kind} spread"
        self.tell(name, kind, have, x @ y, np.abs(x) @ np.abs(y), 40)
        (found,) = torch.autograd.grad(have, b, g)
        want = np.einsum("pqmk,pqmn->qkn", x, seed)
        mass = np.einsum("pqmk,pqmn->qkn", np.abs(x), np.abs(seed))
        self.tell(name, kind, found, want, mass, 3 * 33)
        for shape in ((0, 5, 4), (5, 0, 4), (5, 4, 0)):
            self.product(f"{kind} empty", kind, *shape)

    def convolutions(self):
        function = torch.nn.functional.conv2d
        for kind, geometry in CONVOLUTIONS:
            of_x, of_w, more = GEOMETRIES[geometry]
            torch.set_float32_matmul_precision("high" if kind == "tf32" else "highest")
            for pieces in (1, 40):
                with choices.using(8, few_groups=pieces, least_terms=50):
                    self.convolution(f"{kind} {geometry}", kind, function, of_x, of_w, more)
        torch.set_float32_matmul_precision("highest")

    def convolution(self, name, kind, function, of_x, of_w, more):
        (x, a), (w, b) = self.numbers(kind, *of_x), self.numbers(kind, *of_w)
        bias, c = self.numbers(kind, of_w[0])
        have = function(x.requires_grad_(), w.requires_grad_(), bias, **more)
        g, seed = self.numbers(kind, *have.shape)
        grads = torch.autograd.grad(have, (x, w), g)
        exact, absolute = (convolved(f(a), f(b), f(seed), **more) for f in (np.positive, np.abs))
        spread = c[:, None, None]
        images, places = of_x[0], seed.shape[2] * seed.shape[3]
        terms = (b[0].size + 1, b[:, 0].size, images * places)
        wants = exact[0] + spread, *exact[1:]
        masses = absolute[0] + np.abs(spread), *absolute[1:]
        cases = zip((have, *grads), wants, masses, terms, strict=True)
        for part, (found, want, mass, count) in zip(("", " input", " weight"), cases, strict=True):
            self.tell(name + part, kind, found, want, mass, count)


def convolved(x, w, g, stride=1, padding=0, dilation=1, groups=1):
    """A convolution, and the gradients of input and weight, tap by tap."""
    n, channels, *size = x.shape
    padded = np.zeros((n, groups, channels // groups, *(s + 2 * padding for s in size)))
    inner = (..., *(slice(padding, padding + s) for s in size))
    padded[inner] = x.reshape(n, groups, -1, *size)
    kernels, seeds = w.reshape(groups, -1, *w.shape[1:]), g.reshape(n, groups, -1, *g.shape[2:])
    out, of_x, of_w = np.zeros(seeds.shape), np.zeros(padded.shape), np.zeros(kernels.shape)
    for i, j in np.ndindex(*w.shape[2:]):
        begins = i * dilation, j * dilation
        seen = (
            ...,
            *(
                slice(b, b + (count - 1) * stride + 1, stride)
                for b, count in zip(begins, g.shape[2:], strict=True)
            ),
        )
        out += np.einsum("ngchw,gkc->ngkhw", padded[seen], kernels[..., i, j])
        of_x[seen] += np.einsum("ngkhw,gkc->ngchw", seeds, kernels[..., i, j])
        of_w[..., i, j] = np.einsum("ngchw,ngkhw->gkc", padded[seen], seeds)
    return out.reshape(g.shape), of_x[inner].reshape(x.shape), of_w.reshape(w.shape)


def computed(what):
    """The answers of a Runner's "products" or "convolutions"."""
    started = []
    with pytest.MonkeyPatch.context() as patch, choices.using(8, **TILES):
        for module in (products, convolution):

            def start(file, name, *args, _start=module.start, **more):
                started.append(name)
                _start(file, name, *args, **more)

            patch.setattr(module, "start", start)
        runner = Runner(started)
        getattr(runner, what)()
    return runner.found
