"""scikit-learn's estimator checks, without those that would only be skipped here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

#: scikit-learn skips it without array-API support, which is absent here.
NEED_OTHER_PACKAGES = {"check_array_api_input"}


def _name(pair: Any) -> str:
    values = getattr(pair, "values", pair)  # pytest.param of an expected failure, or a tuple
    return str(values[1].func.__name__)


def estimator_checks(
    estimators: list[Any], expected_failures: Mapping[str, str] | None = None
) -> pytest.MarkDecorator:
    """Parametrize ``(estimator, check)``; an expected failure that passes is an error."""
    mark = parametrize_with_checks(
        estimators,
        expected_failed_checks=lambda _: dict(expected_failures or {}),
        xfail_strict=True,
    )
    names, pairs = mark.args
    kept = [pair for pair in pairs if _name(pair) not in NEED_OTHER_PACKAGES]
    return pytest.mark.parametrize(names, kept, ids=mark.kwargs["ids"])
