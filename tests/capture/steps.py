"""Training steps as programs have them: each a function that makes a step and its arguments.

python steps.py [NAME...]     which are captured, which are not and why; each replay is checked
"""

from __future__ import annotations

import copy
import itertools
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import nn

F = nn.functional
STEPS: dict[str, Callable[[], tuple[Any, Callable[[], tuple[Any, ...]]]]] = {}


def step(make: Any) -> Any:
    STEPS[make.__name__] = make
    return make


def mlp(*sizes: int, act: Any = nn.Tanh) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def adam(*modules: nn.Module, **how: Any) -> Any:
    return torch.optim.Adam([p for m in modules for p in m.parameters()], lr=1e-2, **how)


def batch(*shapes: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(torch.randn(*s) for s in shapes)


def supervised(
    net: nn.Module,
    opt: Any,
    *,
    loss_of: Any = F.mse_loss,
    between: Any = None,
    after: Any = None,
    back: Any = None,
) -> Any:
    def train(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        if between is not None:
            between()
        opt.step()
        if after is not None:
            after()
        return loss if back is None else back(loss)

    return train, batch((8, 4), (8, 2))


# --- reinforcement learning ---


@step
def ppo() -> Any:
    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.actor, self.critic = mlp(4, 16, 3), mlp(4, 16, 1)

        def get(self, x: Any, action: Any) -> Any:
            dist = torch.distributions.Categorical(logits=self.actor(x))
            return dist.log_prob(action), dist.entropy(), self.critic(x)

    agent = Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)

    def update(obs: Any, act: Any, old: Any, adv: Any, ret: Any, val: Any) -> Any:
        logp, entropy, value = agent.get(obs, act)
        logratio = logp - old
        ratio = logratio.exp()
        with torch.no_grad():
            kl = ((ratio - 1) - logratio).mean()
            clipped = ((ratio - 1.0).abs() > 0.2).float().mean()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pg = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 0.8, 1.2)).mean()
        value = value.view(-1)
        v1 = (value - ret) ** 2
        v2 = (val + torch.clamp(value - val, -0.2, 0.2) - ret) ** 2
        loss = pg - 0.01 * entropy.mean() + 0.5 * 0.5 * torch.max(v1, v2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        opt.step()
        return loss, kl, clipped

    return update, lambda: (
        torch.randn(8, 4),
        torch.randint(0, 3, (8,)),
        torch.randn(8),
        torch.randn(8),
        torch.randn(8),
        torch.randn(8),
    )


@step
def ppo_continuous() -> Any:
    mean, critic = mlp(4, 16, 2), mlp(4, 16, 1)
    logstd = nn.Parameter(torch.zeros(1, 2))
    opt = torch.optim.Adam([*mean.parameters(), *critic.parameters(), logstd], lr=1e-3)

    def update(obs: Any, act: Any, old: Any, adv: Any, ret: Any) -> Any:
        m = mean(obs)
        dist = torch.distributions.Normal(m, torch.exp(logstd.expand_as(m)))
        logp, entropy = dist.log_prob(act).sum(1), dist.entropy().sum(1)
        ratio = (logp - old).exp()
        pg = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
        loss = pg + F.mse_loss(critic(obs).squeeze(-1), ret) - 0.01 * entropy.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return update, batch((8, 4), (8, 2), (8,), (8,), (8,))


@step
def ppo_act() -> Any:
    net = mlp(4, 16, 3)

    @torch.no_grad()
    def act(obs: Any) -> Any:
        dist = torch.distributions.Categorical(logits=net(obs))
        action = dist.sample()
        return action, dist.log_prob(action)

    return act, batch((8, 4))


@step
def gaussian_act() -> Any:
    net = mlp(4, 16, 2)

    @torch.no_grad()
    def act(obs: Any) -> Any:
        dist = torch.distributions.Normal(net(obs), 0.1)
        action = dist.sample()
        return action, dist.log_prob(action).sum(-1)

    return act, batch((8, 4))


@step
def dqn() -> Any:
    net, target = mlp(4, 16, 3, act=nn.ReLU), mlp(4, 16, 3, act=nn.ReLU)
    opt = adam(net)

    def update(s: Any, a: Any, r: Any, s2: Any, done: Any) -> Any:
        q = net(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            y = r + 0.99 * target(s2).max(1)[0] * (1 - done)
        loss = F.smooth_l1_loss(q, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 100)
        opt.step()
        for p, q_ in zip(net.parameters(), target.parameters(), strict=True):
            q_.data.copy_(0.005 * p.data + 0.995 * q_.data)
        return loss

    return update, lambda: (
        torch.randn(8, 4),
        torch.randint(0, 3, (8, 1)),
        torch.randn(8),
        torch.randn(8, 4),
        torch.zeros(8),
    )


@step
def double_dqn_state_dict() -> Any:
    net, target = mlp(4, 16, 3), mlp(4, 16, 3)
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)

    def update(s: Any, a: Any, r: Any, s2: Any) -> Any:
        with torch.no_grad():
            y = r + 0.99 * target(s2).gather(1, net(s2).argmax(1, keepdim=True)).squeeze(1)
        loss = F.huber_loss(net(s).gather(1, a).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        new, old = target.state_dict(), net.state_dict()
        for key in old:
            new[key] = old[key] * 0.01 + new[key] * 0.99
        target.load_state_dict(new)
        return loss

    return update, lambda: (
        torch.randn(8, 4),
        torch.randint(0, 3, (8, 1)),
        torch.randn(8),
        torch.randn(8, 4),
    )


class _Squashed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.mean, self.logstd = mlp(4, 16, 16), nn.Linear(16, 2), nn.Linear(16, 2)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.body(x))
        logstd = torch.tanh(self.logstd(x))
        logstd = -5 + 0.5 * (2 + 5) * (logstd + 1)
        return self.mean(x), logstd

    def action(self, x: Any) -> Any:
        mean, logstd = self(x)
        normal = torch.distributions.Normal(mean, logstd.exp())
        raw = normal.rsample()
        y = torch.tanh(raw)
        logp = normal.log_prob(raw) - torch.log(1 - y.pow(2) + 1e-6)
        return y, logp.sum(1, keepdim=True)


def _sac() -> Any:
    actor = _Squashed()
    q1, q2 = mlp(6, 16, 1), mlp(6, 16, 1)
    t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
    q_opt, a_opt = adam(q1, q2), adam(actor)
    log_alpha = torch.zeros(1, requires_grad=True)
    alpha_opt = torch.optim.Adam([log_alpha], lr=1e-3)
    return actor, q1, q2, t1, t2, q_opt, a_opt, log_alpha, alpha_opt


def _sac_update(alpha_of: Any) -> Any:
    actor, q1, q2, t1, t2, q_opt, a_opt, log_alpha, alpha_opt = _sac()

    def update(s: Any, a: Any, r: Any, s2: Any, done: Any) -> Any:
        alpha = alpha_of(log_alpha)
        with torch.no_grad():
            a2, logp2 = actor.action(s2)
            x2 = torch.cat([s2, a2], 1)
            y = r.flatten() + (1 - done.flatten()) * 0.99 * (
                torch.min(t1(x2), t2(x2)) - alpha * logp2
            ).view(-1)
        x = torch.cat([s, a], 1)
        q_loss = F.mse_loss(q1(x).view(-1), y) + F.mse_loss(q2(x).view(-1), y)
        q_opt.zero_grad()
        q_loss.backward()
        q_opt.step()
        pi, logp = actor.action(s)
        x = torch.cat([s, pi], 1)
        a_loss = (alpha * logp - torch.min(q1(x), q2(x))).mean()
        a_opt.zero_grad()
        a_loss.backward()
        a_opt.step()
        with torch.no_grad():
            _, logp = actor.action(s)
        alpha_loss = (-log_alpha.exp() * (logp - 2.0)).mean()
        alpha_opt.zero_grad()
        alpha_loss.backward()
        alpha_opt.step()
        for net, target in ((q1, t1), (q2, t2)):
            for p, t in zip(net.parameters(), target.parameters(), strict=True):
                t.data.copy_(0.005 * p.data + (1 - 0.005) * t.data)
        return q_loss, a_loss, alpha_loss

    return update, batch((8, 4), (8, 2), (8, 1), (8, 4), (8, 1))


@step
def sac() -> Any:
    return _sac_update(lambda log_alpha: log_alpha.exp().detach())


@step
def sac_item() -> Any:
    return _sac_update(lambda log_alpha: log_alpha.exp().item())


@step
def tanh_normal_transformed() -> Any:
    net = mlp(4, 16, 4)
    opt = adam(net)
    D = torch.distributions

    def update(s: Any) -> Any:
        mean, logstd = net(s).chunk(2, -1)
        base = D.Independent(D.Normal(mean, logstd.clamp(-5, 2).exp()), 1)
        dist = D.TransformedDistribution(base, [D.transforms.TanhTransform(cache_size=1)])
        a = dist.rsample()
        loss = dist.log_prob(a).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return update, batch((8, 4))


@step
def ddpg() -> Any:
    actor, critic = mlp(4, 16, 2), mlp(6, 16, 1)
    actor2, critic2 = copy.deepcopy(actor), copy.deepcopy(critic)
    a_opt, c_opt = adam(actor), adam(critic)

    def update(s: Any, a: Any, r: Any, s2: Any) -> Any:
        with torch.no_grad():
            y = r + 0.99 * critic2(torch.cat([s2, actor2(s2)], -1))
        c_loss = F.mse_loss(critic(torch.cat([s, a], -1)), y)
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
        a_loss = -critic(torch.cat([s, actor(s)], -1)).mean()
        a_opt.zero_grad()
        a_loss.backward()
        a_opt.step()
        with torch.no_grad():
            for net, target in ((actor, actor2), (critic, critic2)):
                for p, t in zip(net.parameters(), target.parameters(), strict=True):
                    t.mul_(0.995).add_(p, alpha=0.005)
        return c_loss.item(), a_loss.item()

    return update, batch((8, 4), (8, 2), (8, 1), (8, 4))


@step
def td3_delayed() -> Any:
    class Agent:
        def __init__(self) -> None:
            self.actor, self.critic = mlp(4, 16, 2), mlp(6, 16, 1)
            self.a_opt, self.c_opt = adam(self.actor), adam(self.critic)
            self.total_it = 0

        def train(self, s: Any, a: Any, y: Any) -> Any:
            self.total_it += 1
            loss = F.mse_loss(self.critic(torch.cat([s, a], 1)), y)
            self.c_opt.zero_grad()
            loss.backward()
            self.c_opt.step()
            if self.total_it % 2 == 0:
                a_loss = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
                self.a_opt.zero_grad()
                a_loss.backward()
                self.a_opt.step()
            return loss

    return Agent().train, batch((8, 4), (8, 2), (8, 1))


@step
def td3_noise() -> Any:
    actor = mlp(4, 16, 2)

    @torch.no_grad()
    def target(s2: Any, a: Any) -> Any:
        noise = (torch.randn_like(a) * 0.2).clamp(-0.5, 0.5)
        return (actor(s2) + noise).clamp(-1, 1)

    return target, batch((8, 4), (8, 2))


@step
def reinforce() -> Any:
    net = mlp(4, 16, 3)
    opt = adam(net)

    def update(s: Any, a: Any, r: Any) -> Any:
        returns, R = [], 0
        for i in reversed(range(len(r))):
            R = r[i] + 0.99 * R
            returns.insert(0, R)
        G = torch.stack(returns)
        G = (G - G.mean()) / (G.std() + 1e-9)
        logp = torch.log_softmax(net(s), -1).gather(1, a[:, None]).squeeze(1)
        loss = -(logp * G).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return update, lambda: (torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(8))


@step
def a2c() -> Any:
    body, pi, v = mlp(4, 16, 16), nn.Linear(16, 3), nn.Linear(16, 1)
    opt = torch.optim.RMSprop(
        [*body.parameters(), *pi.parameters(), *v.parameters()], lr=7e-4, alpha=0.99, eps=1e-5
    )

    def update(s: Any, a: Any, ret: Any) -> Any:
        h = torch.tanh(body(s))
        dist = torch.distributions.Categorical(logits=pi(h))
        value = v(h).squeeze(-1)
        adv = ret - value
        loss = (
            -(dist.log_prob(a) * adv.detach()).mean()
            + 0.5 * adv.pow(2).mean()
            - 0.01 * dist.entropy().mean()
        )
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], 0.5)
        opt.step()
        return loss

    return update, lambda: (torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(8))


