"""Where the command begins: Ctrl-C is answered in one line, also while the rest is still being loaded."""

from __future__ import annotations

import os
import sys

_INTERRUPTED = 130  # as shells call it


def main() -> None:
    told = False
    try:
        from adyton.transports.cli import app

        app()
    except KeyboardInterrupt:
        pass
    except SystemExit as left:
        if left.code != _INTERRUPTED:
            raise
        told = type(left) is not SystemExit  # terminal.Told: it was said what the interrupt means
    if not told:
        sys.stderr.write("adyton: interrupted; nothing was charged\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_INTERRUPTED)  # at once: libraries that were cut off would complain about what they leave behind


if __name__ == "__main__":
    main()
