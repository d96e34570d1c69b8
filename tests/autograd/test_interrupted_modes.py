"""A KeyboardInterrupt at any instruction of a block's two ends leaves no mode on.

The trace function raises one at each place of the library's own code in turn where a real one can
come: as a function begins, after a call, and where a loop goes back.
"""

import dis
import functools
import sys
import warnings
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import _core
from rushlight._levels import running

HERE = str(Path(torch.__file__).parent)


class Nothing(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def within(block):
    """A program that enters a block which stands ready."""

    def run(ready):
        with ready:
            pass

    return block, run


def called(function):
    return lambda: torch.ones(2, 3), function


CASES = {
    "no_grad": within(torch.no_grad),
    "enable_grad": within(torch.enable_grad),
    "set_grad_enabled": within(lambda: torch.set_grad_enabled(True)),
    "inference_mode": within(torch.inference_mode),
    "inference_mode(False)": within(lambda: torch.inference_mode(False)),
    "function mode": within(Nothing),
    "DisableTorchFunction": within(torch._C.DisableTorchFunction),
    "dual_level": within(torch.autograd.forward_ad.dual_level),
    "detect_anomaly": within(torch.autograd.detect_anomaly),
    "set_detect_anomaly": within(lambda: torch.autograd.set_detect_anomaly(False)),
    "autocast": within(lambda: torch.autocast("cpu")),
    "saved_tensors_hooks": within(
        lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    ),
    "device": within(lambda: torch.device("meta")),
    "vmap": called(lambda x: torch.vmap(torch.sin)(x)),
    "grad": called(lambda x: torch.func.grad(lambda x: x.sin().sum())(x)),
    "jvp": called(lambda x: torch.func.jvp(torch.sin, (x,), (x,))),
    "no_grad as a decorator": called(torch.no_grad()(lambda x: x + 1)),
}


def modes():
    x = torch.ones(2, requires_grad=True)
    y = (x @ x) * 2
    gradient = torch.autograd.grad(y, x)[0] if y.requires_grad else None
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        _core.entered_modes(),
        _core.get_overrides(),
        torch.autograd.forward_ad._current_level,
        torch.is_anomaly_enabled(),
        torch.is_autocast_enabled("cpu"),
        list(running.state.stack),
        _core.has_saved_hooks(),
        (y.dtype, y.device.type, y.grad_fn is not None),
        gradient is not None and (gradient.is_meta or gradient.tolist()),
        torch.autograd.forward_ad._is_fwd_grad_enabled(),
    )


@functools.cache
def looked_for(code):
    """The offsets of instructions before which CPython looks for signals.

    Not those that begin or end a protected part: there a real one counts as of the one before.
    """
    table = dis._parse_exception_table(code)

    def handlers(offset):
        return {entry.target for entry in table if entry.start <= offset < entry.end}

    found, before = set(), None
    for instruction in dis.get_instructions(code):
        looks = before is None or before.opname.startswith(("RESUME", "CALL", "JUMP_BACKWARD"))
        if looks and (before is None or handlers(before.offset) == handlers(instruction.offset)):
            found.add(instruction.offset)
        before = instruction
    return found


def interrupted(run, ready, at):
    """Run with an interrupt at one of the places where CPython looks for one; False where there
    are not as many."""
    seen = 0

    def trace(frame, event, arg):
        nonlocal seen
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_lasti in looked_for(frame.f_code):
            seen += 1
            if seen == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        run(ready)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("name", CASES)
def test_no_mode_stays_on(name):
    make, run = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(make())  # what is imported or kept at the first call
        expected, at, step = modes(), 0, 1
        while True:
            at += step
            with torch.set_grad_enabled(True):
                ready = make()
            if not interrupted(run, ready, at):
                break
            assert modes() == expected, f"after an interrupt at instruction {at}"
            step = 1 if at < 500 else 7
