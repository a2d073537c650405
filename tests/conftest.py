"""What all tests share."""

from hypothesis import settings

# A machine may be busy: how long an example takes says nothing about whether a law holds.
settings.register_profile("adyton", deadline=None)
settings.load_profile("adyton")
