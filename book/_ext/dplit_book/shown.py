"""What pages show of the records: index, errata, tests, proofs, run times.

The directive ``dplit`` of the book's extension puts it into them; their words stand in ``book/``.

Jinja was weighed: most lines here choose, count and order records, and a template would hold the
few that are text, away from what fills them.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from dplit.notebook.provenance import made_on
from scripts.chapters import load_state
from scripts.claims import Record, registered
from scripts.differences import HEAD, checked
from scripts.files import read_json
from scripts.layout import SUPPLEMENT, Layout, slug_of
from scripts.marks import MarkedTest, marked_tests
from scripts.normalise import PROOF, function_link, join, typeset
from scripts.normalise import records as records_of

VERDICTS = {
    "defined": "the object is computed by our function, and an example is excluded",
    "holds": "checked by a second route",
    "sharp": "holds, and a configuration attains at least 0.99 of it",
    "loose": "holds, and is larger than the truth by the measured ratio",
    "conditional": "true only under a hypothesis that the paper does not state",
    "gap": "not refuted, but a step of the printed proof fails",
    "erratum": "false as printed; refuted by a proof and a computation, and corrected",
    "reproduced": "the numbers or sentences agree",
    "partly": "some of the numbers or sentences agree",
    "not-reproducible": "everything stated was run and does not give the printed result",
    "reconstruction": "our derivation of a statement whose text is lost",
}
STATUS = {"passed": "checked", "failed": "failed", "not_run": "not run here"}
PAPERS = {
    "basics": "Privacy in one lesson",
    "erm": "Nie and Wang (2017)",
    "projection": "Showkatbakhsh, Karakus and Diggavi (2018)",
    "sketching": "Chatalic et al. (2022)",
    "margin": "Bassily, Mohri and Suresh (2022)",
    "random_features": "Liao, Needell, Schaeffer and Xue (2025)",
    "face_off": "Which mechanism, and when?",
    "audits": "Everything attacked",
}
#: Columns of the index.
INDEX = ("claim", "statement", "verdict", "status", "tests", "note")
SEVERITIES = ("privacy-breaking", "result-changing", "cosmetic")


def escape(text: Any) -> str:
    """Return text for HTML in which only ``$...$`` is markup: a formula."""
    return typeset(html.escape(str(text))).replace("$", "&#36;").replace("\\", "&#92;")


SPELLED = "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu rho sigma tau"
GREEK = dict(zip(SPELLED.split(), "αβγδεζηθκλμρστ", strict=True))
SIGNS = {"<=": "≤", ">=": "≥", "^2": "²", "^3": "³", "sqrt": "√", "infinity": "∞"}
SPELLING = re.compile(
    rf"(?<![\w\\])(?:{'|'.join([*GREEK, 'sqrt', 'infinity'])})(?![a-z])|[<>]=|\^[23]\b"
)


def signs(text: Any) -> str:
    """Return the words of a registry with the signs that they spell, as HTML.

    >>> signs("lambda <= (1 + kappa/2)^2, not release_epsilon")
    'λ ≤ (1 + κ/2)², not release_epsilon'
    """
    return escape(SPELLING.sub(lambda m: (GREEK | SIGNS)[m[0]], str(text)))


def paper(slug: str) -> str:
    """Return the authors and year of a chapter's paper, or the chapter's name."""
    return PAPERS.get(slug, slug.replace("_", " "))


def raw(text: str) -> str:
    """Return HTML as a MyST block."""
    return f"```{{raw}} html\n{text}\n```\n"


def _page(record: Record) -> str:
    """Return the address of a claim's page from the book's folder."""
    return str(record["page"]).removeprefix("book/")


def chapter_link(record: Record, text: str) -> str:
    """Return a link from a page of the book's folder to the claim's place in its chapter."""
    return f'<a href="{_page(record)}#{record["anchor"]}">{escape(text)}</a>'


def _menu(name: str, label: str, values: Iterable[str], shown: Callable[[str], str] = str) -> str:
    options = "".join(f'<option value="{escape(v)}">{escape(shown(v))}</option>' for v in values)
    return (
        f'<label>{label} <select data-filter="{name}"><option value="">all</option>{options}'
        f"</select></label> "
    )


def _chapter_and_ours(record: Record) -> tuple[Any, ...]:
    """Return the key by which sorted records keep their order: by chapter, ours at the end."""
    return (*_by_year(record["slug"]), "-beyond-" in record["id"])


def _functions(record: Record, package: Path) -> str:
    links = []
    for function in record["functions"]:
        address = function_link(function, package).removeprefix("../")
        links.append(f'<a href="{address}"><code>{escape(function.split(".")[-1])}</code></a>')
    return ", ".join(links)


def _figures(record: Record) -> str:
    page = _page(record)
    links = [f'<a href="{page}#{name}">figure</a>' for name in record.get("figures", ())]
    return "".join(f"; {link}" for link in links)


def figures_of(notebook: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the names of the figures of a chapter's page by the anchors that they stand below.

    Anchors on lines that follow each other share what is below them, up to the next ones or to a
    heading of the first two levels without one.
    """
    found: dict[str, list[str]] = {}
    above: list[str] = []
    before = ""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for line in filter(None, join(cell["source"]).split("\n")):
                if anchor := re.fullmatch(r"\(([\w-]+)\)=", line):
                    above = [*(above if before.endswith(")=") else []), anchor[1]]
                elif line.startswith(("# ", "## ")) and not before.endswith(")="):
                    above = []
                before = line
        elif name := cell["metadata"].get("mystnb", {}).get("figure", {}).get("name"):
            for claim in above:
                found.setdefault(claim, []).append(name)
    return found


