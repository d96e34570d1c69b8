"""A training script with checkpoints: what it computes does not depend on where it is interrupted.

`train.py FOLDER STEPS [KILL...]`: a KILL is ATTEMPT:RANK:STEP, where a process ends itself by
SIGKILL. Each step's loss is a line of FOLDER/losses, in hexadecimal.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

EVERY = 4  # steps between checkpoints


def save(path, state):
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def main(folder, steps, kills):
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    torch.manual_seed(1)
    data = TensorDataset(torch.randn(48, 8), torch.randn(48, 1))
    sampler = DistributedSampler(data, size, rank, seed=3)
    # Each iterator of a loader draws a number: from a generator that no other numbers come from.
    loader = DataLoader(data, batch_size=4, sampler=sampler, generator=torch.Generator())
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(10 + rank)
    path, step, losses = os.path.join(folder, "checkpoint.pt"), 0, []
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["generators"][rank])
        step, losses = state["step"], state["losses"]
    while step < steps:
        sampler.set_epoch(step // len(loader))
        for number, (x, y) in enumerate(loader):
            if number < step % len(loader):
                continue  # done before the checkpoint
            if f"{attempt}:{rank}:{step}" in kills:
                os.kill(os.getpid(), signal.SIGKILL)
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= size
            optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            losses.append((mean.item() / size).hex())
            step += 1
            if step % EVERY == 0 or step == steps:
                generators = [None] * size
                dist.all_gather_object(generators, torch.get_rng_state())
                if rank == 0:
                    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                    state |= {"generators": generators, "step": step, "losses": losses}
                    save(path, state)
            if step == steps:
                break
    if rank == 0:
        with open(os.path.join(folder, "losses"), "w") as file:
            file.write("\n".join(losses))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
