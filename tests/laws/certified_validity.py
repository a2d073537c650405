"""Widths, thresholds of p-values, and how many questions or rows: every certified computation of
``adyton.validity``.
"""

# ruff: noqa: C408  (arguments are named as in a call)

from __future__ import annotations

from fractions import Fraction

from certified import Certified, never_larger, never_smaller

from adyton.validity import (
    compressibility,
    concentration,
    generalization,
    max_information,
    mutual_information,
    radius,
    stability,
)
from adyton.validity.accuracy import fixed_questions, fixed_width, forking_questions, forking_width
from adyton.validity.binomial import exact_interval, exact_width
from adyton.validity.hinge import stability_width
from adyton.validity.intervals import cdf_band, linear_width, ratio_interval
from adyton.validity.jlnrss import jlnrss_width, transfer_width
from adyton.validity.joint import joint_questions, joint_rows, joint_width
from adyton.validity.noise_part import (
    gaussian_excess,
    gaussian_multiplier,
    gaussian_threshold,
    laplace_multiplier,
    laplace_threshold,
)
from adyton.validity.p_values import p_value, pure_threshold
from adyton.validity.pairs import RandomizedResponses, stability_width_of
from adyton.validity.part_sizes import most_in_part, most_units
from adyton.validity.peeling import WidthSchedule
from adyton.validity.planned import PlannedSchedule
from adyton.validity.rrsstw import rrsstw_width, sum_width
from adyton.validity.six_epsilon import laplace_width, six_epsilon_tail, strong_composition
from adyton.validity.splitting import exact_splitting_width, expected_splitting_width, splitting_width
from adyton.validity.subset.expected import Expected
from adyton.validity.unequal import split_questions, split_width, unequal_widths

