"""The settings of every experiment, as the text and as the published code state them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from dplit._checks import check_choice

_Version = Literal["text", "code"]


@dataclass(frozen=True)
class _Setting:
    """The settings of one experiment as one source states them; None where it does not."""

    data: str  # "f1", "f2" (synthetic), "medical", "red wine", "wine"
    components: tuple[int, ...]  # numbers of features N along the axis
    records: tuple[int, ...] | None  # numbers of training records m
    test_records: int | None
    frequency_sd: float  # of each coordinate of a frequency
    epsilons: tuple[float, ...]
    labels: str  # their scaling
    dimension: int | None = None  # inputs of the synthetic data
    delta: float = 1e-5
    sensitivity: float = 4.0  # numerator of Delta = sensitivity / sqrt(N)
    noise: Literal["classical", "5/sqrt(2 epsilon)"] = "classical"  # multiplier of Delta
    learning_rates: tuple[float, ...] = (1.0,)  # of SGD, in units of 1/m
    repeats: int = 10


_FIG3_RECORDS = tuple(range(1000, 2001, 200))

_fig1 = _Setting(
    data="f1",
    components=tuple(range(1500, 5001, 500)),
    records=(1000,),
    test_records=1000,
    frequency_sd=40.0,
    epsilons=(0.5, 1.0),
    labels="divided by the norm of all labels",
    dimension=5,
)

_fig2 = replace(_fig1, data="f2", dimension=100, components=tuple(range(1500, 3501, 500)))

_fig3 = replace(
    _fig1,
    components=tuple(2 * m for m in _FIG3_RECORDS),
    records=_FIG3_RECORDS,
    test_records=200,
    epsilons=(1.0,),
)

_fig4m = _Setting(
    data="medical",
    components=tuple(range(2000, 10001, 2000)),
    records=(1204,),
    test_records=134,
    frequency_sd=40.0,
    epsilons=(0.25, 0.5, 1.0),
    labels="min-max",
)

_fig4w = replace(_fig4m, data="red wine", records=(1439,), test_records=160)

_fig5 = replace(
    _fig4m,
    components=tuple(range(10000, 20001, 2000)),
    frequency_sd=4.0,
    epsilons=(0.5,),
    sensitivity=2.0,
    learning_rates=(1.0, 1 / 4, 1 / 16),
)

_fig6 = replace(_fig5, data="red wine", records=(1439,), test_records=160, sensitivity=4.0)

_fig7 = _Setting(
    data="medical",
    components=(4000,),
    records=(1203,),
    test_records=135,
    frequency_sd=(2e-5) ** 0.5,
    epsilons=tuple(0.05 + 0.25 * k / 19 for k in range(20)),
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

# What the text states instead: for synthetic data, for Figure 3, for Figure 4, for Figures 5 and
# 6, for Figures 7 and 8.
_stated: dict[str, Any] = {"frequency_sd": 40.0**0.5, "dimension": None}

_stated3 = {**_stated, "components": tuple(m + 200 for m in _FIG3_RECORDS)}

_real: dict[str, Any] = {"frequency_sd": 40.0**0.5, "records": None, "test_records": None}

_rates = {
    **_real,
    "frequency_sd": 2.0**0.5,
    "sensitivity": 4.0,
    "learning_rates": (1.0, 1 / 2, 1 / 8),
}

_fair: dict[str, Any] = {"labels": "divided by their norm", "noise": "classical"}

#: Settings by experiment and source. Table 2 and Figure 9 have no published code.
SETTINGS: dict[str, dict[_Version, _Setting]] = {
    "fig1": {"code": _fig1, "text": replace(_fig1, **_stated)},
    "fig2": {"code": _fig2, "text": replace(_fig2, **_stated)},
    "fig3a": {"code": _fig3, "text": replace(_fig3, **_stated3)},
    "fig3b": {"code": replace(_fig3, dimension=100), "text": replace(_fig3, data="f2", **_stated3)},
    "fig4-medical": {"code": _fig4m, "text": replace(_fig4m, **_real)},
    "fig4-wine": {"code": _fig4w, "text": replace(_fig4w, data="wine", **_real)},
    "fig5": {"code": _fig5, "text": replace(_fig5, **_rates)},
    "fig6": {"code": _fig6, "text": replace(_fig6, data="wine", **_rates)},
    "fig7": {"code": _fig7, "text": replace(_fig7, **_fair)},
    "fig8": {"code": _fig8, "text": replace(_fig8, records=(2000,), test_records=1000, **_fair)},
    "tab2-medical": {"text": _tab2},
    "tab2-wine": {
        "text": replace(
            _tab2, data="wine", records=(6497,), frequency_sd=20.0**0.5, epsilons=(0.05,)
        )
    },
}


def _setting(experiment: str, version: _Version = "code") -> _Setting:
    """Return the settings of one experiment, a key of ``SETTINGS``, from the text or the code.

    The code is at github.com/liaochunyang/DPRFM; Table 2 exists as text only.
    """
    check_choice("experiment", experiment, SETTINGS)
    check_choice("version", version, SETTINGS[experiment])
    return SETTINGS[experiment][version]


def differences(experiment: str) -> list[dict[str, Any]]:
    """Return a dict (field, text, code) for every field in which text and code differ.

    Empty where only one source exists.
    """
    check_choice("experiment", experiment, SETTINGS)
    versions = SETTINGS[experiment]
    if len(versions) < 2:
        return []
    text, code = asdict(versions["text"]), asdict(versions["code"])
    return [{"field": k, "text": text[k], "code": code[k]} for k in text if text[k] != code[k]]