@step
def gae() -> Any:
    @torch.no_grad()
    def advantages(r: Any, v: Any, done: Any, last: Any) -> Any:
        adv = torch.zeros_like(r)
        lam = 0
        for t in reversed(range(r.shape[0])):
            nxt = last if t == r.shape[0] - 1 else v[t + 1]
            delta = r[t] + 0.99 * nxt * (1 - done[t]) - v[t]
            adv[t] = lam = delta + 0.99 * 0.95 * (1 - done[t]) * lam
        return adv, adv + v

    return advantages, lambda: (
        torch.randn(8, 2),
        torch.randn(8, 2),
        torch.zeros(8, 2),
        torch.randn(2),
    )


# --- generative ---


@step
def gan() -> Any:
    G, D = mlp(2, 16, 4), nn.Sequential(*mlp(4, 16, 1), nn.Sigmoid())
    g_opt, d_opt = adam(G, betas=(0.5, 0.999)), adam(D, betas=(0.5, 0.999))
    bce = nn.BCELoss()

    def train(real: Any) -> Any:
        ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
        z = torch.randn(8, 2)
        g_opt.zero_grad()
        fake = G(z)
        g_loss = bce(D(fake), ones)
        g_loss.backward()
        g_opt.step()
        d_opt.zero_grad()
        d_loss = (bce(D(real), ones) + bce(D(fake.detach()), zeros)) / 2
        d_loss.backward()
        d_opt.step()
        return g_loss.item(), d_loss.item()

    return train, batch((8, 4))


