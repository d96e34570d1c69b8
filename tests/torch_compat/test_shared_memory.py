"""Tensors in memory that processes share: what one writes, the other reads."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys

import numpy as np
import pytest

import rushlight as torch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="mapped files without a name")


def write(tensor, value):
    tensor.fill_(value)


def answer(connection):
    for tensor in iter(connection.recv, None):
        tensor.detach().add_(1)
        connection.send((tuple(tensor.shape), tensor.stride(), type(tensor).__name__))


def test_a_tensor_stays_what_it_was():
    base = torch.arange(6.0)
    view = base[1:4]
    assert not base.is_shared()
    assert base.share_memory_() is base
    assert base.is_shared() and view.is_shared() and base.untyped_storage().is_shared()
    assert base.tolist() == [0, 1, 2, 3, 4, 5] and view.tolist() == [1, 2, 3]
    view.fill_(7)
    assert base.tolist() == [0, 7, 7, 7, 4, 5]
    address = base.data_ptr()
    assert base.share_memory_().data_ptr() == address
    assert not base.clone().is_shared()
    with pytest.raises(RuntimeError, match="not resizable"):
        base.untyped_storage().resize_(4096 * 4)


def test_an_array_over_memory_that_moves_keeps_its_own():
    tensor = torch.ones(3)
    array = tensor.numpy()
    tensor.share_memory_().zero_()
    assert array.tolist() == [1, 1, 1]
    assert tensor.numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_shapes_and_types(shape, dtype):
    tensor = torch.ones(shape, dtype=getattr(torch, dtype))
    shared = tensor.clone().share_memory_()
    assert torch.equal(shared, tensor) and shared.is_shared()
    assert torch.equal(pickle.loads(pickle.dumps(shared)), tensor)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_writes_to_it():
    tensor = torch.zeros(4).share_memory_()
    child = multiprocessing.get_context("fork").Process(target=write, args=(tensor, 3))
    child.start()
    child.join()
    assert child.exitcode == 0 and tensor.tolist() == [3, 3, 3, 3]


def test_another_process_is_sent_views_and_parameters():
    here, there = multiprocessing.get_context("spawn").Pipe()
    child = multiprocessing.get_context("spawn").Process(target=answer, args=(there,))
    child.start()
    base = torch.zeros(3, 4).share_memory_()
    module = torch.nn.Linear(2, 1).share_memory()
    before = module.weight.detach().clone()
    for tensor in (base.t()[1:], module.weight):
        with torch.no_grad():
            here.send(tensor)
            assert here.poll(60)
            got = here.recv()
        assert got == (tuple(tensor.shape), tensor.stride(), type(tensor).__name__)
    here.send(torch.zeros(2))  # of its own memory: a copy
    assert here.poll(60)
    here.recv()
    here.send(None)
    child.join(60)
    assert base.tolist() == [[0, 1, 1, 1]] * 3
    assert torch.equal(module.weight, before + 1)


def test_numbers_of_files_are_given_back():
    def count():
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    torch.ones(2).share_memory_()
    before = count()
    for _ in range(100):
        torch.ones(2000).share_memory_()
    assert count() == before


def test_a_leaf_has_a_history_and_a_result_cannot_be_sent():
    weight = torch.ones(2, requires_grad=True)
    result = (weight * 2).share_memory_()
    here, _ = multiprocessing.get_context("spawn").Pipe()
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        here.send(result)
    with pytest.raises(RuntimeError, match="only available on CPU"):
        torch.ones(2, device="meta").untyped_storage().share_memory_()
    result.sum().backward()
    assert np.allclose(weight.grad.numpy(), 2)
