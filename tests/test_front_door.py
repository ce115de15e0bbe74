"""The front door: every estimator and the calibrations, found without importing anything else."""

from __future__ import annotations

import inspect
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import dplit

ROOT = Path(__file__).resolve().parents[1]


def test_names_are_those_of_their_homes() -> None:
    """Kills a name that another module's object answers to."""
    for name, home in dplit._HOME.items():
        assert getattr(dplit, name) is getattr(import_module(f"dplit.{home}"), name)
    with pytest.raises(AttributeError, match=r"module 'dplit' has no attribute 'gausian_sigma'"):
        dplit.gausian_sigma  # noqa: B018


def test_every_private_estimator_stands_at_the_front_door() -> None:
    found = set()
    for module in pkgutil.walk_packages(dplit.__path__, "dplit."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            for name, item in vars(import_module(module.name)).items():
                fits = inspect.isclass(item) and issubclass(item, BaseEstimator)
                if (
                    fits
                    and not inspect.isabstract(item)
                    and "epsilon" in signature(item).parameters
                ):
                    found.add(name)
    maps = {"HatFeatures"}  # which releases nothing and stands in front of those that do
    assert found | maps == {name for name in dplit._HOME if name[0].isupper()}


def test_type_checkers_see_the_same_names() -> None:
    stub = (ROOT / "src" / "dplit" / "__init__.pyi").read_text("utf-8")
    found = {}
    for home, names in re.findall(r"from dplit\.([\w.]+) import \(([^)]*)\)", stub):
        found |= dict.fromkeys(re.findall(r"(\w+) as \1,", names), home)
    assert found == dplit._HOME


def test_dir_lists_what_the_package_page_documents() -> None:
    page = (ROOT / "book" / "api.md").read_text("utf-8")
    assert "\n## Estimators\n" in page
    section = page.partition("\n## Estimators\n")[2].partition("\n## The rooms\n")[0]
    listed = re.findall(r"~dplit\.[\w.]*\.(\w+)`", section)
    assert dir(dplit) == sorted([*listed, "__version__"])


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, dplit; dir(dplit); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
