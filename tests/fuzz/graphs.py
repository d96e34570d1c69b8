"""Random graphs: views, writes in place, hooks and Functions that misbehave, transforms, backward at
any time. A program is some thirty statements over the tensors x0 to x7.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from values import DUCKS, FUNCTIONS, HOOKS, MODES, tensor

N = 8
_SHAPES = [(), (1,), (3,), (2, 3), (3, 3), (2, 3, 4), (0, 3), (40_000,)]
_KINDS = ["float32", "float64", "float32", "float64", "complex64", "bfloat16", "int64"]

# {a}, {b}: tensors that there are; {c}: one that is made; {H}: a hook; {F}: a Function; {S}: a shape.
STATEMENTS = """
x{c} = x{a} + x{b}
x{c} = x{a} * x{b}
x{c} = x{a} / 2 - x{b}
x{c} = x{a}.exp()
x{c} = x{a}.sin() * x{b}
x{c} = (x{a} * x{a}).tanh()
x{c} = x{a}.sum()
x{c} = x{a}.mean(0)
x{c} = x{a}.sum(-1, keepdim=True)
x{c} = x{a}[0]
x{c} = x{a}[..., :1]
x{c} = x{a}[None]
x{c} = x{a}[x{b} > 0]
x{c} = x{a}.view(-1)
x{c} = x{a}.reshape(-1, 1)
x{c} = x{a}.t()
x{c} = x{a}.transpose(0, -1)
x{c} = x{a}[:1].expand(3, *x{a}.shape[1:])
x{c} = x{a}.unbind()[0]
x{c} = x{a}.split(1)[0]
x{c} = x{a}.chunk(2)[-1]
x{c} = x{a}.diagonal()
x{c} = x{a}.as_strided((2,), (1,))
x{c} = x{a}.detach()
x{c} = x{a}.data
x{c} = x{a}.clone()
x{c} = x{a}.to(torch.float64)
x{c} = x{a}.real
x{c} = x{a}.conj()
x{c} = torch.view_as_real(x{a})
x{c} = torch.cat([x{a}, x{b}])[:9]
x{c} = torch.stack([x{a}, x{b}, x{a}])[1]
x{c} = torch.where(x{a} > 0, x{a}, x{b})
x{c} = x{a} @ x{b}
x{c} = F.linear(x{a}, x{b})
x{c} = F.softmax(x{a}, -1)
x{c} = x{a}.gather(0, torch.zeros(x{a}.shape, dtype=torch.int64))
x{c} = x{a}.max(0)[0]
x{c} = x{a}.sort(-1)[0]
x{c} = x{a}.cumsum(0)
x{c} = function('{F}')(x{a})
x{c} = function('{F}')(x{a}, x{b})
x{c} = function('{F}', lambda: x{a}.sum().backward())(x{b})
x{c} = function('several')(x{a})[0]
x{a}.add_(x{b})
x{a}.mul_(2)
x{a}.mul_(x{b})
x{a}.copy_(x{b})
x{a}.zero_()
x{a}.exp_()
x{a}.t_()
x{a}.squeeze_()
x{a}[0] = 1
x{a}[0] = x{b}
x{a}[...] = x{b}
x{a}[x{a} > 0] = 2.0
x{a}.index_add_(0, torch.tensor([0]), x{b})
x{a}.masked_fill_(x{a} > 1, 0)
torch.add(x{a}, x{b}, out=x{c})
x{a}.requires_grad_()
x{a}.requires_grad_(False)
x{a}.requires_grad = True
x{a}.detach_()
x{a}.retain_grad()
x{a}.data = x{b}
x{a}.data = x{b}.data
x{a}.grad = None
x{a}.grad = x{b}
x{a}.grad.add_(1)
x{a}.grad.data = torch.ones(7)
x{a}.set_(x{b})
x{a}.resize_(7)
x{a}.__dict__['friend'] = x{b}
x{a} = t({S})
x{a} = x{a}.detach().requires_grad_()
x{a}.sum().backward()
x{a}.sum().backward(retain_graph=True)
x{a}.sum().backward(create_graph=True)
x{a}.backward(x{b}, retain_graph=True)
x{a}.backward(torch.ones_like(x{a}))
torch.autograd.backward([x{a}.sum(), x{b}.sum()])
x{c} = torch.autograd.grad(x{a}.sum(), x{b}, create_graph=True, allow_unused=True)[0]
torch.autograd.grad(x{a}.sum(), [x{b}, x{a}], retain_graph=True, allow_unused=True)
torch.autograd.grad(x{a}, x{b}, x{c}, is_grads_batched=True)
h = x{a}.register_hook(hook('{H}'))
h = x{a}.register_hook(hook('{H}', lambda: x{b}.sum().backward()))
h = x{a}.register_hook(hook('{H}', lambda: h.remove()))
h = x{a}.register_hook(hook('{H}', lambda: setattr(x{b}, 'grad', None)))
h = x{a}.register_hook(hook('{H}', lambda: x{a}.mul_(2)))
h = x{a}.register_hook(hook('{H}', lambda: x{a}.detach_()))
h = x{a}.register_hook(hook('{H}', gc.collect))
h = x{a}.register_post_accumulate_grad_hook(hook('{H}'))
h = x{a}.register_post_accumulate_grad_hook(hook('none', lambda: setattr(x{a}, 'grad', None)))
h = x{a}.grad_fn.register_hook(hook('{H}'))
h = x{a}.grad_fn.register_prehook(hook('{H}', lambda: x{b}.sum().backward()))
h.remove()
x{a}.grad_fn.next_functions
x{a}.grad_fn.next_functions[0][0].next_functions
[getattr(x{a}.grad_fn, n) for n in dir(x{a}.grad_fn)]
x{a}.grad_fn(x{b})
x{a}.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x{b})
with torch.no_grad(): x{c} = x{a}.view(-1)
with torch.no_grad(): x{a}.add_(x{b})
with torch.inference_mode(): x{c} = x{a} * 2
with torch.inference_mode(): x{a}.mul_(2)
with torch.set_grad_enabled(False): x{c} = x{a}[0]
with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x): x{c} = x{a}.exp() * x{b}
with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach().numpy(), torch.as_tensor): x{c} = x{a}.exp()
with torch.autograd.graph.saved_tensors_hooks(lambda x: x{b}, lambda x: x{b}): x{c} = x{a}.tanh()
with torch.autograd.graph.saved_tensors_hooks(hook('{H}'), hook('{H}')): x{c} = x{a}.sigmoid() * x{b}
with torch.autograd.graph.save_on_cpu(): x{c} = x{a}.exp()
with torch.autograd.graph.allow_mutation_on_saved_tensors(): x{c} = x{a}.exp(); x{c}.mul_(2); x{c}.sum().backward()
with torch.autograd.detect_anomaly(): x{c} = x{a}.log(); x{c}.sum().backward(retain_graph=True)
x{c} = torch.utils.checkpoint.checkpoint(lambda x: x.sin() * x{b}, x{a}, use_reentrant=False)
x{c} = torch.utils.checkpoint.checkpoint(lambda x: x.sin() * x, x{a}, use_reentrant=True)
x{c} = torch.func.vmap(lambda x: x * x{b}[..., :3])(x{a})
x{c} = torch.func.vmap(lambda x: x.mul_(2))(x{a})
x{c} = torch.func.grad(lambda x: (x * x{b}).sum())(x{a})
x{c} = torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(x{a})
x{c} = torch.func.jvp(lambda x: x.sin() * x{b}, (x{a},), (x{a},))[1]
x{c} = torch.func.jacrev(lambda x: x.sin())(x{a}.reshape(-1)[:3])
x{c} = torch.func.jacfwd(lambda x: x.mul_(2))(x{a}.reshape(-1)[:3])
x{c} = torch.func.functional_call(nn.Linear(3, 3), {'weight': x{a}, 'bias': x{b}}, x{a})
x{c} = x{a}.conj()
x{c} = x{a}.conj().mT
x{c} = x{a}.conj().imag
x{a}.conj().mul_(x{b})
x{a}.conj()[..., 0] = x{b}
x{a}.resolve_conj().mul_(2)
x{c} = torch.view_as_real(x{a}.resolve_conj())
x{a}.conj_physical_()
x{c} = x{a}.as_subclass(Subclass)
x{c} = x{a}.as_subclass(Taker)
x{c} = torch.add(x{a}, Duck('tensor'))
torch.cat([x{a}, Duck('{D}')])
with Mode('{M}'): x{c} = x{a} * x{b}
with Mode('{M}'): x{a}.mul_(x{b}).sum().backward()
with torch._C.DisableTorchFunctionSubclass(): x{c} = x{a} * x{b}
x{c} = copy.deepcopy(x{a})
x{c} = copy.copy(x{a})
x{c} = pickle.loads(pickle.dumps(x{a}))
x{c} = nn.Parameter(x{a})
x{c} = torch.from_numpy(x{a}.detach().numpy())
n = x{a}.detach().numpy(); n.shape = (-1,)
n = x{a}.detach().numpy(); n.resize(3, refcheck=False)
x{c} = torch.as_tensor(np.asarray(x{a}.detach()))
x{c} = torch.utils.dlpack.from_dlpack(x{a}.detach())
nn.utils.clip_grad_norm_([x{a}, x{b}], 1.0)
torch.optim.SGD([x{a}], lr=0.1, momentum=0.9).step()
torch.optim.Adam([x{a}, x{b}], lr=0.1).step()
x{a}.untyped_storage().nbytes()
repr(x{a})
x{a}.tolist()
x{a}.numel() and x{a}.reshape(-1)[0].item()
w = weakref.ref(x{a}, lambda _: gc.collect())
del x{a}
gc.collect()
""".strip().splitlines()


def program(draw: random.Random) -> list[str]:
    lines = []
    for i in range(N):
        shape = draw.choice(_SHAPES[:-1] if draw.random() < 0.9 else _SHAPES)
        wants = draw.random() < 0.5
        kind = draw.choice(_KINDS[:-1] if wants else _KINDS)
        lines.append(f"x{i} = t({shape!r}, {kind!r}, {'leaf' if wants else 'plain'!r})")
    for _ in range(draw.randint(10, 30)):
        a, b, c = (draw.randrange(N) for _ in range(3))
        text = draw.choice(STATEMENTS)
        for mark, value in (
            ("{a}", a), ("{b}", b), ("{c}", c), ("{H}", draw.choice(HOOKS)),
            ("{F}", draw.choice(FUNCTIONS)), ("{D}", draw.choice(DUCKS)), ("{M}", draw.choice(MODES)),
            ("{S}", tensor(draw, draw.choice(_SHAPES))[2:-1]),
        ):  # fmt: skip
            text = text.replace(mark, str(value))
        lines.append(text)
    return lines


def programs(seed: int) -> Iterator[list[str]]:
    """Programs without end."""
    draw = random.Random(seed)
    while True:
        yield program(draw)
