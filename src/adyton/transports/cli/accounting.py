"""adyton compose and calibrate: what many releases cost by every theorem, and the noise they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.errors import InvalidRequest
from adyton.kernel.exact import positive, rational
from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.terminal import Json, progress, show, whole

if TYPE_CHECKING:  # numpy's and mpmath's share of these takes 0.1 s, which other commands need not wait for
    from adyton.transports.cli.compositions import Calibration, Composition

VIEWS = ("composition", "profile", "trade-off")

Each = Annotated[str | None, typer.Option(help="Pure epsilon of each release.", metavar="E")]
Sigma = Annotated[
    str | None, typer.Option(help="Or Gaussian noise of this deviation, sensitivity 1.", metavar="S")
]
Target = Annotated[str, typer.Option(help="What all releases together may reveal.", metavar="E")]
Delta = Annotated[str, typer.Option(help="Total delta, above 0 and below 1.", metavar="D")]
Times = Annotated[str, typer.Option(help="Number of releases.", metavar="K")]
Sensitivity = Annotated[
    str, typer.Option(help="Sensitivity of each release: L1 for Laplace, L2 for Gaussian.", metavar="X")
]
View = Annotated[str, typer.Option(help="Which figure: composition, profile or trade-off.", metavar="NAME")]


def compose(
    epsilon: Each = None,
    sigma: Sigma = None,
    times: Times = "1",
    delta: Delta = "1e-6",
    figure: Figure = None,
    view: View = "composition",
    as_json: Json = False,
) -> None:
    """Say what many releases reveal together, by every theorem side by side."""

    def make() -> Composition:
        from adyton.transports.cli.compositions import composition_of

        if (epsilon is None) == (sigma is None):
            raise InvalidRequest("give either --epsilon or --sigma: the price of one release")
        count, total = whole(times, "--times"), rational(delta, "delta")
        _check(view, figure)
        with progress("composing") as step:
            composition = composition_of(epsilon, sigma, count, total, step)
            if figure is not None:
                write_figure(composition.figure(view, step).figure(), figure)
        return composition

    show(make, as_json)


def calibrate(
    epsilon: Target,
    delta: Delta = "1e-6",
    times: Times = "1",
    sensitivity: Sensitivity = "1",
    figure: Figure = None,
    view: View = "composition",
    as_json: Json = False,
) -> None:
    """Say how much noise keeps many releases inside one guarantee, by every theorem and mechanism."""

    def make() -> Calibration:
        from adyton.accounting.textbook.comparison import calibrate
        from adyton.transports.cli.compositions import Calibration

        count, total = whole(times, "--times"), rational(delta, "delta")
        _check(view, figure)
        with progress("composing") as step:
            found = calibrate(epsilon, count, total, sensitivity, step)
            calibration = Calibration(
                positive(epsilon, "epsilon"), total, count, positive(sensitivity, "the sensitivity"), found
            )
            if figure is not None:
                write_figure(calibration.figure(view, step).figure(), figure)
        return calibration

    show(make, as_json)


def _check(view: str, figure: Path | None) -> None:
    if view not in VIEWS:
        raise InvalidRequest(f"--view must be one of {', '.join(VIEWS)}, not {view[:40]!r}")
    if figure is None and view != VIEWS[0]:
        raise InvalidRequest("--view chooses a figure: say with --figure where to write it")
    check_figure(figure)
