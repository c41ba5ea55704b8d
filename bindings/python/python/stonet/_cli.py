"""The `stonet` command."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Run the command line and return its exit code."""
    # The command has its own way with Ctrl-C; Python's handler would only wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.cli(["stonet", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
