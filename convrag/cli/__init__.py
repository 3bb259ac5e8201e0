"""The command.

* `main`: from the command line to an exit status.
* `signals`: how a signal ends the command.
* `run_folder`: the folder of a run is held while it is written.
* `help`: the text of `--help`.
* `printable_streams`: standard output and standard error without control characters.
"""
