"""What chapters share: the parameter guard, described figures, glued numbers, tables."""

from __future__ import annotations

import json
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit import notebook
from dplit.notebook import Between, ParameterError, Written, check_parameters, claims, figures
from dplit.notebook.cells import _PROVENANCE_MIMETYPE
from dplit.notebook.provenance import _collect_provenance

PARAMETERS = """scale: str = "quick"  # how much
seed: int = 0
n_jobs: int = 2
data: str = "auto"
epsilon: float = 1.0  # budget
noisy: bool = True
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DPLIT_BUILD", raising=False)
    monkeypatch.delenv("DPLIT_N_JOBS", raising=False)
    before = mpl.rcParams.copy()
    yield
    mpl.rcParams.update(before)
    claims.set_context()


def guard(injected: str = "", cells: list[str] | None = None):
    namespace: dict[str, object] = {}
    exec(PARAMETERS + injected, namespace)
    sources = ["import numpy", PARAMETERS]
    if injected:
        sources.append("# Parameters\n" + injected)
    run = check_parameters("x", namespace, cells=cells or sources, epsilon=Between(0, 10))
    return run, namespace


def test_defaults_pass_and_are_attributes():
    run, _ = guard()
    assert (run.scale, run.seed, run.epsilon, run.paper_scale) == ("quick", 0, 1.0, False)
    assert run.repeats(5, 10) == 5
    with pytest.raises(AttributeError, match="epsilom"):
        _ = run.epsilom


def test_an_integer_for_a_float_parameter_is_converted():
    run, namespace = guard("epsilon = 2\n")
    assert run.epsilon == 2.0
    assert isinstance(namespace["epsilon"], float)


def test_paper_scale_changes_the_repetitions():
    run, _ = guard('scale = "paper"\n')
    assert run.repeats(5, 10) == 10


def test_a_misspelt_parameter_stops_and_lists_the_right_ones():
    with pytest.raises(ParameterError) as caught:
        guard("epsilom = 0.5\n")
    message = str(caught.value)
    assert "unknown parameter epsilom" in message
    assert "epsilon: float = 1.0  # in (0, 10)" in message
    assert "scale: str = 'quick'  # one of 'quick', 'paper'" in message


@pytest.mark.parametrize(
    ("injected", "fault"),
    [
        ('epsilon = "much"\n', "epsilon must be of type float"),
        ("epsilon = True\n", "epsilon must be of type float"),
        ("seed = 1.5\n", "seed must be of type int"),
        ("noisy = 1\n", "noisy must be of type bool"),
        ("epsilon = 0.0\n", r"epsilon must be in \(0, 10\)"),
        ("epsilon = 11\n", r"epsilon must be in \(0, 10\)"),
        ("seed = -1\n", "seed must be in"),
        ("n_jobs = 0\n", "n_jobs must be in"),
        ('scale = "large"\n', "scale must be one of 'quick', 'paper'"),
        ('data = "mine"\n', "data must be one of"),
    ],
)
def test_wrong_types_and_ranges_stop_with_the_rule_and_the_value(injected: str, fault: str):
    with pytest.raises(ParameterError, match=fault) as caught:
        guard(injected)
    assert "This chapter's parameters are" in str(caught.value)


def test_the_guard_can_run_again_in_a_live_kernel():
    namespace: dict[str, object] = {}
    exec(PARAMETERS, namespace)
    stale = ["# Parameters\nepsilom = 1\n", PARAMETERS, "x = 1", "epsilom = 3"]
    assert check_parameters("x", namespace, cells=stale, epsilon=Between(0, 10)).epsilon == 1.0


def test_cells_that_are_not_python_assignments_are_passed_over():
    namespace: dict[str, object] = {}
    exec(PARAMETERS, namespace)
    cells = ["%matplotlib inline", "a[0] = 1", PARAMETERS]
    assert check_parameters("x", namespace, cells=cells, epsilon=Between(0, 10)).seed == 0
    with pytest.raises(ParameterError, match="no executed cell declares"):
        check_parameters("x", namespace, cells=["x = 1"])


def test_the_build_sets_the_number_of_jobs_but_not_over_a_passed_one(monkeypatch):
    monkeypatch.setenv("DPLIT_N_JOBS", "1")
    assert guard()[0].n_jobs == 1
    assert guard("n_jobs = 4\n")[0].n_jobs == 4


def test_the_build_turns_warnings_into_errors(monkeypatch):
    import warnings

    monkeypatch.setenv("DPLIT_BUILD", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        guard()
        with pytest.raises(UserWarning, match="loud"):
            warnings.warn("loud", stacklevel=1)


def test_the_context_of_records_holds_the_parameters_but_not_the_number_of_jobs():
    guard("epsilon = 3.0\n")
    record = claims.claim("dprf-thm7").record
    assert record["parameters"]["epsilon"] == 3.0
    assert "n_jobs" not in record["parameters"]


def test_streams_of_a_run_follow_its_seed():
    a, b = guard("seed = 1\n")[0], guard("seed = 2\n")[0]
    assert a.stream("s", "noise").random() == a.stream("s", "noise").random()
    assert a.stream("s", "noise").random() != b.stream("s", "noise").random()


ALT = "The curve falls from one to zero as the argument grows from zero to one."


def figure(labels: bool = True):
    fig, axes = plt.subplots()
    axes.plot([0, 1], [1, 0])
    if labels:
        axes.set(xlabel="x", ylabel="y")
    return fig


def test_a_figure_is_svg_with_name_caption_and_alternative_text(displayed):
    fig = figure()
    notebook.show(fig, name="fig-a", caption="A line.", alt=ALT)
    data, metadata = displayed[0]
    assert data["image/svg+xml"].startswith("<?xml")
    assert "dc:date" not in data["image/svg+xml"]
    assert metadata["dplit"]["figure"] == {"name": "fig-a", "caption": "A line.", "alt": ALT}
    assert not plt.fignum_exists(fig.number)


def test_outside_of_the_build_a_figure_has_its_caption_and_a_number_its_name(
    displayed, monkeypatch
):
    """What papermill alone leaves must be legible; the book's own captions must stay single."""
    notebook.show(figure(), name="fig-a", caption="A < B.", alt=ALT)
    notebook.glue_numbers(x=0.5)
    assert "<figcaption>A &lt; B.</figcaption>" in displayed[0][0]["text/html"]
    assert displayed[1][0]["text/plain"] == "x = 0.5"
    monkeypatch.setenv("DPLIT_BUILD", "1")
    notebook.show(figure(), name="fig-a", caption="A < B.", alt=ALT)
    notebook.glue_numbers(x=0.5)
    assert "text/html" not in displayed[2][0]
    assert "text/plain" not in displayed[3][0]


