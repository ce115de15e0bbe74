"""The registry of claims and the records that notebooks emit.

Statement, verdict and checks. ``src/dplit/papers/<slug>/claims.yml`` lists the claims of one
paper; a notebook takes one by its id, checks it and shows it. What is shown is a badge with the
record as JSON; the build collects them.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtrit

from dplit.notebook.badges import _badge_html, _data_in_words
from dplit.notebook.datasets.needs import missing_data

MIMETYPE = "application/vnd.dplit.claim+json"

#: Two-sided false-alarm probability of one statistical check; its normal quantile is 4.
_FALSE_ALARM = float(2 * ndtr(-4.0))

_POWER = 0.9

_RELATIONS = {"equal": "=", "at_most": "<=", "at_least": ">="}

_POSITIVE = {"equal", "at_most", "at_least", "attains", "statement"}

_context: dict[str, Any] = {}

_shown: dict[str, dict[str, Any]] = {}


class ClaimError(AssertionError):
    """A deterministic check of a claim failed, or a claim was used against its registry entry."""


def _yaml_file(slug: str, name: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise ImportError("reading the claims needs PyYAML: pip install 'dplit[book]'") from error
    path = resources.files("dplit.papers").joinpath(slug, name)
    with path.open(encoding="utf8") as file:  # whose name a fault tells
        return yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def slugs() -> list[str]:
    """Return the slugs of the papers that have a registry, sorted."""
    root = resources.files("dplit.papers")
    return sorted(p.name for p in root.iterdir() if p.joinpath("claims.yml").is_file())


@cache
def load_registry(slug: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the claims of one paper, or of all, from id to entry; no id may be there twice."""
    entries: dict[str, dict[str, Any]] = {}
    for name in [slug] if slug else slugs():
        for number, raw in enumerate(_yaml_file(name, "claims.yml"), start=1):
            if not isinstance(raw, dict) or "id" not in raw:
                raise ClaimError(f"entry {number} of {name}/claims.yml has no id: {str(raw)[:60]}")
            entry = {"severity": None, "corrected": None, "functions": [], "note": "", **raw}
            entry["slug"] = name
            if entry["id"] in entries:
                raise ClaimError(
                    f"claim id {entry['id']!r} is registered twice, in {name}/claims.yml"
                )
            entries[entry["id"]] = entry
    return entries


@cache
def load_targets(slug: str) -> dict[str, Any]:
    """Return the numbers printed in a paper (``targets.yml``), with place and reading error."""
    targets: dict[str, Any] = _yaml_file(slug, "targets.yml")
    return targets


@cache
def load_schema() -> dict[str, Any]:
    """Return the JSON schema of a collected record."""
    text = (
        resources.files("dplit.notebook").joinpath("claims.schema.json").read_text(encoding="utf8")
    )
    schema: dict[str, Any] = json.loads(text)
    return schema


def set_context(**parameters: Any) -> None:
    """Set the run's parameters, which every record of this process repeats."""
    _context.clear()
    _context.update(parameters)


def shown_records() -> dict[str, dict[str, Any]]:
    """Return the records that this process has displayed, by id, in order."""
    return dict(_shown)


def claim(identifier: str) -> Claim:
    """Return an empty record of one registered claim; an error lists near ids."""
    registry = load_registry()
    if identifier not in registry:
        prefix = identifier.split("-")[0]
        near = [key for key in registry if key.startswith(prefix)]
        raise KeyError(f"claim {identifier!r} is not registered; registered: {', '.join(near)}")
    return Claim(registry[identifier])


def _worst(gap: Any) -> tuple[int, ...]:
    index = np.unravel_index(int(np.argmax(np.atleast_1d(gap))), np.atleast_1d(gap).shape)
    return tuple(int(i) for i in index)


