"""DistributedSampler's parts against PyTorch's, in random settings."""

import random

import pytest

from _subject import torch


def test_indices_are_pytorchs():
    reference = pytest.importorskip("torch", reason="compares with PyTorch, where it is installed")
    choice = random.Random(0)
    for _ in range(200):
        size, processes = choice.randint(1, 40), choice.randint(1, 9)
        rank, epoch = choice.randrange(processes), choice.randint(0, 5)
        options = {
            "shuffle": choice.random() < 0.7,
            "seed": choice.randint(0, 1000),
            "drop_last": choice.random() < 0.5,
        }
        parts = []
        for library in (torch, reference):
            sampler = library.utils.data.distributed.DistributedSampler(
                range(size), processes, rank, **options
            )
            sampler.set_epoch(epoch)
            parts.append((list(sampler), len(sampler), sampler.total_size))
        assert parts[0] == parts[1], (size, processes, rank, epoch, options)
