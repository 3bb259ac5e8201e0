"""The command.

* `main`: from the command line to an exit status.
* `run_folder`: the folder of a run is held while it is written.
* `secret_guard`: no password or key in what Hydra writes and prints.
* `help`: the text of `--help`.
"""