TWENTIETH = "1/20"
MANY = dict(rows=10_000, questions=100, failure=TWENTIETH)
FEW = dict(rows=500, questions=7, failure="1/100")

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
    never_larger("fixed questions", fixed_questions, dict(rows=1000, alpha="1/10", failure=TWENTIETH)),
    never_smaller("forking width", forking_width, FEW, dict(**FEW, answers=11)),
    never_larger("forking questions", forking_questions, dict(rows=1000, alpha="1/10", failure=TWENTIETH)),
    never_larger(
        "binomial: low",
        lambda successes, trials, failure: exact_interval(successes, trials, failure).low,
        dict(successes=37, trials=1000, failure=TWENTIETH),
        dict(successes=1, trials=20, failure="1/1000"),
    ),
    never_smaller(
        "binomial: high",
        lambda successes, trials, failure: exact_interval(successes, trials, failure).high,
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
    never_smaller("splitting", lambda **a: splitting_width(**a).tolerance, MANY, FEW),
    never_smaller(
        "splitting, exact", lambda **a: exact_splitting_width(**a).tolerance, MANY, dict(**MANY, share="1/10")
    ),
    never_smaller(
        "splitting, expected",
        lambda rows, questions, failure, spread: (
            expected_splitting_width(rows, questions, failure, Expected.of(spread=spread)).tolerance
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
        "six epsilon: composition", strong_composition, dict(epsilon=0.01, questions=100, delta=1e-6)
    ),
    never_smaller(
        "six epsilon: width",
        lambda **a: laplace_width(**a).tolerance,
        dict(rows=10**8, questions=100, failure=TWENTIETH),
    ),
    never_larger(
        "generalization: epsilon for an event",
        generalization.epsilon_for_event,
        dict(rows=1000, fixed="1/1000000"),
    ),
    never_smaller("generalization: chosen event", generalization.chosen_event, dict(fixed="1/1000000")),
    never_larger(
        "generalization: epsilon for a question",
        generalization.epsilon_for_question,
        dict(rows=1000, tolerance=TWENTIETH),
    ),
    never_smaller(
        "generalization: tail", generalization.question_tail, dict(rows=10_000, tolerance=TWENTIETH)
    ),
    never_smaller(
        "generalization: sharper tail",
        generalization.sharper_tail,
        dict(rows=1000, epsilon="1/100", fixed="1/1000000"),
    ),
    never_smaller(
        "stability: expected overfit", stability.expected_overfit, dict(tv=0.01, rows=1000, questions=20)
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
    never_smaller(
        "information: of answers", mutual_information.information_of, dict(rows=1000, spent="1/300")
    ),
    never_smaller(
        "information: expected gap", mutual_information.expected_gap, dict(information=1.5, rows=1000)
    ),
    never_smaller(
        "information: mean square", mutual_information.gap_square, dict(information=1.5, rows=1000)
    ),
    never_smaller(
        "information: event", mutual_information.event_probability, dict(fixed="1/1000000", information=1.5)
    ),
    never_smaller(
        "information: event, simply",
        mutual_information.simple_event_probability,
        dict(fixed="1/1000000", information=1.5),
    ),
    never_larger(
        "information: threshold", mutual_information.threshold_after, dict(alpha=TWENTIETH, information=0.01)
    ),
    never_smaller(
        "p-value of an answer", p_value, dict(excess="1/10", rows=10_000, questions=20, scale="1/100")
    ),
    never_larger(
        "p-value: pure threshold", pure_threshold, dict(alpha=TWENTIETH, rows=1000, epsilon="1/100")
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
            RandomizedResponses.whole_guarantee(releases, epsilon), failure
        ),
        dict(releases=20, epsilon="1/100", failure=TWENTIETH),
    ),
    never_smaller(
        "hinge: joint width", lambda **a: joint_width(**a).tolerance, MANY, dict(**MANY, scale=0.02)
    ),
    never_larger(
        "hinge: joint questions",
        lambda **a: joint_questions(**a)[0],
        dict(rows=20_000, tolerance=TWENTIETH, failure=TWENTIETH),
    ),
    never_smaller(
        "hinge: joint rows",
        lambda **a: joint_rows(**a)[0],
        dict(questions=100, tolerance=TWENTIETH, failure=TWENTIETH),
    ),
    never_smaller("hinge: split width", lambda **a: split_width(**a).tolerance, MANY),
    never_larger(
        "hinge: split questions",
        lambda **a: split_questions(**a)[0],
        dict(rows=20_000, tolerance=TWENTIETH, failure=TWENTIETH),
    ),
    never_smaller(
        "hinge: widths of unequal noise",
        lambda rows, scales, failure, at: unequal_widths(rows, scales, failure)[at],
        dict(rows=10_000, scales=[0.02, 0.01, 0.03], failure=TWENTIETH, at=0),
        dict(rows=10_000, scales=[0.02, 0.01, 0.03], failure=TWENTIETH, at=2),
    ),
    never_smaller(
        "peeling: width",
        lambda cap, question, spent, sigma: WidthSchedule.plan(Fraction(1, 20), cap).width(
            spent, question, sigma
        ),
        dict(cap="1/10", question=1, spent="1/5000", sigma=0.01),
        dict(cap="1/10", question=40, spent="1/120", sigma=0.01),
    ),
    never_smaller(
        "peeling: multiplier",
        lambda questions, question: WidthSchedule.plan(
            Fraction(1, 20), Fraction(1, 100), questions=questions
        ).multiplier(question),
        dict(questions=30, question=3),
    ),
    never_smaller(
        "planned: tolerance",
        lambda noise, **a: PlannedSchedule.plan(noise=noise, **a).tolerance,
        dict(noise="gaussian", **MANY),
        dict(noise="laplace", **MANY),
    ),
    never_smaller(
        "planned: stability",
        lambda **a: PlannedSchedule.plan(**a).level.width,
        MANY,
        dict(**MANY, counting="1/1000", delta="1/1000000"),
    ),
    never_smaller(
        "planned: threshold",
        lambda noise, relative, noises: PlannedSchedule.plan(10_000, 100, Fraction(1, 20)).threshold(
            noise, relative, noises
        ),
        dict(noise="gaussian", relative="1/100", noises=2),
        dict(noise="laplace", relative="1/100", noises=1),
    ),
    never_smaller(
        "noise: gaussian multiplier",
        gaussian_multiplier,
        dict(failure=TWENTIETH, questions=10),
        dict(failure="1/1000", one_sided=True),
    ),
    never_smaller("noise: gaussian excess", gaussian_excess, dict(failure="1/1000")),
    never_smaller("noise: gaussian threshold", gaussian_threshold, dict(excess="1/1000")),
    never_smaller("noise: laplace threshold", laplace_threshold, dict(excess="1/1000")),
    never_smaller("noise: laplace multiplier", laplace_multiplier, dict(failure=TWENTIETH, questions=10)),
    never_smaller("spent by an answer", radius.spent_by, dict(radius_squared="1/4", rows=1000, sigma="1/70")),
    never_smaller("radius of one cell of many", radius.one_hot_radius_squared, dict(cells=7)),
    never_smaller("radius by Jung", radius.jung_radius_squared, dict(diameter="3/2", dimension=4)),
    never_smaller("margin of rounding", radius.rounding_margin, dict(step="1/1000")),
    never_larger(
        "ratio: low",
        lambda **a: ratio_interval(noise=(0.01, 0.02), **a).low,
        dict(top=0.3, bottom=0.6, stability=0.02),
    ),
    never_smaller(
        "ratio: high",
        lambda **a: ratio_interval(noise=(0.01, 0.02), **a).high,
        dict(top=0.3, bottom=0.6, stability=0.02),
    ),
    never_smaller(
        "sum of answers",
        lambda stability: linear_width([1.0, -2.0], [0.01, 0.02], (-2.0, 1.0), stability),
        dict(stability=0.02),
    ),
    never_smaller(
        "band of a distribution: high",
        lambda width: cdf_band([1.0, 2.0], [0.31, 0.3], width)[0][1].high,
        dict(width=0.05),
    ),
)

COMPUTATIONS: tuple[Certified, ...] = FIXED + PUBLISHED + HINGE
