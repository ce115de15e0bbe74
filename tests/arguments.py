"""A right call of a function, and what its errors must say when one argument of it is wrong."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np
import pytest


def good_arguments(function: Callable[..., Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return the call that is right; arguments without a good value keep their defaults."""
    return {name: known[name] for name in inspect.signature(function).parameters if name in known}


def each_is_named(
    function: Callable[..., Any],
    good: dict[str, Any],
    argument: str,
    bad: Iterable[tuple[Any, str]],
) -> None:
    """Demand that the right call runs, and each bad value an error with the argument and a rule."""
    function(**good)
    for value, rule in bad:
        with pytest.raises((TypeError, ValueError), match=f"{argument} must .*{rule}"):
            function(**{**good, argument: value})
    keeps_imaginary_part(function, good, argument)


def keeps_imaginary_part(function: Callable[..., Any], good: dict[str, Any], argument: str) -> None:
    """Demand that an array loses no imaginary part: NumPy's warning of it fails the test here."""
    value = good[argument]
    if isinstance(value, (list, np.ndarray)) and np.asarray(value).dtype.kind in "iuf":
        with warnings.catch_warnings(), contextlib.suppress(TypeError, ValueError):
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            function(**{**good, argument: np.asarray(value) + 1j})


def modules_of(package: str) -> list[ModuleType]:
    """All public modules of a package but exercises."""
    where = importlib.import_module(package).__path__
    names = [found.name for found in pkgutil.iter_modules(where) if found.name[0] != "_"]
    names = [name for name in names if name != "exercises"]
    return [importlib.import_module(f"{package}.{name}") for name in names]
