"""The README's Python block runs as printed and prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import dplit


def python_block(root: Path) -> str:
    """Return the one Python block of the README."""
    text = (root / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def printed(code: str) -> list[str]:
    """Run code in a namespace of its own and return the lines that it prints."""
    namespace: dict[str, Any] = {"__name__": "readme"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "README.md", "exec"), namespace)
    return out.getvalue().splitlines()


def test_quick_start_prints_what_its_comments_say(root: Path) -> None:
    """Calibration, fit and audit; a fit without signal, or an audit without power, is seen.

    The fit draws its noise afresh, as a reader's would. The mean of ``1 - score`` is 0.07; as a
    quadratic form in Gaussian noise it exceeds 1, fourteen times its mean, with probability
    below 1e-4. The audits have a fixed seed.
    """
    sigma, score, honest, planted = printed(python_block(root))
    assert sigma.startswith("3.7306")
    assert 0.0 < float(score) <= 1.0
    assert honest == "1.0 not refuted"
    assert planted == "1000.0 refuted"


def test_quick_start_uses_only_the_documented_modules(root: Path) -> None:
    page = (root / "book" / "api.md").read_text(encoding="utf-8")  # it links the pages of modules
    for module, names in re.findall(r"^from (dplit\S*) import (.*)$", python_block(root), re.M):
        if module == "dplit":
            assert set(names.split(", ")) <= set(dplit.__all__)
        else:
            assert f"{{py:mod}}`{module}`" in page


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_root_pages_name_no_machine_and_leave_nothing_open(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    assert re.search(r"(?:^|[\s(`])/(?:home|root|tmp|work|Users)/", text) is None
    assert re.search(r"\b(?:TODO|FIXME|XXX|TBD)\b", text) is None
