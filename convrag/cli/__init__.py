"""The command.

* `main`: from the command line to an exit status.
* `launch`: a run, a grid or a text, by Hydra: its configuration is composed once, and checked.
* `signals`: how a signal ends the command.
"""
