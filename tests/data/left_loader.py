"""A program whose main process goes half-way through a DataLoader; run by test_dataloader.py.

    python left_loader.py HOW START_METHOD WORKERS_DO PERSISTENT

Its workers share its standard output, which is at its end when the last of them has gone.
"""

import ctypes
import importlib
import multiprocessing
import os
import sys
import time

NAME = os.environ.get("RUSHLIGHT_TEST_WITH", "rushlight")
torch = importlib.import_module(NAME)
data = importlib.import_module(f"{NAME}.utils.data")


class Rows(data.Dataset):
    def __init__(self, do):
        self.do = do

    def __len__(self):
        return 100

    def __getitem__(self, index):
        if index >= 2:  # the first batches are needed to see that the workers run
            if self.do == "sleep":
                time.sleep(1000)
            while self.do == "compute":
                pass
            if self.do == "queue":  # its thread cannot get rid of this before the worker ends
                self.queue = multiprocessing.Queue()
                self.queue.put(bytes(10_000_000))
        return torch.zeros(3)


def main(how, method, do, persistent):
    loader = data.DataLoader(
        Rows(do),
        num_workers=2,
        prefetch_factor=4,
        multiprocessing_context=method,
        persistent_workers=persistent == "persistent",
    )
    batches = iter(loader)
    next(batches)
    print("ready", flush=True)
    if how == "end":
        return
    if how == "raise":
        raise KeyError("on purpose")
    if how == "_exit":
        os._exit(0)
    if how == "segfault":
        ctypes.string_at(0)
    time.sleep(1000)  # until a signal comes


if __name__ == "__main__":
    main(*sys.argv[1:])
