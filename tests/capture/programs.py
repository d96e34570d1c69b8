"""Random programs captured against eager: two worlds of the same tensors, one where the program is
a compiled function, one where it is called as it is. After each call both have the same bits.

    python programs.py --count 1000 [--seed 1]

A program is a function of two tensors, indices, a number and a dict over some leaves, buffers and
results: views, writes in place, loops, hooks, dropout, no_grad, double backward, optimizers,
transforms, branches on values, exceptions, a second compiled function over the same leaves and one
that calls itself. Its arguments change in values, layouts and types; between calls the program
changes state; results are tuples, dicts or tensors with a graph, whose gradients are taken.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import textwrap
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight._base.pytree import tree_flatten
from rushlight._capture import run as runs
from rushlight._capture.run import Compiled, set_checks

F = nn.functional

SHAPES = [(), (1,), (3,), (2, 3), (3, 3), (2, 3, 4), (4, 1, 3), (3,), (3, 3), (0,), (0, 3), (2, 0)]
KINDS = ["float32", "float32", "float64", "float64", "complex64", "bfloat16", "float16"]

# {a}, {b}: values that there are; {c}: one that is made; {w}: a leaf; {u}: a buffer; {s}: a
# statement. i: indices; n: a number; how: a dict. What ends a capture has a ~ and is rare.
STATEMENTS = (
    """
{c} = {a} + {b}
{c} = {a} * {b}
{c} = {a} / 2 - {b}
{c} = {a} * {b} + {a} * 0.5
{c} = {a}.sin() * {b}
{c} = ({a} * {a}).tanh()
{c} = {a}.exp()
{c} = F.gelu({a})
{c} = F.relu({a} - 0.1)
{c} = F.softmax({a}, -1)
{c} = F.layer_norm({a}, {a}.shape[-1:])
{c} = {a}.sigmoid() * {w}
{c} = {a}.sum()
{c} = {a}.mean(0)
{c} = {a}.sum(-1, keepdim=True)
{c} = {a}.var(-1)
{c} = {a}.norm()
{c} = {a}.prod(-1)
{c} = {a}.cumsum(0)
{c} = {a}.max(-1)[0]
{c} = {a}.sort(-1)[0]
{c} = {a}.logsumexp(-1)
{c} = {a}[0]
{c} = {a}[..., :1]
{c} = {a}[None]
{c} = {a}[[0, -1]]
{c} = {a}.view(-1)
{c} = {a}.reshape(-1, 1)
{c} = {a}.t()
{c} = {a}.transpose(0, -1)
{c} = {a}[:1].expand(3, *{a}.shape[1:])
{c} = {a}.unbind()[0]
{c} = {a}.chunk(2)[-1]
{c} = {a}.diagonal()
{c} = {a}.flip(0)
{c} = {a}.roll(1)
{c} = {a}.detach()
{c} = {a}.clone()
{c} = {a}.to(torch.float64)
{c} = {a}.to(torch.float32)
{c} = {a}.contiguous()
{c} = {a}.conj() * {b}
{c} = torch.view_as_real({a})
{c} = torch.cat([{a}, {b}])[:9]
{c} = torch.stack([{a}, {b}, {a}])[1]
{c} = torch.where({a} > 0, {a}, {b})
{c} = torch.ones_like({a}) - {a}
{c} = torch.zeros(3) + {a}
{c} = torch.arange(3.0) * {a}
{c} = torch.tensor([1.0, 2.0, 3.0]) * {a}
{c} = torch.full_like({a}, 2.0) * {b}
{c} = {a} @ {b}
{c} = {a} @ {w}
{c} = F.linear({a}, {w})
{c} = F.linear({a}, {w}, {b})
{c} = F.dropout({a}, 0.5)
{c} = torch.randn_like({a}) * {a}
{c} = torch.rand(3) * {a}
{c} = {a} + torch.empty_like({a}).normal_()
{c} = {a}.gather(0, torch.zeros({a}.shape, dtype=torch.int64))
{c} = F.mse_loss({a}, {b})
{c} = {a}.clamp(-1, 1)
{c} = {a}.abs() ** 1.5
{c} = {a} ** 2
for _ in range(3): {c} = ({a} * {w}).tanh() + {b}
for i in range({a}.shape[0]): {c} = {a}[i] * (i + 1)
{a} = {a} * 1; {a}.add_({b})
{a} = {a} * 1; {a}.mul_(2)
{a} = {a} + 0; {a}.copy_({b})
{a} = {a} + 0; {a}.zero_()
{a} = {a} * 2; {a}[0] = 1
{a} = {a} * 2; {a}[0] = {b}
{a} = {a} * 2; {a}[..., 0].mul_(3)
{a} = {a} * 2; {a}.view(-1)[:1].add_(1)
{a} = {a} * 2; {a}.masked_fill_({a} > 1, 0)
{a} = {a} * 2; {a}.index_add_(0, torch.tensor([0]), {b})
{u}.add_(1)
{u}.mul_({a}.detach())
{u}.copy_({a})
{u}[0] = {a}.detach().sum()
with torch.no_grad(): {u}.lerp_({w}, 0.1)
with torch.no_grad(): {w}.mul_(0.9)
with torch.no_grad(): {c} = {a} * {w}
with torch.no_grad(): {w}.sub_({b})
{w}.grad = None
{w}.grad = {a}.detach().clone()
({a} * {w}).sum().backward()
({a}.sin() * {w}).mean().backward()
{a}.sum().backward(retain_graph=True)
torch.autograd.backward([({a} * {w}).sum(), ({b} * {w}).sum()])
{c} = torch.autograd.grad(({a} * {w}).sin().sum(), {w})[0]
{c} = torch.autograd.grad(({a} * {w}).sin().sum(), {w}, create_graph=True)[0]
g = grad(({a} * {w}).exp().sum(), {w}, create_graph=True)[0]; {c} = g * {b}; g.sum().backward()
{c} = torch.func.grad(lambda x: (x * {b}).sin().sum())({a})
{c} = torch.func.vmap(lambda x: x * 2 + {b})({a})
{c} = torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))({a})
{c} = torch.func.jvp(lambda x: x.sin() * {b}, ({a},), ({a},))[1]
{c} = torch.func.jacrev(lambda x: x.sin())({a}.reshape(-1)[:3])
{c} = torch.utils.checkpoint.checkpoint(lambda x, b: x.sin() * b, {a}, {b}, use_reentrant=False)
h = {a}.register_hook(lambda g: g * 2); ({a} * {w}).sum().backward(); h.remove()
h = {w}.register_hook(lambda g: g * 2); ({a} * {w}).sum().backward(); h.remove()
nn.utils.clip_grad_norm_([w0, w1, w2], 1.0)
opt.zero_grad(); ({a} * {w}).pow(2).mean().backward(); opt.step()
opt.step()
opt.zero_grad()
opt.zero_grad(set_to_none=False)
adam.zero_grad(); ({a} * {w}).pow(2).mean().backward(); adam.step()
{c} = net({a})
{c} = net({a}); opt.zero_grad(); {c}.pow(2).mean().backward()
{c} = {a} * n
{c} = {a} * how["scale"] + scale
{c} = getattr({a}, how["name"])()
{c} = {a}.sum(i.numel() - 2)
for t in range(int(n) + 1): {c} = {a} * (t + 1) + {b}
if {a}.sum() > 0: {s}
if {a}.sum() > 0.5: {c} = {a} * 2; {s}
if n > 1: {s}
if net.training: {s}
{u}.add_(1); {c} = table[i]
{u}.add_(1); {c} = F.embedding(i, table)
{c} = {w}[i % 2]
{c} = F.cross_entropy({a}.reshape(-1)[:2].expand(2, 2), i)
{u}.add_(1); {c} = torch.linalg.cholesky(torch.eye(2) * (1.5 - n))
{u}.mul_(2); {c} = torch.linalg.cholesky({a}.reshape(-1)[:1].expand(2).diag())
if n == 3: raise ValueError("n")
{w}.grad = None; ({a} * {w}).sum().backward(); {c} = {w}.grad
{c} = half({a})
{c} = half({a}) + half({b})
{c} = again({a}, 3)
{c} = again({a}, int(n))
{c} = Square.apply({a}) * {b}
(Square.apply({a}) * {w}).sum().backward()
{c} = torch.einsum("...i,...i->...", {a}, {b})
{c} = {a} @ {a}.mT
{c} = gru({a}.reshape(-1)[:3].expand(2, 1, 3))[0]
loss = gru({a}.reshape(-1)[:3].expand(2, 1, 3))[0].sum(); opt.zero_grad(); loss.backward(); opt.step()
with torch.autocast("cpu", dtype=torch.bfloat16): {c} = {a} @ {w}
with torch.enable_grad(): {c} = torch.autograd.grad(({a} * {w}).sum(), {w})[0]
{c} = torch.full((2,), float(n))
{c} = {a}.float() == {b}.float()
{c} = {a} > 0
{c} = {a}.to(torch.int64)
{c} = torch.where({a} > 0, {a}, 0)
{c} = {a} / {b}
{c} = {a}.sqrt()
{c} = {a}.log()
{c} = {a} // 1
{c} = torch.zeros_like({a})
{c} = torch.empty(0) + {a}
{c} = torch.cat([{a}, {b}], -1)
{c} = {a}.cumprod(-1)
{c} = {a}.argmax(-1)
{c} = {a}.topk(1)[0]
{c} = {a}.real
{c} = {a}.unfold(-1, 2, 1)
{c} = {a}.as_strided((2,), (0,))
{c} = {a}.T[..., ::2]
~{c} = torch.fft.fft({a}).abs()
{c} = F.pad({a}, (1, 1))
{c} = torch.linalg.norm({a})
{c} = torch.outer({a}.reshape(-1), {b}.reshape(-1))
{c} = {a}.requires_grad_() * 2
x0.add_(1)
x0[..., :1] = {b}
x1.mul_(x0)
x0, x1 = x1, x0
{c}, {a} = {a}, {b}
swap = {w}.detach().clone(); {w}.data.copy_({a}.detach()); {w}.data.copy_(swap)
{w}.data = {w}.data * 0.5
~store["x"] = {a}.detach()
{c} = store["x"] * {a}
{u}.zero_(); {u}.add_({a}.detach())
~torch.manual_seed(3); {c} = torch.randn_like({a})
{c} = torch.rand(2, generator=dice)
~lbfgs.step(lambda: (opt.zero_grad(), ({a} * w0).pow(2).sum())[1])
soft = [u.lerp_(w.detach(), 0.5) for w, u in zip((w0, w1), (u0, u1))]
torch._foreach_mul_([u0, u1], 0.5)
{c} = torch.func.functional_call(net, dict(net.named_parameters()), ({a},))
{c} = torch.func.hessian(lambda x: x.sin().sum())({a}.reshape(-1)[:2])
{c} = torch.func.vjp(lambda x: x * {b}, {a})[1]({a} * {b})[0]
{c} = torch.stack([p.detach().pow(2).sum() for p in net.parameters()]).sum()
net.zero_grad(); F.mse_loss(net({a}), torch.zeros(3)).backward(); nn.utils.clip_grad_value_(net.parameters(), 0.1)
h = {w}.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2)); ({a} * {w}).sum().backward(); h.remove()
h = net.register_forward_hook(lambda m, x, y: y * 2); {c} = net({a}); h.remove()
~{c} = {a}.sum().item() * {b}
~{c} = torch.tensor({a}.tolist())
{u}.add_(1); {c} = torch.bernoulli({a})
{u}.add_(1); {c} = torch.multinomial({a}.float().reshape(-1)[:2], 1)
{u}.add_(1); {c} = torch.poisson({a})
{u}.add_(1); {c} = torch.linalg.inv({a})
{u}.add_(1); {c} = torch.linalg.solve({a}, {b})
{u}.add_(1); {c} = torch.linalg.inv(torch.eye(2) * (2 - i))
{u}.add_(1); {c} = torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.eye(2) * (2 - i)), torch.ones(2, 1))
~{u}.add_(1); {c} = 7 // (2 - i)
~{u}.add_(1); {c} = 7 % (2 - i)
{u}.add_(1); {c} = F.one_hot(i, 2)
{u}.add_(1); {c} = torch.zeros(2, 2).scatter(1, i[:, None], 1.0)
{u}.add_(1); {c} = torch.take({a}, i)
{u}.add_(1); {u}.view(-1).index_put_((i,), {u}.new_ones(()))
{u}.add_(1); {u}.index_fill_(0, i, 2)
{u}.add_(1); {u}.scatter_(0, i[:1], 1)
{u}.add_(1); {c} = F.embedding_bag(i[None], table)
{u}.add_(1); {c} = torch.bincount(i)
{u}.add_(1); {c} = F.ctc_loss(torch.zeros(3, 1, 2), i[None, 1:], (3,), (1,))
{u}.add_(1); {c} = {a}.norm()
{u}.add_(1); {c} = torch.histc({a}, 4)
{u}.add_(1); {c} = torch.unique({a})
{u}.add_(1); {c} = {a}.masked_select({a} > 0)
{u}.add_(1); {c} = torch.linalg.svdvals({a})
{c} = torch.linalg.eigh({a} @ {a}.mT)[0]
{c} = torch.linalg.det({a} @ {a}.mT)
{c} = torch.linalg.qr({a})[1]
{c} = torch.linalg.lstsq({a}, {b})[0]
try:\n    {c} = table[i]\nexcept IndexError:\n    {c} = {a} * 2
try:\n    {c} = torch.linalg.cholesky(torch.eye(2) * (1.5 - i))\nexcept RuntimeError:\n    {c} = {a} * 2
try:\n    {s}\nfinally:\n    {u}.add_(1)
for _ in range(2):\n    {s}\n    {s}
with torch.no_grad():\n    {s}\n    {s}
if {a}.sum() > 0:\n    {s}\nelse:\n    {s}
""".strip()
    .replace("\\n", "\x00")
    .splitlines()
)
STATEMENTS = [text.replace("\x00", "\n") for text in STATEMENTS]
STATEMENTS = [s.lstrip("~") for s in STATEMENTS for _ in range(1 if s.startswith("~") else 5)]

# What the program does between calls; what raises changes nothing, in both worlds.
EVENTS = """
opt.param_groups[0]["lr"] *= 0.5
adam.param_groups[0]["lr"] = 0.01
opt.param_groups[0]["momentum"] = 0.5
net.eval()
net.train()
net[1].p = 0.4
scale = 3.0
w0.grad = None
opt.zero_grad()
opt.zero_grad(set_to_none=False)
u0 = torch.ones_like(u0)
u1 = u0
u2 = u0.view(-1)
w1.data = w1.data.clone()
w1.data = w1.data.t()
w0.detach().mul_(0)
w0.requires_grad_(not w0.requires_grad)
w2.requires_grad_(False)
net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()})
net[0] = nn.Linear(3, 3)
net[2] = nn.ReLU()
opt = torch.optim.SGD([w0, w1], lr=0.2, momentum=0.9)
adam.load_state_dict(adam.state_dict())
w0.register_hook(lambda g: g * 2)
w1.grad = torch.ones_like(w1)
half(torch.ones(3))
half(x0)
table = table * 2
table.add_(1)
dice.manual_seed(1)
w0 = torch.ones(3, requires_grad=True)
net.float()
net.double()
store["x"] = torch.ones(3)
""".strip().splitlines()

LAYOUTS = """
plain plain plain plain plain plain plain plain transposed sliced expanded view same overlap leaf history buffer
weight zeros holes huge nan int64 bool inference
""".split()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


AGAIN = "def again(x, n):\n    return x * 2 if n < 1 else again(x.sin() + n, n - 1)\n"


class World:
    """The tensors of a program, from a seed."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        torch.manual_seed(seed)
        self.kind = getattr(torch, draw.choice(KINDS))
        self.shape = draw.choice(SHAPES)
        self.layout, self.turns = draw.choice(LAYOUTS), draw.random() < 0.2
        self.numbers = draw.choice([(2,), (1, 2), (1, 2, 3), (2, 2, 2, 3), (0.5, 2.0, 0.5)])
        self.names: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "grad": torch.autograd.grad}
        for i in range(3):
            w = torch.randn(draw.choice([self.shape, (3,), (3, 3)])).to(self.kind)
            self.names[f"w{i}"] = w.requires_grad_()
            self.names[f"u{i}"] = torch.randn(self.shape).to(self.kind)
        leaves = [self.names[f"w{i}"] for i in range(3)]
        net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.2), nn.Tanh(), nn.BatchNorm1d(3))
        gru = nn.GRU(3, 2)
        self.names["net"] = net.double() if self.kind is torch.float64 else net
        self.names["gru"] = gru.double() if self.kind is torch.float64 else gru
        parameters = [*leaves, *net.parameters(), *gru.parameters()]
        self.names["opt"] = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
        self.names["adam"] = torch.optim.Adam(leaves, lr=0.1)
        self.names["lbfgs"] = torch.optim.LBFGS(leaves[:1], max_iter=2)
        self.names |= {"scale": 1.5, "table": torch.randn(2, 3), "store": {"x": torch.ones(3)}}
        self.names |= {"Square": Square, "dice": torch.Generator()}

    def inputs(self, number: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call."""
        torch.manual_seed(1000 + number)
        x, y = torch.randn(2, *self.shape).to(self.kind).unbind()
        x, y = x.clone(), y.clone()
        layout = LAYOUTS[number] if self.turns and number > 3 else self.layout
        if layout == "transposed" and x.ndim:
            x, y = (t.transpose(0, -1).contiguous().transpose(0, -1) for t in (x, y))
        elif layout == "sliced" and x.ndim:
            x = torch.stack([x, y], -1)[..., 0]
        elif layout == "expanded" and x.ndim:
            x = x[:1].expand(x.shape)
        elif layout == "view":
            x = torch.stack([y, x])[1]
        elif layout == "same":
            y = x
        elif layout == "overlap" and x.ndim:
            both = torch.cat([x, y])
            x, y = both[: x.shape[0]], both[1 : x.shape[0] + 1]
        elif layout == "leaf":
            x = x.requires_grad_()
        elif layout == "history":
            x = x.requires_grad_() * 2
        elif layout in ("buffer", "weight"):
            y = self.names["u0"] if layout == "buffer" else self.names["w0"].detach()
        elif layout in ("zeros", "holes"):
            x = x * 0 if layout == "zeros" else torch.where(x.real > 0, x, torch.zeros_like(x))
        elif layout in ("huge", "nan"):
            x = x * (1, 1, 1, 1, 1e30 if layout == "huge" else float("nan"), 1)[number % 6]
        elif layout in ("int64", "bool"):
            x = x.real.mul(3).to(getattr(torch, layout))
        elif layout == "inference":
            with torch.inference_mode():
                x = x.clone()
        i = torch.tensor([0, (0, 1, 1, 0, 1, 2, 0)[number % 7]])
        n = self.numbers[number % len(self.numbers)]
        return (x, y, i), {"n": n, "how": {"scale": 2.0, "name": "tanh"}}

    def state(self) -> list[Any]:
        """Tensors with their versions and gradients, and random states."""
        names = self.names
        found = [names[f"{k}{i}"] for k in "wu" for i in range(3)]
        found += [names["table"], names["store"]["x"]]
        found += [t for m in (names["net"], names["gru"]) for t in (*m.parameters(), *m.buffers())]
        grads = [t.grad for t in found]
        of_opt = [v for o in ("opt", "adam") for s in names[o].state.values() for v in s.values()]
        versions = [None if t.is_inference() else t._version for t in found]
        dice = names["dice"].get_state().tolist()
        return [bits([found, grads, of_opt]), versions, dice, torch.get_rng_state().tolist()]


def bits(tree: Any) -> list[Any]:
    """The leaves of a tree, tensors as bytes with all that they show."""
    leaves, spec = tree_flatten(tree)
    return [str(spec), *map(_bits, leaves)]


def _bits(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return type(leaf), repr(leaf)
    plain = leaf.detach().resolve_conj().resolve_neg().contiguous().clone()
    # Of a dimension of one element any stride is the same.
    strides = [step for size, step in zip(leaf.shape, leaf.stride(), strict=True) if size > 1]
    kind = (leaf.dtype, tuple(leaf.shape), strides, leaf.requires_grad, leaf.is_leaf)
    return *kind, bytes(plain.untyped_storage().tolist())


def _lines(draw: random.Random, space: dict[str, Any], count: int) -> list[str]:
    """Statements that all run in a space, one after the other."""
    lines: list[str] = []
    for _ in range(count):
        text = draw.choice(STATEMENTS)
        while "{s}" in text:
            text = text.replace("{s}", draw.choice(STATEMENTS).replace("\n", "\n    "), 1)
        have = [n for n in space if n[0] == "x" and n[1:].isdigit()]
        for mark, value in (
            ("{a}", draw.choice(have)), ("{b}", draw.choice([*have, *have, "u0", "u1"])),
            ("{c}", f"x{draw.randrange(2, 8)}"), ("{w}", f"w{draw.randrange(3)}"),
            ("{u}", f"u{draw.randrange(3)}"),
        ):  # fmt: skip
            text = text.replace(mark, value)
        try:
            exec(text, space)
        except Exception:
            continue
        lines.append(text)
    return lines


def program(seed: int) -> str:
    """The text of functions whose statements all run, in a world that is then thrown away."""
    draw = random.Random(seed)
    world = World(seed)
    space = world.names
    (space["x0"], space["x1"], space["i"]), numbers = world.inputs(0)
    space |= {**numbers, "indices": torch.tensor([0, 1])}
    exec(AGAIN, space)
    short = textwrap.indent("\n".join(_lines(draw, space, draw.randint(1, 4))), "    ")
    half = (
        f"def half(x0, x1=None, i=indices, n=2, how={{}}):\n    x1 = x0\n{short}\n    return x0\n"
    )
    for made in [n for n in space if n[0] == "x" and n[1:].isdigit() and n not in ("x0", "x1")]:
        del space[made]
    space["half"] = lambda x: x * 2
    body = textwrap.indent("\n".join(_lines(draw, space, draw.randint(3, 14))), "    ")
    names = sorted(n for n in space if n[0] == "x" and n[1:].isdigit())
    given = ", ".join(f"{n}.detach().clone()" for n in names)
    made = draw.choice(
        [f"({given},)", f"({given},)", f"[{given}]", f"{{'loss': x0.detach(), 'rest': ({given},)}}",
         f"({', '.join(names)},)", f"{{'rest': ({', '.join(names)},)}}", "x0", "(x0.sum().item(), x1.detach())"]
    )  # fmt: skip
    return f"{half}\ndef step(x0, x1, i, *, n, how):\n{body}\n    return {made}\n"


def run(seed: int, calls: int = 9) -> tuple[str, str]:
    """("same", ""), ("eager", why) or ("wrong", what)."""
    text = program(seed)
    worlds = World(seed), World(seed)
    steps: list[Any] = []
    for world, compile_ in zip(worlds, (lambda f: f, Compiled), strict=True):
        names = world.names
        names |= {"indices": torch.tensor([0, 1])}
        exec(compile(AGAIN + text, f"<program {seed}>", "exec"), names)
        for name in ("again", "half", "step"):
            names[name] = compile_(names[name])
        steps.append(names["step"])
    draw = random.Random(seed)
    modes: list[Any] = [contextlib.nullcontext] * 7 + [torch.no_grad]
    modes += [lambda: torch.autocast("cpu", dtype=torch.bfloat16)]
    for number in range(calls):
        event = draw.choice(EVENTS) if number > 3 and draw.random() < 0.4 else "pass"
        mode = draw.choice(modes) if number > 3 else modes[0]
        results = [
            _called(w, step, number, event, mode) for w, step in zip(worlds, steps, strict=True)
        ]
        if results[0] != results[1]:
            what = different(results[0], results[1])
            return "wrong", f"call {number + 1} after {event!r}, {worlds[0].layout}\n{text}\n{what}"
    return ("same", "") if steps[1].variants else ("eager", steps[1].trouble or steps[1].why or "")


def _called(world: World, step: Any, number: int, event: str, mode: Any) -> list[Any]:
    """What a call and the gradients of its results leave, bit for bit."""
    seen: list[Any] = []
    args, kwargs = world.inputs(number)
    world.names["x0"] = args[0]
    result = None
    with contextlib.suppress(Exception):
        exec(event, world.names)
    try:
        with mode():
            result = step(*args, **kwargs)
        seen.append(bits(result))
    except Exception as error:
        seen.append(f"{type(error).__name__}: {error}"[:200])
    seen += [bits(args), world.state()]
    try:
        ends = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor) and t.grad_fn]
        if ends:
            sum((t.abs() * t.abs()).sum().double() for t in ends).backward()
        seen.append("")
    except Exception as error:
        seen.append(f"{type(error).__name__}: {error}"[:80])
    return [*seen, world.state()]


def different(a: Any, b: Any) -> str:
    """The first part in which two trees differ."""
    if type(a) is type(b) and isinstance(a, (list, tuple)) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y:
                return f"[{i}]{different(x, y)}"
    return f" {str(a)[:300]} and {str(b)[:300]}"


def main() -> Iterator[None]:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--check", action="store_true", help="compare each replay with an eager call"
    )
    options = parser.parse_args()
    set_checks(options.check)
    runs.LEAST = 0
    warnings.simplefilter("ignore")
    total: dict[str, int] = {}
    why: dict[str, int] = {}
    for seed in range(options.seed, options.seed + options.count):
        try:
            how, what = run(seed)
        except Exception:
            how, what = "error", traceback.format_exc()
        total[how] = total.get(how, 0) + 1
        if how == "eager":
            what = what.partition(" at ")[0]
            why[what] = why.get(what, 0) + 1
        elif how != "same":
            print(f"--- seed {seed}: {how}\n{what}", flush=True)
    print(total)
    for what, n in sorted(why.items(), key=lambda item: -item[1]):
        print(n, what)
    yield


if __name__ == "__main__":
    next(main())
