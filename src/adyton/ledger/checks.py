"""What may stand in a ledger: text and whole numbers that every store gives back unchanged."""

from __future__ import annotations

import re

from adyton.errors import InvalidRequest

_LARGEST_AMOUNT = 10**100  # units; keeps a message or a row from filling the memory
_LARGEST_NUMBER = 2**63 - 1
_LONGEST_LABEL = 200  # of a request id or a name


def check_text(value: object, what: str) -> None:
    """Text that every store gives back unchanged: half a surrogate pair or a zero byte may not survive."""
    try:
        plain = isinstance(value, str) and b"\0" not in value.encode()
    except UnicodeEncodeError:
        plain = False
    if not plain:
        raise InvalidRequest(f"{what} must be plain Unicode text")


def check_number(number: object) -> None:
    if type(number) is not int or not 1 <= number <= _LARGEST_NUMBER:
        raise InvalidRequest("the number of a receipt is a whole number from 1 on")


def check_index(index: object) -> None:
    if type(index) is not int or not 0 <= index <= _LARGEST_NUMBER:
        raise InvalidRequest("the index of a note is a whole number from 0 on")


def check_amount(value: object, what: str, least: int) -> None:
    # "type is int" and not isinstance: True is an instance of int, and a float may be nan or was rounded.
    if type(value) is not int:
        raise InvalidRequest(f"{what} must be a whole number of units, not a {type(value).__name__}")
    if not least <= value <= _LARGEST_AMOUNT:
        raise InvalidRequest(f"{what} must be from {least} to {_LARGEST_AMOUNT}")


def check_head(head: object) -> None:
    """A digest that was cut off, as tables show it, is no sign of a ledger that was rolled back."""
    if head is None:
        return
    if not isinstance(head, str) or re.fullmatch("[0-9a-f]{64}", head) is None:
        raise InvalidRequest(
            "a head has 64 hexadecimal digits, in lower case: give all of it, as verify shows it"
        )


def check_request(request: object) -> None:
    _check_label(request, "a request id")


def check_name(name: object) -> None:
    _check_label(name, "the name of who asks")


def check_flag(value: object, what: str) -> None:
    if type(value) is not bool:
        raise InvalidRequest(f"{what} is True or False")


def check_settled(radius: int | None, most: int) -> int:
    """What a radius came to, once its answer is known: never more than was charged; None: all of it."""
    if radius is None:
        return most
    check_amount(radius, "the settled radius of an answer", least=0)
    if radius > most:
        raise InvalidRequest("the settled radius of an answer cannot be more than its receipt was charged")
    return radius


def _check_label(label: object, what: str) -> None:
    if label is None:
        return
    if not isinstance(label, str) or not label.isprintable() or not 1 <= len(label) <= _LONGEST_LABEL:
        raise InvalidRequest(f"{what} must be 1 to {_LONGEST_LABEL} printable characters")
