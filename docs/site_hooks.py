"""Adds the two generated pages to the site: mkdocs calls `on_files` before it reads the pages."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from build_authors import build_page
from build_reference import reference
from mkdocs.structure.files import File, Files

GENERATED = {"reference.md": reference, "authors.md": build_page}
"""Page -> the function that writes it from the code."""


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to the pages of docs/."""
    for name, build in GENERATED.items():
        files.append(File.generated(config, name, content=build()))
    return files
