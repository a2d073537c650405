"""The receipts of a study, page by page, and their replay on this side of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from adyton.client.line import Line, checked_reply
from adyton.curator.receipts import Receipts, header_from, link_from, receipt_from
from adyton.errors import LedgerCorrupt
from adyton.ledger import Header, OpenLink, Receipt, Verification, replay_open


@dataclass(frozen=True, slots=True)
class _Page:
    header: Header
    links: list[OpenLink]
    receipts: list[Mapping[str, Any]]
    following: int | None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> _Page:
        following, links = told["next"], list(map(link_from, told["links"]))
        if following is not None and type(following) is not int:
            raise TypeError
        return cls(header_from(told["header"], told["filter"]), links, list(told["receipts"]), following)


@dataclass(frozen=True, slots=True)
class Chain:
    """The open part of every link, and the receipts that the role may see whole."""

    header: Header
    links: list[OpenLink]
    receipts: list[Receipt]

    @classmethod
    def of(cls, line: Line, path: str) -> Chain:
        """All pages.  LedgerCorrupt where a digest is not the one that was told with it."""
        pages = [line.get(path, _Page.of, after=0)]
        while (after := pages[-1].following) is not None:
            pages.append(line.get(path, _Page.of, after=after))
            if pages[-1].header != pages[0].header:
                raise LedgerCorrupt("the server shows two ledgers: the headers of two pages differ")
            if pages[-1].following is not None and pages[-1].following <= after:
                raise LedgerCorrupt("the server lists its receipts in circles")
        links = [link for page in pages for link in page.links]
        whole = [told for page in pages for told in page.receipts]
        return cls(pages[0].header, links, checked_reply(partial(_receipts, links=links), whole))

    def listed(self) -> Receipts:
        return Receipts(self.receipts, self.header, self.header.limit)

    def verify(self, head: str | None, seen: Mapping[int, str]) -> Verification:
        """Every digest and every total again; also that receipts which came with answers are in the chain."""
        found = replay_open(self.header, self.links, head, self.receipts)
        shown = {link.number: link.digest for link in self.links}
        for number, digest in seen.items():
            if shown.get(number) != digest:
                raise LedgerCorrupt(f"receipt {number}, which came with an answer, is not in the chain")
        return found


def _receipts(whole: list[Mapping[str, Any]], links: list[OpenLink]) -> list[Receipt]:
    """Whether an order is covered by a theorem follows from the number of those that are not."""
    before = dict(zip((link.number for link in links), (0, *(link.unproved for link in links)), strict=False))
    return [receipt_from(told, before.get(told["number"], 0)) for told in whole]
