"""Answers, and what can be said for them.

An answer has two intervals that are never called by one name: the *noise interval* says what these rows say,
the *population interval* what the world says.
"""

from adyton.certify.answer import Answer
from adyton.certify.preview import Preview, Step
from adyton.certify.statement import Statement
from adyton.certify.values import (
    Absent,
    Amount,
    Bound,
    Certificate,
    Interval,
    Key,
    KeysFound,
    KeysSought,
    Promise,
    Proof,
    Row,
    Value,
    json_text,
    promise,
)

__all__ = [
    "Absent",
    "Amount",
    "Answer",
    "Bound",
    "Certificate",
    "Interval",
    "Key",
    "KeysFound",
    "KeysSought",
    "Preview",
    "Promise",
    "Proof",
    "Row",
    "Statement",
    "Step",
    "Value",
    "json_text",
    "promise",
]
