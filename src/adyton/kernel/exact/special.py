"""scipy's special functions, loaded when the first of them is needed.

Loading takes half as long as everything else in ``import adyton`` together, and nobody who
only opens a study or previews a query should wait for it.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def special() -> ModuleType:
    import scipy.special

    module: ModuleType = scipy.special
    return module
