"""Turn an executed notebook into a page: nothing volatile, described figures, linked badges.

nbconvert's preprocessors were weighed: they strip metadata and outputs, which is a tenth of this;
the rest is about records of ours (claims, curves, figures) that no library knows. MyST-NB renders
MIME types of others by entry points of *installed* packages alone: the library would carry the
book's pages, so that records become HTML here.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dplit.notebook import badges
from scripts.digest import module_file
from scripts.files import BuildError
from scripts.pairs import FOLDED, cell_ids
from scripts.tables import typeset_numbers

CLAIM = "application/vnd.dplit.claim+json"
CURVES = "application/vnd.dplit.curves+json"
EXPLORE = "application/vnd.dplit.explore+json"
PROOF = "application/vnd.dplit.proof+json"
PROVENANCE = "application/vnd.dplit.provenance+json"
ALT = (40, 300)
VOLATILE = re.compile(r" at 0x[0-9a-f]{6,}|ipykernel_\d+")
IMAGES = ("image/svg+xml", "image/png", "image/jpeg")


def join(text: str | list[str]) -> str:
    """Return a notebook's multi-line string as one string."""
    return text if isinstance(text, str) else "".join(text)


def outputs(cells: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield every output of a notebook with its cell."""
    for cell in cells:
        for output in cell.get("outputs", []):
            yield cell, output


def records(notebook: dict[str, Any], mimetype: str) -> list[dict[str, Any]]:
    """Return what a notebook's outputs carry under one MIME type, in order."""
    found = (output.get("data", {}).get(mimetype) for _, output in outputs(notebook["cells"]))
    return [value for value in found if value is not None]


def clean_metadata(notebook: dict[str, Any]) -> None:
    """Drop what papermill and kernels note about this run: times, paths, versions, widgets."""
    for key in ("papermill", "widgets"):
        notebook["metadata"].pop(key, None)
    notebook["metadata"].get("language_info", {}).pop("version", None)
    for cell in notebook["cells"]:
        for key in ("papermill", "execution", "collapsed", "scrolled"):
            cell["metadata"].pop(key, None)
        if cell["metadata"].get("tags") == []:
            del cell["metadata"]["tags"]
    pairs = [(cell["cell_type"], join(cell["source"])) for cell in notebook["cells"]]
    for cell, name in zip(notebook["cells"], cell_ids(pairs), strict=True):
        cell["id"] = name


def clean_outputs(notebook: dict[str, Any]) -> None:
    """Number the executions, join split streams, refuse errors, stderr and volatile text."""
    count = 0
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] != "code":
            continue
        count += 1
        cell["execution_count"] = count
        joined: list[dict[str, Any]] = []
        for output in cell["outputs"]:
            kind = output["output_type"]
            if kind == "error":
                raise BuildError(f"cell {number} holds an error: {output.get('evalue')}")
            if kind == "stream" and output["name"] == "stderr":
                text = join(output["text"]).strip()
                raise BuildError(f"cell {number} writes to stderr: {text[:300]}")
            if kind == "stream":  # one string, in however many messages the kernel sent it
                output["text"] = join(output["text"])
            if kind == "execute_result":
                output["execution_count"] = count
            same = joined and joined[-1]["output_type"] == "stream" == kind
            if same and joined[-1]["name"] == output["name"]:
                joined[-1]["text"] += output["text"]
            else:
                joined.append(output)
        cell["outputs"] = joined
        for text in _texts(joined):
            if found := VOLATILE.search(text):
                raise BuildError(f"cell {number} shows {found[0].strip()!r}: differs in each run")


def _texts(shown: list[dict[str, Any]]) -> Iterator[str]:
    for output in shown:
        if output["output_type"] == "stream":
            yield join(output["text"])
        for mimetype, value in output.get("data", {}).items():
            if mimetype in ("text/plain", "text/html") and isinstance(value, (str, list)):
                yield join(value)


def set_tables(notebook: dict[str, Any]) -> None:
    """Set the numbers of the chapter's tables as print has them."""
    for _, output in outputs(notebook["cells"]):
        data = output.get("data", {})
        if "dplit-table" in (text := join(data.get("text/html", ""))):
            data["text/html"] = typeset_numbers(text)


def drop_curves(notebook: dict[str, Any]) -> None:
    """Drop the curves that travel with figures and tables: `make paper` has read them."""
    for _, output in outputs(notebook["cells"]):
        output.get("data", {}).pop(CURVES, None)


