"""What all tests share."""

import pytest
from hypothesis import settings

# The shipped contracts are tests too; before anything imports them.
pytest.register_assert_rewrite("adyton.testing")

# A machine may be busy: how long an example takes says nothing about whether a law holds.
settings.register_profile("adyton", deadline=None)
settings.load_profile("adyton")
