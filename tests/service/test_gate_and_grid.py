"""How much a server takes, and when its answers leave: laws, with a clock of our own."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import Busy, InvalidRequest, TooMany
from adyton.service.gate import Places, Rate
from adyton.service.grid import ResponseGrid
from adyton.service.settings import Settings, read_settings


@given(st.lists(st.floats(0, 10), max_size=60), st.integers(1, 20))
def test_no_span_of_time_has_more_than_its_rate(waits: list[float], a_minute: int) -> None:
    """In any span of s seconds at most a_minute * (1 + s/60) are taken.  Mutant: what is left grows without end."""
    now, taken = 0.0, []
    rate = Rate(clock=lambda: now)
    for wait in waits:
        now += wait
        with suppress(TooMany):
            rate.take("ana", a_minute)
            taken.append(now)
    for i, first in enumerate(taken):
        for j, last in enumerate(taken[i:], 1):
            assert j <= a_minute * (1 + (last - first) / 60) + 1e-6


def test_who_waits_as_told_is_taken() -> None:
    now = 0.0
    rate = Rate(clock=lambda: now)
    for _ in range(3):
        rate.take("ana", 3)
    with pytest.raises(TooMany) as refused:
        rate.take("ana", 3)
    rate.take("ben", 3)  # another key
    now += refused.value.facts["retry_after"]
    rate.take("ana", 3)


def test_places_are_counted_and_given_back() -> None:
    places = Places(2, 1)
    with places.one("ana"):
        with pytest.raises(TooMany), places.one("ana"):
            pass
        with places.one("ben"), pytest.raises(Busy), places.one("cal"):
            pass
        assert places.taken == 1
    with pytest.raises(ZeroDivisionError), places.one("ana"):
        raise ZeroDivisionError
    assert places.taken == 0


@given(st.floats(0.001, 60), st.floats(0, 1000))
def test_answers_leave_on_the_next_tick_after_their_charge(width: float, worked: float) -> None:
    """Mutants: the grid starts with the request; an answer that is just ready leaves at once."""
    now = 5.0
    grid = ResponseGrid(width, clock=lambda: now)
    reading = grid.start()
    now += 3.0  # planning, which reads nothing
    reading.reads()
    now += worked
    reading.reads()  # a second reading does not move the grid
    wait = reading.wait()
    assert 0 <= wait <= width * (1 + 1e-9)
    ticks = (worked + wait) / width
    assert math.isclose(ticks, round(ticks), abs_tol=1e-6)


def test_what_read_nothing_leaves_at_once() -> None:
    assert ResponseGrid(1.0).start().wait() == 0
    reading = ResponseGrid(0).start()
    reading.reads()
    assert reading.wait() == 0
    with pytest.raises(InvalidRequest):
        ResponseGrid(61)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nplaces = 0", "places"), ("[server]\ntick = 61", "tick"), ("[server]\nplaces = true", "places"),
        ("[server]\nx = 1", "not known"), ("[sever]", "no section"), ("places", "not TOML"), ("[server]\ntick = nan", "tick"),
        ("[server]\nengine_memory = 5", "engine_memory"),
    ],
)  # fmt: skip
def test_a_server_file_that_makes_no_sense_is_refused(tmp_path: object, text: str, said: str) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "server.toml"
    file.write_text(text)
    with pytest.raises(InvalidRequest, match=said):
        read_settings(file)
    file.write_text("[server]\nplaces = 3\ntick = 0.5\n")
    assert read_settings(file) == Settings(places=3, tick=0.5)
    assert read_settings(None) == Settings()
