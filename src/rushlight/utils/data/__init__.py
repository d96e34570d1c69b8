"""Datasets, samplers and the loader that turns them into batches: `torch.utils.data`."""

from typing import TYPE_CHECKING

from ..._base.missing import missing_name as _missing_name
from ._collate import default_collate as default_collate
from ._collate import default_convert as default_convert
from ._worker import get_worker_info as get_worker_info
from .dataloader import DataLoader as DataLoader
from .dataloader import _DatasetKind as _DatasetKind
from .dataset import ChainDataset as ChainDataset
from .dataset import ConcatDataset as ConcatDataset
from .dataset import Dataset as Dataset
from .dataset import IterableDataset as IterableDataset
from .dataset import StackDataset as StackDataset
from .dataset import Subset as Subset
from .dataset import TensorDataset as TensorDataset
from .dataset import random_split as random_split
from .sampler import BatchSampler as BatchSampler
from .sampler import RandomSampler as RandomSampler
from .sampler import Sampler as Sampler
from .sampler import SequentialSampler as SequentialSampler
from .sampler import SubsetRandomSampler as SubsetRandomSampler
from .sampler import WeightedRandomSampler as WeightedRandomSampler

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

if TYPE_CHECKING:
    from . import datapipes as datapipes
    from . import distributed as distributed
    from . import graph as graph
    from . import graph_settings as graph_settings
    from .datapipes._decorator import argument_validation as argument_validation
    from .datapipes._decorator import functional_datapipe as functional_datapipe
    from .datapipes._decorator import (
        guaranteed_datapipes_determinism as guaranteed_datapipes_determinism,
    )
    from .datapipes._decorator import non_deterministic as non_deterministic
    from .datapipes._decorator import runtime_validation as runtime_validation
    from .datapipes._decorator import runtime_validation_disabled as runtime_validation_disabled
    from .datapipes.datapipe import DataChunk as DataChunk
    from .datapipes.datapipe import DFIterDataPipe as DFIterDataPipe
    from .datapipes.datapipe import IterDataPipe as IterDataPipe
    from .datapipes.datapipe import MapDataPipe as MapDataPipe
    from .distributed import DistributedSampler as DistributedSampler
else:  # imported when it is asked for; to checkers a misspelt name is an error
    __getattr__ = _missing_name(
        __name__,
        {name: name for name in ("_utils", "datapipes", "distributed", "graph", "graph_settings")}
        | {"DistributedSampler": "distributed"}
        | dict.fromkeys(
            ("DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"), "datapipes.datapipe"
        )
        | dict.fromkeys(
            """argument_validation functional_datapipe guaranteed_datapipes_determinism
            non_deterministic runtime_validation runtime_validation_disabled""".split(),
            "datapipes._decorator",
        ),
    )
