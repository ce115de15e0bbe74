"""The settings of every experiment of the paper: what its text states and what its code does.

Where the two differ, both are kept; :func:`differences` lists the fields that differ. A field that
a source leaves unstated is None.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from dplit._checks import check_choice

__all__ = ["SETTINGS", "Setting", "Version", "differences", "setting"]

Version = Literal["text", "code"]


@dataclass(frozen=True)
class Setting:
    """The settings of one experiment, as one source states them.

    Attributes
    ----------
    data : str
        ``"f1"``, ``"f2"`` (synthetic), ``"medical"``, ``"red wine"``, ``"wine"``.
    components : tuple of int
        Numbers of features N, in the order of the horizontal axis; for Figure 3 one per number of
        records.
    records : tuple of int or None
        Numbers of training records m.
    test_records : int or None
        Number of test records.
    dimension : int or None
        Number of inputs d of the synthetic data.
    frequency_sd : float
        Standard deviation of each coordinate of a frequency.
    epsilons : tuple of float
        Privacy budgets.
    delta : float
        Privacy parameter.
    sensitivity : float
        Numerator of the sensitivity: Delta = sensitivity / sqrt(N).
    noise : {"classical", "5/sqrt(2 epsilon)"}
        Multiplier of Delta: the classical Gaussian calibration, or that of the fairness code.
    labels : str
        Scaling of the labels.
    learning_rates : tuple of float
        Step sizes of the SGD baseline, in units of 1/m.
    repeats : int
        Number of repetitions.
    """

    data: str
    components: tuple[int, ...]
    records: tuple[int, ...] | None
    test_records: int | None
    frequency_sd: float
    epsilons: tuple[float, ...]
    labels: str
    dimension: int | None = None
    delta: float = 1e-5
    sensitivity: float = 4.0
    noise: Literal["classical", "5/sqrt(2 epsilon)"] = "classical"
    learning_rates: tuple[float, ...] = (1.0,)
    repeats: int = 10


_NARROW_TEXT, _NARROW_CODE = 40.0**0.5, 40.0
_BROAD_TEXT, _BROAD_CODE = 2.0**0.5, 4.0
_FIG3_RECORDS = tuple(range(1000, 2001, 200))
#: The twenty privacy budgets of Figures 7 and 8.
_FAIR_EPSILONS = tuple(0.05 + 0.25 * k / 19 for k in range(20))

_fig1 = Setting(
    data="f1",
    components=tuple(range(1500, 5001, 500)),
    records=(1000,),
    test_records=1000,
    frequency_sd=_NARROW_CODE,
    epsilons=(0.5, 1.0),
    labels="divided by the norm of all labels",
    dimension=5,
)
_fig2 = replace(_fig1, data="f2", dimension=100, components=tuple(range(1500, 3501, 500)))
_fig3a = replace(
    _fig1,
    components=tuple(2 * m for m in _FIG3_RECORDS),
    records=_FIG3_RECORDS,
    test_records=200,
    epsilons=(1.0,),
)
_fig4m = Setting(
    data="medical",
    components=tuple(range(2000, 10001, 2000)),
    records=(1204,),
    test_records=134,
    frequency_sd=_NARROW_CODE,
    epsilons=(0.25, 0.5, 1.0),
    labels="min-max",
)
_fig4w = replace(_fig4m, data="red wine", records=(1439,), test_records=160)
_fig5 = replace(
    _fig4m,
    components=tuple(range(10000, 20001, 2000)),
    frequency_sd=_BROAD_CODE,
    epsilons=(0.5,),
    sensitivity=2.0,
    learning_rates=(1.0, 1 / 4, 1 / 16),
)
_fig6 = replace(_fig5, data="red wine", records=(1439,), test_records=160, sensitivity=4.0)
_fig7 = Setting(
    data="medical",
    components=(4000,),
    records=(1203,),
    test_records=135,
    frequency_sd=(2e-5) ** 0.5,
    epsilons=_FAIR_EPSILONS,
    labels="min-max in each group",
    noise="5/sqrt(2 epsilon)",
)
_fig8 = replace(_fig7, data="wine", frequency_sd=20.0**0.5, records=(1000,), test_records=2000)
_tab2 = replace(
    _fig7,
    records=(1338,),
    test_records=None,
    epsilons=(0.5,),
    labels="divided by their norm",
    noise="classical",
    repeats=20,
)


def _text(code: Setting, **stated: Any) -> Setting:
    return replace(code, **stated)


_fair_text: dict[str, Any] = {"labels": "divided by their norm", "noise": "classical"}
_stated: dict[str, Any] = {"frequency_sd": _NARROW_TEXT, "dimension": None}
_real: dict[str, Any] = {"frequency_sd": _NARROW_TEXT, "records": None, "test_records": None}
_rates: dict[str, Any] = {"frequency_sd": _BROAD_TEXT, "sensitivity": 4.0}
_rates |= {"learning_rates": (1.0, 1 / 2, 1 / 8), "records": None, "test_records": None}

#: Settings by experiment and source. Table 2 and Figure 9 have no published code.
SETTINGS: dict[str, dict[Version, Setting]] = {
    "fig1": {"code": _fig1, "text": _text(_fig1, **_stated)},
    "fig2": {"code": _fig2, "text": _text(_fig2, **_stated)},
    "fig3a": {
        "code": _fig3a,
        "text": _text(_fig3a, components=tuple(m + 200 for m in _FIG3_RECORDS), **_stated),
    },
    "fig3b": {
        "code": replace(_fig3a, dimension=100),
        "text": _text(
            _fig3a, data="f2", components=tuple(m + 200 for m in _FIG3_RECORDS), **_stated
        ),
    },
    "fig4-medical": {"code": _fig4m, "text": _text(_fig4m, **_real)},
    "fig4-wine": {"code": _fig4w, "text": _text(_fig4w, **{**_real, "data": "wine"})},
    "fig5": {"code": _fig5, "text": _text(_fig5, **_rates)},
    "fig6": {"code": _fig6, "text": _text(_fig6, **{**_rates, "data": "wine"})},
    "fig7": {"code": _fig7, "text": _text(_fig7, **_fair_text)},
    "fig8": {
        "code": _fig8,
        "text": _text(_fig8, records=(2000,), test_records=1000, **_fair_text),
    },
    "tab2-medical": {"text": _tab2},
    "tab2-wine": {
        "text": replace(
            _tab2, data="wine", records=(6497,), frequency_sd=20.0**0.5, epsilons=(0.05,)
        )
    },
}


def setting(experiment: str, version: Version = "code") -> Setting:
    """Return the settings of one experiment as the text or the code of the paper has them.

    Parameters
    ----------
    experiment : str
        A key of ``SETTINGS``: ``"fig1"``, ``"fig3b"``, ``"fig4-medical"``, ``"tab2-wine"``, ...
    version : {"code", "text"}, default="code"
        The source. Table 2 (and Figure 9) exist as text only.

    Returns
    -------
    Setting

    Raises
    ------
    ValueError
        If the experiment is unknown, or has no such version.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Section 4; code at github.com/liaochunyang/DPRFM.

    Examples
    --------
    >>> setting("fig3a", "text").components[0], setting("fig3a").components[0]
    (1200, 2000)
    """
    check_choice("experiment", experiment, SETTINGS)
    check_choice("version", version, SETTINGS[experiment])
    return SETTINGS[experiment][version]


def differences(experiment: str) -> list[dict[str, Any]]:
    """Return the fields in which text and code of one experiment differ.

    Parameters
    ----------
    experiment : str
        A key of ``SETTINGS``.

    Returns
    -------
    list of dict
        One dict per field with keys ``field``, ``text``, ``code``; empty where only one source
        exists.

    Raises
    ------
    ValueError
        If the experiment is unknown.

    Examples
    --------
    >>> [row["field"] for row in differences("fig1")]
    ['frequency_sd', 'dimension']
    """
    check_choice("experiment", experiment, SETTINGS)
    versions = SETTINGS[experiment]
    if len(versions) < 2:
        return []
    text, code = asdict(versions["text"]), asdict(versions["code"])
    names = [field.name for field in fields(Setting)]
    return [
        {"field": name, "text": text[name], "code": code[name]}
        for name in names
        if text[name] != code[name]
    ]
