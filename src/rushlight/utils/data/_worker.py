"""Loading in worker processes. Modules for workers alone are imported when a worker is started.

A task (pass, number, indices) goes to a worker's own queue; (pass, number, batch) comes back
through its own pipe. Results of an earlier pass are dropped, so that a pass may be left half-way,
and persistent workers go on. A worker that dies closes its pipe: the loader notices at once, or
within a second where another process has inherited the pipe. A worker whose parent has gone ends
itself, since nobody will tell it to stop: see `_end_with_parent`.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import Any

from rushlight import _root as rl
from rushlight._torch._utils import ExceptionWrapper

from ..._base.outside import np
from ._fetch import BaseDataLoaderIter, LengthCheck, fetcher, pinning, seed_pipes
from .sampler import draw_seed

_STOP_SECONDS = 2.0  # what workers get to stop by themselves
_LOOK_SECONDS = 1.0  # how often each side looks whether the other is still there


class WorkerInfo:
    """The answer of `get_worker_info` inside a worker: its number, how many there are, its seed and
    dataset.
    """

    __slots__ = ("dataset", "id", "num_workers", "seed")

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id: int = id
        self.num_workers: int = num_workers
        self.seed: int = seed
        self.dataset: Any = dataset

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"WorkerInfo({shown})"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Inside a worker process, what it is; None in the main process.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


class _StreamEnd:
    """A worker's stream has no more samples."""


def _numpy_seed(base_seed: int, worker: int, random: Any = None) -> Any:
    """Seeds for NumPy's global generator, different in every worker and pass. random: NumPy's
    module, while it is imported."""
    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    return (random or np.random).SeedSequence([worker, low, high, 0]).generate_state(4)


class _SeedsNumPy:
    """Seeds NumPy's global generator when a worker imports NumPy."""

    def __init__(self, base_seed: int, worker: int) -> None:
        self.seeds = base_seed, worker
        if "numpy.random" in sys.modules:
            np.random.seed(_numpy_seed(base_seed, worker))
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "numpy.random":
            return None
        sys.meta_path.remove(self)
        spec: Any = PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def run_and_seed(module: Any) -> None:
            run(module)
            module.seed(_numpy_seed(*self.seeds, module))

        spec.loader.exec_module = run_and_seed
        return spec


def _end_with_parent() -> None:
    """Ends this process when its parent has gone, whatever either was doing.

    Runs in a thread of its own. A sign that comes at once (the parent's pidfd, or the sentinel: a
    pipe that other children of the parent may have inherited) is not to be had everywhere, and
    under forkserver the parent's id is the server's; so all signs are watched.
    """
    import multiprocessing
    from multiprocessing import connection

    started_by = os.getppid()
    parent: Any = multiprocessing.parent_process()  # None in a process of another library's
    watched = [] if parent is None else [parent.sentinel]
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):  # refused in some containers
            watched.append(os.pidfd_open(started_by if parent is None else parent.pid))
    while not connection.wait(watched, _LOOK_SECONDS) and os.getppid() == started_by:
        pass
    os._exit(1)  # no cleaning up: it could wait for a thread or a queue that nobody reads