@step
def wgan_gp() -> Any:
    G, D = mlp(2, 16, 4), mlp(4, 16, 1)
    opt = adam(D)

    def train(real: Any) -> Any:
        fake = G(torch.randn(8, 2)).detach()
        eps = torch.rand(8, 1)
        mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
        score = D(mix)
        g = torch.autograd.grad(
            score, mix, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True
        )[0]
        loss = D(fake).mean() - D(real).mean() + 10 * ((g.norm(2, dim=1) - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return {"loss": loss.detach(), "gp": g.detach()}

    return train, batch((8, 4))


@step
def wgan_clip() -> Any:
    G, D = mlp(2, 16, 4), mlp(4, 16, 1)
    opt = torch.optim.RMSprop(D.parameters(), lr=5e-5)

    def train(real: Any) -> Any:
        opt.zero_grad()
        loss = -torch.mean(D(real)) + torch.mean(D(G(torch.randn(8, 2)).detach()))
        loss.backward()
        opt.step()
        for p in D.parameters():
            p.data.clamp_(-0.01, 0.01)
        return loss

    return train, batch((8, 4))


@step
def dcgan_batchnorm() -> Any:
    G = nn.Sequential(
        nn.ConvTranspose2d(2, 4, 4), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 1, 3), nn.Tanh()
    )
    D = nn.Sequential(
        nn.Conv2d(1, 4, 2), nn.BatchNorm2d(4), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(4, 1)
    )
    opt = adam(G, D)

    def train(real: Any) -> Any:
        opt.zero_grad()
        fake = G(torch.randn(4, 2, 1, 1))
        loss = (
            F.binary_cross_entropy_with_logits(D(fake), torch.ones(4, 1))
            + F.softplus(D(real)).mean()
        )
        loss.backward()
        opt.step()
        return loss

    return train, batch((4, 1, 2, 2))


@step
def vae() -> Any:
    enc, dec = mlp(4, 16, 4), mlp(2, 16, 4)
    opt = adam(enc, dec)

    def train(x: Any) -> Any:
        mu, logvar = enc(x).chunk(2, 1)
        std = torch.exp(0.5 * logvar)
        z = mu + torch.randn_like(std) * std
        rec = F.binary_cross_entropy(torch.sigmoid(dec(z)), torch.sigmoid(x), reduction="sum")
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        opt.zero_grad()
        (rec + kl).backward()
        opt.step()
        return rec + kl

    return train, batch((8, 4))


@step
def vae_distributions() -> Any:
    enc, dec = mlp(4, 16, 4), mlp(2, 16, 4)
    opt = adam(enc, dec)
    D = torch.distributions

    def train(x: Any) -> Any:
        mu, logvar = enc(x).chunk(2, 1)
        q = D.Normal(mu, torch.exp(0.5 * logvar))
        p = D.Normal(torch.zeros_like(mu), torch.ones_like(mu))
        z = q.rsample()
        rec = F.mse_loss(dec(z), x)
        loss = rec + D.kl_divergence(q, p).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return train, batch((8, 4))


@step
def diffusion() -> Any:
    net = mlp(5, 16, 4, act=nn.SiLU)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    betas = torch.linspace(1e-4, 0.02, 10)
    bar = torch.cumprod(1 - betas, 0)

    def train(x: Any) -> Any:
        t = torch.randint(0, 10, (x.shape[0],))
        noise = torch.randn_like(x)
        a = bar[t][:, None]
        xt = a.sqrt() * x + (1 - a).sqrt() * noise
        loss = F.mse_loss(net(torch.cat([xt, t[:, None] / 10], 1)), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 4))


