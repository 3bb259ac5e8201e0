"""The command.

* `main`: from the command line to an exit status.
* `arguments`: what is typed before Hydra reads it: flags stand first.
* `signals`: how a signal ends the command.
* `run_folder`: the folder of a run is held while it is written.
* `run_mode`: whether the command is a run or a grid, without composing its configuration twice.
* `secret_guard`: no password or key in what Hydra writes and prints.
* `help`: the text of `--help`.
* `bash_completion`: tab completion in bash: its script, and the answers to it.
* `completion`: what may follow in a command.
* `chosen_stages`: what the words of a command choose.
* `printable_streams`: standard output and standard error without control characters.
"""
