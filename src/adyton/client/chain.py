"""The receipts of a study or a holdout, page by page, and their replay on this side of the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from adyton.client.line import HttpTransport, checked_reply
from adyton.curator.receipts import Receipts, header_from, link_from, receipt_from
from adyton.errors import LedgerCorrupt
from adyton.holdout.stages import chained
from adyton.kernel.exact import decimal_units
from adyton.kernel.ledger import Header, OpenHeader, OpenLink, Receipt, Verification, replay_open
from adyton.kernel.ledger.texts import check_head

_Head = TypeVar("_Head", Header, OpenHeader)


@dataclass(frozen=True, slots=True)
class _Page(Generic[_Head]):
    header: _Head
    links: list[OpenLink]
    receipts: list[Mapping[str, Any]]
    answers: list[Mapping[str, Any]]
    following: int | None

    @classmethod
    def of(cls, told: Mapping[str, Any], read_header: Callable[[Any, str], _Head]) -> _Page[_Head]:
        following, links = told["next"], list(map(link_from, told["links"]))
        if following is not None and type(following) is not int:
            raise TypeError
        header = read_header(told["header"], told["accounting"])
        return cls(header, links, list(told["receipts"]), list(told.get("answers", ())), following)


def _pages(line: HttpTransport, path: str, read_header: Callable[[Any, str], _Head]) -> list[_Page[_Head]]:
    """All of them.  LedgerCorrupt where a digest is not the one that was told with it."""
    read = partial(_Page.of, read_header=read_header)
    pages: list[_Page[_Head]] = [line.get(path, read, after=0)]
    while (after := pages[-1].following) is not None:
        pages.append(line.get(path, read, after=after))
        if pages[-1].header != pages[0].header:
            raise LedgerCorrupt("the server shows two ledgers: the headers of two pages differ")
        if pages[-1].following is not None and pages[-1].following <= after:
            raise LedgerCorrupt("the server lists its receipts in circles")
    return pages


@dataclass(frozen=True, slots=True)
class Chain:
    """The open part of every link, and the receipts that the role may see whole."""

    header: Header
    links: list[OpenLink]
    receipts: list[Receipt]

    @classmethod
    def of(cls, line: HttpTransport, path: str) -> Chain:
        pages = _pages(line, path, header_from)
        return cls(pages[0].header, *_whole(pages))

    def listed(self) -> Receipts:
        return Receipts(self.receipts, self.header, self.header.budget)

    def verify(self, head: str | None, seen: Mapping[int, str]) -> Verification:
        """Every digest and every total again; also that receipts which came with answers are in the chain."""
        found = replay_open(self.header, self.links, head, self.receipts)
        _check_seen({link.number: link.digest for link in self.links}, seen)
        return found


@dataclass(frozen=True, slots=True)
class HoldoutChain:
    """The same of a holdout, whose header is known by its digest alone.

    ``answers`` are those of a method that one receipt has paid for, each chained to the one before it.
    """

    header: OpenHeader
    links: list[OpenLink]
    receipts: list[Receipt]
    answers: list[Mapping[str, Any]]

    @classmethod
    def of(cls, line: HttpTransport, path: str) -> HoldoutChain:
        pages = _pages(line, path, _open_header)
        return cls(pages[0].header, *_whole(pages), [answer for page in pages for answer in page.answers])

    def verify(self, head: str | None, seen: Mapping[int, str], *, staged: bool) -> Verification:
        """As ``Holdout.verify``; also that what came with scores is in the chain."""
        if not staged:
            found = replay_open(self.header, self.links, head, self.receipts)
            _check_seen({link.number: link.digest for link in self.links}, seen)
            return found
        check_head(head)
        found = replay_open(self.header, self.links, None, self.receipts)
        heads = [found.head]
        for answer in self.answers:
            heads.append(checked_reply(partial(chained, heads[-1]), answer))
        if head not in (None, self.header.digest, *heads):
            raise LedgerCorrupt(
                "the ledger was rolled back or exchanged: the expected head is not in its chain"
            )
        _check_seen(dict(enumerate(heads)), seen)
        return replace(found, receipts=len(heads) - 1, head=heads[-1])


def _check_seen(shown: Mapping[int, str], seen: Mapping[int, str]) -> None:
    for number, digest in seen.items():
        if shown.get(number) != digest:
            raise LedgerCorrupt(f"receipt {number}, which came with an answer, is not in the chain")


def _open_header(told: Mapping[str, Any], accounting: str) -> OpenHeader:
    check_head(told["digest"])
    return OpenHeader(accounting, decimal_units(told["budget"]), told["digest"])


def _whole(pages: list[_Page[_Head]]) -> tuple[list[OpenLink], list[Receipt]]:
    links = [link for page in pages for link in page.links]
    whole = [told for page in pages for told in page.receipts]
    return links, checked_reply(partial(_receipts, links=links), whole)


def _receipts(whole: list[Mapping[str, Any]], links: list[OpenLink]) -> list[Receipt]:
    """Whether an order is covered by a theorem follows from the number of those that are not."""
    before = dict(zip((link.number for link in links), (0, *(link.unproved for link in links)), strict=False))
    return [receipt_from(told, before.get(told["number"], 0)) for told in whole]