def _work(
    worker: int,
    workers: int,
    base_seed: int,
    dataset: Any,
    options: tuple[Any, ...],
    init_fn: Any,
    tasks: Any,
    results: Any,
) -> None:
    """The loop of a worker process."""
    global _worker_info
    import random
    import threading
    from multiprocessing.reduction import ForkingPickler

    threading.Thread(target=_end_with_parent, daemon=True).start()
    seed = base_seed + worker
    random.seed(seed)
    rl.manual_seed(seed)
    _SeedsNumPy(base_seed, worker)
    rl.set_num_threads(1)
    _worker_info = WorkerInfo(worker, workers, seed, dataset)
    where = f"in DataLoader worker process {worker}"
    failure: ExceptionWrapper | None = None
    if hasattr(dataset, "_number_of_samples_yielded"):  # a pipe
        from .datapipes.iter.sharding import SHARDING_PRIORITIES
        from .graph_settings import apply_sharding

        apply_sharding(dataset, workers, worker, SHARDING_PRIORITIES.MULTIPROCESSING)
    if init_fn is not None:
        try:
            init_fn(worker)
        except Exception:
            failure = ExceptionWrapper(where=where)
    fetch: Any = None
    current = -1
    try:
        while (task := tasks.get()) is not None:
            epoch, number, places = task
            result: object
            if failure is not None:
                result, failure = failure, None
            else:
                try:
                    if epoch != current:
                        fetch = fetcher(options[0], dataset, *options[1:])
                        current = epoch
                    result = fetch(places)
                except StopIteration:
                    result = _StreamEnd()
                except Exception:
                    result = ExceptionWrapper(where=where)
            try:
                message = ForkingPickler.dumps((epoch, number, result))
            except Exception:  # a batch (or an exception) that cannot be sent
                result = ExceptionWrapper(where=where)
                message = ForkingPickler.dumps((epoch, number, result))
            results.send_bytes(message)
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the main process has stopped listening, or reports the interrupt itself


