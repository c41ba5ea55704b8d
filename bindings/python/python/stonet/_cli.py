"""The `stonet` command."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Run the command line and return its exit code."""
    # The command handles Ctrl-C itself; Python's handler would run only after the command ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.cli(["stonet", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