#: What stands behind a number of the text that is not this run's.
WHOSE = {
    "archived": "of the archived run: this one does not have the paper's data",
    "stand-in": "of stand-in data, not the paper's",
}


def mark_numbers(notebook: dict[str, Any]) -> None:
    """Mark the numbers of the text that are not this run's: archived ones, and stand-ins'."""
    whose = {}
    for _, output in outputs(notebook["cells"]):
        metadata = output.get("metadata", {})
        if "scrapbook" in metadata and (note := metadata.pop("dplit", {}).get("whose")):
            whose[metadata["scrapbook"]["name"]] = note

    def marked(found: re.Match[str]) -> str:
        note = whose.get(found[1])
        if note is None:
            return found[0]
        return f'{found[0]} <sup class="dplit-whose" title="{WHOSE[note]}">{note}</sup>'

    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and whose:
            cell["source"] = GLUED.sub(marked, join(cell["source"]))


GLUED = re.compile(r"\{glue:text\}`([A-Za-z_]\w*)(?::[^`]*)?`")


SEED = re.compile(r"^seed(?:: int)? = (\d+)\b", re.MULTILINE)
#: What a caption says of a figure in which nothing was drawn.
EXACT = re.compile(r"no trials|[Cc]losed form|computed exactly|^Exact")


