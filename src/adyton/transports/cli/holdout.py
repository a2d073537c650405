"""adyton holdout: score models on one hidden test set, again and again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.operations.holdouts import HoldoutOperations
from adyton.transports.cli.operation_commands import Arguments, takes
from adyton.transports.cli.scoring import (
    Column,
    File,
    best,
    close,
    compare,
    leaderboard,
    score,
    scores,
    submit,
)
from adyton.transports.places import HoldoutPlace, opened_holdout
from adyton.transports.terminal import Json, confirmed, run, show, whole_if_said

if TYPE_CHECKING:  # loaded by the commands: others need not wait for it
    from adyton.holdout import Holdout, HoldoutBudget

WeightsColumn = Annotated[
    str | None, typer.Option(help="The column of the weights, if not --column.", metavar="NAME")
]
GroupsColumn = Annotated[
    str | None, typer.Option(help="The column of the groups, if not --column.", metavar="NAME")
]
Labels = Annotated[
    Path | None, typer.Option(help="The labels: .npy, .csv, .parquet or .jsonl.", metavar="FILE")
]
Items = Annotated[str | None, typer.Option(help="How many items, if there are no labels.", metavar="N")]
Metric = Annotated[
    str,
    typer.Option(
        help="accuracy, balanced_accuracy, top_k, scores, brier, log_loss, auc, absolute_error, "
        "squared_error or rmse.",
        metavar="NAME",
    ),
]
Tolerance = Annotated[
    str | None, typer.Option(help="How close to the population all scores are.", metavar="T")
]
Confidence = Annotated[str, typer.Option(help="Confidence of all intervals together.", metavar="C")]
Method = Annotated[
    str,
    typer.Option(
        help="gaussian, thresholdout, guess_and_check, sparse_validate, ladder, ladder-free, split, rounding "
        "or auto.",
        metavar="NAME",
    ),
]
Scores = Annotated[str | None, typer.Option(help="How many scores there will be.", metavar="K")]
Anytime = Annotated[bool, typer.Option("--anytime", help="Sharper scores early, fewer of them.")]
Expected = Annotated[
    str | None, typer.Option(help="About what scores will be: more of them if it is right.", metavar="X")
]
Noise = Annotated[str, typer.Option(help="constant, or decreasing: more scores.", metavar="NAME")]
Top = Annotated[
    str | None, typer.Option(help="For top_k: of how many predictions one must be right.", metavar="K")
]
ErrorHigh = Annotated[
    str | None, typer.Option(help="The largest error of one item that counts, for errors.", metavar="X")
]
Low = Annotated[str | None, typer.Option(help="Public lower bound, for errors.", metavar="X")]
High = Annotated[str | None, typer.Option(help="Public upper bound, for errors.", metavar="X")]
Weights = Annotated[Path | None, typer.Option(help="Public weights, one for each item.", metavar="FILE")]
Groups = Annotated[
    Path | None,
    typer.Option(help="Public groups, one for each item: a score for each of them.", metavar="FILE"),
]
HypothesisClass = Annotated[
    str | None,
    typer.Option(
        help="thresholds, boxes or linear: the holdout applies rules itself. Any number of exact scores, "
        "which reveal the labels.",
        metavar="NAME",
    ),
]
Features = Annotated[
    Path | None,
    typer.Option(help="For a class: a row of numbers for each item: .npy, .csv or .parquet.", metavar="FILE"),
]
ScoresRevealLabels = Annotated[
    bool,
    typer.Option(
        "--scores-reveal-labels", help="For a class: confirm that its exact scores may reveal every label."
    ),
]
Overfits = Annotated[str | None, typer.Option(help="For thresholdout: its budget.", metavar="B")]
Threshold = Annotated[
    str | None, typer.Option(help="For thresholdout: how far off a training score may be.", metavar="T")
]
Scale = Annotated[
    str | None,
    typer.Option(help="For thresholdout: its noise. Given all three, it may certify nothing.", metavar="S"),
]
Rejections = Annotated[
    str | None, typer.Option(help="For sparse_validate: how often it may say no.", metavar="B")
]
Rung = Annotated[str | None, typer.Option(help="For ladder: the smallest step upwards.", metavar="X")]


def create(
    file: File,
    labels: Labels = None,
    column: Column = None,
    items: Items = None,
    metric: Metric = "accuracy",
    top: Top = None,
    tolerance: Tolerance = None,
    confidence: Confidence = "0.95",
    method: Method = "gaussian",
    scores: Scores = None,
    anytime: Anytime = False,
    expected: Expected = None,
    noise: Noise = "constant",
    error_high: ErrorHigh = None,
    low: Low = None,
    high: High = None,
    weights: Weights = None,
    weights_column: WeightsColumn = None,
    groups: Groups = None,
    groups_column: GroupsColumn = None,
    hypothesis_class: HypothesisClass = None,
    features: Features = None,
    scores_reveal_labels: ScoresRevealLabels = False,
    overfits: Overfits = None,
    threshold: Threshold = None,
    scale: Scale = None,
    rejections: Rejections = None,
    rung: Rung = None,
    as_json: Json = False,
) -> None:
    """Plan a holdout and write its three files: public facts, labels, ledger.

    Scores have noise, and their number is limited, so that they say little about each label. With
    --hypothesis-class they can be exact and without end: then whoever may score can learn every label.
    That is done only if you confirm it, at the terminal or by --scores-reveal-labels. If labels must stay
    private, use --tolerance without a class.
    """
    said = SimpleNamespace(**locals())
    show(lambda: _created(said), as_json)


def _created(said: SimpleNamespace) -> HoldoutBudget:
    from adyton.holdout.classes.files import read_table
    from adyton.holdout.files import read_values
    from adyton.holdout.methods.options import method_named

    words = {
        "overfits": whole_if_said(said.overfits, "--overfits"),
        "threshold": said.threshold,
        "scale": said.scale,
        "rejections": whole_if_said(said.rejections, "--rejections"),
        "rung": said.rung,
        "anytime": said.anytime,
        "expected": said.expected,
        "noise": said.noise,
    }
    in_groups = None if said.groups is None else read_values(said.groups, said.groups_column or said.column)
    heavy = None if said.weights is None else read_values(said.weights, said.weights_column or said.column)
    given = {
        "labels": None if said.labels is None else read_values(said.labels, said.column),
        "items": whole_if_said(said.items, "--items"),
        "metric": said.metric,
        "top": whole_if_said(said.top, "--top"),
        "tolerance": said.tolerance,
        "confidence": said.confidence,
        "method": method_named(said.method, words, in_groups),
        "scores": whole_if_said(said.scores, "--scores"),
        "error_high": said.error_high,
        "low": said.low,
        "high": said.high,
        "weights": heavy,
        "hypothesis_class": said.hypothesis_class,
        "features": None if said.features is None else read_table(said.features),
    }
    with _confirmed(said, given) as holdout:
        return holdout.budget()


def _confirmed(said: SimpleNamespace, given: dict[str, Any]) -> Holdout:
    """The new holdout.  One whose scores reveal the labels is made only for those who say so."""
    from adyton.holdout import Holdout
    from adyton.holdout.create import WHY_LABELS, LabelsRevealed

    confirms = said.scores_reveal_labels
    if confirms and said.hypothesis_class is None:
        raise InvalidRequest("--scores-reveal-labels goes with --hypothesis-class, and with nothing else")
    with suppress(LabelsRevealed):
        return Holdout.create(said.file, **given, scores_reveal_labels=confirms)
    why = f"{WHY_LABELS[0].upper()}{WHY_LABELS[1:]}."
    if not confirmed(f"{why}\nMake it, so that whoever may score can learn the labels?", said.as_json):
        raise InvalidRequest(
            f"{WHY_LABELS}. If that may happen, add --scores-reveal-labels. If labels must stay private, "
            "leave out --hypothesis-class and --features and give --tolerance: scores then have noise, and "
            "the ledger limits their number"
        )
    return Holdout.create(said.file, **given, scores_reveal_labels=True)


@takes(HoldoutOperations.budget, only=())
def budget(file: HoldoutPlace, as_json: Json = False) -> None:
    """How many scores are left, and how close they are."""

    def make() -> HoldoutBudget:
        with opened_holdout(file) as holdout:
            return holdout.budget()

    show(make, as_json)


@takes(HoldoutOperations.verify, only=("head",))
def verify(file: HoldoutPlace, *, arguments: Arguments, as_json: Json = False) -> None:
    """Replay the ledger of a holdout from its first receipt to its last.

    At an address its links are fetched, and replayed on this side.
    """

    def work() -> dict[str, Any]:
        with opened_holdout(file) as holdout:
            found = holdout.verify(**arguments())
        return {"receipts": found.receipts, "head": found.head}

    done = run(work, as_json)
    if not as_json:
        many = f"{done['receipts']} receipt{'' if done['receipts'] == 1 else 's'}"
        typer.echo(f"{many}, an intact chain; head {done['head']}")


app = typer.Typer(help="Score models on one hidden test set, again and again.", no_args_is_help=True)
for command in (create, score, compare, best, submit, leaderboard, scores, close, budget, verify):
    app.command()(command)
