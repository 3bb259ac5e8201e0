"""`python -m convrag`, and the command `convrag`: see convrag.cli.main."""

import sys


def main() -> None:
    """Run the command and exit."""
    try:
        from convrag.cli.main import main as run

        run()
    except KeyboardInterrupt:  # before it watches signals: importing its libraries takes most of a start
        sys.stderr.write("convrag: interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
