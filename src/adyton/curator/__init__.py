"""The trusted curator: ask, preview, budget."""

from adyton.curator.curator import Curator
from adyton.curator.opening import open_study

__all__ = ["Curator", "open_study"]
