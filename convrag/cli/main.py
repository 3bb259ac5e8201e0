"""The command: `python -m convrag [group=option ...] [group.parameter=value ...]`."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys

from convrag import __version__
from convrag.api.errors import ConvragError
from convrag.api.printable import make_streams_printable
from convrag.api.records import EXIT_STATUS
from convrag.cli.arguments import read_arguments
from convrag.cli.help import make_help
from convrag.cli.jobs import Jobs
from convrag.cli.launch import launch
from convrag.cli.report import USAGE_ERROR, read_exit_status, write_error, write_line
from convrag.cli.signals import finish, leave, leave_if_told, watch_signals
from convrag.config.compose import prepare_help, prepare_overrides, use_folder
from convrag.config.messages import HYDRA_ERRORS
from convrag.sdk.output.library_logs import own_logs
from convrag.turn.logs import TerminalFormatter


def main() -> None:
    """Run the command and exit.

    With 0; 3 where part of the work is missing; 2 for a mistake of the user's; 130 when
    interrupted, 143 and 129 by SIGTERM and SIGHUP; 1 for all else.
    """
    make_streams_printable()
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"convrag {__version__}\n")
        sys.exit(0)
    sys.argv[0] = "convrag"  # usage messages name it
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises, instead of printing and exiting
    if logging.lastResort:  # writes warnings until Hydra has set up logging
        logging.lastResort.setFormatter(TerminalFormatter())
    own_logs()
    watch_signals()
    jobs = Jobs()
    try:
        try:
            _carry_out(jobs)
        finally:
            leave_if_told()
    except KeyboardInterrupt:  # a launcher's own, say: there was no signal
        leave(signal.SIGINT)
    except (ConvragError, *HYDRA_ERRORS) as error:
        write_error(error)
        sys.exit(read_exit_status(error))
    except OSError as error:
        sys.exit(_report_output_folder(error))
    finally:
        finish()
    sys.exit(jobs.status)


def _carry_out(jobs: Jobs) -> None:
    command = read_arguments(sys.argv[1:])
    use_folder(command.config_dir, command.config_name)
    if command.help:
        sys.stdout.write(f"{make_help(prepare_help(command.overrides))}\n")
        return
    command.overrides = prepare_overrides(command.overrides, multirun=command.multirun)
    launch(command, jobs.run)


def _report_output_folder(error: OSError) -> int:
    """Write that the output folder cannot be used, and return the exit status.

    Hydra makes the folder before a job begins, and a sweeper writes into it after the jobs.
    """
    from convrag.store.files import describe_disk_error

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        message = describe_disk_error(error)
        if message:
            write_line(message)
            return EXIT_STATUS["failed"]
    advice = "Choose another one: hydra.run.dir=... or hydra.sweep.dir=..."
    write_line(f"the output folder cannot be used: {error}. {advice}")
    return USAGE_ERROR
