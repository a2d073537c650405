"""What all tests share."""

import gc
from collections.abc import Generator

import pytest
from hypothesis import settings

# The shipped contracts are tests too; before anything imports them.
pytest.register_assert_rewrite("adyton.testing")

# A machine may be busy: how long an example takes says nothing about whether a law holds.  The examples of a law are
# the same in every run, so that a change is judged by the change; `make search` looks for new ones.
settings.register_profile("adyton", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("adyton")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Fourteen thousand tests stay until the end: nobody needs to look through them for garbage again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
