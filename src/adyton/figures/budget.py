"""Where the budget went: what was left after each receipt, for privacy, for each name, for validity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from adyton.figures.drawing import Figure, channels, part, pointed_at, told_apart_by
from adyton.figures.look import Theme, few_ticks, legend_of
from adyton.figures.wording import lines, shortened, visible
from adyton.kernel.exact import float_down, float_up

MOST_POINTS = 200  # of a line; between them no receipt is drawn, and those that are stand where they belong
MOST_NAMES = 5  # with a budget share, those who asked last
_HEIGHT, _LOWER = 240, 120
_PRIVACY, _VALIDITY = "left for privacy", "left for validity"
_SPENT = "counted for validity"
_DASHES = ((1, 0), (8, 4), (2, 3), (9, 3, 2, 3), (14, 4), (4, 2))
_NO_LIMIT = (
    "Validity sets no limit here: population intervals get wider with what counts for it. The newest "
    "query counts in full, until its answer gives its final validity cost."
)
_TITLE = "What was left after each receipt"
Points = Sequence[tuple[int, float]]
_One = TypeVar("_One")


@dataclass(frozen=True, slots=True)
class _Course:
    """One line: its name, and what was left in per cent (or spent) after which receipts."""

    name: str
    points: Points


def burn_down(chain: Mapping[str, Any], budget: Mapping[str, Any] | None = None) -> Figure:
    """The burn-down of a study, from the JSON object of ``adyton receipts --json``.

    That of ``GET /v1/studies/{study}/receipts`` does as well, with the lists of all its pages joined: its
    ``links`` give the totals, and ``receipts`` what is left to those with a budget share who are shown.
    ``budget`` is that of ``adyton budget --json``; in a pure study it says what validity may spend.
    With Gaussian noise validity has no limit, and what counts for it is drawn below.  Per cents are rounded
    down.
    """
    links = chain.get("links") or chain["receipts"]
    whole = Fraction(chain["header"]["budget"])
    shown = thinned(links)  # before anything is computed: a history may be long
    privacy = _Course(_PRIVACY, _left([(one["number"], Fraction(one["spent"])) for one in shown], whole))
    radii = [(one["number"], Fraction(one["spent_radius"])) for one in shown]
    cap = (budget or {}).get("validity", {}).get("cap")
    courses, notes = [privacy], []
    if cap is not None and Fraction(cap) > 0:
        courses.append(_Course(_VALIDITY, _left(radii, Fraction(cap))))
    if len(shown) < len(links):
        notes.append(f"Drawn are {len(shown):,} of {len(links):,} receipts.")
    named, more = _parts(chain["receipts"])
    courses += named
    if more:
        notes.append(f"Not drawn: the budget shares of {more:,} more names.")
    below = None
    if cap is None and any(radius for _, radius in radii):
        below = _Course(_SPENT, [(0, 0.0), *((n, float_up(r)) for n, r in radii)])
        notes.append(_NO_LIMIT)
    unit = "bits" if budget and "transcript" in budget else "mu0²"
    return _figure(courses, below, notes, len(links), unit)


def _left(spent: Sequence[tuple[int, Fraction]], whole: Fraction) -> Points:
    """In per cent, from 100 before the first receipt on."""
    return [
        (0, 100.0),
        *((number, float_down(max(Fraction(0), 100 * (1 - s / whole)))) for number, s in spent),
    ]


def _parts(receipts: Sequence[Mapping[str, Any]]) -> tuple[list[_Course], int]:
    """What was left to each name with a budget share; a share may change, and then the line jumps."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in receipts:
        if one.get("budget_share") is not None:
            found.setdefault(str(one["by"]), []).append(one)
    newest = sorted(found.items(), key=lambda item: int(item[1][-1]["number"]))[-MOST_NAMES:]
    courses = [_Course(f"left for {shortened(name, 24)}", _own(own)) for name, own in newest]
    return courses, len(found) - len(newest)


def _own(receipts: Sequence[Mapping[str, Any]]) -> Points:
    """Of one name; of a part of nothing, nothing is left."""
    left: list[tuple[int, float]] = [(0, 100.0)]
    for one in thinned(receipts):
        part_of, spent = Fraction(one["budget_share"]), Fraction(one["spent_by"])
        share = 100 * (1 - spent / part_of) if part_of else Fraction(0)
        left.append((one["number"], float_down(max(Fraction(0), share))))
    return left


