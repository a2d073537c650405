"""What all tests share."""

import functools
import gc
import os
import signal
from collections.abc import Generator

# Two processes run tests on two cores.  A second thread of linear algebra would only wait, and waits by computing:
# fits of synthetic tables take half of the processor's time without it.  Before anything imports numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import httpcore2
import pytest
import typer.testing
from hypothesis import settings

from support.tries import often

# The shipped contracts are tests too; before anything imports them.
pytest.register_assert_rewrite("adyton.testing")

# A machine may be busy: how long an example takes says nothing about whether a law holds.  The examples of a law are
# the same in every run, so that a change is judged by the change; `make search` looks for new ones.
settings.register_profile("adyton", deadline=None, derandomize=True, max_examples=often(30, 200))
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("adyton")

# The runner of command lines makes all commands anew for each call, for longer than most of them take: they are made
# once here, as they are in a process of their own.
typer.testing._get_command = functools.cache(typer.testing._get_command)

# Every client reads the certificates of all authorities, for longer than most requests take: once here.
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)


# A shell that starts tests in the background lets them ignore Ctrl-C, which some send to themselves and to others.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Fifteen thousand tests stay until the end: nobody needs to look through them for garbage again and again.

    Nor after every seven hundred objects, as Python does: queries are trees, and searches make many fractions.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()
