"""Refute us if you can: a black-box auditor of privacy claims, for our mechanisms and for anyone's."""

from adyton.audit.black_box import Verdict, audit
from adyton.audit.exact import Delta, OutputLaw, exact_curve, exact_delta
from adyton.audit.replay import Replay, replay
from adyton.audit.trade_off import TradeOff, audit_gdp

__all__ = [
    "Delta",
    "OutputLaw",
    "Replay",
    "TradeOff",
    "Verdict",
    "audit",
    "audit_gdp",
    "exact_curve",
    "exact_delta",
    "replay",
]
