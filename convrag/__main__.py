"""`python -m convrag`, and the command `convrag`: see convrag.cli.main."""

import gc
import signal
import sys


def main() -> None:
    """Run the command and exit."""
    # A background job of a script begins with SIGINT ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # Modules stay until the end: to look for garbage among them takes a sixth of --help
        gc.disable()
        from convrag.cli.main import main as run

        gc.freeze()
        gc.enable()
        run()
    except KeyboardInterrupt:
        # It came while the libraries were imported, before the command handles signals
        sys.stderr.write("convrag: interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