@step
def realnvp() -> Any:
    nets = nn.ModuleList(mlp(2, 8, 4) for _ in range(2))
    prior = torch.distributions.MultivariateNormal(torch.zeros(4), torch.eye(4))
    opt = adam(nets)

    def train(x: Any) -> Any:
        logdet = x.new_zeros(x.shape[0])
        for net in nets:
            a, b = x.chunk(2, 1)
            s, t = net(a).chunk(2, 1)
            s = torch.tanh(s)
            x = torch.cat([b * s.exp() + t, a], 1)
            logdet = logdet + s.sum(1)
        loss = -(prior.log_prob(x) + logdet).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 4))


# --- physics ---


@step
def pinn_heat() -> Any:
    net = mlp(2, 16, 16, 1)
    opt = adam(net)

    def train(xt: Any, x0: Any) -> Any:
        xt = xt.clone().requires_grad_(True)
        u = net(xt)
        du = torch.autograd.grad(u, xt, torch.ones_like(u), create_graph=True)[0]
        u_xx = torch.autograd.grad(du[:, 0:1], xt, torch.ones_like(u), create_graph=True)[0][:, 0:1]
        loss = (du[:, 1:2] - 0.1 * u_xx).pow(2).mean() + (
            net(x0) - torch.sin(math.pi * x0[:, 0:1])
        ).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return train, batch((8, 2), (8, 2))


