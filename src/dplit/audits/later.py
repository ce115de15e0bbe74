"""Estimators newer than the archive of the audits; they join the others when it is made again."""

from __future__ import annotations

from dplit.audits.cases import _CLASSES, _LINEAR, _NORM, _Case
from dplit.margin.projected import ProjectedObjectiveClassifier

LATER = {
    "ProjectedObjectiveClassifier": _Case(
        ProjectedObjectiveClassifier(classes=_CLASSES, **_NORM), "replace_one", _CLASSES, _LINEAR
    ),
    "ProjectedObjectiveClassifier one component": _Case(
        ProjectedObjectiveClassifier(n_components=1, fit_intercept=True, classes=_CLASSES, **_NORM),
        "replace_one", _CLASSES, _LINEAR,
    ),
}  # fmt: skip
