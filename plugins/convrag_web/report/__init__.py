"""report.html: a run, a grid or a comparison in one file that a browser opens from disk, without a network."""
