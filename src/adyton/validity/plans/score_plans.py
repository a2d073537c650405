"""Plans for scores: how many, each of a model chosen in the light of those before, and by which noise.

A plan fixes for every score, before the first of them: the noise, the part of rows that is kept in the
proof, and the levels of both ends of its interval.  A plan may be made for an *expected* score.  That chooses
noise, parts and levels, and guarantees nothing: what is otherwise gets a wider interval.

Units are those of a sum over all rows, n in all, each with a value in [0, 1] times its weight, of which the
heaviest is 1; q, the squares of the weights added up, is n where all weigh the same.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arithmetic.search import Truths, edge, edges, geometric, minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_down
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.special.scores import ScoreBlocks
from adyton.validity.plans.planned_scores import EVEN, Reach, ScoreEnds, ScoreTarget, Side
from adyton.validity.plans.tilts import at_level, at_room
from adyton.validity.subset.tails import OpenLevels

_BLOCKS = 128
_COARSE, _FEW = 48, 16
_STEPS, _FEW_STEPS = 20, 7
_SKEW, _NEAR = 4.0, 0.02  # of the parts of an interval: no more than this, and not at the end of the range
_ROUNDS = 3
_HALVINGS = 20
_MOST = 10**12
_CLOSE, _WIDEST = 0.0005, 0.9
_SMALLEST, _LARGEST = 1 / 25, 1.0  # noise that is searched, as a part of the room


@lru_cache(maxsize=256)
def best_wish(
    units: int,
    failure: Fraction,
    tolerance: float,
    expected: float | None,
    anytime: bool = False,
    squares: float | None = None,
) -> ScoreTarget:
    """With about the most scores whose intervals are, of an expected score, twice the tolerance long.

    Of an end beyond the range nothing is asked: the other may be farther away.
    """

    def reaching(below: float, above: float) -> ScoreTarget:
        return wish_for(units, failure, (below, above), expected, anytime, squares)

    if expected is None:
        return reaching(tolerance, tolerance)
    ends = ((2 * tolerance - (1 - expected), 1 - expected), (expected, 2 * tolerance - expected))
    made = [reaching(*parts) for parts in ends if min(parts) > 0]
    found = [wish for wish in made if wish.low.room or wish.high.room]
    lowest = max(2 * tolerance / (1 - expected) - 1, 1 / _SKEW) * (1 + _NEAR)
    highest = min(expected / max(2 * tolerance - expected, 1e-9), _SKEW) / (1 + _NEAR)
    if lowest < highest:

        def split(ratio: float) -> ScoreTarget:
            return reaching(2 * tolerance * ratio / (1 + ratio), 2 * tolerance / (1 + ratio))

        found.append(split(minimise(lambda x: -_roughly(split(x)), lowest, highest, _FEW_STEPS)))
    return found[0] if len(found) == 1 else max(found, key=_roughly)


def _roughly(wish: ScoreTarget) -> float:
    """About how many scores there will be."""
    return _counted(wish, _rough_scale(wish), _FEW)


def _rough_scale(wish: ScoreTarget) -> float:
    return minimise(lambda x: -_counted(wish, x, _FEW), *_around(wish), _FEW_STEPS)


def wish_for(
    units: int,
    failure: Fraction,
    parts: tuple[float, float],
    expected: float | None,
    anytime: bool,
    squares: float | None = None,
) -> ScoreTarget:
    """For intervals that reach so far below and above an expected score, as parts of the range."""
    if expected is None:
        return ScoreTarget(units, failure, Reach(parts[0] * units), Reach(parts[1] * units), anytime, squares)
    low, high = _reach(units, expected, parts[0]), _reach(units, 1 - expected, parts[1])
    return ScoreTarget(units, failure, low, high, anytime, squares)


def _reach(units: int, observed: float, part: float) -> Reach:
    """An end that is ``part`` below what was observed: a mean from which the score was moved upwards."""
    return Reach(part * units, observed - part) if part < observed else Reach(0.0, observed / 2)


@lru_cache(maxsize=4096)
def table_of(wish: ScoreTarget, blocks: ScoreBlocks) -> ScoreEnds:
    """What the plan fixes for each score; InvalidRequest if it does not fit into the failure.

    Claim:    the levels of both ends of all scores sum to at most the failure.
    Source:   derived here.  Theorem: HOLDOUT-SCORES.
    """
    ends, scales, spent = _pieces(blocks)
    counts = np.diff(ends, prepend=0.0)
    allowed = float_down(wish.failure) / SAFE
    levels = []
    for reach, part in zip(wish.ends, wish.levels(), strict=True):
        if wish.anytime:
            levels.append(np.array([OpenLevels().share(int(end)) for end in ends]) * allowed * part)
        else:
            levels.append(np.exp(_log_miss(wish, reach, scales, spent)) + EVEN * allowed / 2 / blocks.scores)
    if float(np.sum(counts * (levels[0] + levels[1]))) * SAFE > float_down(wish.failure):
        raise InvalidRequest(f"{blocks.scores:,} scores do not fit into the failure of this plan")
    logs = [np.log(np.minimum(level, 0.5)) for level in levels]
    low, high = (
        tuple(
            Side(float(c), float(x)) for c, x in zip(_kept(wish, reach, scales, spent, log), log, strict=True)
        )
        for reach, log in zip(wish.ends, logs, strict=True)
    )
    return ScoreEnds(tuple(map(int, ends)), low, high)


def _kept(wish: ScoreTarget, reach: Reach, scales: Floats, spent: Floats, log_level: Floats) -> Floats:
    return at_level(wish.units, scales, reach.share, spent, log_level, wish.squares).kept


@lru_cache(maxsize=256)
def constant_scores(wish: ScoreTarget) -> ScoreBlocks | None:
    """About the most scores with noise of one scale whose intervals reach no farther; None: not one."""
    scale = minimise(lambda x: -_counted(wish, x), *_around(wish), _STEPS)
    found = int(_counted(wish, scale))
    while found < _MOST and fits(wish, ScoreBlocks((found + 1,), (scale,))):
        found += 1 + found // 1000
    while found and not fits(wish, ScoreBlocks((found,), (scale,))):
        found -= 1 + found // 1000
    return ScoreBlocks((found,), (scale,)) if found else None


@lru_cache(maxsize=256)
def constant_wish(
    units: int, failure: Fraction, scores: int, expected: float | None, squares: float | None = None
) -> tuple[ScoreTarget, ScoreBlocks]:
    """About the shortest intervals of an expected score for so many scores, and noise for them."""
    tolerance, power = 2 / math.sqrt(units), 3.0
    wish = best_wish(units, failure, tolerance, expected, False, squares)
    for _ in range(_ROUNDS):
        found = max(_roughly(wish), 1e-3)
        tolerance = min(tolerance * (scores / found) ** (1 / power), _WIDEST)
        wish, before = best_wish(units, failure, tolerance, expected, False, squares), found
        power = _power(_roughly(wish) / before, scores / before, power)
    parts = wish.parts(expected)
    low, high = 0.5, 1.0

    def enough(factor: float) -> bool:
        return _with_noise(wish, parts, factor, expected, scores) is not None

    while not enough(high):
        low, high = high, 2 * high
    made = _with_noise(wish, parts, edge(enough, high, low, close=_CLOSE, middle=geometric), expected, scores)
    assert made is not None
    return made


def _power(gained: float, wanted: float, before: float) -> float:
    """By which power of the tolerance scores seem to grow, from what one step wanted and what it gained."""
    if abs(math.log(wanted)) < 0.01 or gained <= 0:
        return before
    return min(max(before * math.log(gained) / math.log(wanted), 2.0), 12.0)


def _with_noise(
    first: ScoreTarget, parts: tuple[float, float], factor: float, expected: float | None, scores: int
) -> tuple[ScoreTarget, ScoreBlocks] | None:
    """Ends that are farther away by a factor, unless they are those of the range."""
    ranges = (expected, 1 - expected) if expected is not None else (math.inf, math.inf)
    longer = [
        part if part >= end else min(part * factor, end) for part, end in zip(parts, ranges, strict=True)
    ]
    wish = wish_for(first.units, first.failure, (longer[0], longer[1]), expected, False, first.squares)
    if not (wish.low.room or wish.high.room):
        raise InvalidRequest(f"{scores:,} scores from {first.units:,} items say nothing")
    blocks = ScoreBlocks((scores,), (_rough_scale(wish),))
    return (wish, blocks) if fits(wish, blocks) else None


def _around(wish: ScoreTarget) -> tuple[float, float]:
    """Where noise is searched."""
    rooms = [reach.room for reach in wish.ends if reach.room]
    return min(rooms) * _SMALLEST, max(rooms) * _LARGEST


@lru_cache(maxsize=256)
def decreasing_scores(wish: ScoreTarget) -> ScoreBlocks | None:
    """About the most scores if noise falls as the shift grows, so that each misses with the same chance.

    A rough plan is made from continuous amounts, and lowered until ``fits`` says that it is one.
    """
    target = 1.0
    for _ in range(_ROUNDS):
        amounts, scales = _amounts(wish, target)
        target = max(float(amounts.sum()), 1.0)
    wanted = int(target * 1.02)
    while wanted:
        amounts, scales = _amounts(wish, wanted)
        blocks = _in_blocks(amounts, scales, wanted)
        if blocks is not None and fits(wish, blocks):
            return blocks
        wanted -= 1 + wanted // 200
    return None


def _amounts(wish: ScoreTarget, scores: float) -> tuple[Floats, Floats]:
    """How many scores, not whole, take mu0 / 2 through each of equal steps, and the noise of each step."""
    moved = _farthest(wish) * np.linspace(0, 1, _COARSE + 1)
    spent = np.square(2 * moved[1:])
    level = math.log(float_down(wish.failure) * (1 - EVEN) / scores)
    least_scale, most = _around(wish)

    def within(log_scales: Floats) -> Truths:
        return _log_missed(wish, np.exp(log_scales), spent) <= level

    low, high = np.full(_COARSE, math.log(least_scale / 100)), np.full(_COARSE, math.log(most))
    quiet = edges(within, low, high, _HALVINGS)
    scales, reached = np.exp(quiet), within(quiet)
    return np.where(reached, np.diff(np.square(2 * moved)) * np.square(2 * scales), 0.0), scales


def _in_blocks(amounts: Floats, scales: Floats, scores: int) -> ScoreBlocks | None:
    """Whole scores: what is left of one goes into the next block."""
    ends = np.minimum(np.floor(np.cumsum(amounts) + 1e-9), scores)
    counts = np.diff(ends, prepend=0.0)
    used = counts > 0
    if not np.any(used):
        return None
    return ScoreBlocks(tuple(map(int, counts[used])), tuple(map(float, scales[used])))


def _log_miss(wish: ScoreTarget, reach: Reach, scales: Floats | float, spent: Floats) -> Floats:
    """log of the chance that an end is on the wrong side; an end that nothing is asked of never is."""
    if not reach.room:
        return np.full_like(spent, -np.inf)
    return at_room(wish.units, scales, reach.share, spent, reach.room, wish.squares).log_miss


def _log_missed(wish: ScoreTarget, scales: Floats | float, spent: Floats) -> Floats:
    """The same of both ends together."""
    low = _log_miss(wish, wish.low, scales, spent)
    if wish.low == wish.high:
        return low + math.log(2)
    found: Floats = np.logaddexp(low, _log_miss(wish, wish.high, scales, spent))
    return found


def fits(wish: ScoreTarget, blocks: ScoreBlocks) -> bool:
    """Whether the intervals of all scores reach no farther than the plan says, for a score as it expects."""
    ends, scales, spent = _pieces(blocks)
    allowed = float_down(wish.failure) / SAFE
    if wish.anytime:
        last = math.log(OpenLevels().share(int(ends[-1])) * allowed)
        logs = [float(_log_miss(wish, reach, scales, spent)[-1]) for reach in wish.ends]
        return all(log <= last + math.log(part) for log, part in zip(logs, wish.levels(), strict=True))
    misses = np.exp(_log_missed(wish, scales, spent))
    return float(np.sum(np.diff(ends, prepend=0.0) * misses)) * SAFE <= allowed * (1 - EVEN) / SAFE


def _pieces(blocks: ScoreBlocks) -> tuple[Floats, Floats, Floats]:
    """Where pieces end, their noise, and mu0**2 before the last score of each; one block is cut finely."""
    if len(blocks.counts) == 1:
        ends = _ends(blocks.counts[0])
        return ends, np.full_like(ends, blocks.scales[0]), (ends - 1) / (2 * blocks.scales[0]) ** 2
    ends, scales = np.cumsum(np.array(blocks.counts, dtype=np.float64)), np.array(blocks.scales)
    each = 1 / np.square(2 * scales)
    return ends, scales, np.maximum(np.cumsum(np.diff(ends, prepend=0.0) * each) - each, 0.0)


def _ends(scores: int) -> Floats:
    """The first score for itself, then finer and finer towards the last ones, which miss most."""
    parts = 1 - (1 - np.arange(1, _BLOCKS + 1) / _BLOCKS) ** 2
    ends: Floats = np.unique(np.concatenate([[1.0], np.ceil(scores * parts), np.arange(1.0, 33.0)]))
    return ends[ends <= scores]


def _counted(wish: ScoreTarget, scale: float, pieces: int = _COARSE) -> float:
    """About how many scores this noise allows, not a whole number, so that a search sees which way is up."""
    moved = _farthest(wish) * np.linspace(0, 1, pieces + 1)[1:]
    ends = np.floor((4 * scale * moved) ** 2) + 1
    spent = (ends - 1) / (2 * scale) ** 2
    allowed = float_down(wish.failure) * (1 - EVEN)
    logs = _log_missed(wish, scale, spent)
    if wish.anytime:
        over = logs - np.log([OpenLevels().share(int(end)) * allowed for end in ends])
        return float(np.interp(0.0, over, ends, left=float(np.exp(-over[0]))))
    total = np.cumsum(np.diff(ends, prepend=0.0) * np.exp(logs))
    return float(np.interp(allowed, np.concatenate([[0.0], total]), np.concatenate([[0.0], ends])))


def _farthest(wish: ScoreTarget) -> float:
    """mu0 / 2 that alone moves a score by all of its room: n kl(share + room / n, share) = q mu0**2 / 2."""
    return min(_moved(reach, wish) for reach in wish.ends if reach.room)


def _moved(reach: Reach, wish: ScoreTarget) -> float:
    part, squares = reach.room / wish.units, wish.squares or wish.units
    if reach.share is None:
        return reach.room / squares
    start, end = reach.share, reach.share + part
    apart = end * math.log(end / start) + (1 - end) * math.log((1 - end) / (1 - start))
    return math.sqrt(apart / 2 * (wish.units / squares))
