"""A table made by SmartNoise's MWEM.  Run by synthesis.py, in an environment of its own.

Usage: smartnoise_mwem.py FOLDER SIZES...; reads rows.npy there and writes made.npy.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from snsynth import Synthesizer

EPSILON = 1.0


def main() -> None:
    folder = Path(sys.argv[1])
    rows = np.load(folder / "rows.npy")
    frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(rows.shape[1])])
    synthesizer = Synthesizer.create("mwem", epsilon=EPSILON, split_factor=rows.shape[1])
    made = synthesizer.fit_sample(frame, categorical_columns=list(frame), preprocessor_eps=0.0)
    np.save(folder / "made.npy", made.to_numpy().astype(np.int64))


if __name__ == "__main__":
    main()