def _row(record: Record, package: Path) -> str:
    status = STATUS[record["status"]]
    severity = record["severity"] or ""
    note = record["note"] or (record["reason"] or "")
    tests = f'<a href="tests/{record["slug"]}.html#test-{record["id"]}">{len(record["tests"])}</a>'
    cells = [
        chapter_link(record, record["id"]),
        f"{escape(record['place'])}: {signs(record['title'])}"
        f'<div class="dplit-functions">{_functions(record, package)}{_figures(record)}</div>',
        f'<span class="dplit-verdict">{escape(record["verdict"])}</span>'
        + (f' <span class="dplit-severity">{escape(severity)}</span>' if severity else ""),
        escape(status),
        tests,
        signs(note),
    ]
    data = {"paper": record["slug"], "kind": record["kind"], "verdict": record["verdict"]}
    data |= {"severity": severity, "status": status}
    attributes = " ".join(f'data-{key}="{escape(value)}"' for key, value in data.items())
    named = zip(INDEX, cells, strict=True)
    body = "".join(f'<td data-column="{column}">{cell}</td>' for column, cell in named)
    return (
        f'<tr id="row-{record["id"]}" class="dplit-row dplit-{record["status"]}" {attributes}>'
        f"{body}</tr>"
    )


def _table(head: Sequence[str], rows: Iterable[str], kind: str) -> str:
    titles = "".join(f'<th scope="col">{title}</th>' if title else "<td></td>" for title in head)
    body = "\n".join(rows)
    return (
        f'<div class="dplit-scroll" style="overflow-x:auto"><table class="dplit-table {kind}">'
        f"<thead><tr>{titles}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _present(records: Sequence[Record], key: str, order: Iterable[str]) -> list[str]:
    values = {record[key] for record in records if record[key]}
    return [v for v in order if v in values] + sorted(values - set(order))


def verdicts(records: Sequence[Record]) -> str:
    """Return how many claims have which verdict and status, and what the verdicts mean."""
    states = [s for s in STATUS if any(r["status"] == s for r in records)]
    counts = Counter((r["verdict"], r["status"]) for r in records)
    rows = []
    for verdict in _present(records, "verdict", VERDICTS):
        cells = [str(counts[verdict, state]) for state in states]
        cells = [f'<th scope="row">{escape(verdict)}</th>', *(f"<td>{c}</td>" for c in cells)]
        rows.append(f"<tr>{''.join(cells)}<td>{escape(VERDICTS[verdict])}</td></tr>")
    head = ["verdict", *(STATUS[state] for state in states), "meaning"]
    return raw(_table(head, rows, "dplit-counts"))


def index(records: Sequence[Record], package: Path) -> str:
    """Return the index of all claims, a row each, and the form that filters them."""
    states = [s for s in STATUS if any(r["status"] == s for r in records)]
    menus = (
        _menu("paper", "Paper", sorted({r["slug"] for r in records}, key=_by_year), paper)
        + _menu("kind", "Kind", sorted({r["kind"] for r in records}))
        + _menu("verdict", "Verdict", _present(records, "verdict", VERDICTS))
        + _menu("severity", "Severity", _present(records, "severity", SEVERITIES))
        + _menu("status", "Status", [STATUS[state] for state in states])
    )
    form = (
        f'<form class="dplit-filters" data-filters hidden>{menus}'
        '<label>Words <input type="search" data-words placeholder="Lemma 9, hinge, ..."></label> '
        f'<output aria-live="polite" data-count></output></form>'
    )
    ordered = sorted(records, key=_chapter_and_ours)
    groups = groupby(ordered, key=lambda record: str(record["slug"]))
    return raw(form) + "".join(raw(_of_paper(slug, [*own], package)) for slug, own in groups)


def _of_paper(slug: str, own: Sequence[Record], package: Path) -> str:
    """Return a paper's claims: those with a remark or a fault, and folded those that stand."""
    standing = [record for record in own if record["verdict"] in GROUPS["stands"]]
    rest = [record for record in own if record not in standing]

    def table(some: Sequence[Record]) -> str:
        return _table(INDEX, [_row(record, package) for record in some], "dplit-index")

    told = f'<section class="dplit-paper"><h3>{escape(paper(slug))}</h3>'
    told += table(rest) if rest else ""
    if standing:
        counts = Counter(record["verdict"] for record in standing)
        kinds = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        told += f"<details><summary>What stands: {kinds}</summary>{table(standing)}</details>"
    return f"{told}</section>"


def _stands(record: Record) -> str:
    return str(record.get("stands") or record["note"] or "")


def _by_year(name: str) -> tuple[int, str]:
    slug = slug_of(name)
    return list(PAPERS).index(slug) if slug in PAPERS else len(PAPERS), name


def _severities(errata: Sequence[Record]) -> str:
    """Return the table of how many errata of each severity each paper has."""
    names = _present(errata, "severity", SEVERITIES)
    counts = Counter((r["slug"], r["severity"]) for r in errata)
    rows = []
    for slug in sorted({r["slug"] for r in errata}, key=_by_year):
        cells = [*(counts[slug, name] for name in names), sum(r["slug"] == slug for r in errata)]
        body = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(paper(slug))}</th>{body}</tr>')
    return _table(["paper", *names, "all"], rows, "dplit-severities")


