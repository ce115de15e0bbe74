"""A generator and a ledger that write one log: what was drawn, from which stream, for whom.

:func:`problems` holds the log of a fit against what the estimator promises; :func:`moved` measures
how far two neighbouring data sets move the very arrays to which noise is added.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from dplit.audit import Ledger, LedgerError
from dplit.mechanisms._draws import Draw, listen, passing, stop

_METHODS = (
    "normal",
    "standard_normal",
    "laplace",
    "gamma",
    "standard_gamma",
    "exponential",
    "gumbel",
    "standard_exponential",
    "random",
    "uniform",
    "integers",
    "choice",
    "permutation",
    "permuted",
    "shuffle",
    "binomial",
    "poisson",
    "geometric",
    "chisquare",
    "multivariate_normal",
    "standard_cauchy",
    "standard_t",
    "beta",
    "dirichlet",
    "logistic",
    "vonmises",
    "bytes",
)
_SCALED = {"normal": 1, "laplace": 1, "gamma": 1, "exponential": 0, "gumbel": 1}


class Drawn(NamedTuple):
    """Numbers that left a generator."""

    stream: str
    method: str
    scale: float
    values: np.ndarray


class Hidden(NamedTuple):
    """A ledger's record (``added`` None before the noise), with the private values beside it."""

    draw: Draw
    of: Any
    added: Any
    step: bool


class Released(NamedTuple):
    """A number that left an exact mechanism."""

    values: np.ndarray


class Watched(np.random.Generator):
    """A generator that writes down what it gives, and whose children do the same."""

    def __init__(self, bits: Any, log: list[Any] | None = None, name: str = "root") -> None:
        super().__init__(bits)
        self.log: list[Any] = [] if log is None else log
        self.name = name
        self.born = 0

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return children that write into the same log."""
        bits = self.bit_generator.spawn(n_children)  # type: ignore[attr-defined]
        names = [f"{self.name}.{self.born + k}" for k in range(n_children)]
        self.born += n_children
        return [Watched(b, self.log, n) for b, n in zip(bits, names, strict=True)]


def _told(method: str) -> Any:
    plain = getattr(np.random.Generator, method)

    def call(self: Watched, *values: Any, **named: Any) -> Any:
        found = plain(self, *values, **named)
        at = _SCALED.get(method)
        scale = 1.0
        if at is not None:
            scale = named.get("scale", values[at] if len(values) > at else 1.0)
        out = named.get("out") if found is None else found
        self.log.append(Drawn(self.name, method, float(scale), np.array(out, copy=True)))
        return found

    return call


for _method in _METHODS:
    setattr(Watched, _method, _told(_method))


class Spy(Ledger):
    """A ledger that also writes every record, with the private values, into the log."""

    def __init__(self, log: list[Any]) -> None:
        super().__init__()
        self.log = log

    def drawn(self, draw: Draw, of: Any) -> None:
        """Write down one draw."""
        super().drawn(draw, of)
        values = of() if callable(of) else of
        kept = None if values is None else np.array(values, copy=True)
        self.log.append(Hidden(draw, kept, None, False))

    def stepped(self, of: Any, added: Any) -> None:
        """Write down one step."""
        super().stepped(of, added)
        noise = None if added is None else np.array(added, copy=True)
        self.log.append(Hidden(self.draws[-1], np.array(of, copy=True), noise, True))


class Run(NamedTuple):
    """What one fit showed, wrote and returned."""

    book: Spy
    log: list[Any]
    noise: str
    result: Any


def run(release: Any, data: Iterable[Any], seed: int = 3) -> Run:
    """Fit an estimator, or call a release ``f(data, rng)``, under a spy.

    Of the streams of an estimator the noise has the only one, or the second; a release has one.
    """
    rng = Watched(np.random.PCG64(seed))
    book = Spy(rng.log)
    token = listen(book)

    def written(released: Any) -> Any:
        rng.log.append(Released(np.array(released, copy=True)))
        return released

    try:
        with warnings.catch_warnings(), passing(written):
            warnings.simplefilter("ignore")  # what a spy asks is which stream was drawn from
            if hasattr(release, "fit"):
                result = type(release)(**release.get_params(deep=False) | {"random_state": rng})
                result.fit(*data)
            else:
                result = release(tuple(data), rng)
    finally:
        stop(token)
    noise = "root" if not hasattr(release, "fit") else "root.0" if rng.born == 1 else "root.1"
    return Run(book, rng.log, noise, result)


def _symmetric(hidden: Hidden) -> bool:
    return hidden.draw.purpose == "second moments"


def _expected(hidden: Hidden, exact: bool) -> int | None:
    """How many numbers a draw takes from its stream; None where chance decides (rejection)."""
    draw, copies = hidden.draw, hidden.draw.copies
    if not draw.shape or (exact and draw.mechanism == "k_norm"):
        return None
    size = math.prod(draw.shape) * draw.steps
    size *= 2 if np.iscomplexobj(hidden.of) else 1
    if exact and _symmetric(hidden):
        d = draw.shape[0]
        return d * (d + 1) // 2
    if draw.mechanism == "event" and draw.purpose.startswith("risk with a random"):
        d = size if draw.stated is None or draw.stated(0.0) == math.inf else size - 1
        return d if d == size else d + _radius_words(d)
    if exact and draw.mechanism == "gamma_norm":
        return size + _radius_words(size)
    extra = copies if draw.mechanism in ("gamma_norm", "k_norm") else 0  # the radius
    return size + extra


def _radius_words(d: int) -> int:
    """Variates whose sum is the square of a radius with d + 1 degrees of freedom."""
    return (d + 1) // 2 + (d % 2 == 0)


def _variates(words: np.ndarray, mechanism: str) -> np.ndarray:
    """Standard normal or Laplace numbers of random words, by another route than the sampler's."""
    p = ((words >> np.uint64(1)).astype(float) + 0.5) * 2.0**-63
    size = -ndtri(0.5 * p) if mechanism == "gaussian" else -np.log(p)
    return np.where(words & np.uint64(1), -size, size)