def _nearest_to_failing(
    left: Any, right: Any, over: Any, limit: Any, by_limit: bool
) -> tuple[int, ...]:
    """Return where ``over - limit``, which fails above 0, is largest in units of its entry.

    The unit is the limit where that is a tolerance (``by_limit``: equalities and standard errors),
    and otherwise the size of the bound, or of the largest number compared where the bound is 0.
    An equality that allows nothing and is met is as far from failing as can be. What is compared
    is rounded: the rounding errors of a run must not choose the entry.
    """
    tolerance = by_limit & (limit > 0)
    largest = max(float(np.abs(left).max()), float(np.abs(right).max())) or 1.0
    bound = np.maximum(np.where(right == 0, largest, np.abs(right)), np.finfo(float).tiny)
    unit = np.where(tolerance, limit, bound)
    with np.errstate(over="ignore"):
        badness = np.clip(over / unit - np.where(tolerance, 1, limit / bound), -1e290, 1e290)
    badness = np.where(tolerance, np.round(badness, 3), np.round(badness, 9))
    badness = np.where(by_limit & (limit == 0) & (over == 0), -1.0, badness)
    return _worst(np.where(over > limit, np.maximum(badness, 1e-3), badness))


def _text(value: Any) -> float | str:
    """Return a number as a record holds it: complex ones as text."""
    if np.iscomplexobj(value):
        return f"{value.real:.9g}{value.imag:+.9g}i"
    return float(value)


def _recorded(value: Any, step: float = 0.0) -> Any:
    """Round what a record shows: to nine digits, and to decimals below ``step``.

    The last bits of a sum may depend on where its arrays lie in memory; records must not.
    """
    if isinstance(value, dict):
        return {key: _recorded(entry, step) for key, entry in value.items()}
    if isinstance(value, list):
        return [_recorded(entry, step) for entry in value]
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    if 0 < step < math.inf:
        value = round(value, -math.floor(math.log10(step)))
    return float(f"{value:.9g}")


def _recorded_check(check: Mapping[str, Any]) -> dict[str, Any]:
    # the margin of a refutation is no tolerance: it must not round the printed value away
    digits = 1e-9 if check["method"] == "refute" else 1e-3
    step = digits * float(check.get("tolerance") or 0.0)
    return {
        key: _recorded(value, step if key in ("measured", "expected") else 0.0)
        for key, value in check.items()
    }


def _quantiles(size: int, df: int | None) -> tuple[float, float]:
    """Quantile at which ``size`` two-sided comparisons keep the false alarm of one, and power's."""
    tail = _FALSE_ALARM / (2 * size)
    if df is None:
        return -float(ndtri(tail)), float(ndtri(_POWER))
    return -float(stdtrit(df, tail)), float(stdtrit(df, _POWER))


