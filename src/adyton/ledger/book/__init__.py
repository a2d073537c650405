"""A book that several studies of the same persons share: a charge must fit the study and the book."""

from adyton.ledger.book.book import Book
from adyton.ledger.book.booked import BookedLedger
from adyton.ledger.book.facts import BookFacts
from adyton.ledger.book.joining import joined

__all__ = ["Book", "BookFacts", "BookedLedger", "joined"]