def _is_wrong(noise: np.ndarray, words: np.ndarray, hidden: Hidden) -> bool:
    """Whether noise is not that of the words at the scale that was told."""
    scale = np.full(len(words), hidden.draw.scale)
    noise = np.ascontiguousarray(noise)
    parts = noise.view(float) if np.iscomplexobj(noise) else noise
    if _symmetric(hidden):
        d = len(noise)
        above = np.triu_indices(d, 1)
        parts, scale[d:] = np.append(np.diag(noise), noise[above]), hidden.draw.scale / 2**0.5
    if parts.size != len(words):
        return True
    true = scale * _variates(words, hidden.draw.mechanism)
    size = float(np.abs(np.asarray(hidden.of)).max(initial=0.0)) if hidden.of is not None else 0.0
    return not np.allclose(
        parts.ravel(), true, rtol=1e-6, atol=1e-6 * hidden.draw.scale + 1e-13 * size
    )


def _ours(name: str, noise: str) -> bool:
    return name == noise or name.startswith(noise + ".")


def problems(found: Run, epsilon: float, delta: float, share: float = 0.98) -> list[str]:
    """Return what is wrong with a fit that promises (epsilon, delta)."""
    told: list[str] = []
    try:
        spent = found.book.epsilon(delta=delta)
    except LedgerError as error:
        return [str(error), *_completeness(found.log, found.noise)]
    if spent > epsilon * (1.0 + (1e-9 if delta else 1e-12)):
        told.append(f"spends {spent:.6g} of {epsilon:.6g}")
    if spent < share * epsilon:
        told.append(f"uses {spent:.6g} of {epsilon:.6g}")
    return told + _completeness(found.log, found.noise)