def with_seed(caption: str, notebook: dict[str, Any]) -> str:
    """Return a caption with the run's seed, the last that a cell of parameters sets.

    Lessons have none, and nothing is drawn for some figures.
    """
    cells = [join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    seeds = [seed for source in cells[:3] for seed in SEED.findall(source)]
    return f"{caption} Seed {seeds[-1]}." if seeds and not EXACT.search(caption) else caption


def move_figures(notebook: dict[str, Any]) -> list[str]:
    """Move name, caption and alt text of each figure to its cell, where MyST-NB reads them.

    Returns
    -------
    list of str
        The figures' names.

    Raises
    ------
    BuildError
        If a picture has no name, caption or alt text, if the alt text is not of 40 to 300
        characters or repeats the caption or another figure's, or if a cell shows two pictures.
    """
    names: list[str] = []
    alts: set[str] = set()
    for number, cell in enumerate(notebook["cells"], start=1):
        pictures = [o for o in cell.get("outputs", []) if set(IMAGES) & set(o.get("data", {}))]
        if not pictures:
            continue
        if len(pictures) > 1:
            raise BuildError(f"cell {number} shows {len(pictures)} figures; one figure per cell")
        noted = pictures[0].get("metadata", {}).pop("dplit", {}).get("figure", {})
        figure = {key: str(noted.get(key, "")).strip() for key in ("name", "caption", "alt")}
        for key, value in figure.items():
            if not value:
                raise BuildError(f"cell {number}: the figure has no {key}; use dplit.notebook.show")
        name, alt = figure["name"], figure["alt"]
        if not ALT[0] <= len(alt) <= ALT[1]:
            raise BuildError(f"figure {name}: alt must have 40 to 300 characters, got {len(alt)}")
        if alt in alts or alt == figure["caption"]:
            raise BuildError(f"figure {name}: alt must differ from the caption and other figures'")
        if name in names:
            raise BuildError(f"figure {name}: the name is used twice")
        names.append(name)
        alts.add(alt)
        cell["metadata"]["mystnb"] = {
            **cell["metadata"].get("mystnb", {}),
            "figure": {"name": name, "caption": with_seed(figure["caption"], notebook)},
            "image": {"alt": alt},
        }
    return names


def write_explorables(notebook: dict[str, Any]) -> None:
    """Put the specification of each explorable figure behind its cell; `explore.js` reads it."""
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        cells.append(cell)
        for output in cell.get("outputs", []):
            spec = output.get("data", {}).pop(EXPLORE, None)
            if spec is None:
                continue
            name = cell["metadata"]["mystnb"]["figure"]["name"]
            text = json.dumps(spec, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
            page = f'<script type="application/json" data-explore="{name}">{text}</script>'
            about = {"id": f"explore-{name}"[:64], "metadata": {}, "source": page}
            cells.append({"cell_type": "markdown", **about})
    notebook["cells"] = cells


PROMPT = re.compile(
    r"#\s*((?:figure|check|table|set-up|numbers|solution|your table)\b.*\S)", re.IGNORECASE
)
CAPTION = re.compile(r"<caption>(.*?)</caption>", re.DOTALL)
#: What the code of a fold is for, where neither a first line nor an output says it.
PURPOSES = (
    (re.compile(r"^\s*assert\b", re.MULTILINE), "Check, computed"),
    (re.compile(r"^glue_numbers\(", re.MULTILINE), "Numbers of the text"),
    (re.compile(r"^provenance\(", re.MULTILINE), "Provenance"),
    (re.compile(r"\A(?:from|import)\b"), "Set-up"),
)


def fold_prompt(cell: dict[str, Any]) -> str | None:
    """Return what is inside a folded cell, in words, or None where nothing tells.

    Its first line says it (``# check: the bound against a search``), or else what it shows (of our
    claims the title, of others the place), or else what it does.
    """
    source = join(cell["source"]).strip()
    if found := PROMPT.match(source.partition("\n")[0]):
        return found[1][:1].upper() + found[1][1:]
    shown = [output.get("data", {}) for output in cell["outputs"]]
    if said := [data[CLAIM] for data in shown if CLAIM in data]:
        names = (one["title"] if one["place"] == "ours" else one["place"] for one in said)
        return "Check: " + ", ".join(names)
    if any(set(IMAGES) & set(data) for data in shown):
        return "Code of the figure"
    if captions := CAPTION.findall("".join(join(data.get("text/html", "")) for data in shown)):
        if "hide-cell" not in cell["metadata"].get("tags", []):
            return "Code of the table"
        title = re.split(r"[.;]\s", html.unescape(captions[0]).rstrip("."))[0]
        if title.startswith("Table"):
            return title
        return f"Table: {title[:1].lower()}{title[1:].partition(': ')[0]}"
    return next((words for pattern, words in PURPOSES if pattern.search(source)), None)


def name_folds(notebook: dict[str, Any]) -> None:
    """Put onto each fold what it holds; the others keep the prompt of ``_config.yml``."""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code" or not FOLDED & set(cell["metadata"].get("tags", [])):
            continue
        if prompt := fold_prompt(cell):
            texts = {"code_prompt_show": prompt, "code_prompt_hide": prompt}
            cell["metadata"]["mystnb"] = {**cell["metadata"].get("mystnb", {}), **texts}


def page_name(module: str) -> str:
    """Return the name of a module's page, without folder and suffix.

    Examples
    --------
    >>> page_name("dplit.papers.erm.stability"), page_name("dplit_studies.erm.utility_tables")
    ('papers.erm.stability', 'studies.erm.utility_tables')
    """
    first, _, rest = module.partition(".")
    return f"studies.{rest}".rstrip(".") if first.endswith("_studies") else rest


def function_link(function: str, package: Path) -> str:
    """Return the address of a function's entry in the reference, seen from a chapter's page.

    Parameters
    ----------
    function : str
        Dotted name of a function, class or method, such as ``dplit.features.fast_cos``.
    package : Path
        The package's folder, by which module and name are told apart.

    Raises
    ------
    BuildError
        If no module of the package is a prefix of the name.
    """
    module = function
    while module and module_file(module, package) is None:
        module = module.rpartition(".")[0]
    if not module or module == function:
        raise BuildError(f"{function} is not in a module of {package.name}")
    return f"../reference/{page_name(module)}.html#{function}"


#: A formula, with a bracket before it and what ends a part of a sentence behind it.
FORMULA = re.compile(r"([(\[]?)\$(?=[^\s$])([^$<\n]*[^\s$<])\$(?!\d)([,.;:!?)\]%]{0,3})")


def _set_formula(found: re.Match[str]) -> str:
    """Return the element of a formula, which a browser does not part from a bracket or a comma."""
    before, formula, after = found.groups()
    element = f'<span class="math notranslate nohighlight">&#92;({formula}&#92;)</span>'
    if not before + after:
        return element
    return f'<span class="dplit-nobreak">{before}{element}{after}</span>'


def typeset(text: str) -> str:
    """Return escaped HTML whose ``$...$`` are formulas: MathJax reads them by their class alone.

    Examples
    --------
    >>> typeset("at most $2x$ for $5")
    'at most <span class="math notranslate nohighlight">&#92;(2x&#92;)</span> for $5'
    >>> typeset("$2x$, say").startswith('<span class="dplit-nobreak"><span')
    True
    """
    return FORMULA.sub(_set_formula, text)


def badge_links(record: dict[str, Any], has_tests: bool, package: Path) -> str:
    """Return the links of a badge: functions, tests, the index row."""
    parts = []
    for function in record["functions"]:
        name = html.escape(function.rpartition(".")[2])
        parts.append(f'<a href="{function_link(function, package)}"><code>{name}</code></a>')
    if has_tests:
        parts.append(f'<a href="../tests/{record["slug"]}.html#test-{record["id"]}">tests</a>')
    parts.append(f'<a href="../claims.html#row-{record["id"]}">index</a>')
    return " · ".join(parts)


PLACE = re.compile(r"(<span class=['\"]dplit-links['\"]>)(</span>)")


def archived_checks(record: Mapping[str, Any], archive: Mapping[str, Any]) -> str:
    """Return what the archived run, which had the data, says of a claim that was not asked here."""
    old = archive.get(record["id"])
    if not record.get("unasked") or old is None or old["status"] != "passed":
        return ""
    rows = "".join(badges._check_row(check) for check in old["checks"])
    title = f"in the archived run, on the paper's data: checked, {len(old['checks'])} of "
    title += f"{len(old['checks'])}"
    return (
        f"<details class='dplit-archived'><summary>{title}</summary><div class='dplit-scroll'>"
        f"<table class='dplit-checks'><tbody>{rows}</tbody></table></div></details>"
    )


def link_badges(
    notebook: dict[str, Any], tested: set[str], package: Path, archive: Mapping[str, Any]
) -> None:
    """Put links into every claim's badge.

    A claim that was not asked for want of data shows what the archived run found.

    Parameters
    ----------
    notebook : dict
        The notebook; changed in place.
    tested : set of str
        Ids of the claims that have tests.
    package : Path
        The package's folder.
    archive : mapping of str to dict
        The records of the archived run, by claim.
    """
    for _, output in outputs(notebook["cells"]):
        record = output.get("data", {}).get(CLAIM)
        if record is None:
            continue
        text = typeset(join(output["data"].get("text/html", "")))
        links = badge_links(record, record["id"] in tested, package)
        old = archived_checks(record, archive)
        place = PLACE.search(text)
        if place is None:
            raise BuildError(f"the badge of {record['id']} has no place for its links")
        parts = (text[: place.start()], old, place[1], links, text[place.start(2) :])
        output["data"]["text/html"] = "".join(parts)


TARGET = re.compile(r"^\(([a-z0-9_-]+)\)=$", re.MULTILINE)


def index_claims(notebook: dict[str, Any]) -> None:
    """Put each claim's place and id into the book's index, so that a search leads to its anchor."""
    shown = {record["id"].lower(): record for record in records(notebook, CLAIM)}

    def entry(found: re.Match[str]) -> str:
        if found[1] not in shown:
            return found[0]
        identifier = shown[found[1]]["id"]
        place = shown[found[1]]["place"]
        words = re.sub(r"[;!$`\\]", " ", place.partition(", ")[0])
        terms = [identifier] if place in ("ours", "beyond the paper") else [words, identifier]
        return "".join(f"```{{index}} ! single: {term}\n```\n" for term in terms) + found[0]

    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = TARGET.sub(entry, join(cell["source"]))


def add_download(notebook: dict[str, Any], slug: str) -> None:
    """Append the offer of the clean notebook to the chapter."""
    text = (
        f"```{{admonition}} Run it yourself\n:class: dplit-download\n\n"
        f"{{download}}`Download this chapter as a notebook <../../notebooks/{slug}.ipynb>`, "
        f"without outputs, or re-run it with other parameters by papermill.\n```"
    )
    notebook["cells"].append(
        {"cell_type": "markdown", "id": f"download-{slug}"[:64], "metadata": {}, "source": text}
    )


def normalise(
    notebook: dict[str, Any],
    slug: str,
    tested: set[str],
    package: Path,
    archive: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Make an executed notebook the page of a chapter; equal runs give equal pages.

    Parameters
    ----------
    notebook : dict
        The notebook as papermill left it; changed in place.
    slug : str
        The chapter.
    tested : set of str
        Ids of the claims that have tests.
    package : Path
        The package's folder, to find the functions' modules.
    archive : mapping of str to dict, optional
        The claims' records of the archived run, by id.

    Returns
    -------
    dict
        The same notebook.

    Raises
    ------
    BuildError
        Naming the cell, figure or badge that cannot become part of the book.
    """
    try:
        clean_metadata(notebook)
        clean_outputs(notebook)
        drop_curves(notebook)
        set_tables(notebook)
        mark_numbers(notebook)
        move_figures(notebook)
        write_explorables(notebook)
        name_folds(notebook)
        link_badges(notebook, tested, package, archive)
        index_claims(notebook)
        add_download(notebook, slug)
    except BuildError as error:
        raise BuildError(f"{slug}: {error}") from error
    return notebook