def _in_numbers(record: Record) -> str:
    """Return an erratum's first counterexample as a line of numbers; nothing if it is a word."""
    for check in record["checks"]:
        if check["method"] == "refute":
            aim, found = (f"{float(check[side]):.3g}" for side in ("expected", "measured"))
            line = f"{found}, where the paper says {aim}: {check['how']}"
            return f"<dt>In numbers</dt><dd>{escape(line)}</dd>"
    return ""


def errata(records: Sequence[Record]) -> str:
    """Return the errata of each paper, gravest first, below how many there are of each severity."""
    order = {name: number for number, name in enumerate(SEVERITIES)}
    found = [r for r in records if r["verdict"] == "erratum"]
    found.sort(key=_chapter_and_ours)
    found.sort(key=lambda r: (_by_year(r["slug"]), order.get(r["severity"], len(order))))
    blocks = [
        f'<section class="dplit-erratum" id="erratum-{r["id"]}">'
        f"<h2>{escape(r['place'])}: {signs(r['title'])}</h2>"
        f"<dl><dt>Printed in</dt><dd>{escape(paper(r['slug']))}, "
        f"{escape(r['place'])}; {chapter_link(r, 'see the chapter')}</dd>"
        f'<dt>Severity</dt><dd><span class="dplit-severity">{escape(r["severity"])}</span></dd>'
        f"{_in_numbers(r)}<dt>Corrected</dt><dd>{escape(r['corrected'])}</dd>"
        f"<dt>What stands</dt><dd>{signs(_stands(r))}</dd></dl></section>"
        for r in found
    ]
    told = [_severities(found), *blocks] if found else []
    return "\n".join(map(raw, told)) or "No erratum is registered.\n"