def _completeness(log: list[Any], noise: str) -> list[str]:
    """Hold the numbers that left each stream against the records of the ledger."""
    told: list[str] = []
    now: Hidden | None = None
    got, last, words = 0, np.zeros(0), np.zeros(0, np.uint64)
    exact = False

    def close() -> None:
        if now is None:
            return
        wanted = _expected(now, exact)
        if (wanted is None and not got) or (wanted is not None and wanted != got):
            told.append(f"{now.draw.purpose}: {wanted} numbers were told, {got} were drawn")

    def check(added: np.ndarray, used: np.ndarray, hidden: Hidden) -> None:
        known = hidden.draw.mechanism in ("gaussian", "laplace")
        if exact and known and _is_wrong(added, used, hidden):
            told.append(f"{hidden.draw.purpose}: the noise has not the scale that was told")

    for entry in log:
        if isinstance(entry, Hidden) and not entry.step:
            close()
            now, got, words, exact = entry, 0, np.zeros(0, np.uint64), False
        elif isinstance(entry, Hidden):
            if exact and entry.added is not None:
                size = np.size(entry.added)
                check(entry.added, words[:size], entry)
                words = words[size:]
            elif entry.added is not None and last.size:
                ratio = np.ravel(entry.added) / np.ravel(last)
                if not np.allclose(ratio, entry.draw.scale, rtol=1e-9):
                    told.append(f"{entry.draw.purpose}: the noise has not the scale that was told")
        elif isinstance(entry, Released):
            if now is not None and now.of is not None and now.draw.steps == 1 and now.draw.shape:
                check(entry.values - np.asarray(now.of), words, now)
        elif _ours(entry.stream, noise):
            if now is None:
                told.append(f"{entry.method} was drawn before the ledger heard of it")
                continue
            got, last = got + entry.values.size, entry.values
            if entry.method == "integers" and entry.values.dtype == np.uint64:
                exact, words = True, np.append(words, entry.values.ravel())
            told += _scale(entry, now.draw)
        elif now is not None and got == 0 and _expected(now, exact) is not None:
            told.append(f"{now.draw.purpose}: the noise comes from another stream")
    close()
    return list(dict.fromkeys(told))


def _scale(entry: Drawn, draw: Draw) -> list[str]:
    """Compare the scale that a sampler was given with the one that was told."""
    known = entry.method in _SCALED and draw.mechanism in ("gaussian", "laplace", "gamma_norm")
    known &= not (draw.mechanism == "gamma_norm" and entry.method != "gamma")
    if known and not math.isclose(entry.scale, draw.scale, rel_tol=1e-9):
        return [f"{draw.purpose}: drawn at scale {entry.scale:.4g}, told {draw.scale:.4g}"]
    return []


def told_of_data(one: Run, other: Run) -> list[str]:
    """Return what the records of two neighbouring data sets say differently: nothing may."""
    left, right = (
        [
            [
                getattr(draw, f.name)
                for f in dataclasses.fields(draw)
                if f.name not in ("parallel", "stated")
            ]
            for draw in found.book
        ]
        for found in (one, other)
    )
    wrong = [] if left == right else ["the records differ between neighbours"]
    sizes = [
        [(e.stream, e.method, e.values.shape) for e in found.log if isinstance(e, Drawn)]
        for found in (one, other)
    ]
    fixed = all(draw.shape or draw.mechanism.endswith("noisy_max") for draw in one.book)
    return wrong + (
        ["the draws differ between neighbours"] if fixed and sizes[0] != sizes[1] else []
    )


def _norm(gap: np.ndarray, norm: str) -> float:
    parts = np.abs(np.r_[np.ravel(gap.real), np.ravel(gap.imag)])
    if norm == "modulus":
        return float(np.abs(gap).max())
    return float({"l1": parts.sum, "max": parts.max}.get(norm, lambda: np.linalg.norm(parts))())


def moved(one: Run, other: Run) -> float:
    """Return how far neighbours move what is hidden first, as a share of what was told.

    Later draws of an adaptive release answer to what was released before, which differs.
    """
    pairs = [
        (a, b)
        for a, b in zip(
            *([e for e in f.log if isinstance(e, Hidden)] for f in (one, other)), strict=True
        )
        if a.of is not None and a.draw.sensitivity is not None
    ]
    if not pairs:
        return 0.0
    shares, units, first = [], [], True
    for a, b in pairs:
        alone = a.draw.joint is None and not a.draw.purpose.startswith("count of the ")
        if not first and alone and a.draw.norm != "l1":
            break
        if not first and alone and a.draw.purpose == pairs[0][0].draw.purpose:
            break
        draws = (a.of, b.of)
        if a.draw.copies > 1 and np.ndim(a.of) == 2:
            draws = (a.of[0], b.of[0])
        gap = np.subtract(*(np.asarray(part) for part in draws))
        size = _norm(gap, a.draw.norm)
        shares.append(size / a.draw.sensitivity)
        units.append(size / a.draw.scale)
        if a.draw.joint is not None:
            both = math.hypot(*units[-2:])
            shares.append(both / a.draw.joint)
        first = False
        if a.step:
            break
    return max(shares)
