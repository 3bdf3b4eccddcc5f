"""Commands as the documents give them."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_FENCED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(document: Path) -> list[str]:
    """The blocks marked `sh` in a Markdown file, in order."""
    return _FENCED.findall(document.read_text())
