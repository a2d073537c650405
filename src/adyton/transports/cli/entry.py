"""Where the command begins: Ctrl-C is answered in one line, also while the rest is still being loaded.

A terminal that cannot write a sign gets it spelled out: an answer is paid for before it is shown.
"""

from __future__ import annotations

import codecs
import io
import os
import sys

_INTERRUPTED = 130  # as shells call it


def main() -> None:
    told = False
    try:
        _spell_out_what_cannot_be_written()
        from adyton.transports.cli.app import app

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


def _spell_out_what_cannot_be_written() -> None:
    codecs.register_error("spelled", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelled")


def _spelled(wrong: UnicodeError) -> tuple[str, int]:
    if not isinstance(wrong, UnicodeEncodeError):
        raise wrong
    lost = wrong.object[wrong.start : wrong.end].replace("±", "+-")
    return lost.encode("ascii", "backslashreplace").decode("ascii"), wrong.end


if __name__ == "__main__":
    main()