@step
def pinn_burgers_requires_grad_in_step() -> Any:
    net = mlp(2, 16, 1)
    opt = adam(net)

    def train(t: Any, x: Any) -> Any:
        t, x = t.requires_grad_(), x.requires_grad_()
        u = net(torch.stack([t, x], 1))[:, 0]
        u_t, u_x = torch.autograd.grad(u.sum(), (t, x), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        loss = (u_t + u * u_x - 0.01 * u_xx).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8,), (8,))


@step
def pinn_lbfgs() -> Any:
    net = mlp(1, 8, 1)
    opt = torch.optim.LBFGS(net.parameters(), max_iter=2)

    def train(x: Any, y: Any) -> Any:
        def closure() -> Any:
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            return loss

        return opt.step(closure)

    return train, batch((8, 1), (8, 1))


@step
def pinn_samples_inside() -> Any:
    net = mlp(1, 8, 1)
    opt = adam(net)

    def train() -> Any:
        x = torch.rand(8, 1, requires_grad=True)
        u = net(x)
        (ux,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        loss = (ux + u).pow(2).mean() + (net(torch.tensor([[0.0]])) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return train, lambda: ()


@step
def neural_ode_rk4() -> Any:
    field = mlp(2, 16, 2)
    opt = adam(field)

    def train(y: Any, target: Any) -> Any:
        dt = 0.1
        path = [y]
        for _ in range(4):
            k1 = field(y)
            k2 = field(y + dt / 2 * k1)
            k3 = field(y + dt / 2 * k2)
            k4 = field(y + dt * k3)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(y)
        loss = (torch.stack(path)[-1] - target).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 2), (8, 2))


@step
def dormand_prince() -> Any:
    field = mlp(2, 16, 2)
    opt = torch.optim.SGD(field.parameters(), lr=1e-2)
    table = [[1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9]]

    def train(y: Any) -> Any:
        for _ in range(3):
            ks = [field(y)]
            for row in table:
                ks.append(field(y + 0.1 * sum(c * k for c, k in zip(row, ks, strict=True))))
            y = y + 0.1 * sum(ks) / len(ks)
        loss = y.square().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 2))


@step
def adaptive_step() -> Any:
    def solve(y: Any) -> Any:
        dt = 0.5
        for _ in range(3):
            error = (y * dt).abs().max()
            if error > 0.6:
                dt = dt / 2
            y = y - dt * y
        return y

    return solve, batch((4,))


@step
def hamiltonian() -> Any:
    net = mlp(2, 16, 1)
    opt = adam(net)

    def train(x: Any, dx: Any) -> Any:
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        q, p = g.chunk(2, -1)
        loss = F.mse_loss(torch.cat([p, -q], -1), dx)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 2), (8, 2))


@step
def lagrangian_func() -> Any:
    net = mlp(2, 8, 1, act=nn.Softplus)
    params = dict(net.named_parameters())

    def accelerations(x: Any) -> Any:
        def L(q: Any, v: Any) -> Any:
            return torch.func.functional_call(net, params, (torch.stack([q, v]),)).squeeze()

        def one(s: Any) -> Any:
            h = torch.func.hessian(L, argnums=1)(s[0], s[1])
            return torch.func.grad(L)(s[0], s[1]) / (h + 1.0)

        return torch.func.vmap(one)(x)

    return accelerations, batch((4, 2))


