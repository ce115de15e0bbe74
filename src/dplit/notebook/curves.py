"""Curves at the paper's scale, archived with a run and drawn below the points of quicker ones."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dplit._checks import check_choice
from dplit.notebook import figures
from dplit.notebook.cells import (
    _CURVES_MIMETYPE,
    _STAND_IN,
    Run,
    _show_figure,
    _show_tables,
    archived,
)
from dplit.notebook.figures import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _plain(value: Any) -> Any:
    """Return an entry as the archive holds it: numbers to six digits, no number as None."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _column(values: ArrayLike | None) -> list[Any] | None:
    return None if values is None else [_plain(v) for v in values]  # type: ignore[union-attr]


@dataclass(frozen=True)
class _Curve:
    """One curve: places, heights, perhaps a band, what it is, and the number of trials."""

    x: list[Any]
    y: list[Any]
    low: list[Any] | None = None
    high: list[Any] | None = None
    trials: int | None = None
    errors: str | None = None

    @property
    def band(self) -> tuple[list[float], list[float]] | None:
        """Low and high ends, without a number where there is none."""
        if self.low is None or self.high is None:
            return None
        return _floats(self.low), _floats(self.high)


def _floats(values: list[Any]) -> list[Any]:
    return [math.nan if value is None else value for value in values]


#: What the band of a curve is: one or two standard errors of a mean on each side, the range of the
#: trials, quantiles between which a share of them lies; "exact" where nothing was drawn.
_ERRORS = ("se", "2 se", "range", "50 %", "80 %", "exact")