def test_a_figure_of_stand_in_data_says_so_and_tells_no_finding(displayed):
    notebook.show(figure(), name="fig-a", caption="A line.", alt=ALT, stand_in=True)
    told = displayed[0][1]["dplit"]["figure"]
    assert told["caption"] == "A line. Stand-in data, not the paper's."
    assert "fig-a" in told["alt"]
    assert ALT not in told["alt"]
    assert 40 <= len(told["alt"]) <= 300
    with pytest.raises(ValueError, match="40 to 300"):
        notebook.show(figure(), name="fig-a", caption="A line.", alt="short", stand_in=True)


def test_the_same_figure_gives_the_same_bytes(displayed):
    for _ in range(2):
        figures.style()
        notebook.show(figure(), name="fig-a", caption="A line.", alt=ALT)
    assert displayed[0] == displayed[1]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"name": "Fig 1"}, "name must be"),
        ({"alt": "too short"}, "40 to 300"),
        ({"alt": "x" * 301}, "40 to 300"),
        ({"alt": ALT, "caption": ALT}, "differ from the caption"),
        ({"caption": " "}, "caption must not be empty"),
    ],
)
def test_figures_without_a_proper_description_are_refused(displayed, fields, fault):
    arguments = {"name": "fig-a", "caption": "A line.", "alt": ALT, **fields}
    with pytest.raises(ValueError, match=fault):
        notebook.show(figure(), **arguments)
    assert displayed == []


def test_figures_without_axis_labels_are_refused(displayed):
    with pytest.raises(ValueError, match="every axis needs a label"):
        notebook.show(figure(labels=False), name="fig-a", caption="A line.", alt=ALT)


def test_numbers_are_glued_as_plain_numbers(displayed):
    import numpy as np

    notebook.glue_numbers(a=np.float64(0.5), b=3, c="text")
    notebook.glue_numbers(d=1 / 3 + 1e-16)
    values = [data["application/papermill.record/text/plain"] for data, _ in displayed]
    assert values == ["0.5", "3", "'text'", "0.333333333333"]
    assert displayed[0][1]["scrapbook"]["name"] == "a"
    with pytest.raises(TypeError, match="must be a number or a string"):
        notebook.glue_numbers(a=[1, 2])


def test_tables_escape_text_and_need_complete_rows(displayed):
    notebook.show_table(
        ["a<b", "n"], [["x & y", 0.123456], [True, None]], caption="c", pattern=".2f"
    )
    page = displayed[0][0]["text/html"]
    assert "a&lt;b" in page
    assert "x &amp; y" in page
    assert "0.12<" in page
    assert "yes" in page
    assert displayed[0][0]["text/plain"] == "a<b | n\nx & y | 0.12\nyes | "
    notebook.show_table(["a"], [[1]], caption="One.", stand_in=True)
    assert "<caption>One. Stand-in data, not the paper&#x27;s.<" in displayed[1][0]["text/html"]
    with pytest.raises(ValueError, match="each row needs 2 entries"):
        notebook.show_table(["a", "b"], [[1]], caption="c")


