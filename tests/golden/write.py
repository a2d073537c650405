"""Write the golden files, after a change that is meant:  make golden

python tests/golden/write.py --show FILE ENTRY  prints all that is behind one line of one of them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["ADYTON_LONG"] = "1"  # every line
sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.held import write
from golden.worlds import FILES, entries


def main(words: list[str]) -> None:
    if words[:1] == ["--show"]:
        _, file, name = words
        (entry,) = (one for one in entries(file) if one.name == name)
        whole = entry.held if entry.whole is None else entry.whole
        print(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    for file in words or FILES:
        write(file, entries(file))


if __name__ == "__main__":
    main(sys.argv[1:])