class Curves:
    """The curves of one figure, or the rows of one table: this run's and the archived run's.

    A run at the paper's scale draws what it has computed, and ``make paper`` archives it in
    ``results/<slug>.json``. Any other run draws the archived curves, with its own points on top,
    and the caption says which is which. For drawing only: a claim checks what its run computes. A
    build holds both runs against each other where they have a place in common and ``errors`` says
    how far they may lie apart (``scripts/archives.py``).

    Parameters
    ----------
    run : Run
        The run; its chapter names the archive.
    name : str
        Name of the figure or table, such as ``fig-erm-stability``.
    **settings
        What the curves depend on beside the chapter's code: data, a parameter of the run. An
        archive with other settings is not drawn, and the caption says so. None accepts any: it is
        the setting of a run whose stand-ins are not drawn.
    """

    def __init__(self, run: Run, name: str, **settings: Any) -> None:
        self.name = name
        self._run = run
        self._settings = {key: _plain(value) for key, value in settings.items()}
        stored = {} if run.paper_scale else (archived(run.slug) or {}).get("curves", {})
        old = stored.get(name, {"settings": self._settings})
        asked = {k: v for k, v in self._settings.items() if v is not None}
        unlike = {k for k in asked.keys() | old["settings"] if k not in self._settings}
        unlike |= {k for k, v in asked.items() if old["settings"].get(k) != v}
        self._other = {k: v for k, v in old["settings"].items() if k in unlike}
        self._old = {} if unlike else old
        self._own: dict[str, _Curve] = {}
        self._rows: list[list[Any]] | None = None
        self._lacking: tuple[str, ...] = ()
        self._borrowed: set[str] = set()  # curves of the archive alone: this run has stand-ins
        self._replaced: set[str] = set()  # curves of stand-ins, for want of archived ones

    def on(self, *data: str) -> Curves:
        """Return these curves for what is about data sets of the paper, by their names.

        What is drawn through it, in a run that has stand-ins, is the archived run alone.
        """
        view = copy.copy(self)  # the curves and their notes are the same objects
        view._lacking = (*self._lacking, *self._run.lacks(*data))
        return view

    def keep(
        self,
        name: str,
        x: ArrayLike,
        y: ArrayLike,
        *,
        band: tuple[ArrayLike, ArrayLike] | None = None,
        trials: int | None = None,
        errors: str | None = None,
    ) -> tuple[_Curve, _Curve | None]:
        """Record a curve; return the one to draw, and this run's where that is the archived one.

        Parameters
        ----------
        name : str
            The curve's name within the figure.
        x, y : array_like of shape (n,)
            Numbers, or names for ``x``.
        band : pair of array_like, optional
            Low and high ends.
        trials : int, optional
            Repetitions behind each point.
        errors : {"se", "2 se", "range", "50 %", "80 %", "exact"}, optional
            What the band is: one or two standard errors on each side, the range of the trials, the
            quantiles that hold a share of them; "exact" where the heights are no estimates.
        """
        if errors is not None:
            check_choice("errors", errors, _ERRORS)
        if name in self._own:
            raise ValueError(f"{self.name} has two curves of one name, got name={name!r}")
        low, high = band if band is not None else (None, None)
        ends = _column(low), _column(high)
        here = _Curve(_column(x) or [], _column(y) or [], *ends, trials, errors)
        if not len(here.x) == len(here.y):
            raise ValueError(f"x and y of {name} must be equally long")
        self._own[name] = here
        old = self._old.get("curves", {}).get(name)
        if self._lacking:
            (self._borrowed if old else self._replaced).add(name)
            return (_Curve(**old) if old else here), None
        return (_Curve(**old), here) if old else (here, None)

    def line(
        self,
        axes: Axes,
        name: str,
        x: ArrayLike,
        y: ArrayLike,
        look: Look,
        *,
        band: tuple[ArrayLike, ArrayLike] | None = None,
        trials: int | None = None,
        errors: str | None = None,
        every: int = 1,
        label: str | None = None,
    ) -> None:
        """Draw a curve as :func:`dplit.notebook.figures.line` does, this run's points on top.

        Band, trials and errors are those of :meth:`keep`.
        """
        main, here = self.keep(name, x, y, band=band, trials=trials, errors=errors)
        figures.line(
            axes,
            main.x,
            _floats(main.y),
            look,
            band=main.band,
            every=0 if here else every,
            label=label,
        )
        self._draw_points(axes, here, look)

    def points(self, axes: Axes, x: ArrayLike, y: ArrayLike, look: Look, **more: Any) -> None:
        """Draw points of this run alone, with what :func:`figures.points` takes.

        Where the run has stand-ins nothing is drawn.
        """
        if not self._lacking:
            figures.points(axes, x, y, look, **more)

    def _draw_points(self, axes: Axes, here: _Curve | None, look: Look) -> None:
        if here is None:
            return
        heights, bars = _floats(here.y), None
        if here.band is not None:
            ends = [zip(heights, end, strict=True) for end in here.band]
            bars = [[max(y - e, 0.0) for y, e in ends[0]], [max(e - y, 0.0) for y, e in ends[1]]]
        figures.points(axes, here.x, heights, look, error=bars)

    def _trials(self, curves: Iterable[_Curve]) -> str:
        """Return how many trials stand behind the points, as text for a caption."""
        counts = sorted({curve.trials for curve in curves if curve.trials is not None})
        if not counts:
            return ""
        several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        return f", {several} trials" if counts != [1] else ", one trial"

    def note(self) -> str:
        """Return the sentence of the caption that says which run is drawn how."""
        own = [curve for name, curve in self._own.items() if name not in self._borrowed]
        here = f"this run ({self._run.scale}{self._trials(own)})"
        drawn = [_Curve(**c) for n, c in self._old.get("curves", {}).items() if n in self._own]
        if self._run.paper_scale:
            return f"Drawn: {here}."
        if self._borrowed:
            far = f"the archived run at the paper's scale{self._trials(drawn)}"
            rest = f"; the markers are {here}" if own else ""
            return f"Drawn: {far}, whose data this run does not have in part or whole{rest}."
        if drawn:
            far = f"the archived run at the paper's scale{self._trials(drawn)}"
            return f"Where a line has markers, line and band are {far}; the markers are {here}."
        if self._other:
            other = ", ".join(f"{key} = {value}" for key, value in self._other.items())
            return f"Drawn: {here}; the archived run, with {other}, is not comparable."
        return f"Drawn: {here}; none is archived at the paper's scale."

    def show(self, fig: Figure, *, caption: str, alt: str) -> None:
        """Show the figure as :func:`dplit.notebook.show` does, by its name; the caption goes on.

        Where stand-ins are drawn, for want of archived curves, caption and alternative text say so.
        """
        caption = f"{caption} {self.note()}"
        more = {_CURVES_MIMETYPE: self._record()}
        _show_figure(fig, self.name, caption, alt, bool(self._replaced), more)

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        caption: str,
        pattern: str = ".4g",
    ) -> None:
        """Show a table as :func:`dplit.notebook.show_table` does, this run's below the archived.

        The rows of this run are folded below those of the archived run, if there is one; rows on
        stand-ins are shown only where there is none, and the caption says so.
        """
        self._rows = [[_plain(value) for value in row] for row in rows]
        old = self._old.get("rows")
        here = f"This run ({self._run.scale})"
        far = f"{caption} The archived run at the paper's scale"
        if old is None:
            own = f"{caption} {here}." + (f" {_STAND_IN}" if self._lacking else "")
            tables = [(own, self._rows)]
        elif self._lacking or not self._rows:
            without = "; this run does not have its data" if self._lacking else ""
            tables = [(f"{far}{without}.", old)]
        else:
            tables = [(f"{far}.", old), (f"{here}.", self._rows)]
        _show_tables(columns, tables, pattern, {_CURVES_MIMETYPE: self._record()})

    def _record(self) -> dict[str, Any]:
        """Return what is archived, and which of its curves this run drew on stand-ins."""
        own: Mapping[str, _Curve] = self._own
        record: dict[str, Any] = {"name": self.name, "settings": self._settings}
        record["stand_ins"] = sorted(self._borrowed | self._replaced)
        record["curves"] = {name: dict(vars(curve)) for name, curve in own.items()}
        return record | ({"rows": self._rows} if self._rows is not None else {})
