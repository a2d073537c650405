"""Draws the layers of the source from its imports: docs/figures/layers.svg.

    python docs/layers.py            # after a change of the packages or of what they import

A dot is drawn where one package imports another.  The order of the packages is that of the import contract in
pyproject.toml, which ``make check`` holds.
"""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "adyton"
PICTURE = ROOT / "docs" / "figures" / "layers.svg"

SEES_DATA = ("curator", "engines", "holdout", "kernel", "setup")
CELL, LEFT, TOP = 19, 178, 96
DATA, PUBLIC = "#b5561f", "#3b6ea5"


def layers() -> list[list[str]]:
    raw = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [re.findall(r"\w+", line) for line in raw["tool"]["importlinter"]["contracts"][0]["layers"]]


def imports() -> dict[str, set[str]]:
    """Which packages each package imports, late imports included."""
    packages = {package for line in layers() for package in line}
    found: dict[str, set[str]] = {package: set() for package in packages}
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package in packages:
            found[package] |= {
                other for other in _packages_in(path) if other in packages and other != package
            }
    return found


def _packages_in(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adyton"):
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names if alias.name.startswith("adyton.")}
    return {module.split(".")[1] for module in modules}


def picture() -> str:
    rows, found = layers(), imports()
    packages = [package for line in rows for package in line]
    width, height = LEFT + CELL * len(packages) + 150, TOP + CELL * len(packages) + 44
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    title = "<title>The packages of adyton: a dot where that of a line imports that of a column</title>"
    style = "<style>text{font:13px sans-serif}.small{font-size:12px;fill:#555}</style>"
    ground = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    bands = [_band(packages.index(line[0]), len(line), len(packages)) for line in rows[::2]]
    names = [part for i, package in enumerate(packages) for part in _names(i, package)]
    dots = [_dot(i, j) for i, a in enumerate(packages) for j, b in enumerate(packages) if b in found[a]]
    words = (
        f'<text x="8" y="{height - 24}" class="small">A dot: the package of that line imports that of '
        "the column. Nothing imports upwards.</text>"
        f'<text x="8" y="{height - 7}" class="small">Orange packages may read private data or hidden labels, '
        "engines only for kernel and setup; blue is public.</text>"
    )
    return "\n".join([head, title, style, ground, *bands, *names, *dots, words, "</svg>", ""])


def _band(first: int, many: int, packages: int) -> str:
    """Packages of one layer, which do not import each other, have one ground."""
    y, wide = TOP + CELL * first, LEFT + CELL * packages
    return f'<rect x="0" y="{y}" width="{wide}" height="{CELL * many}" fill="#f1f1f1"/>'


def _names(place: int, package: str) -> tuple[str, str]:
    own, colour = SOURCE / package, DATA if package in SEES_DATA else PUBLIC
    told = f"{package}/ ({len([*own.rglob('*.py')])} files)" if own.is_dir() else f"{package}.py"
    x, y = LEFT + CELL * place + 13, TOP + CELL * place + 14
    return (
        f'<text x="8" y="{y}" fill="{colour}">{told}</text>',
        f'<text transform="translate({x} {TOP - 6}) rotate(-55)" fill="{colour}">{package}</text>',
    )


def _dot(row: int, column: int) -> str:
    x, y = LEFT + CELL * column + CELL / 2, TOP + CELL * row + CELL / 2
    return f'<circle cx="{x}" cy="{y}" r="4" fill="#444"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