class Claim:
    """The checks of one claim, made one after the other; shown as a badge with its record.

    Every check method returns the claim itself, so that checks chain and the last expression of a
    cell shows the badge. A deterministic check that fails raises :class:`ClaimError` at once; a
    statistical one (with ``se`` or ``statistical=True``) is recorded as failed and shown. A check
    on the paper's data (``data:`` in ``claims.yml`` for the whole claim, :meth:`on` for some of its
    checks) is not asked in a run that has stand-ins: the record lists it as unasked. On a claim
    that was marked :meth:`not_run` first no check raises: see there.
    """

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = {"compared": None, **entry}
        self.checks: list[dict[str, Any]] = []
        self.unasked: list[dict[str, Any]] = []
        self.reason: str | None = None
        self.data: tuple[str, ...] = tuple(entry.get("data", ()))

    def on(self, *data: str) -> Claim:
        """Return this claim for checks on these of the paper's data sets, by their names.

        Checks made on what is returned are asked where the run has the files (see
        :func:`dplit.notebook.datasets.needs.missing_data`); checks made on the claim itself always
        are.
        """
        view = copy.copy(self)  # the lists of checks are the same objects
        view.data = (*self.data, *data)
        return view

    def _add(self, method: str, how: str, ok: bool, **fields: Any) -> Claim:
        if not how:
            raise ValueError(f"how must say what was compared, got how={how!r}")
        if lacking := missing_data(self.data, _context.get("data", "auto")):
            self.unasked.append({"method": method, "how": how, "data": list(lacking)})
            return self
        check = {"method": method, "how": how, "ok": bool(ok), "statistical": False, **fields}
        self.checks.append(check)
        if not ok and not check["statistical"] and self.reason is None:
            raise ClaimError(f"{self.entry['id']}: {method} failed ({how}): {fields}")
        return self

    def _compare(
        self,
        method: str,
        measured: ArrayLike,
        expected: ArrayLike,
        excess: Any,
        allowed: Any,
        how: str,
        se: ArrayLike | None,
        df: int | None,
    ) -> Claim:
        """Record that ``excess <= allowed`` everywhere, reporting the entry nearest to failing."""
        relation = _RELATIONS[method]
        left, right, over, limit = np.broadcast_arrays(measured, expected, excess, allowed)
        if not (np.isfinite(left).all() and np.isfinite(right).all()):
            return self._add(method, how, False, measured="not finite", relation=relation)
        size = max(left.size, 1)
        detectable = None
        if se is not None:
            z, power = _quantiles(size, df)
            error = np.broadcast_to(np.asarray(se, dtype=float), left.shape)
            limit = limit + z * error
            detectable = float(np.max((z + power) * error))
        by_limit = se is not None or method == "equal"
        at = _nearest_to_failing(left, right, over, limit, by_limit)
        return self._add(
            method,
            how,
            bool(np.all(over <= limit)),
            statistical=se is not None,
            measured=_text(np.atleast_1d(left)[at]),
            expected=_text(np.atleast_1d(right)[at]),
            relation=relation,
            tolerance=float(np.atleast_1d(limit)[at]),
            detectable=detectable,
            size=int(size),
        )

    def equal(
        self,
        measured: ArrayLike,
        expected: ArrayLike,
        *,
        rtol: float = 1e-9,
        atol: float = 0.0,
        se: ArrayLike | None = None,
        df: int | None = None,
        how: str,
    ) -> Claim:
        """Check that two routes agree: within ``atol + rtol |expected|``, or within 4 ``se``.

        With ``se`` (the standard error of ``measured - expected``) the check is statistical and
        the tolerance is computed from it alone; over several entries the quantile 4 grows so that
        the false-alarm probability of the whole check stays 6.3e-5. Where ``se`` was estimated from
        few repetitions, ``df`` (their number minus one) puts Student's quantile in its place.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.abs(np.asarray(measured) - np.asarray(expected))
        allowed = 0.0 if se is not None else atol + rtol * np.abs(np.asarray(expected))
        return self._compare("equal", measured, expected, gap, allowed, how, se, df)

    def at_most(
        self,
        measured: ArrayLike,
        bound: ArrayLike,
        *,
        slack: float = 0.0,
        se: ArrayLike | None = None,
        df: int | None = None,
        how: str,
    ) -> Claim:
        """Check ``measured <= bound + slack`` (plus 4 ``se`` for a statistical check)."""
        with np.errstate(invalid="ignore", over="ignore"):
            excess = np.asarray(measured) - np.asarray(bound)
        return self._compare("at_most", measured, bound, excess, slack, how, se, df)

    def at_least(
        self,
        measured: ArrayLike,
        bound: ArrayLike,
        *,
        slack: float = 0.0,
        se: ArrayLike | None = None,
        df: int | None = None,
        how: str,
    ) -> Claim:
        """Check ``measured >= bound - slack`` (minus 4 ``se`` for a statistical check)."""
        with np.errstate(invalid="ignore", over="ignore"):
            excess = np.asarray(bound) - np.asarray(measured)
        return self._compare("at_least", measured, bound, excess, slack, how, se, df)

    def attains(self, value: float, bound: float, *, fraction: float = 0.99, how: str) -> Claim:
        """Check that a configuration attains at least ``fraction`` of a bound that it respects."""
        ratio = float(value) / float(bound)
        ok = fraction <= ratio <= 1 + 1e-9
        relation = f"at least {fraction:g} of the bound"
        return self._add(
            "attains", how, ok, measured=float(value), expected=float(bound), relation=relation
        )

    def refute(
        self,
        printed: ArrayLike,
        measured: ArrayLike,
        *,
        relation: str = ">",
        margin: float = 0.0,
        se: float | None = None,
        why: str,
    ) -> Claim:
        """Check that a printed value fails: ``measured > printed + margin`` (or ``<``, minus)."""
        if relation not in (">", "<"):
            raise ValueError(f"relation must be '>' or '<', got relation={relation!r}")
        sign = 1.0 if relation == ">" else -1.0
        needed = margin + (0.0 if se is None else 4.0 * se)
        gap = sign * (np.asarray(measured, dtype=float) - np.asarray(printed, dtype=float)) - needed
        at = _worst(-gap)
        left, right = np.broadcast_arrays(measured, printed)
        return self._add(
            "refute",
            why,
            bool(np.all(gap > 0)),
            statistical=se is not None,
            measured=float(np.atleast_1d(left)[at]),
            expected=float(np.atleast_1d(right)[at]),
            relation=relation,
            tolerance=needed,
        )

    def reproduce(self, rows: Iterable[Mapping[str, Any]], *, how: str = "") -> Claim:
        """Compare printed numbers with ours, row by row.

        Each row has ``setting, paper, ours`` and may have ``paper_se, ours_se, reading_error`` (0)
        and ``miss`` (True where the registry's verdict "partly" names this row as missed). A row is
        within its band if ``|ours - paper|`` is at most its :func:`error_band`.
        """
        compared = []
        for row in rows:
            full = {"paper_se": 0.0, "ours_se": 0.0, "reading_error": 0.0, "miss": False, **row}
            full["within"] = bool(abs(full["ours"] - full["paper"]) <= error_band(full))
            compared.append(
                {k: v if isinstance(v, (str, bool)) else float(v) for k, v in full.items()}
            )
        if not compared:
            raise ValueError("rows must not be empty")
        within = [bool(row["within"]) for row in compared]
        ok = all(row["within"] or row["miss"] for row in compared)
        how = how or f"{sum(within)} of {len(within)} printed numbers within their error bands"
        return self._add("reproduce", how, ok, statistical=True, rows=compared)

    def statement(self, text: str, outcome: bool, *, how: str, statistical: bool = False) -> Claim:
        """Check a sentence whose truth value was computed."""
        if not isinstance(outcome, (bool, np.bool_)):
            raise TypeError(f"outcome must be a computed bool, got outcome={outcome!r}")
        return self._add(
            "statement",
            how,
            bool(outcome),
            statistical=statistical,
            expected=text,
            measured=bool(outcome),
        )

    def excludes(self, text: str, outcome: bool, *, how: str) -> Claim:
        """Check that a definition excludes an example: ``outcome`` is whether it was excluded."""
        if not isinstance(outcome, (bool, np.bool_)):
            raise TypeError(f"outcome must be a computed bool, got outcome={outcome!r}")
        return self._add("excludes", how, bool(outcome), expected=text, measured=bool(outcome))

    def not_run(self, *, reason: str) -> Claim:
        """Record that the claim could not be checked here, and why.

        Where it comes first, the same checks may follow, for example on stand-in data: they are
        recorded for information, none of them raises, and the status stays ``"not_run"``.
        """
        if not reason:
            raise ValueError("reason must say why the claim was not checked")
        self.reason = reason
        return self

    def missing(self) -> str | None:
        """Return what the registered verdict still needs, or None."""
        methods = [check["method"] for check in [*self.checks, *self.unasked]]
        attained = "attains" in [check["method"] for check in self.unasked] or any(
            check["measured"] / check["expected"] >= 0.99
            for check in self.checks
            if check["method"] == "attains"
        )
        verdict, positive = self.entry["verdict"], _POSITIVE.intersection(methods)
        compared = "reproduce" in methods or (bool(self.entry["compared"]) and bool(positive))
        rows = "rows against printed values, or what was compared instead (compared: in claims.yml)"
        needs = {
            "defined": (
                bool(positive) and "excludes" in methods,
                "a check and an excluded example",
            ),
            "sharp": (attained, "a configuration that attains 0.99 of the bound"),
            "conditional": (
                bool(positive) and "refute" in methods,
                "a refutation without the hypothesis and a check with it",
            ),
            "erratum": (
                bool(positive) and "refute" in methods,
                "a refutation and a check of the corrected statement",
            ),
            "reproduced": (compared, rows),
            "partly": (compared, rows),
            "not-reproducible": (bool(methods), "a check of what was run"),
        }
        met, text = needs.get(verdict, (bool(positive) or "refute" in methods, "a check"))
        return None if met else f"verdict '{verdict}' needs {text}"

    @property
    def record(self) -> dict[str, Any]:
        """The record as JSON-ready data; tests, page and anchor are added by the build."""
        keys = ("id", "slug", "kind", "place", "title", "verdict", "evidence", "severity")
        record = {key: self.entry[key] for key in (*keys, "corrected", "functions", "note")}
        record |= {key: self.entry.get(key) for key in ("stands", "compared")}
        reason = self.reason
        if reason is None and self.unasked and not self.checks:
            reason = f"it is about {_data_in_words(self.unasked)}, and this run has stand-ins"
        if reason is not None:
            status = "not_run"
        else:
            reason = self.missing()
            ok = reason is None and all(check["ok"] for check in self.checks)
            status = "passed" if ok else "failed"
        record.update(status=status, passed=status == "passed", reason=reason)
        checks = [_recorded_check(check) for check in self.checks]
        record.update(checks=checks, unasked=list(self.unasked), parameters=dict(_context))
        return record

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        record = self.record
        _shown[record["id"]] = record
        plain = f"{record['id']}: {record['verdict']}, {record['status']}"
        return {"text/plain": plain, "text/html": _badge_html(record), MIMETYPE: record}


def row(
    place: str,
    paper: float,
    ours: float,
    *,
    paper_se: float = 0.0,
    ours_se: float = 0.0,
    reading_error: float = 0.0,
    miss: bool = False,
) -> dict[str, Any]:
    """Return one comparison of a printed number with ours, as ``Claim.reproduce`` takes it.

    Examples
    --------
    >>> row("N = 1500", 0.257, 0.2503, paper_se=0.003)["paper"]
    0.257
    """
    return {
        "setting": place,
        "paper": float(paper),
        "paper_se": float(paper_se),
        "reading_error": float(reading_error),
        "ours": float(ours),
        "ours_se": float(ours_se),
        "miss": bool(miss),
    }


def error_band(row: Mapping[str, Any]) -> float:
    """Return how far ours may lie from a printed number: four joint standard errors, and reading's.

    >>> error_band(row("a", 10.0, 11.0, paper_se=3.0, ours_se=4.0, reading_error=1.0))
    21.0
    """
    return 4.0 * float(np.hypot(row["paper_se"], row["ours_se"])) + float(row["reading_error"])


def share_within(rows: Iterable[Mapping[str, Any]]) -> float:
    """Return the share of rows within their error bands.

    >>> share_within([row("a", 1.0, 1.1), row("b", 1.0, 1.1, reading_error=0.2)])
    0.5
    """
    inside = [abs(r["ours"] - r["paper"]) <= error_band(r) for r in rows]
    if not inside:
        raise ValueError("rows must not be empty")
    return float(np.mean(inside))
