"""The README's Python block runs as printed and prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import dplit


def python_blocks(root: Path) -> tuple[str, str]:
    """Return the two Python blocks of the README: a release, and estimators with an audit."""
    text = (root / "README.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(first), str(second)


def printed(code: str) -> list[str]:
    """Run code in a namespace of its own and return the lines that it prints."""
    namespace: dict[str, Any] = {"__name__": "readme"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "README.md", "exec"), namespace)
    return out.getvalue().splitlines()


def test_a_table_becomes_a_model_in_ten_lines(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the comment names: eighty releases had a mean of 190 and a deviation of 16, so that one
    beyond 80 of it is a false alarm with probability 1e-6. Kills a model that has learnt nothing of
    these columns, whose rows would all be read as the middle of the bounds.
    """
    code = python_blocks(root)[0]
    assert len(code.splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    (told,) = printed(code)
    found = re.fullmatch(r"additive \[(\d+\.\d*)\]", told)
    assert found is not None
    assert abs(float(found[1]) - 190.0) < 80.0
    assert (tmp_path / "published" / "card.html").exists()
    with pytest.raises(ValueError, match="which holds a release"):
        printed(code)


def test_quick_start_prints_what_its_comments_say(root: Path) -> None:
    """Calibration, fit and audit; a fit without signal, or an audit without power, is seen.

    The fit draws its noise afresh, as a reader's would. The mean of ``1 - score`` is 0.07; as a
    quadratic form in Gaussian noise it exceeds 1, fourteen times its mean, with probability
    below 1e-4. The audits have a fixed seed.
    """
    sigma, score, honest, planted = printed(python_blocks(root)[1])
    assert sigma.startswith("3.7306")
    assert 0.0 < float(score) <= 1.0
    assert honest == "1.0 not refuted"
    assert planted == "1000.0 refuted"


def test_quick_start_uses_only_the_documented_modules(root: Path) -> None:
    page = (root / "book" / "api.md").read_text(encoding="utf-8")  # it links the pages of modules
    for module, names in re.findall(
        r"^from (dplit\S*) import (.*)$", "".join(python_blocks(root)), re.M
    ):
        if module == "dplit":
            assert set(names.split(", ")) <= set(dplit.__all__)
        else:
            assert f"{{py:mod}}`{module}`" in page


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_root_pages_name_no_machine_and_leave_nothing_open(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    assert re.search(r"(?:^|[\s(`])/(?:home|root|tmp|work|Users)/", text) is None
    assert re.search(r"\b(?:TODO|FIXME|XXX|TBD)\b", text) is None
