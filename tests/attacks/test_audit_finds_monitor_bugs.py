"""The audit of monitors finds what would break the price of sums and means, from one pair of runs of each."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from adyton.audit.cases import monitors
from adyton.audit.cases.catalogue import target_of
from adyton.audit.replay import Replay
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Adjacency
from adyton.kernel.special.monitor import Monitor
from adyton.monitors import compared as comparing
from adyton.monitors import open_monitor, plan
from adyton.monitors.kinds import MonitorKind


def replayed(kind: MonitorKind, adjacency: Adjacency) -> Replay:
    trial = monitors._trial("pure", monitors.MonitorCase(adjacency, kind), target_of("1", "0.01"))
    assert trial.replayed is not None
    return trial.replayed


def refused(kind: MonitorKind, adjacency: Adjacency) -> None:
    """Who feeds a monitor cannot get it wrong alone: the kernel works it out again.

    Below, what is found is that mistake where the kernel does not look.
    """
    with pytest.raises(InvalidRequest, match=r"farther than was paid for|fall where others rise"):
        replayed(kind, adjacency)


@pytest.mark.parametrize(
    ("kind", "adjacency"), [("sums", "add-remove"), ("means", "add-remove"), ("means", "replace-one")]
)
def test_our_monitors_of_sums_and_means_are_replayed_without_a_fault(
    kind: MonitorKind, adjacency: Adjacency
) -> None:
    """On neighbors that move queries nearly as far as is allowed."""
    found = replayed(kind, adjacency)
    assert found.faults == ()
    assert Fraction(999, 1000) < max(moved.l1 for moved in found.movements) <= 1


def test_a_factor_that_is_too_large_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = comparing._factor
    monkeypatch.setattr(comparing, "_factor", lambda reading, reach: real(reading, 2 * reach))
    refused("means", "replace-one")
    monkeypatch.setattr(Monitor, "check", lambda *_: None)
    found = replayed("means", "replace-one").faults
    assert any("moved farther than the monitor allows for" in fault for fault in found)


def test_means_at_the_price_of_queries_that_move_one_way_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "moves_one_way", lambda study, kind: study.unit.adjacency == "add-remove")
    refused("means", "add-remove")
    monkeypatch.setattr(Monitor, "check", lambda *_: None)
    assert "some numbers rise where others fall" in replayed("means", "add-remove").faults


def test_a_monitor_that_compares_what_it_did_not_scale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sampled is what was read: a monitor that reads something else is noticed."""
    real = open_monitor.compared

    def other(study: Any, kind: Any, reach: int, asked: Any, above: Any) -> Any:
        return real(study, kind, reach, asked, Fraction(above) / 2)

    monkeypatch.setattr(open_monitor, "compared", other)
    assert monitors.compared is real
    with pytest.raises(AssertionError, match="did not read the integers"):
        replayed("means", "replace-one")
