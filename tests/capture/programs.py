"""Random programs captured against eager: two worlds of the same tensors, one where the program is
a compiled function, one where it is called as it is. After each call both have the same bits.

    python programs.py --count 1000 [--seed 1]

A program is a function of two inputs over some leaves, buffers and results: views, writes in place,
loops, hooks, dropout, no_grad, double backward, optimizers, transforms.
"""

from __future__ import annotations

import argparse
import random
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight._capture.run import Compiled, set_checks

F = nn.functional

SHAPES = [(), (1,), (3,), (2, 3), (3, 3), (2, 3, 4), (4, 1, 3)]
KINDS = ["float32", "float32", "float64", "float64", "complex64", "bfloat16", "float16"]

# {a}, {b}: values that there are; {c}: one that is made; {w}: a leaf; {u}: a buffer.
STATEMENTS = """
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
{c} = torch.utils.checkpoint.checkpoint(lambda x: x.sin() * {b}, {a}, use_reentrant=False)
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
""".strip().splitlines()


class World:
    """The tensors of a program, from a seed."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        torch.manual_seed(seed)
        self.kind = getattr(torch, draw.choice(KINDS))
        self.shape = draw.choice(SHAPES)
        self.names: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "grad": torch.autograd.grad}
        for i in range(3):
            w = torch.randn(draw.choice([self.shape, (3,), (3, 3)])).to(self.kind)
            self.names[f"w{i}"] = w.requires_grad_()
            self.names[f"u{i}"] = torch.randn(self.shape).to(self.kind)
        leaves = [self.names[f"w{i}"] for i in range(3)]
        net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.2), nn.Tanh(), nn.BatchNorm1d(3))
        self.names["net"] = net.double() if self.kind is torch.float64 else net
        self.names["opt"] = torch.optim.SGD([*leaves, *net.parameters()], lr=0.1, momentum=0.9)
        self.names["adam"] = torch.optim.Adam(leaves, lr=0.1)

    def inputs(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(1000 + number)
        made = torch.randn(2, *self.shape).to(self.kind)
        return made[0].clone(), made[1].clone()

    def state(self) -> list[torch.Tensor]:
        net, opt, adam = self.names["net"], self.names["opt"], self.names["adam"]
        found = [self.names[f"{k}{i}"] for k in "wu" for i in range(3)]
        found += [*net.parameters(), *net.buffers()]
        grads = [t.grad for t in found if t.grad is not None]
        of_opt = [v for o in (opt, adam) for s in o.state.values() for v in s.values()]
        return found + grads + [v for v in of_opt if isinstance(v, torch.Tensor)]


def bits(tensors: list[torch.Tensor]) -> list[Any]:
    return [
        (
            t.dtype,
            tuple(t.shape),
            t.requires_grad,
            t.detach().resolve_conj().resolve_neg().contiguous().view(torch.uint8).tolist()
            if t.ndim and t.numel()
            else str(t.tolist()),
        )
        for t in tensors
    ]


def program(seed: int) -> str:
    """The text of a function whose statements all run, in a world that is then thrown away."""
    draw = random.Random(seed)
    world = World(seed)
    space = world.names
    space["x0"], space["x1"] = world.inputs(0)
    lines: list[str] = []
    for _ in range(draw.randint(3, 14)):
        text = draw.choice(STATEMENTS)
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
    results = sorted(n for n in space if n[0] == "x" and n[1:].isdigit())
    given = ", ".join(f"{n}.detach().clone()" for n in results)
    body = "\n".join(f"    {line}" for line in lines)
    return f"def step(x0, x1):\n{body}\n    return ({given},)\n"


def run(seed: int, calls: int = 7) -> tuple[str, str]:
    """("same", ""), ("eager", why) or ("wrong", what)."""
    text = program(seed)
    worlds = World(seed), World(seed)
    for world in worlds:
        exec(compile(text, f"<program {seed}>", "exec"), world.names)
    compiled = Compiled(worlds[1].names["step"])
    for number in range(calls):
        results: list[Any] = []
        for world, step in zip(worlds, (worlds[0].names["step"], compiled), strict=True):
            inputs = world.inputs(number)
            try:
                results.append([bits(list(step(*inputs))), bits(list(inputs))])
            except Exception as error:
                results.append(f"{type(error).__name__}: {error}"[:200])
            results[-1] = results[-1], bits(world.state())
        if results[0] != results[1]:
            return "wrong", f"call {number + 1}\n{text}\n{different(results[0], results[1])}"
    return ("same", "") if compiled.variants else ("eager", compiled.trouble or compiled.why or "")


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
