"""Widths, thresholds of p-values, and how many queries or rows: every certified computation of
``adyton.validity``.
"""

# ruff: noqa: C408  (arguments are named as in a call)

from __future__ import annotations

from fractions import Fraction

from adyton.validity.binomial import exact_interval, exact_width
from adyton.validity.hinge.joint import joint_queries, joint_rows, joint_width
from adyton.validity.hinge.noise_part import (
    gaussian_multiplier,
    laplace_multiplier,
    laplace_threshold,
)
from adyton.validity.hinge.pairs import RandomizedResponses, stability_width_of
from adyton.validity.hinge.planned import PlannedSchedule
from adyton.validity.hinge.stability import stability_width
from adyton.validity.part_sizes import most_in_part, most_units
from adyton.validity.plans.expected import Expected
from adyton.validity.published import compressibility, mutual_information
from adyton.validity.published.jung import jlnrss_width, transfer_width
from adyton.validity.published.rogers import rrsstw_width, sum_width
from adyton.validity.published.six_epsilon import laplace_width, six_epsilon_tail
from adyton.validity.splitting import exact_splitting_width, expected_splitting_width, splitting_width
from adyton.validity.textbook import concentration, generalization, max_information, stability
from adyton.validity.textbook.accuracy import fixed_queries, fixed_width, forking_queries, forking_width
from certified import Certified, never_larger, never_smaller
from literature import information

TWENTIETH = "1/20"
MANY = dict(rows=10_000, queries=100, failure=TWENTIETH)
FEW = dict(rows=500, queries=7, failure="1/100")

FIXED = (
    never_smaller(
        "hoeffding width",
        concentration.hoeffding_width,
        dict(rows=1000, failure=TWENTIETH),
        dict(rows=50, failure="1/1000", sides=1),
    ),
    never_smaller("hoeffding tail", concentration.hoeffding_tail, dict(rows=1000, deviation=TWENTIETH)),
    never_smaller("hoeffding rows", concentration.hoeffding_rows, dict(deviation=TWENTIETH, failure="1/100")),
    never_smaller("chernoff tail", concentration.chernoff_tail, dict(rows=1000, mean="1/10", observed="1/8")),
    never_smaller(
        "mcdiarmid tail",
        concentration.mcdiarmid_tail,
        dict(sensitivities=["1/10", "1/20", "1/10"], deviation="1/5"),
    ),
    never_smaller("chebyshev rows", concentration.chebyshev_rows, dict(deviation=TWENTIETH, failure="1/100")),
    never_smaller("fixed width", fixed_width, MANY, FEW),
    never_larger("fixed queries", fixed_queries, dict(rows=1000, alpha="1/10", failure=TWENTIETH)),
    never_smaller("forking width", forking_width, FEW, dict(**FEW, answers=11)),
    never_larger("forking queries", forking_queries, dict(rows=1000, alpha="1/10", failure=TWENTIETH)),
    never_larger(
        "binomial: low",
        lambda successes, trials, failure: exact_interval(successes, trials, failure)[0],
        dict(successes=37, trials=1000, failure=TWENTIETH),
        dict(successes=1, trials=20, failure="1/1000"),
    ),
    never_smaller(
        "binomial: high",
        lambda successes, trials, failure: exact_interval(successes, trials, failure)[1],
        dict(successes=37, trials=1000, failure=TWENTIETH),
        dict(successes=0, trials=20, failure="1/1000"),
    ),
    never_smaller(
        "binomial: width",
        exact_width,
        dict(trials=200, failure=TWENTIETH),
        dict(trials=200, failure=TWENTIETH, share="1/10"),
    ),
    never_smaller("most in a part", most_in_part, dict(units=10_000, parts=4, failure="1/1000")),
    never_smaller("most units", most_units, dict(in_part=2500, parts=4, failure="1/1000")),
)

