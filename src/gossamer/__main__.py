"""`python -m gossamer`: the same as the `gossamer` command."""

import sys

INTERRUPTED = 130  # what shells say of a program that ended by Ctrl-C

if __name__ == "__main__":
    try:
        from gossamer.cli import main

        main()
    except KeyboardInterrupt:  # while modules are loaded: `main` handles it from then on
        sys.exit(INTERRUPTED)