@step
def mpc() -> Any:
    A, B = torch.eye(2) + 0.1 * torch.randn(2, 2), torch.randn(2, 1)

    def plan(x0: Any) -> Any:
        u = torch.zeros(5, 1, requires_grad=True)
        opt = torch.optim.Adam([u], lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            x, cost = x0, 0
            for t in range(5):
                x = A @ x + B @ u[t]
                cost = cost + x @ x + 0.1 * u[t] @ u[t]
            cost.backward()
            opt.step()
        return u.detach()

    return plan, batch((2,))


@step
def mpc_by_hand() -> Any:
    A, B = torch.eye(2) + 0.1 * torch.randn(2, 2), torch.randn(2, 1)

    def plan(x0: Any) -> Any:
        u = torch.zeros(5, 1, requires_grad=True)
        for _ in range(3):
            x, cost = x0, 0
            for t in range(5):
                x = A @ x + B @ u[t]
                cost = cost + x @ x + 0.1 * u[t] @ u[t]
            (g,) = torch.autograd.grad(cost, u)
            u = (u - 0.1 * g).detach().requires_grad_()
        return u.detach()

    return plan, batch((2,))


@step
def lqr_riccati() -> Any:
    A, B = torch.eye(2) + 0.1 * torch.randn(2, 2), torch.randn(2, 1)

    def gains(Q: Any) -> Any:
        P, R = Q @ Q.T, torch.eye(1)
        for _ in range(4):
            K = torch.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
            P = Q @ Q.T + A.T @ P @ (A - B @ K)
        return K

    return gains, batch((2, 2))


@step
def kalman() -> Any:
    A, H = torch.eye(2) + 0.1, torch.randn(1, 2)
    Q, R = 0.1 * torch.eye(2), 0.2 * torch.eye(1)

    @torch.no_grad()
    def filtered(x: Any, P: Any, z: Any) -> Any:
        x, P = A @ x, A @ P @ A.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ torch.linalg.inv(S)
        x = x + K @ (z - H @ x)
        P = (torch.eye(2) - K @ H) @ P
        return x, P

    return filtered, lambda: (torch.randn(2), torch.eye(2), torch.randn(1))


@step
def gp_regression() -> Any:
    raw = torch.zeros(3, requires_grad=True)
    opt = torch.optim.Adam([raw], lr=0.05)

    def train(x: Any, y: Any) -> Any:
        scale, length, noise = F.softplus(raw)
        K = scale * torch.exp(-0.5 * torch.cdist(x, x) ** 2 / length**2) + (
            noise + 1e-3
        ) * torch.eye(len(x))
        L = torch.linalg.cholesky(K)
        a = torch.cholesky_solve(y[:, None], L)
        nll = 0.5 * (y[:, None] * a).sum() + L.diagonal().log().sum()
        opt.zero_grad()
        nll.backward()
        opt.step()
        return nll

    return train, batch((6, 1), (6,))


@step
def springs() -> Any:
    k = torch.tensor(2.0, requires_grad=True)

    def simulate(x: Any, v: Any) -> Any:
        for _ in range(10):
            d = x[:, None] - x[None]
            r = (d**2).sum(-1).add(1e-3).sqrt()
            force = (-k * (r - 1) / r)[..., None] * d
            v = (v + 0.01 * force.sum(1)) * 0.99
            x = x + 0.01 * v
            x = torch.where(x < -1, -1.0, x)
        loss = x.pow(2).sum()
        (g,) = torch.autograd.grad(loss, k)
        return loss.detach(), g

    return simulate, batch((5, 2), (5, 2))


@step
def fdtd() -> Any:
    u, v = torch.randn(16, 16), torch.zeros(16, 16)

    def tick() -> Any:
        lap = (
            torch.roll(u, 1, 0)
            + torch.roll(u, -1, 0)
            + torch.roll(u, 1, 1)
            + torch.roll(u, -1, 1)
            - 4 * u
        )
        v.add_(0.1 * lap)
        u.add_(0.1 * v)
        u[0] = 0
        u[:, -1] = 0
        return u.norm()

    return tick, lambda: ()


@step
def cartpole_env() -> Any:
    state = torch.zeros(8, 4)

    def advance(force: Any) -> Any:
        x, dx, th, dth = state.unbind(1)
        temp = (force + 0.05 * dth**2 * th.sin()) / 1.1
        acc = (9.8 * th.sin() - th.cos() * temp) / (0.5 * (4 / 3 - 0.1 * th.cos() ** 2 / 1.1))
        new = torch.stack([x + 0.02 * dx, dx + 0.02 * temp, th + 0.02 * dth, dth + 0.02 * acc], 1)
        done = (new[:, 0].abs() > 2.4) | (new[:, 2].abs() > 0.2)
        state.copy_(torch.where(done[:, None], torch.zeros_like(new), new))
        return state.clone(), done

    return advance, batch((8,))


# --- language, vision ---


@step
def lstm_lm() -> Any:
    emb, lstm, head = nn.Embedding(10, 8), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 10)
    opt = adam(emb, lstm, head)

    def train(x: Any, y: Any) -> Any:
        out, _ = lstm(emb(x))
        loss = F.cross_entropy(head(out).reshape(-1, 10), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(lstm.parameters(), 0.25)
        opt.step()
        return loss

    return train, lambda: (torch.randint(0, 10, (4, 6)), torch.randint(0, 10, (4, 6)))


@step
def gru_stateful() -> Any:
    gru, head = nn.GRU(4, 8), nn.Linear(8, 1)
    opt = adam(gru, head)

    def train(x: Any, h: Any) -> Any:
        out, h = gru(x, h.detach())
        loss = head(out).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach(), h.detach()

    return train, batch((5, 2, 4), (1, 2, 8))


@step
def lstm_cell_loop() -> Any:
    cell, head = nn.LSTMCell(4, 8), nn.Linear(8, 1)
    opt = adam(cell, head)

    def train(xs: Any) -> Any:
        h = c = torch.zeros(2, 8)
        for x in xs:
            h, c = cell(x, (h, c))
        loss = head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((5, 2, 4))


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.1)
        self.mlp, self.drop = mlp(8, 16, 8, act=nn.GELU), nn.Dropout(0.1)

    def forward(self, x: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        h = self.n1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.drop(self.mlp(self.n2(x)))


@step
def gpt() -> Any:
    emb, blocks, head = nn.Embedding(10, 8), nn.Sequential(_Block(), _Block()), nn.Linear(8, 10)
    params = [*emb.parameters(), *blocks.parameters(), *head.parameters()]
    opt = torch.optim.AdamW(params, lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 100)

    def train(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(head(blocks(emb(x))).flatten(0, 1), y.flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        return loss

    def given() -> Any:
        sched.step()
        return torch.randint(0, 10, (4, 6)), torch.randint(0, 10, (4, 6))

    return train, given


@step
def transformer_encoder() -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    net = nn.TransformerEncoder(layer, 2)
    opt = adam(net)

    def train(x: Any) -> Any:
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((2, 5, 8))


@step
def cnn() -> Any:
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)

    def train(x: Any, y: Any) -> Any:
        opt.zero_grad()
        out = net(x)
        loss = F.cross_entropy(out, y, label_smoothing=0.1)
        loss.backward()
        opt.step()
        return loss, (out.argmax(1) == y).sum()

    return train, lambda: (torch.randn(4, 1, 8, 8), torch.randint(0, 10, (4,)))


@step
def infonce() -> Any:
    net = mlp(4, 16, 8)
    opt = adam(net)

    def train(a: Any, b: Any) -> Any:
        za, zb = F.normalize(net(a), dim=1), F.normalize(net(b), dim=1)
        logits = za @ zb.T / 0.1
        labels = torch.arange(len(a))
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 4), (8, 4))