def test_a_notice_is_escaped(displayed):
    notebook.notice("Stand-in", "a < b")
    assert "a &lt; b" in displayed[0][0]["text/html"]


MADE = {
    "date": "2026-11-28",
    "commit": "45999fc8a28e",
    "seed": 3,
    "seconds": 12.3,
    "versions": {"numpy": "2.4.6"},
}


def test_provenance_says_where_the_versions_are_not_those_of_the_lock(checkout):
    """Kills versions of a lock that are not those of the run."""
    lock, key = checkout / "requirements.txt", "not the lock's versions"
    lock.write_text(f"numpy=={np.__version__} \\\n    --hash=sha256:0\n")
    assert key not in _collect_provenance("erm", {})
    lock.write_text("numpy==1.0 ; python_version > '3' \\\n    --hash=sha256:0\n")
    facts = _collect_provenance("erm", {})
    assert facts[key] == f"numpy is {np.__version__} (lock: ==1.0)"
    assert facts["numpy"] == np.__version__


def test_provenance_names_versions_and_parameters_and_how_the_archive_was_made(displayed, checkout):
    """Kills a page that does not say when, at which commit and with what its archive was made."""
    run, _ = guard("epsilon = 2.0\n")
    notebook.provenance(run)
    assert "archived run" not in displayed.pop()[0][_PROVENANCE_MIMETYPE]
    (checkout / "results/x.json").write_text(json.dumps({"made": MADE}))
    notebook.provenance(run)
    facts = displayed[0][0][_PROVENANCE_MIMETYPE]
    assert facts["chapter"] == "x"
    assert "epsilon=2.0" in facts["parameters"]
    assert "n_jobs" not in facts["parameters"]
    assert facts["archived run"] == (
        "made on 2026-11-28 at commit 45999fc8a28e, seed 3, 12 CPU seconds, numpy 2.4.6"
    )


def test_archived_results_are_found_from_inside_the_project(checkout, monkeypatch):
    (checkout / "notebooks").mkdir()
    (checkout / "results/x.json").write_text('{"slug": "x"}')
    monkeypatch.chdir(checkout / "notebooks")
    assert notebook.archived("x") == {"slug": "x"}
    assert notebook.archived("y") is None
    monkeypatch.chdir("/")
    assert notebook.archived("x") is None


def test_the_archived_run_stands_beside_this_one(displayed, checkout):
    run, _ = guard()
    notebook.show_archived(run, {})
    assert "No archived run" in displayed.pop()[0]["text/plain"]
    row = {"setting": "a", "paper": 1.0, "ours": 1.0}
    shown = claims.Claim({**claims.load_registry()["dprf-fig1"]}).reproduce([row, row])
    shown._repr_mimebundle_()
    old = {**shown.record, "checks": shown.record["checks"] * 2}
    stored = {"numbers": {"a": 0.25}, "claims": [old], "slug": "x", "made": MADE}
    (checkout / "results/x.json").write_text(json.dumps(stored))
    notebook.glue_numbers(a=0.5)
    notebook.show_archived(run, {"a number": "a"})
    text = displayed[-1][0]["text/plain"]
    assert "a number | 0.5 | 0.25" in text
    caption = "archived on 2026-11-28 at commit 45999fc8a28e."
    assert caption in displayed[-1][0]["text/html"]
    assert "1 of 1 checks, 2 of 2 numbers | 2 of 2 checks, 4 of 4 numbers" in text
    claims.Claim(shown.entry).not_run(reason="stand-in").reproduce([row])._repr_mimebundle_()
    notebook.show_archived(run, {})
    assert "not run | 2 of 2 checks, 4 of 4 numbers" in displayed[-1][0]["text/plain"]
    with pytest.raises(KeyError):
        notebook.show_archived(run, {"unknown": "never glued"})


@pytest.mark.parametrize("given", [[1, 2], 3, None])
def test_a_mapping_is_taken_where_one_is_meant_and_nothing_else(given: Any) -> None:
    cells = ['scale: str = "quick"\nbounds: str = ""\nepsilon: float = 1.0']
    for good in ('{"a": [0, 1]}', {"a": [0, 1]}, ""):
        told = {"scale": "quick", "bounds": good, "epsilon": 1.0}
        assert check_parameters("x", told, cells=cells, bounds=Written(dict)).bounds == good
    told = {"scale": "quick", "bounds": given, "epsilon": 1.0}
    with pytest.raises(ParameterError, match=r"^bounds must be a mapping, or JSON of one, got"):
        check_parameters("x", told, cells=cells, bounds=Written(dict))
    told = {"scale": "quick", "bounds": "", "epsilon": {"a": 1}}
    with pytest.raises(ParameterError, match=r"^epsilon must be of type float, got epsilon="):
        check_parameters("x", told, cells=cells, bounds=Written(dict))