PUBLISHED = (
    never_smaller("splitting", splitting_width, MANY, FEW),
    never_smaller("splitting, exact", exact_splitting_width, MANY, dict(**MANY, share="1/10")),
    never_smaller(
        "splitting, expected",
        lambda rows, queries, failure, spread: expected_splitting_width(
            rows, queries, failure, Expected.of(spread=spread)
        ),
        dict(**MANY, spread="1/10"),
    ),
    never_smaller(
        "compressed",
        lambda bits, **a: compressibility.compressed_width(bits=bits, **a),
        dict(**MANY, bits=20.0),
    ),
    never_smaller("rounding", lambda **a: compressibility.rounding_width(**a).tolerance, MANY),
    never_smaller(
        "rounding, counted", lambda **a: compressibility.counted_rounding_width(**a).tolerance, MANY
    ),
    never_smaller("rrsstw", lambda **a: rrsstw_width(**a).tolerance, MANY, dict(**MANY, centred=True)),
    never_smaller("rrsstw at a scale", sum_width, dict(**MANY, scale=0.02)),
    never_smaller("jlnrss", lambda **a: jlnrss_width(**a).tolerance, MANY),
    never_smaller("jlnrss transfer", transfer_width, dict(epsilon=0.1, empirical=0.02, c=0.03, d=0.01)),
    never_smaller(
        "six epsilon: tail", six_epsilon_tail, dict(rows=10_000, epsilon="1/10", delta="1/1000000")
    ),
    never_smaller(
        "six epsilon: width",
        lambda **a: laplace_width(**a).tolerance,
        dict(rows=10**8, queries=100, failure=TWENTIETH),
    ),
    never_larger(
        "generalization: epsilon for an event",
        generalization.epsilon_for_event,
        dict(rows=1000, fixed="1/1000000"),
    ),
    never_smaller("generalization: chosen event", generalization.chosen_event, dict(fixed="1/1000000")),
    never_larger(
        "generalization: epsilon for a query",
        generalization.epsilon_for_query,
        dict(rows=1000, tolerance=TWENTIETH),
    ),
    never_smaller("generalization: tail", generalization.query_tail, dict(rows=10_000, tolerance=TWENTIETH)),
    never_smaller(
        "stability: expected overfit", stability.expected_overfit, dict(tv=0.01, rows=1000, queries=20)
    ),
    never_smaller("stability: total variation", stability.tv_from_multiplicative, dict(epsilon=0.1)),
    never_smaller("stability: relative entropy", stability.kl_from_multiplicative, dict(epsilon=0.1)),
    never_smaller(
        "max-information",
        max_information.independent_rows_nats,
        dict(rows=1000, epsilon="1/100", failure="1/1000"),
    ),
    never_smaller("max-information, any rows", max_information.pure_nats, dict(rows=1000, epsilon="1/100")),
    never_smaller(
        "max-information: event",
        max_information.event_bound,
        dict(fixed="1/1000000", information=2.5, failure="1/1000"),
    ),
    never_smaller("information: of answers", information.information_of, dict(rows=1000, spent="1/300")),
    never_smaller("information: expected gap", information.expected_gap, dict(information=1.5, rows=1000)),
    never_smaller("information: mean square", information.gap_square, dict(information=1.5, rows=1000)),
    never_smaller(
        "information: event", information.event_probability, dict(fixed="1/1000000", information=1.5)
    ),
    never_smaller(
        "information: event, simply",
        information.simple_event_probability,
        dict(fixed="1/1000000", information=1.5),
    ),
    never_larger(
        "information: threshold", mutual_information.threshold_after, dict(alpha=TWENTIETH, information=0.01)
    ),
)

HINGE = (
    never_smaller(
        "hinge: stability",
        stability_width,
        dict(mu0=0.01, failure=TWENTIETH),
        dict(mu0=0.2, failure="1/1000"),
        dict(mu0=0.05, failure=TWENTIETH, delta="1/1000000"),
    ),
    never_smaller(
        "hinge: stability of Laplace",
        lambda releases, epsilon, failure: stability_width_of(
            RandomizedResponses(releases, epsilon), failure
        ),
        dict(releases=20, epsilon=0.01, failure=TWENTIETH),
    ),
    never_smaller(
        "hinge: joint width", lambda **a: joint_width(**a).tolerance, MANY, dict(**MANY, scale=0.02)
    ),
    never_larger(
        "hinge: joint queries",
        lambda **a: joint_queries(**a)[0],
        dict(rows=20_000, tolerance=TWENTIETH, failure=TWENTIETH),
    ),
    never_smaller(
        "hinge: joint rows",
        lambda **a: joint_rows(**a)[0],
        dict(queries=100, tolerance=TWENTIETH, failure=TWENTIETH),
    ),
    never_smaller(
        "planned: tolerance",
        lambda **a: PlannedSchedule.plan(**a).tolerance,
        MANY,
    ),
    never_smaller(
        "planned: stability",
        lambda **a: PlannedSchedule.plan(**a).levels[0].width,
        MANY,
        dict(**MANY, counting="1/1000", delta="1/1000000"),
    ),
    never_smaller(
        "planned: threshold",
        PlannedSchedule.plan(10_000, 100, Fraction(1, 20)).threshold,
        dict(relative="1/100", noises=1),
        dict(relative="1/100", noises=2),
    ),
    never_smaller(
        "noise: gaussian multiplier",
        gaussian_multiplier,
        dict(failure=TWENTIETH, queries=10),
        dict(failure="1/1000"),
    ),
    never_smaller("noise: laplace threshold", laplace_threshold, dict(excess="1/1000")),
    never_smaller("noise: laplace multiplier", laplace_multiplier, dict(failure=TWENTIETH, queries=10)),
)

COMPUTATIONS: tuple[Certified, ...] = FIXED + PUBLISHED + HINGE