def _figure(
    courses: list[_Course], below: _Course | None, notes: list[str], receipts: int, unit: str
) -> Figure:
    last = max((number for course in courses for number, _ in course.points), default=0)
    end = last + max(0.3, last / 50)  # the last step has some length

    def draw(altair: Any, theme: Theme) -> dict[str, Any]:
        what = "left" if len(courses) > 1 else courses[0].name
        panels = [_drawn(altair, theme, "left", courses, f"{what}, in per cent", _HEIGHT, end)]
        if below is not None:
            panels.append(_drawn(altair, theme, "charged", [below], f"validity, {unit}", _LOWER, end))
        size = theme.size
        said = [line for note in notes for line in lines(note, size.notes, size.most_lines)]
        heading = {"text": _TITLE, **({"subtitle": said} if said else {})}
        apart = dict.fromkeys(("color", "strokeDash"), "independent")
        return {"title": heading, "vconcat": panels, "resolve": {"scale": apart}}

    data = {"left": _data(courses, end), **({"charged": _data([below], end)} if below else {})}
    return Figure(
        _TITLE, _description(courses, below, notes, receipts, unit), *_table(courses, below), data, draw
    )


def _drawn(
    altair: Any, theme: Theme, data: str, courses: list[_Course], title: str, height: int, end: float
) -> dict[str, Any]:
    names = [visible(course.name) for course in courses]
    symbols = {"symbolType": "stroke", "symbolSize": 500}
    legend = legend_of(theme, names, 3) | symbols if len(names) > 1 else None
    ranges = {"color": (theme.noise, theme.population, *theme.colours[1:]), "strokeDash": _DASHES}
    percent = {"domain": [0, 100]} if data == "left" else {"zero": True}
    line = altair.Chart(altair.NamedData(data)).mark_line(interpolate="step-after", strokeWidth=2.5)
    described = {
        "x": {
            "field": "receipt",
            "type": "quantitative",
            "axis": {"title": "receipt", "tickMinStep": 1, "format": ",d", **few_ticks(theme)},
            "scale": {"domain": [0, end], "nice": False},
        },
        "y": {
            "field": "amount",
            "type": "quantitative",
            "axis": {"title": title, "tickCount": 5},
            "scale": percent,
        },
        **told_apart_by("what", names, ranges, legend, type="ordinal"),
    }
    line = line.encode(
        **channels(altair, described), tooltip=pointed_at(altair, "what:N", "receipt:Q", "amount:Q")
    )
    return {**part(line), "width": theme.size.beside_axis, "height": height}


def _data(courses: Sequence[_Course], end: float) -> list[dict[str, Any]]:
    return [
        {"what": visible(course.name), "receipt": number, "amount": amount}
        for course in courses
        for number, amount in (*course.points, (end, course.points[-1][1]))
    ]


def thinned(points: Sequence[_One]) -> Sequence[_One]:
    """At most ``MOST_POINTS`` of them, evenly, with the first and the last."""
    many = len(points)
    if many <= MOST_POINTS:
        return points
    return [points[round(i * (many - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]


def _description(
    courses: Sequence[_Course], below: _Course | None, notes: Sequence[str], receipts: int, unit: str
) -> str:
    said = [f"{_TITLE}: {receipts:,} receipts."]
    said += [f"{course.name}: {course.points[-1][1]:.4g} per cent." for course in courses]
    if below is not None:
        said.append(f"{below.name}: {below.points[-1][1]:.4g} {unit}.")
    return " ".join([*said, *notes])


def _table(
    courses: Sequence[_Course], below: _Course | None
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """As many lines as are drawn."""
    shown = [*courses, *([below] if below is not None else [])]
    columns = [dict(course.points) for course in shown]
    numbers = sorted({number for column in columns for number in column})
    rows = ((f"{n:,}", *(f"{column[n]:.6g}" if n in column else "" for column in columns)) for n in numbers)
    return ("receipt", *(course.name for course in shown)), tuple(rows)
