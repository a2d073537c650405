"""How a holdout is made: wishes are checked, the plan is certified, and only then files are written."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout.classes.hypotheses import HypothesisClass, features_from
from adyton.holdout.classes.uniform_plan import UniformPlan, plan_uniform
from adyton.holdout.facts import HoldoutFacts, array_path, ledger_path, write_new
from adyton.holdout.measures import Measures
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.options import Aim, Gaussian, Method, Slices
from adyton.holdout.methods.restoring import Plan
from adyton.holdout.methods.slices import Groups, groups_from
from adyton.holdout.metrics import Array, LabelKind, Metric, Range, labels_digest, labels_from
from adyton.holdout.pairs import pairs_of
from adyton.holdout.weights import ItemWeights, balancing, weights_from
from adyton.kernel.exact import Number, positive, probability, rational, whole
from adyton.kernel.ledger import Header, SqliteLedger

_MOST_ITEMS = 10**12
_SAME = Fraction(1, 10**9)  # the range in floats, which errors are a share of, and the range as written
WHY_LABELS = (
    "the scores of this holdout would be exact and without end, and so reveal the labels: one score more "
    "than there are items can show every label"
)


class LabelsRevealed(InvalidRequest):
    """Exact scores without end were asked for, and nobody has confirmed that they may reveal the labels."""


@dataclass(frozen=True, slots=True)
class Items:
    """What is scored: the items, with what the owner says of each of them."""

    metric: Metric
    range: Range
    labels: Array | None = field(repr=False)
    kind: LabelKind
    count: int
    weights: object = field(default=None, repr=False)
    hypothesis_class: HypothesisClass | None = None
    features: object = field(default=None, repr=False)


def file_named(path: str | Path) -> Path:
    path = Path(path).absolute()
    if path.suffix != ".toml":
        raise InvalidRequest("the file of a holdout ends in .toml")
    return path


def checked_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise InvalidRequest(f"there is no folder {path.parent.name!r} to put {path.name} into")


def make_files(
    path: Path, items: Items, method: Method, aim: Aim, confidence: Number, *, reveals: bool = False
) -> None:
    """Three files: public facts, labels (for the owner alone), and the ledger; features, if there are any.

    ``reveals``: the owner has confirmed that scores may reveal the labels.
    """
    level = probability(confidence, "confidence")
    features = class_features(items, method)
    units, weights = _units(items, method)
    groups = _groups(items, method)
    _warn_of_labels(items, method)
    steps, codes = None if weights is None else weights.steps, None if groups is None else groups.codes
    balanced = items.metric.name == "balanced_accuracy"
    draft = HoldoutFacts(
        items.count, items.metric, items.kind, items.range, level, aim.tolerance, method.name, {},
        units, "" if balanced else labels_digest(steps),
        Fraction(0) if weights is None else weights.stray, labels_digest(codes),
        None if weights is None or balanced else weights.squares,
        items.hypothesis_class.kind if items.hypothesis_class else "",
        None if features is None else features.shape[1],
    )  # fmt: skip
    plan = planned(draft.frame, method, aim, items.hypothesis_class, draft.features)
    _check_confirmed(plan, items, reveals)
    facts = replace(draft, method=plan.name, settings=plan.settings())
    public = None if facts.balanced else steps
    arrays = {"labels": items.labels, "weights": public, "groups": codes, "features": features}
    _write(path, facts, plan, arrays)


def planned(
    frame: HoldoutSize, method: Method, aim: Aim, kind: HypothesisClass | None, features: int | None
) -> Plan:
    """What the method plans; or one width for all rules of a class, where that is better.

    It is better if it is within the tolerance, since then there is no end of scores; of a given number of
    scores, if it is the shorter one.
    """
    if kind is None or features is None:
        return method.plan(frame, aim)
    uniform = plan_uniform(frame, kind, features)
    width = uniform.half_width()
    near = width < 1 and (aim.tolerance is None or width <= aim.tolerance)
    if near and aim.scores is None:
        return uniform
    try:
        other = method.plan(frame, aim)
    except InvalidRequest:
        if near:
            return uniform
        raise InvalidRequest(
            f"{frame.items:,} items simultaneously certify all rules of {uniform.rules.name} within "
            f"{width:.4g}, and no other method comes nearer: ask for less, or have more items"
        ) from None
    assert isinstance(other, GaussianPlan)  # with a class there is no other method
    return uniform if near and width <= other.half_width() else other


def _check_confirmed(plan: Plan, items: Items, reveals: object) -> None:
    """Exact scores without end are made for those alone who say that labels may become known."""
    if type(reveals) is not bool:
        raise InvalidRequest("scores_reveal_labels is True or False")
    if reveals and items.hypothesis_class is None:
        raise InvalidRequest("scores_reveal_labels goes with a hypothesis_class, and with nothing else")
    if isinstance(plan, UniformPlan) and not reveals:
        raise LabelsRevealed(
            f"{WHY_LABELS}. If that may happen, give scores_reveal_labels=True. If labels must stay private, "
            "leave hypothesis_class and features out and give a tolerance: scores then have noise, and the "
            "ledger limits their number"
        )


def aim_of(tolerance: Number | None, scores: int | None, unit: Fraction) -> Aim:
    """A tolerance in the unit of scores, as a part of their range."""
    within = None if tolerance is None else positive(tolerance, "the tolerance") / unit
    if within is not None and within >= 1:
        raise InvalidRequest(
            f"the tolerance must be below {float(unit):g}, the length of the range of a score"
        )
    return Aim(within, scores, unit)


def _write(path: Path, facts: HoldoutFacts, plan: Plan, arrays: dict[str, Array | None]) -> None:
    """The facts last: what has no facts yet is no holdout.  What was begun in vain is taken away again."""
    files = {what: array_path(path, what) for what in arrays}
    for taken in (path, *files.values(), ledger_path(path)):
        if taken.exists():
            raise InvalidRequest(f"{taken.name} exists already; a holdout is never overwritten")
    made: list[Path] = []
    try:
        for what, array in arrays.items():
            if array is not None:
                paper = io.BytesIO()
                np.save(paper, array, allow_pickle=False)
                write_new(files[what], paper.getvalue(), 0o600)
                made.append(files[what])
        fingerprint = facts.fingerprint(arrays["labels"], arrays["features"])
        header = Header.fresh(fingerprint, plan.accounting, Measures(plan).budget)
        SqliteLedger.create(ledger_path(path), header).close()
        made.append(ledger_path(path))
        write_new(path, facts.to_toml().encode(), 0o644)
    except BaseException:
        for file in made:
            file.unlink(missing_ok=True)
        raise


def given_items(metric: Metric, labels: object, items: int | None) -> tuple[Array | None, LabelKind, int]:
    if metric.labels == ("none",):
        if labels is not None or items is None:
            raise InvalidRequest(f"{metric.name!r} has no labels: say how many items there are instead")
        count = whole(items, "the number of items")
        if count > _MOST_ITEMS:
            raise InvalidRequest(f"at most {_MOST_ITEMS:,} items")
        return None, "none", count
    if labels is None or items is not None:
        raise InvalidRequest(f"{metric.name!r} needs labels, which also say how many items there are")
    array, kind = labels_from(metric, labels)
    return array, kind, int(array.size)


def class_features(items: Items, method: Method) -> Array | None:
    """The table that rules are applied to; refused where no theorem speaks of such rules."""
    if items.hypothesis_class is None:
        if items.features is not None:
            raise InvalidRequest("features are kept where a hypothesis class is declared, and not otherwise")
        return None
    if items.metric.name != "accuracy" or items.labels is None or not np.isin(items.labels, (0, 1)).all():
        raise InvalidRequest("rules of a class say yes or no: the metric is accuracy, and labels are 0 or 1")
    if items.weights is not None or not isinstance(method, Gaussian):
        raise InvalidRequest("a hypothesis class goes with the method 'gaussian', without weights and groups")
    if items.features is None:
        raise InvalidRequest("a hypothesis class needs the features of the items, a row for each label")
    return features_from(items.features, items.count)


def _units(items: Items, method: Method) -> tuple[int | None, ItemWeights | None]:
    """How many independent values of full weight there are, if not one for each item."""
    metric, labels = items.metric, items.labels
    gaussian = isinstance(method, Gaussian | Slices)
    if metric.name == "rmse" and not gaussian:
        raise InvalidRequest(
            "a root goes with the method 'gaussian' alone; squared_error goes with all of them"
        )
    if metric.name == "balanced_accuracy":
        if items.weights is not None or not gaussian or labels is None:
            raise InvalidRequest(
                "balanced_accuracy has weights of its own, and goes with the method 'gaussian' alone"
            )
        weights = balancing(labels)
        return weights.units, weights
    if items.weights is None:
        return (len(pairs_of(labels)[0]) if metric.name == "auc" and labels is not None else None), None
    if metric.name == "auc" or not gaussian:
        raise InvalidRequest("weights go with averages over items and the method 'gaussian' alone")
    weights = weights_from(items.weights, items.count)
    return weights.units, weights


def _groups(items: Items, method: Method) -> Groups | None:
    if not isinstance(method, Slices):
        return None
    if items.metric.name in ("auc", "balanced_accuracy") or items.weights is not None:
        raise InvalidRequest("groups go with averages over items without weights")
    return groups_from(method.groups, items.count)


def range_of(
    metric: Metric, low: Number | None, high: Number | None, longest: Number | None, top_k: int | None
) -> Range:
    """Public bounds, as the metric needs them."""
    top = 1
    if metric.name == "top_k":
        top = whole(top_k, "top, how many predictions there are for an item,")
    elif top_k is not None:
        raise InvalidRequest(f"{metric.name!r} takes no top")
    if metric.bounds == "none":
        if (low, high, longest) != (None, None, None):
            raise InvalidRequest(f"{metric.name!r} takes no bounds")
        return Range(top=top)
    if longest is not None and low is None and high is None:
        return Range(error_high=positive(longest, "error_high"))
    if metric.bounds == "error":
        raise InvalidRequest(
            f"{metric.name!r} needs error_high, the largest loss of one item that counts, such as 5"
        )
    if longest is not None or low is None or high is None:
        raise InvalidRequest(
            f"{metric.name!r} needs public bounds: low and high of the labels, "
            "or error_high of the error of one item"
        )
    return Range(*_between(rational(low, "low"), rational(high, "high")))


def _between(bottom: Fraction, top: Fraction) -> tuple[Fraction, Fraction]:
    if bottom >= top:
        raise InvalidRequest("low must be below high")
    if abs(Fraction(float(top)) - Fraction(float(bottom)) - (top - bottom)) > _SAME * (top - bottom):
        raise InvalidRequest("low and high are too close to each other for floats of their size")
    return bottom, top


def _warn_of_labels(items: Items, method: Method) -> None:
    if items.kind in ("whole", "text"):
        warn_of_labels(items.labels, items.weights, "weights")
        warn_of_labels(items.labels, method.groups if isinstance(method, Slices) else None, "groups")


def warn_of_labels(labels: Array | None, public: object, what: str) -> None:
    """Warns the owner, who alone sees it, where items of one label always have one value of ``public``.

    Classes that are balanced by weights look like this.  A handful of items could do so by chance, and is
    left alone.
    """
    if labels is None or public is None:
        return
    values = np.asarray(public)
    if values.shape != labels.shape:
        return
    classes, own = np.unique(labels, return_inverse=True)
    kinds, other = np.unique(values.astype(str), return_inverse=True)
    together = len(np.unique(own * np.int64(len(kinds)) + other))
    if len(kinds) > 1 and together == len(classes) and len(labels) >= 10 * len(classes):
        warnings.warn(
            f"the {what} look as if they were made from the labels: items with the same label have the same "
            f"value. The {what} of a holdout are public, so whoever sees them sees the labels",
            stacklevel=5,
        )
