"""Answers, and what can be said for them.

An answer has two intervals that are never called by one name: the *noise interval* says what these rows say,
the *population interval* what the world says.
"""

from adyton.certify.answer import Amount, AmountLeft, Answer, Odometer, RoundedGuarantee
from adyton.certify.budget import Budget
from adyton.certify.last_look import LastLook
from adyton.certify.later import AnswerBits, Later
from adyton.certify.preview import OpeningPreview, Preview, Step
from adyton.certify.rows import Intervals, KeyColumn, KeyedRows, KnownRange, LateValues, RowKeys, Values
from adyton.certify.values import (
    Absent,
    Bound,
    Certificate,
    Chosen,
    DiscoveryPreview,
    DiscoveryResult,
    Interval,
    KeyLabel,
    Proof,
    Row,
    Value,
    json_text,
    toml_text,
)

__all__ = [
    "Absent",
    "Amount",
    "AmountLeft",
    "Answer",
    "AnswerBits",
    "Bound",
    "Budget",
    "Certificate",
    "Chosen",
    "DiscoveryPreview",
    "DiscoveryResult",
    "Interval",
    "Intervals",
    "KeyColumn",
    "KeyLabel",
    "KeyedRows",
    "KnownRange",
    "LastLook",
    "LateValues",
    "Later",
    "Odometer",
    "OpeningPreview",
    "Preview",
    "Proof",
    "RoundedGuarantee",
    "Row",
    "RowKeys",
    "Step",
    "Value",
    "Values",
    "json_text",
    "toml_text",
]
