"""Annotations can be read at run time: libraries of models ask `typing.get_type_hints` for them."""

import importlib
import inspect
import pkgutil
import typing

import pytest

from _subject import NAME, torch

ROOMS = """amp autograd backends cuda distributions explain export func fx masked nested nn optim
signal sparse testing utils.data""".split()


def annotated(room):
    """Name and object: the classes and functions that the modules of a room define, methods too."""
    package = importlib.import_module(f"{NAME}.{room}")
    names = [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    for name in [package.__name__, *names]:
        for value in list(vars(importlib.import_module(name)).values()):
            if getattr(value, "__module__", None) != name:
                continue
            members = vars(value).values() if inspect.isclass(value) else ()
            for each in (value, *members):
                each = getattr(each, "__func__", getattr(each, "fget", each))
                if inspect.isfunction(each) or inspect.isclass(each):
                    yield f"{name}.{each.__qualname__}", each


@pytest.mark.parametrize("room", ROOMS)
def test_every_annotation_has_a_meaning(room):
    if NAME == "torch":
        pytest.skip("some of PyTorch's own have none")
    unknown = []
    for name, value in annotated(room):
        try:
            typing.get_type_hints(value)
        except NameError as error:
            unknown.append(f"{name}: {error}")
    assert not unknown


def test_hints_of_a_model():
    class Net(torch.nn.Module):
        scale: torch.Tensor
        layers: typing.List[torch.nn.Linear]  # noqa: UP006

    hints = typing.get_type_hints(Net)
    assert hints["scale"] is torch.Tensor and hints["training"] is bool
    assert typing.get_type_hints(torch.nn.Linear.forward)["input"] is torch.Tensor
    assert "params" in typing.get_type_hints(torch.optim.Adam.__init__)


def test_tuples_and_lists_of_torch_are_no_generic_classes():
    """beartype, and so plum and fastai, ask by `__orig_bases__`."""
    several = torch.ones(2).max(0)
    for value in (torch.ones(2).shape, several, torch.autograd.profiler.EventList()):
        assert not hasattr(type(value), "__orig_bases__")