def differences(records: Sequence[Record], layout: Layout, slug: str) -> str:
    """Return the table that puts figures and tables of a chapter beside their targets."""
    own = [record for record in records if record["slug"] == slug]
    lines = []
    for r, rows in sorted(checked(own, layout), key=lambda pair: _chapter_and_ours(pair[0])):
        if rows:
            head = chapter_link(r, f"{r['place']}: {r['title']}")
            lines.append(f'<tr><th scope="rowgroup" colspan="{len(HEAD)}">{head}</th></tr>')
        for row in rows:
            lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    return raw(_table(HEAD, lines, "dplit-differences"))


def _anchors(slug: str, tests: Sequence[MarkedTest], own: Iterable[str]) -> dict[MarkedTest, str]:
    mine = [test for test in tests if set(own) & set(test.claims)]
    return {test: f"source-{number}" for number, test in enumerate(mine, start=1)}


def tests_of(slug: str, records: Sequence[Record], tests: Sequence[MarkedTest]) -> str:
    """Return the list of tests of each claim of a chapter."""
    own = {record["id"]: record for record in records if record["slug"] == slug}
    anchor = {test.node: name for test, name in _anchors(slug, tests, own).items()}
    blocks = []
    for record in sorted(own.values(), key=_chapter_and_ours):
        items = "".join(
            f'<li><a href="#{anchor[node]}"><code>{escape(node)}</code></a></li>'
            for node in record["tests"]
        )
        title = escape(f"{record['place']}: {record['title']}")
        blocks.append(
            f'<div class="dplit-tests" id="test-{record["id"]}"><p>'
            f'<a href="../{_page(record)}#{record["anchor"]}">{record["id"]}</a>, {title}'
            f"</p><ul>{items}</ul></div>"
        )
    return "\n".join(map(raw, blocks))


def sources(slug: str, records: Sequence[Record], tests: Sequence[MarkedTest]) -> str:
    """Return the source of every test of a chapter's claims once, folded by file."""
    own = [record["id"] for record in records if record["slug"] == slug]
    lines = []
    for file, group in groupby(_anchors(slug, tests, own).items(), key=lambda pair: pair[0].file):
        lines.append(f"::::{{dropdown}} `{file.rpartition('/')[2]}`\n")
        for test, anchor in group:
            fence = "`" * max(3, 1 + _longest_run(test.source))
            lines.append(raw(f'<span id="{anchor}"></span>'))
            lines.append(f"{fence}python\n{test.source}\n{fence}\n")
        lines.append("::::\n")
    return "\n".join(lines)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def run_times(layout: Layout) -> str:
    """Return the run times of the chapters, their peak memory and their slowest cells."""
    rows = []
    for slug in sorted(layout.names(), key=_by_year):
        state = load_state(layout, slug)
        slow = "; ".join(f"{title} {seconds:.1f}" for title, seconds in state.get("slow", []))
        slow = slow.replace("|", "\\|")
        rows.append(
            f"| [](chapters/{slug}) | {state['seconds']:.1f} | {state['cpu']:.1f} "
            f"| {state['megabytes']} | {slow} |"
        )
    head = "| chapter | seconds | CPU seconds | MB at most | slowest cells, by section: seconds |"
    return "\n".join([head, "|---|---:|---:|---:|---|", *rows, ""])


