"""CUDA's tests run on the stand-in for its driver, each file in a process of its own."""

import _inside
import _standin
import pytest

child = None
"""That of the file whose tests run."""


def pytest_collection_modifyitems(items):
    for item in items:
        if _inside.HERE in item.path.parents and not _standin.compiler():
            item.add_marker(pytest.mark.skip("no compiler (c++, CXX) is here"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    global child
    away = _inside.HERE in item.path.parents and _standin.compiler() and not _inside.serving
    if not away:
        return None
    log = item.ihook
    log.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    child = child or _inside.Child(item.config, item.path)
    for report in child.reports(item, nextitem):
        log.pytest_runtest_logreport(report=report)
    if nextitem is None or nextitem.path != item.path or child.process.poll() is not None:
        child = child.end()
    item.session._setupstate.teardown_exact(nextitem)  # of what tests before this have set up
    log.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(autouse=True)
def _nothing_is_told(request):
    """The stand-in tells of no error but those that a test provokes."""
    before = _standin.opened().standin_violations()
    yield
    if request.module.__name__ != "test_standin":
        found = _standin.opened().standin_violations() - before
        assert found == len(getattr(request.module, "provoked", ())), _standin.said()