@step
def simclr_masked() -> Any:
    net = mlp(4, 16, 8)

    def loss(a: Any) -> Any:
        z = F.normalize(net(a), dim=1)
        sim = z @ z.T
        mask = torch.eye(len(a), dtype=torch.bool)
        sim = sim[~mask].view(len(a), -1)
        return sim.logsumexp(1).mean().detach()

    return loss, batch((8, 4))


# --- meta ---


@step
def maml() -> Any:
    net = mlp(1, 8, 1)
    opt = adam(net)

    def train(xs: Any, ys: Any, xq: Any, yq: Any) -> Any:
        params = dict(net.named_parameters())
        loss = F.mse_loss(torch.func.functional_call(net, params, (xs,)), ys)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        fast = {k: p - 0.01 * g for (k, p), g in zip(params.items(), grads, strict=True)}
        outer = F.mse_loss(torch.func.functional_call(net, fast, (xq,)), yq)
        opt.zero_grad()
        outer.backward()
        opt.step()
        return outer

    return train, batch((8, 1), (8, 1), (8, 1), (8, 1))


@step
def per_sample_gradients() -> Any:
    net = mlp(4, 8, 2)
    params = {k: v.detach() for k, v in net.named_parameters()}

    def grads(x: Any, y: Any) -> Any:
        def one(p: Any, x: Any, y: Any) -> Any:
            return F.mse_loss(torch.func.functional_call(net, p, (x[None],)), y[None])

        return torch.func.vmap(torch.func.grad(one), in_dims=(None, 0, 0))(params, x, y)

    return grads, batch((8, 4), (8, 2))


@step
def ensemble() -> Any:
    W, b = torch.randn(3, 4, 2, requires_grad=True), torch.zeros(3, 1, 2, requires_grad=True)
    opt = torch.optim.Adam([W, b])

    def train(x: Any, y: Any) -> Any:
        out = torch.baddbmm(b, x.expand(3, 8, 4), W)
        loss = (out - y).pow(2).mean((1, 2)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 4), (8, 2))


# --- the loop around ---


@step
def ema() -> Any:
    net = mlp(4, 8, 2)
    shadow = {k: v.detach().clone() for k, v in net.named_parameters()}

    def update() -> None:
        with torch.no_grad():
            for k, v in net.named_parameters():
                shadow[k].mul_(0.99).add_(v, alpha=0.01)

    return supervised(net, adam(net), after=update)


@step
def ema_averaged_model() -> Any:
    net = mlp(4, 8, 2)
    average = torch.optim.swa_utils.AveragedModel(
        net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
    )
    return supervised(net, adam(net), after=lambda: average.update_parameters(net))


@step
def accumulation() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)

    def train(x: Any, y: Any) -> Any:
        opt.zero_grad()
        total = torch.zeros(())
        for a, b in zip(x.chunk(2), y.chunk(2), strict=True):
            loss = F.mse_loss(net(a), b) / 2
            loss.backward()
            total += loss.detach()
        opt.step()
        return total

    return train, batch((8, 4), (8, 2))


@step
def micro_step_accumulates_outside() -> Any:
    net = mlp(4, 8, 2)

    def micro(x: Any, y: Any) -> Any:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    return micro, batch((8, 4), (8, 2))


@step
def grad_scaler() -> Any:
    net = mlp(4, 8, 2)
    opt, scaler = adam(net), torch.amp.GradScaler("cpu")

    def train(x: Any, y: Any) -> Any:
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        return loss

    return train, batch((8, 4), (8, 2))


@step
def autocast_bf16() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)

    def train(x: Any, y: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.mse_loss(net(x).float(), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 4), (8, 2))


