"""The command.

* `main`: from the command line to an exit status.
* `help`: the text of `--help`.
"""
