"""The command ``ocorl`` that the package installs; it is the program of the crate ``ocorl-cli``."""

from __future__ import annotations

import signal
import sys

from . import _ocorl


def main() -> int:
    """Run the program with the arguments of this process.

    Returns
    -------
    int
        The exit code.
    """
    # The program handles Ctrl-C itself: the first one ends the episode, the second one the program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _ocorl.program(["ocorl", *sys.argv[1:]])
