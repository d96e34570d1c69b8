"""`torch.distributed.launch`: the older name of `torch.distributed.run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .._base.missing import missing_name as _missing_name
from . import run as _run
from .run import parse_args as parse_args
from .run import run as run

__getattr__ = _missing_name(__name__)


def main(args: Sequence[str] | None = None) -> None:
    """The command torchrun, with the two options that it has no more."""
    given = list(sys.argv[1:] if args is None else args)
    options = given[: next((i for i, word in enumerate(given) if word.endswith(".py")), None)]
    kept = [word for word in options if word not in ("--use-env", "--use_env")]
    _run.main([*kept, *given[len(options) :]])


if __name__ == "__main__":
    main()
