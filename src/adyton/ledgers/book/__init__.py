"""A book that several studies of the same persons share: a charge must fit the study and the book."""

from adyton.ledgers.book.book import Book
from adyton.ledgers.book.booked import BookedLedger
from adyton.ledgers.book.facts import BookFacts
from adyton.ledgers.book.joining import joined

__all__ = ["Book", "BookFacts", "BookedLedger", "joined"]