@step
def clip_value() -> Any:
    net = mlp(4, 8, 2)
    return supervised(
        net, adam(net), between=lambda: nn.utils.clip_grad_value_(net.parameters(), 0.1)
    )


@step
def scheduler_inside() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)
    sched = torch.optim.lr_scheduler.StepLR(opt, 10)
    return supervised(net, opt, after=sched.step)


@step
def scheduler_outside_rmsprop() -> Any:
    net = mlp(4, 8, 2)
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    train, given = supervised(net, opt)

    def scheduled() -> Any:
        sched.step()
        return given()

    return train, scheduled


@step
def scheduler_outside_adagrad() -> Any:
    net = mlp(4, 8, 2)
    opt = torch.optim.Adagrad(net.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    train, given = supervised(net, opt)

    def scheduled() -> Any:
        sched.step()
        return given()

    return train, scheduled


@step
def lr_set_by_hand() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)
    train, given = supervised(net, opt)
    at = [0]

    def annealed() -> Any:
        at[0] += 1
        opt.param_groups[0]["lr"] = 1e-2 * (1 - at[0] / 100)
        return given()

    return train, annealed


@step
def returns_item() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)

    def train(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.item()

    return train, batch((8, 4), (8, 2))


@step
def prints_sometimes() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)

    def train(x: Any, y: Any, i: int) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        if i % 100 == 0:
            print(f"{i} {loss.item():.4f}")
        return loss

    at = iter(range(1, 10000))
    return train, lambda: (torch.randn(8, 4), torch.randn(8, 2), next(at))


@step
def counter_on_self() -> Any:
    class Trainer:
        def __init__(self) -> None:
            self.net = mlp(4, 8, 2)
            self.opt = adam(self.net)
            self.steps = 0

        def train(self, x: Any, y: Any) -> Any:
            self.opt.zero_grad()
            loss = F.mse_loss(self.net(x), y)
            loss.backward()
            self.opt.step()
            self.steps += 1
            return loss

    return Trainer().train, batch((8, 4), (8, 2))


@step
def checkpointed() -> Any:
    a, b = mlp(4, 8, 8), mlp(8, 8, 2)
    opt = adam(a, b)

    def train(x: Any, y: Any) -> Any:
        h = torch.utils.checkpoint.checkpoint(a, x, use_reentrant=False)
        loss = F.mse_loss(b(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 4), (8, 2))


@step
def module_forward() -> Any:
    return mlp(4, 8, 2), batch((8, 4))


@step
def batchnorm_module() -> Any:
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2)
    ), batch((8, 4))


@step
def custom_function() -> Any:
    class Clamp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (x.abs() < 1)

    w = torch.randn(4, requires_grad=True)

    def train(x: Any) -> Any:
        w.grad = None
        loss = Clamp.apply(x * w).sum()
        loss.backward()
        return loss

    return train, batch((8, 4))


@step
def other_optimizers() -> Any:
    nets = [mlp(4, 4, 2) for _ in range(6)]
    O = torch.optim
    opts = [
        O.NAdam(nets[0].parameters()),
        O.RAdam(nets[1].parameters()),
        O.Adamax(nets[2].parameters()),
        O.Adadelta(nets[3].parameters()),
        O.ASGD(nets[4].parameters()),
        O.Rprop(nets[5].parameters()),
    ]

    def train(x: Any, y: Any) -> Any:
        losses = []
        for net, opt in zip(nets, opts, strict=True):
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.detach())
        return losses

    return train, batch((8, 4), (8, 2))


@step
def nan_check() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)

    def train(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        if torch.isnan(loss):
            raise ValueError("nan")
        loss.backward()
        opt.step()
        return loss

    return train, batch((8, 4), (8, 2))


@step
def logs_a_dict() -> Any:
    net = mlp(4, 8, 2)
    opt = adam(net)

    def train(x: Any, y: Any) -> Any:
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return {"loss": loss.item(), "norm": norm.item(), "lr": opt.param_groups[0]["lr"]}

    return train, batch((8, 4), (8, 2))


def main(names: list[str], calls: int = 8) -> None:
    from rushlight._capture.run import Compiled, set_checks

    set_checks(True)
    warnings.simplefilter("ignore")
    captured = 0
    for name in names or STEPS:
        torch.manual_seed(1)
        run, given = STEPS[name]()
        compiled = Compiled(run)
        try:
            for _ in range(calls):
                compiled(*given())
            captured += bool(compiled.variants)
            made = f"captured, {len(compiled.variants)} variants"
            why = compiled.explain().partition(": it ")[2]
            print(f"{name:28} {made if compiled.variants else why}", flush=True)
        except Exception as error:
            print(f"{name:28} {type(error).__name__}: {error}", flush=True)
    print(f"{captured} of {len(names or STEPS)}")


if __name__ == "__main__":
    main(sys.argv[1:])
