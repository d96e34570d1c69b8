"""`%load_ext rushlight`: `%%explain` and `%%profile` in IPython and its notebooks."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
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
        number = line.strip() or "1"
        if not number.isdecimal() or not int(number):
            raise ValueError(f"%%explain takes the number of a backward, got {number!r}.")
        step, run = int(number), self._compiled(cell)
        seen: list[Shown | None] = []  # of each backward; a page of the one that is wanted

        def told(now: Pass) -> None:
            wanted = len(seen) + 1 == step
            seen.append(page(now.roots, gradient=now.gradients, step=step) if wanted else None)

        follow(told)
        try:
            with recording() if step == 1 else nullcontext():
                value = run()
        except BaseException as error:
            without_own_frames(error)
            raise
        finally:
            unfollow(told)
            if len(seen) >= step:
                _show(seen[step - 1])
        if isinstance(value, Tensor) and value.requires_grad and not seen:
            return page(value)
        if len(seen) < step:
            said = f"the cell called backward {counted(len(seen), 'time')}"
            rest = "" if seen else " A cell that calls none can end in a loss."
            print(f"%%explain: {said}, and number {step} was wanted.{rest}")
        return value

    def profile(self, line: str, cell: str) -> object:
        """Run the cell, and show where its time goes, as a table and a page."""
        from . import profile
        from ._profile_page import page

        __tracebackhide__ = True
        if line.strip():
            raise ValueError(f"%%profile takes no argument, got {line.strip()!r}.")
        run = self._compiled(cell)
        with ExitStack() as after, profile(title=_running()) as seen:
            after.callback(lambda: _show(Framed(page(seen), 600)))
            after.callback(_show, seen)
            return run()

    def _compiled(self, cell: str) -> Callable[[], object]:
        """A function that runs a cell in the notebook's names, its lines counted from the magic's
        on, and gives the value of the last expression, where no semicolon of IPython's ends it."""
        __tracebackhide__ = True
        shell = self._shell
        blank = len(cell) - len(cell.lstrip("\n"))  # which IPython strips, and the magic's line
        text = "\n" * (1 + blank) + shell.transform_cell(cell)
        file = shell.compile.cache(text, int(_running()[3:-1]), raw_code=cell)
        tree = shell.transform_ast(shell.compile.ast_parse(text, file))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        value = ast.Expression(ast.Constant(None) if last is None else last.value)
        try:
            body = shell.compile(tree, file, "exec")
            end = shell.compile(ast.fix_missing_locations(value), file, "eval")
        except SyntaxError as error:
            if re.search("await|async", error.msg):
                error.msg += ". A cell under a magic cannot wait: explain.profile() and page() can"
            raise

        def run() -> object:
            __tracebackhide__ = True
            exec(body, shell.user_ns)
            found = eval(end, shell.user_ns)
            return None if text.rstrip().endswith(";") else found

        return run


def _running() -> str:
    """The name of the running cell, as places have it: `In[3]`."""
    names = (cell_name(frame.f_code.co_filename) for frame, _ in walk_stack(None))
    return next(filter(None, names), "In[0]")


def _show(value: object) -> None:
    from IPython.display import display

    show: Callable[[object], object] = display
    show(value)
