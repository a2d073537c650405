"""A table made by AIM, as mbi's repository has it.  Run by synthesis.py, in an environment of its own.

Usage: aim_table.py FOLDER SIZES...; reads rows.npy there and writes made.npy.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
sys.path.insert(0, os.environ["AIM_FOLDER"])
from aim import AIM  # noqa: E402
from mbi import Dataset, Domain  # noqa: E402

RHO = 0.005


def main() -> None:
    folder, sizes = Path(sys.argv[1]), [int(size) for size in sys.argv[2:]]
    rows, names = np.load(folder / "rows.npy"), [f"c{i}" for i in range(len(sizes))]
    data = Dataset({name: rows[:, i] for i, name in enumerate(names)}, Domain(names, sizes))
    mechanism = AIM(1.0, 1e-9)
    mechanism.rho = RHO
    _, made = mechanism.run(
        data, [(c, 1.0) for c in itertools.combinations(names, 3)], num_synth_rows=len(rows)
    )
    columns = made.to_dict()
    np.save(folder / "made.npy", np.stack([np.asarray(columns[name], np.int64) for name in names], axis=1))


if __name__ == "__main__":
    main()
