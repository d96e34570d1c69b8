"""Train a network on handwritten digits in several processes, with the losses that one would give.

    torchrun --nproc-per-node 4 examples/ddp_digits.py
    torchrun --nproc-per-node 4 --max-restarts 2 examples/ddp_digits.py --fail-at 2

Each process is a *rank*: it has a copy of the network and a share of every batch. Backward gives it
the gradient of the mean loss of its share; DistributedDataParallel replaces that by the mean over
all ranks. The shares are equally large, so this is the gradient of the mean loss of the whole
batch, and the losses do not depend on the number of processes. Numbers are float64: sums in another
order differ in the last digits only, and 1, 2 and 4 processes agree to ten digits.

After each epoch rank 0 saves a checkpoint. With --resume a run goes on from it, and gives the
losses of a run that was never stopped. --fail-at makes one process fail, to see that.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

HERE = Path(__file__).parent
TRAINED = 1536  # images that are trained with; the others are the test's


def load_data():
    """The digits as tensors of shape (N, 64) in [0, 1], split into training and test."""
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float64) / 16
    labels = torch.tensor(digits.target, dtype=torch.int64)
    training = TensorDataset(images[:TRAINED], labels[:TRAINED])
    return training, TensorDataset(images[TRAINED:], labels[TRAINED:])


def loader_of(dataset, batch_size):
    """This rank's share of the data, and the sampler that chooses it.

    The sampler shuffles alike on all ranks and deals the images out like cards, so that the ranks'
    n-th shares are together the n-th batch, whatever the number of ranks.
    """
    if batch_size % dist.get_world_size():
        raise SystemExit(
            f"--batch-size {batch_size} cannot be shared by {dist.get_world_size()} processes"
        )
    sampler = DistributedSampler(dataset, shuffle=True, seed=0)
    share = batch_size // dist.get_world_size()
    return DataLoader(dataset, batch_size=share, sampler=sampler), sampler


def mean_of_ranks(value):
    """The mean over all ranks of a number that each has."""
    total = value.detach().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def train_epoch(model, loader, optimizer):
    """One pass over the data; the loss of each batch, over all ranks."""
    losses = []
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()  # the gradients of all ranks meet in here
        optimizer.step()
        losses.append(mean_of_ranks(loss))
    return losses


@torch.no_grad()
def accuracy(model, dataset):
    """The share of images that are read right; every rank has the whole network, so one can ask."""
    images, labels = dataset.tensors
    return (model(images).argmax(dim=1) == labels).double().mean().item()


def save(path, model, optimizer, epoch):
    """Write a checkpoint, by rank 0: under another name first: a file that is there is whole."""
    if dist.get_rank() == 0:
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state | {"epoch": epoch}, f"{path}.new")
        os.replace(f"{path}.new", path)
    dist.barrier()  # nobody goes on, and fails, before it is written


def load(path, model, optimizer):
    """Go on from a checkpoint: how many epochs are done. Every rank reads it."""
    state = torch.load(path)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=5, help="passes over the data")
    parser.add_argument("--batch-size", type=int, default=64, help="of all processes together")
    parser.add_argument("--lr", type=float, default=0.2, help="learning rate of SGD")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same result")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument(
        "--fail-at", type=int, metavar="EPOCH", help="the last rank fails there, if not restarted"
    )
    parser.add_argument("--every", type=int, default=8, help="batches between printed losses")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="output directory")
    return parser.parse_args()


def main():
    args = parse_args()
    dist.init_process_group("gloo")  # tensors are on the CPU
    rank, size = dist.get_rank(), dist.get_world_size()
    # Restarted processes go on from the checkpoint, too.
    restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))

    torch.manual_seed(args.seed)
    training, test = load_data()
    loader, sampler = loader_of(training, args.batch_size)
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).double()
    model = DistributedDataParallel(network)  # all ranks begin with rank 0's parameters
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint = args.out / "ddp_digits.pt"
    first = 0
    if (args.resume or restarts) and checkpoint.exists():
        first = load(checkpoint, model, optimizer)
    if rank == 0:
        print(f"{len(training)} training and {len(test)} test images; processes: {size}")
        if first:
            print(f"going on after epoch {first}")

    for epoch in range(first, args.epochs):
        if epoch == args.fail_at and rank == size - 1 and not restarts:
            raise RuntimeError(f"rank {rank} fails before epoch {epoch + 1}, as it was asked to")
        sampler.set_epoch(epoch)  # another order in each epoch
        losses = train_epoch(model, loader, optimizer)
        if rank == 0:
            for batch in range(0, len(losses), args.every):
                print(f"epoch {epoch + 1} batch {batch:3d}  loss {losses[batch]:.12f}")
        save(checkpoint, model, optimizer, epoch + 1)

    if rank == 0:
        print(f"test accuracy:  {accuracy(model, test):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