def benchmarks(layout: Layout) -> str:
    """Return the archived benchmarks."""
    told = read_json(layout.results / "benchmarks.json")
    if not told:
        return "No benchmark is archived.\n"
    rows = [
        f"| **{row['name']}**: {row['ours']} against {row['peer']} | {row['ours_seconds']:.3g} "
        f"| {row['peer_seconds']:.3g} | {row['ratio']:.3g} | {_aim(row)} |"
        for row in told["rows"]
    ]
    return "\n".join(
        [
            f"`make bench`, archived on {told['date']} ({told['machine']}). Seconds of the package",
            "and of a peer, measured in turn in one run; the ratio says how many times faster the",
            "package is, and the last column what we aim at.\n",
            "| comparison | ours, s | peer, s | ratio | aim |",
            "|---|---:|---:|---:|---:|",
            *rows,
            "",
        ]
    )


def _aim(row: Mapping[str, Any]) -> str:
    """Return the ratio that a benchmark aims at, and whether it was missed on that machine."""
    aim = row.get("target")
    return "" if aim is None else f"{aim:g}" + (" (missed)" if row["ratio"] < aim else "")


#: Verdicts in groups, as the front page counts them.
GROUPS = {
    "stands": ("defined", "holds", "sharp", "reproduced"),
    "stands with a remark": ("loose", "conditional", "partly", "reconstruction"),
    "gap in the proof": ("gap",),
    "false as printed": ("erratum",),
    "could not be reproduced": ("not-reproducible",),
}


#: Words a minute in a text with formulas; minutes are told in steps.
WORDS, STEP = 150, 5
FENCE = re.compile(r"(:{3,}|`{3,})(.*)")


def reading_minutes(notebook: Path) -> int:
    """Return how long the open text of a chapter takes, without code and what is folded."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    words, fences = 0, list[tuple[str, bool]]()
    for cell in cells:
        if cell["cell_type"] != "markdown":
            continue
        for line in "".join(cell["source"]).splitlines():
            fence = FENCE.fullmatch(line.strip())
            if fence and fence[2]:
                fences.append((fence[1], "dropdown" in fence[2]))
            elif fence and fences and fence[1] == fences[-1][0]:
                fences.pop()
            elif not any(folded for _, folded in fences):
                words += len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\$[^$]*\$", "x", line)))
    return max(1, math.ceil(words / WORDS / STEP)) * STEP


def scoreboard(records: Sequence[Record], minutes: Mapping[str, int]) -> str:
    """Return how many claims of each paper, and of our own, have which kind of verdict.

    ``minutes`` to read each chapter stand in the last column; a chapter without a paper has these
    alone.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        own = "-beyond-" in record["id"] and record["verdict"] != "erratum"
        whose = "ours" if own else record["slug"]
        group = next(name for name, verdicts in GROUPS.items() if record["verdict"] in verdicts)
        counts[whose, group] += 1
    rows = []
    named = {slug_of(name) for name in minutes}
    chapters = ({whose for whose, _ in counts} | named) - {"ours"}
    for slug in [*sorted(chapters, key=_by_year), "ours"]:
        told = [counts[slug, group] for group in GROUPS]
        widths = zip(GROUPS, told, strict=True)
        bar = "".join(
            f"<span data-group='{group}' style='flex-grow:{count}' title='{count} {group}'></span>"
            for group, count in widths
            if count
        )
        link = "Beyond the papers: ours" if slug == "ours" else _taught(slug, minutes)
        link += f"<div class='dplit-bar'>{bar}</div>" if bar else ""
        columns = zip([*GROUPS, "minutes to read"], [*told, _minutes(slug, minutes)], strict=True)
        numbers = "".join(f"<td data-column='{name}'>{n or ''}</td>" for name, n in columns)
        rows.append(f"<tr><th scope='row'>{link}</th>{numbers}</tr>")
    heads = [f"<span data-group='{group}'></span>{group}" for group in GROUPS]
    return raw(_table(["", *heads, "minutes to read"], rows, "dplit-score"))


