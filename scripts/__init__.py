"""The steps of the build: run chapters, normalise them, collect claims, write pages, render."""

import sys

# jsonschema, which nbformat imports, would build 38 parsers of web addresses to check formats that
# no schema here has: a second and a half of every command
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