class WorkerIterator(BaseDataLoaderIter):
    """One pass over the batches, made by worker processes ahead of their use."""

    def __init__(self, loader: Any) -> None:
        import multiprocessing
        from multiprocessing import connection

        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            valid = multiprocessing.get_all_start_methods()
            if context is not None and context not in valid:
                raise ValueError(
                    "multiprocessing_context option should specify a valid start method in "
                    f"{valid!r}, but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        # Not the loader itself: it holds this iterator when the workers are persistent, and a cycle
        # would keep the workers until the garbage collector comes.
        self._timeout = loader.timeout
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._persistent = loader.persistent_workers
        self._in_order = loader.in_order
        self._sampler = loader._index_sampler
        seed_pipes(loader)
        self._base_seed = draw_seed(loader.generator)
        self._epoch = 0
        self._process = os.getpid()
        self._wait = connection.wait
        self._tasks: list[Any] = []
        self._workers: list[Any] = []
        self._results: dict[Any, int] = {}  # pipe -> worker
        how = (loader._auto_collation, loader.collate_fn, loader.drop_last)
        options = (loader._dataset_kind, *how)
        for worker in range(loader.num_workers):
            tasks = context.Queue()
            tasks.cancel_join_thread()
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=_work,
                args=(
                    worker,
                    loader.num_workers,
                    self._base_seed,
                    loader.dataset,
                    options,
                    loader.worker_init_fn,
                    tasks,
                    writer,
                ),
                daemon=True,
            )
            process.start()
            writer.close()  # the worker's is the only one left: with it, the pipe ends
            self._tasks.append(tasks)
            self._workers.append(process)
            self._results[reader] = worker
        self._begin(loader)

    def _begin(self, loader: Any) -> None:
        """Sets up a pass and asks for the first batches."""
        self._check = LengthCheck(loader) if loader._dataset_kind else None
        self._finish = pinning(loader)
        self._places: Iterator[Any] = iter(self._sampler)
        self._sent = 0  # tasks given out
        self._given = 0  # number of the next batch to yield
        self._ready: dict[int, Any] = {}
        self._ended: set[int] = set()  # workers whose stream is at its end
        self._exhausted = False
        self._next_worker = 0
        for _ in range(self._ahead):
            self._send()

    def restart(self, loader: object) -> None:
        """Begins another pass with the same workers."""
        self._epoch += 1
        self._begin(loader)

    def __iter__(self) -> WorkerIterator:
        return self

    def __len__(self) -> int:
        return len(self._sampler)

    def _send(self) -> None:
        """Gives the next task to the next worker whose stream has not ended."""
        if self._exhausted or len(self._ended) == len(self._workers):
            return
        while self._next_worker in self._ended:
            self._next_worker = (self._next_worker + 1) % len(self._workers)
        try:
            places = next(self._places)
        except StopIteration:
            self._exhausted = True
            return
        self._tasks[self._next_worker].put((self._epoch, self._sent, places))
        self._sent += 1
        self._next_worker = (self._next_worker + 1) % len(self._workers)

    def _receive(self) -> None:
        """Waits until at least one result of this pass has come."""
        timeout = self._timeout
        deadline = time.monotonic() + timeout if timeout > 0 else math.inf
        received = False
        while not received:
            left = max(0.0, deadline - time.monotonic())
            readers: Any = self._wait(list(self._results), min(left, _LOOK_SECONDS))
            if not readers:
                if left <= _LOOK_SECONDS:
                    self._shutdown()
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
                for reader, worker in list(self._results.items()):
                    if not (self._workers[worker].is_alive() or reader.poll(0)):
                        self._lost(reader)
            for reader in readers:
                received |= self._read(reader)

    def _read(self, reader: Any) -> bool:
        """Takes one message from a worker's pipe; whether it is a result of this pass."""
        worker = self._results[reader]
        try:
            message = reader.recv_bytes()
        except (EOFError, OSError):  # the end of the pipe, between messages or within one
            self._lost(reader)
            return False
        epoch, number, result = pickle.loads(message)
        if epoch != self._epoch:
            return False
        if isinstance(result, _StreamEnd) and worker not in self._ended:
            self._ended.add(worker)
            if not self._persistent:
                self._tasks[worker].put(None)
        self._ready[number] = result
        return True

    def _lost(self, reader: Any) -> None:
        """Takes a worker off that has ended: an error, unless it was told to stop."""
        worker = self._results.pop(reader)
        reader.close()
        if self._persistent or worker not in self._ended:
            process = self._workers[worker]
            self._shutdown()
            code, how = process.exitcode, f"DataLoader worker (pid {process.pid})"
            if code is not None and code < 0:
                cause = f"{how} is killed by signal: {signal.strsignal(-code)}. "
            else:
                cause = f"{how} exited unexpectedly with exit code {code}."
            said = f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly"
            raise RuntimeError(said) from RuntimeError(cause)

    def __next__(self) -> Any:
        while self._ready or self._given < self._sent:
            if self._in_order:
                number = self._given
                if number not in self._ready:
                    self._receive()
                    continue
            else:
                if not self._ready:
                    self._receive()
                number = next(iter(self._ready))
            result = self._ready.pop(number)
            self._given += 1
            self._send()
            if isinstance(result, _StreamEnd):
                continue
            if isinstance(result, ExceptionWrapper):
                result.reraise()
            if self._check is not None:
                self._check.count()
            return self._finish(result)
        if not self._persistent:
            self._shutdown()
        raise StopIteration

    def _shutdown(self) -> None:
        """Stops the workers; none is left behind."""
        workers, self._workers = self._workers, []
        self._ready = {}
        self._sent = self._given = 0  # nothing is to come
        for reader in self._results:
            reader.close()  # a worker that is sending notices
        self._results = {}
        for tasks in self._tasks:
            tasks.put(None)
        deadline = time.monotonic() + _STOP_SECONDS
        for process in workers:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(_STOP_SECONDS)
            if process.is_alive():  # it does not listen to SIGTERM
                process.kill()
                process.join()
        for tasks in self._tasks:
            tasks.close()
        self._tasks = []

    _shutdown_workers = _shutdown  # PyTorch's private name

    def has_workers(self) -> bool:
        """Whether there are workers, of this process: a forked child has a copy of the iterator
        alone.
        """
        return bool(getattr(self, "_workers", None)) and self._process == os.getpid()

    def __del__(self) -> None:
        if self.has_workers():
            self._shutdown()


_MultiProcessingDataLoaderIter = WorkerIterator  # PyTorch's private name
