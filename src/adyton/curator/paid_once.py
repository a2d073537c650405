"""What is paid for once and then used often: monitors, PMW and synthetic tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Unpack

from adyton.curator.previewing import would_cost
from adyton.curator.purse import plan_as_charged
from adyton.curator.releasing import Release, Walk
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import Number, float_up
from adyton.kernel.ledger import Receipt
from adyton.kernel.ledger.subjects import Kind
from adyton.kernel.special.monitor import Monitor
from adyton.monitors.answer import PREVIEWED, MonitorList, MonitorPreview
from adyton.monitors.kinds import MonitorKind
from adyton.monitors.open_monitor import OpenMonitor
from adyton.monitors.plan import machine_of, plan_monitor, text_of
from adyton.planning.price import Price, PriceWords, price_of

if TYPE_CHECKING:
    from adyton.kernel.special.mechanisms.marginals.adaptive import NoisyMarginal
    from adyton.monitors.pmw.answer import PmwList, PmwPreview
    from adyton.monitors.pmw.open_pmw import OpenPmw
    from adyton.monitors.pmw.plan import Wish
    from adyton.query.conditions.atoms import Bins
    from adyton.synthesis.plan import Method, SynthesisPreview
    from adyton.synthesis.result import Synthesis


class PmwWords(PriceWords, total=False):
    """A price, and what it is for.

    ``queries``: how many there may be.  ``bins``: of columns without declared values, how many, or where
    each but the first begins.  ``tolerance``: the share of all units by which a guess may be wrong before it
    is corrected; without it, what takes fewest updates.
    """

    queries: int
    tolerance: Number | None
    bins: Mapping[str, Bins] | None


class PaidOnce(Walk):
    """The methods of a curator for them."""

    def open_monitor(
        self,
        *,
        positives: int,
        of: MonitorKind = "counts",
        numeric: bool = False,
        refresh: bool | None = None,
        request: str | None = None,
        **price: Unpack[PriceWords],
    ) -> OpenMonitor:
        """A monitor ``of`` "counts", charged now, at ``epsilon`` or a ``share``, whatever is fed later.

        It halts after ``positives`` of them were found above their threshold.  One of "sums" takes sums too,
        one of "means" also means and proportions.  ``numeric`` adds a noisy value to each of the positives;
        ``refresh`` draws the noise of the threshold anew after each, or keeps it; None is what needs less
        noise: anew in gdp and zcdp studies of several positives, otherwise kept.
        """
        named = price_of(**price)
        left = self.left_for(request, named)
        planned = partial(
            plan_monitor, self.study, left=left, positives=positives, numeric=numeric, refresh=refresh, of=of
        )
        return OpenMonitor(self.study, self._opened(planned(named), request, named, planned))

    def preview_monitor(
        self,
        *,
        positives: int,
        of: MonitorKind = "counts",
        numeric: bool = False,
        refresh: bool | None = None,
        **price: Unpack[PriceWords],
    ) -> MonitorPreview:
        """What ``open_monitor`` would cost, and how much wider later population intervals would be.  Free."""
        left, named = self._purse.left_now, price_of(**price)
        plan = plan_monitor(self.study, named, left, positives, numeric, refresh, of)
        return MonitorPreview(
            monitor=text_of(plan.machine, plan.kind),
            right_beyond=float_up(plan.units_of_error(LEVEL, PREVIEWED)),
            **would_cost(plan, self._purse, self._claims),
        )

    def monitor(self, number: int) -> OpenMonitor:
        """The monitor that receipt ``number`` paid for, where it was left, also after a restart."""
        return OpenMonitor(
            self.study, self._opened_before(number, lambda receipt: Monitor(machine_of(receipt)))
        )

    def monitors(self) -> MonitorList:
        """How far every monitor of the study is, oldest first, but for those that a restored ledger ended.

        Reads no data.
        """
        return MonitorList([self.monitor(number).budget() for number in self._going_on("monitor")])

    def open_pmw(
        self, columns: Sequence[str], *, request: str | None = None, **words: Unpack[PmwWords]
    ) -> OpenPmw:
        """Many linear queries about ``columns`` for one charge, answered from a guess that learns.

        ``queries``: how many.  Refused where noise of its own for each answer would be better.
        """
        from adyton.monitors.pmw.open_pmw import OpenPmw
        from adyton.monitors.pmw.plan import plan_pmw

        wish, named = _wished(columns, words)
        planned = partial(plan_pmw, self.study, wish, left=self.left_for(request, named))
        plan = planned(named)
        if plan.against is not None:
            raise InvalidRequest(f"{plan.against}; nothing was charged")
        return OpenPmw(self.study, self._opened(plan, request, named, planned))

    def preview_pmw(self, columns: Sequence[str], **words: Unpack[PmwWords]) -> PmwPreview:
        """What ``open_pmw`` would cost, and whether it would answer better than plain noise.  Free."""
        from adyton.monitors.pmw.answer import PmwPreview
        from adyton.monitors.pmw.plan import plan_pmw

        plan = plan_pmw(self.study, *_wished(columns, words), self._purse.left_now)
        return PmwPreview(
            pmw=plan.terms.text,
            cells=plan.terms.cells,
            updates=plan.terms.updates,
            farthest=plan.farthest,
            error=plan.error,
            independent=plan.independent,
            against=plan.against,
            **would_cost(plan, self._purse, self._claims),
        )

    def pmw(self, number: int) -> OpenPmw:
        """The PMW run that receipt ``number`` paid for, where it was left, also after a restart."""
        from adyton.monitors.pmw.open_pmw import OpenPmw
        from adyton.monitors.pmw.terms import terms_of

        return OpenPmw(
            self.study, self._opened_before(number, lambda paid: terms_of(paid).measurement(self.study))
        )

    def opened_pmw(self) -> PmwList:
        """How far every PMW run of the study is, oldest first, but for those that a restored ledger ended.

        Reads no data, unless a crash came between a charge and the number of units that it paid for.
        """
        from adyton.monitors.pmw.answer import PmwList

        return PmwList([self.pmw(number).budget() for number in self._going_on("pmw")])

    def _going_on(self, kind: Kind) -> list[int]:
        """The receipts of this kind, oldest first, after which no copy of the ledger was put back."""
        restored = self._ledger.find("restored", most=1)
        after = restored[0].number if restored else 0
        return [receipt.number for receipt in reversed(self._ledger.find(kind, after=after))]

    def synthesize(
        self,
        columns: Sequence[str],
        *,
        rows: int | None = None,
        bins: Mapping[str, Bins] | None = None,
        ways: int | None = None,
        method: Method | None = None,
        request: str | None = None,
        **price: Unpack[PriceWords],
    ) -> Synthesis:
        """A synthetic table of these ``columns``, for an ``epsilon`` or a ``share``: made-up rows.

        It is like the private one in marginals of up to ``ways`` columns, which are chosen privately and
        measured with noise.  ``bins`` are for numbers and dates: how many, or where each but the first
        begins.  The same again, also with another number of ``rows``, is free of charge.
        """
        from adyton.curator.coordinated.synthesizing import WrittenTable
        from adyton.synthesis.plan import axes_of, plan_synthesis, text_of_axes
        from adyton.synthesis.result import Synthesis, check_rows

        check_rows(rows)
        planned = partial(plan_synthesis, self.study, columns, bins=bins, ways=ways, method=method)
        named, purse = price_of(**price), self._purse
        text = text_of_axes(axes_of(self.study, columns, bins))
        lefts = self.left_for(request, named), self._lefts_before(named, [text])
        plan = plan_as_charged(partial(planned, named), *lefts, self._asked.knows)

        def shown(receipt: Receipt, read: Callable[[], Sequence[NoisyMarginal]], repeated: bool) -> Synthesis:
            return Synthesis(plan, read(), rows, **purse.paid(receipt, repeated=repeated))

        advice = (named, lambda other: planned(other, purse.left_now), 1)
        return self._walked(Release(plan, advice, WrittenTable(plan)), request, shown)

    def preview_synthesis(
        self,
        columns: Sequence[str],
        *,
        bins: Mapping[str, Bins] | None = None,
        ways: int | None = None,
        method: Method | None = None,
        **price: Unpack[PriceWords],
    ) -> SynthesisPreview:
        """What ``synthesize`` would cost, and how much wider later population intervals would be.  Free."""
        from adyton.synthesis.plan import SynthesisPreview, plan_synthesis

        named, left = price_of(**price), self._purse.left_now
        plan = plan_synthesis(self.study, columns, named, left, bins=bins, ways=ways, method=method)
        return SynthesisPreview(plan=plan, **would_cost(plan, self._purse, self._claims))


def _wished(columns: Sequence[str], words: PmwWords) -> tuple[Wish, Price]:
    """What is asked for, and the price that was named for it."""
    from adyton.monitors.pmw.plan import Wish

    asked = dict(words)
    if "queries" not in asked:
        raise InvalidRequest("say how many queries there may be, as in queries=10_000")
    own = {name: asked.pop(name) for name in ("queries", "tolerance", "bins") if name in asked}
    price = price_of(**asked)  # type: ignore[arg-type]  # which refuses words it does not know
    return Wish(columns, **own), price  # type: ignore[arg-type]  # and this what is not of its kind
