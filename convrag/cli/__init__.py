"""The command.

* `main`: from the command line to an exit status.
* `launch`: a run, a grid or a text, by Hydra: its configuration is composed once, and checked.
* `help`: the options in the text of `--help`.
* `signals`: how a signal ends the command.
* `bash_completion`: tab completion in bash: its script, and the answers to it.
* `completion`: what may follow in a command.
"""
