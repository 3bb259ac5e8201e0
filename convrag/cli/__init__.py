"""The command.

* `main`: from the command line to an exit status.
* `arguments`: flags and overrides.
* `help`: the text of --help.
* `launch`: a run, a grid or a text, by Hydra.
* `jobs`: the jobs that Hydra starts.
* `report`: what the command writes about an error.
* `signals`: how a signal ends the command.
"""
