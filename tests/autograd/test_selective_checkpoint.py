"""Selective checkpoints: what a policy keeps is not computed again, the rest is."""

import functools

import pytest

from _subject import submodule, torch

checkpointing = submodule("utils.checkpoint")
aten = torch.ops.aten
SAVE = checkpointing.CheckpointPolicy.MUST_SAVE
RECOMPUTE = checkpointing.CheckpointPolicy.PREFER_RECOMPUTE


def run(region, policy, *args, allow_cache_entry_mutation=False, **options):
    contexts = functools.partial(
        checkpointing.create_selective_checkpoint_contexts,
        policy,
        allow_cache_entry_mutation=allow_cache_entry_mutation,
    )
    return checkpointing.checkpoint(
        region, *args, use_reentrant=False, context_fn=contexts, **options
    )


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


@pytest.mark.parametrize("names", [[], ["sin"], ["sin", "exp"], ["cos"]])
def test_gradients_are_those_without_a_checkpoint(names):
    def region(a):
        return a.sin().exp().cos()

    x, y = leaf(), leaf()
    run(region, [getattr(aten, n).default for n in names], x).sum().backward()
    region(y).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_the_policy_is_told_the_op_and_its_arguments():
    seen = []

    def policy(context, op, *args, **kwargs):
        seen.append((context.is_recompute, str(op), args[0].shape))
        return SAVE if op == aten.mm.default else RECOMPUTE

    m = torch.ones(2, 2, requires_grad=True)
    run(lambda a: torch.sigmoid(torch.mm(a, a)), policy, m).sum().backward()
    assert seen == [(False, "aten.mm.default", (2, 2)), (False, "aten.sigmoid.default", (2, 2))]


@pytest.mark.parametrize("kept", [True, False])
def test_a_kept_result_is_not_computed_again(kept):
    """Random numbers that are drawn again without their state differ; kept ones do not."""

    def region(a):
        return (a * torch.nn.functional.dropout(torch.ones(64), 0.5)).sin().exp()

    policy = lambda context, op, *args, **kwargs: kept
    torch.manual_seed(0)
    x = torch.ones(64, requires_grad=True)
    out = run(region, policy, x, preserve_rng_state=False)
    mask = out.detach().log().asin()  # 0, or asin(sin(2)) = pi - 2
    out.sum().backward()
    same = torch.equal(x.grad != 0, mask != 0)
    assert same is kept


def test_a_kept_result_must_not_change():
    def region(a):
        kept = a.sin()
        out = kept.exp()
        kept.add_(1)
        return out * kept

    x = leaf()
    with pytest.raises(RuntimeError, match="Tensor cached during selective activation checkpoint"):
        run(region, [aten.sin.default], x).sum().backward()
    run(region, [aten.sin.default], x, allow_cache_entry_mutation=True).sum().backward()


def test_what_a_policy_may_be():
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        checkpointing.create_selective_checkpoint_contexts(3)
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload"):
        checkpointing.create_selective_checkpoint_contexts([3])
    assert [p.value for p in checkpointing.CheckpointPolicy] == [0, 1, 2, 3, 4, 5]
    assert aten.add.Tensor(torch.ones(1), torch.ones(1)).item() == 2
