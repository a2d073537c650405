"""The study file: public facts, written for people, reviewed by people, checked here.

Every error names the key and the fix, and all that is wrong is said at once.
"""

from adyton.study.facts import PrivateTable, Study, check_lines, check_size, needs_size
from adyton.study.named_facts import named_facts
from adyton.study.notes import FILL_IN
from adyton.study.reading import parse_study, read_study
from adyton.study.validity import Validity, discovery_failure, planned

__all__ = [
    "FILL_IN",
    "PrivateTable",
    "Study",
    "Validity",
    "check_lines",
    "check_size",
    "discovery_failure",
    "named_facts",
    "needs_size",
    "parse_study",
    "planned",
    "read_study",
]
