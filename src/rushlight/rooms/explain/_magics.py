"""`%load_ext rushlight`: `%%explain` and `%%profile` in IPython and its notebooks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import nullcontext
from traceback import walk_stack
from typing import Any, TypeAlias

from .._base.sources import cell as cell_name
from .._core import Tensor
from ._cells import Framed
from ._passes import Pass, follow, unfollow, without_own_frames
from ._scopes import recording
from ._text import Shown, counted

Shell: TypeAlias = Any  # IPython's, which need not be there

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: Shell) -> None:
    """IPython calls this for `%load_ext rushlight`."""
    magics = _Magics(shell)
    shell.register_magic_function(magics.explain, "cell", "explain")
    shell.register_magic_function(magics.profile, "cell", "profile")


class _Magics:
    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def explain(self, line: str, cell: str) -> object:
        """Run the cell, and show the graph on which it calls backward first; `%%explain 3` the
        third. Where the cell calls none, that of the value in which the cell ends."""
        from . import page

        __tracebackhide__ = True
        if line.strip() and not line.strip().isdecimal():
            raise ValueError(f"%%explain takes the number of a backward, got {line.strip()!r}.")
        step = int(line.strip() or 1)
        seen: list[Shown | None] = []  # of each backward; a page of the one that is wanted

        def told(now: Pass) -> None:
            wanted = len(seen) + 1 == step
            seen.append(page(now.roots, gradient=now.gradients, step=step) if wanted else None)

        follow(told)
        try:
            with recording() if step == 1 else nullcontext():
                value = self._run(cell)
        except BaseException as error:
            without_own_frames(error)
            raise
        finally:
            unfollow(told)
        if len(seen) >= step:
            _show(seen[step - 1])
        elif isinstance(value, Tensor) and value.requires_grad and not seen:
            return page(value)
        else:
            said = f"the cell called backward {counted(len(seen), 'time')}"
            rest = "" if seen else " A cell that calls none can end in a loss."
            print(f"%%explain: {said}, and number {step} was wanted.{rest}")
        return value

    def profile(self, line: str, cell: str) -> object:
        """Run the cell, and show where its time goes, as a table and a page."""
        from . import profile
        from ._profile_page import page

        __tracebackhide__ = True
        with profile(title=_running()) as seen:
            value = self._run(cell)
        _show(seen)
        _show(Framed(page(seen), 600))
        return value

    def _run(self, cell: str) -> object:
        """Run a cell in the notebook's names, its lines counted from the magic's on; the value of
        the last expression, where none of IPython's semicolons ends the cell."""
        __tracebackhide__ = True
        shell = self._shell
        blank = len(cell) - len(cell.lstrip("\n"))  # which IPython strips, and the magic's line
        text = "\n" * (1 + blank) + shell.transform_cell(cell)
        tree = shell.transform_ast(shell.compile.ast_parse(text))
        file = shell.compile.cache(text, int(_running()[3:-1]), raw_code=cell)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(shell.compile(tree, file, "exec"), shell.user_ns)
        if last is None:
            return None
        value = eval(shell.compile(ast.Expression(last.value), file, "eval"), shell.user_ns)
        return None if text.rstrip().endswith(";") else value


def _running() -> str:
    """The name of the running cell, as places have it: `In[3]`."""
    names = (cell_name(frame.f_code.co_filename) for frame, _ in walk_stack(None))
    return next(filter(None, names), "In[0]")


def _show(value: object) -> None:
    from IPython.display import display

    show: Callable[[object], object] = display
    show(value)