def _taught(slug: str, minutes: Mapping[str, int]) -> str:
    """Return links to a chapter's page, and to the supplement where there is a lesson too."""
    supplement = f"{slug}{SUPPLEMENT}"
    first = slug if slug in minutes or supplement not in minutes else supplement
    link = f'<a href="chapters/{first}.html">{escape(paper(slug))}</a>'
    if first == slug and supplement in minutes:
        link += f' (<a href="chapters/{supplement}.html">supplement</a>)'
    return link


def _minutes(slug: str, minutes: Mapping[str, int]) -> int | None:
    """Return the time to read a lesson; of a paper without one, its supplement's."""
    return minutes.get(slug, minutes.get(f"{slug}{SUPPLEMENT}"))


def proofs_of(notebook: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the running proofs of a chapter's page recorded, in order."""
    return records_of(notebook, PROOF)


def _lost(share: float) -> str:
    return "nothing" if share < 1e-6 else f"{100 * share:.2g} %"


def proofs_page(proofs: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the page that gathers what each step of each running proof gives away.

    Parameters
    ----------
    proofs : mapping of str to sequence of dict
        The records of the running proofs by chapter.
    """
    steps = [
        (step, proof, slug)
        for slug, told in proofs.items()
        for proof in told
        for step in proof["steps"]
        if step["relation"] != "="
    ]
    steps.sort(key=lambda entry: (-entry[0]["median"], entry[1]["name"], entry[0]["line"]))
    rows = []
    for step, proof, slug in steps:
        link = (
            f'<a href="chapters/{slug}.html#proof-{proof["name"]}">{escape(proof["theorem"])}</a>'
        )
        cells = [
            link,
            escape(f"to {step['line']}"),
            _lost(step["median"]),
            _lost(step["least"]),
            escape(proof["over"]),
            escape(step["gain"]),
        ]
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    heads = ["what is proved", "step", "typical loss", "least", "on", "what would win it back"]
    counted = sum(map(len, proofs.values()))
    table = raw(_table(heads, rows, "dplit-losses")) if rows else "No proof runs yet.\n"
    return f"{table}\n{counted} proofs, {len(rows)} steps.\n"


def stand_ins(records: Sequence[Record]) -> str:
    """Return the sentence of the front page on what a run without the papers' data did not ask."""
    unasked = [record for record in records if record.get("unasked")]
    if not unasked:
        return ""
    names = sorted({name for r in unasked for check in r["unasked"] for name in check["data"]})
    whole = sum(record["status"] == "not_run" for record in unasked)
    part = len(unasked) - whole
    return (
        f"**Stand-ins.** The run that made these pages did not have the papers' {', '.join(names)} "
        f"data: {whole} of {len(records)} claims were not asked, {part} in part; what the pages "
        "say of these data comes from the archived runs and is marked. `make data` fetches the "
        "files, or set `DPLIT_DATA` to a folder that has them ({doc}`data`).\n"
    )


def _fits(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return what a fit of each estimator costs, as rows of a table."""
    from dplit.tables.mechanisms import MECHANISMS
    from dplit_studies.face_off.comparison import of_the_record

    rows = list(rows)
    told = []
    for found in MECHANISMS:
        own = {m.name for m in of_the_record(found.task)}
        if found.name not in own:
            continue
        tasks = {row[0] for row in rows} - {row[0] for row in rows if row[1] not in own}
        fits = [row[2:] for row in rows if row[1] == found.name and row[0] in tasks]
        if fits:
            records, milliseconds, megabytes = zip(*fits, strict=True)
            spans = [
                f"{min(records):,} to {max(records):,}",
                f"{min(milliseconds):.2g} to {max(milliseconds):.2g}",
                f"{max(megabytes):.2g}",
            ]
            cells = "".join(f"<td>{escape(span)}</td>" for span in spans)
            name = f"<code>{found.estimator.__name__}</code>"
            told.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    return told


def decisions(layout: Layout) -> str:
    """Return the face-off's table of decisions and what fits cost, both from its archived run."""
    archive = read_json(layout.results / "face_off.json") or {}
    curves = archive.get("curves", {})
    if "tab-face-decision" not in curves:
        return "No run of the face-off is archived.\n"
    budgets = next(iter(curves["fig-face-frontier"]["curves"].values()))["x"]
    heads = ["task, records by columns", *(f"ε = {e:g}" for e in budgets), "not private", "trivial"]
    rows = []
    for task, *cells in curves["tab-face-decision"]["rows"]:
        body = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(task)}</th>{body}</tr>')
    costs = _fits(curves["tab-face-costs"]["rows"])
    return "\n".join(
        [
            "**Which, and when?** The best default of the [face-off](chapters/face_off) if a",
            "record is replaced, at $\\delta=10^{-5}$, with its score ($R^2$, accuracy or share",
            "explained); *nothing* where none is above the trivial prediction by 0.02 and two",
            f"standard errors. From the run at the paper's scale, archived {made_on(archive)}.\n",
            raw(_table(heads, rows, "dplit-decisions")),
            ":::{dropdown} What a fit costs",
            "Processor time and peak memory of one fit at the defaults and $\\eps=1$, over the",
            "tasks of the same run.\n",
            raw(
                _table(["estimator", "records", "milliseconds", "MB at most"], costs, "dplit-fits")
            ),
            ":::\n",
        ]
    )


@cache
def _held(layout: Layout) -> tuple[list[Record], list[MarkedTest]]:
    """Return the records in the order of the registry, each with its figures, and all tests."""
    place = {name: number for number, name in enumerate(registered())}
    records = read_json(layout.claims) or []
    records.sort(key=lambda record: place.get(record["id"], len(place)))
    drawn = {name: figures_of(_chapter(layout, name)) for name in layout.recorded()}
    for record in records:
        record["figures"] = drawn[layout.record(record["slug"])].get(record["anchor"], [])
    return records, marked_tests(layout)


def _chapter(layout: Layout, slug: str) -> dict[str, Any]:
    return read_json(layout.chapters / f"{slug}.ipynb") or {"cells": []}


def _scores(layout: Layout) -> str:
    minutes = {n: reading_minutes(layout.notebooks / f"{n}.ipynb") for n in layout.names()}
    return f"{scoreboard(_held(layout)[0], minutes)}\n{stand_ins(_held(layout)[0])}"


#: What the directive can show, by name; the second argument is a chapter's slug.
SHOWN: dict[str, Callable[[Layout, str], str]] = {
    "verdicts": lambda layout, _: verdicts(_held(layout)[0]),
    "index": lambda layout, _: index(_held(layout)[0], layout.package),
    "errata": lambda layout, _: errata(_held(layout)[0]),
    "differences": lambda layout, slug: differences(_held(layout)[0], layout, slug),
    "tests": lambda layout, slug: tests_of(slug, *_held(layout)),
    "sources": lambda layout, slug: sources(slug, *_held(layout)),
    "run-times": lambda layout, _: run_times(layout),
    "benchmarks": lambda layout, _: benchmarks(layout),
    "proofs": lambda layout, _: proofs_page(
        {slug: proofs_of(_chapter(layout, slug)) for slug in layout.names()}
    ),
    "scoreboard": lambda layout, _: _scores(layout),
    "decisions": lambda layout, _: decisions(layout),
}
