"""The records of claims: what passes, what fails, what stops a notebook, what verdicts need."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from scipy import stats

from dplit.notebook import claims
from dplit.notebook.claims import MIMETYPE, Claim, ClaimError

COLLECTED = {"tests": ["tests/x.py::test_x"], "page": "x", "anchor": "x-thm1"}


def entry(verdict: str = "holds", **fields: object) -> dict[str, object]:
    base = {
        "id": "x-thm1",
        "slug": "x",
        "kind": "theorem",
        "place": "Theorem 1",
        "title": "A <b>bound</b>",
        "verdict": verdict,
        "evidence": "derived",
        "severity": None,
        "corrected": None,
        "functions": ["dplit.mechanisms.gaussian_delta"],
        "note": "",
    }
    return {**base, **fields}


def made(verdict: str = "holds", **fields: object) -> Claim:
    return Claim(entry(verdict, **fields))


def last(c: Claim) -> dict[str, object]:
    return c.checks[-1]


def test_equal_accepts_the_tolerance_and_nothing_above():
    made().equal(1.0, 1.0 + 0.9e-6, rtol=1e-6, how="two routes")
    with pytest.raises(ClaimError, match="x-thm1: equal failed"):
        made().equal(1.0, 1.0 + 1.1e-6, rtol=1e-6, how="two routes")


def test_equal_reports_the_entry_nearest_to_failing():
    c = made().equal([1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + 1e-10], how="three values")
    assert last(c)["size"] == 3
    assert last(c)["measured"] == pytest.approx(3.0)
    assert last(c)["expected"] == pytest.approx(3.0, rel=1e-9)


def test_equal_compares_complex_numbers():
    c = made().equal(1 + 2j, 1 + 2j, how="complex")
    assert c.record["passed"]
    assert last(made().equal(1 / 3 - 2j, 1 / 3 - 2j, how="digits"))["measured"] == "0.333333333-2i"
    jsonschema.validate({**c.record, **COLLECTED}, claims.load_schema())
    with pytest.raises(ClaimError):
        made().equal(1 + 2j, 1 - 2j, how="conjugated")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_fail(bad: float):
    with pytest.raises(ClaimError, match="not finite"):
        made().equal(bad, bad, how="nan")
    with pytest.raises(ClaimError, match="not finite"):
        made().at_most(1.0, bad, how="nan")


def test_a_statistical_check_is_recorded_and_does_not_raise():
    c = made().equal(1.0, 2.0, se=0.1, how="ten standard errors away")
    assert last(c)["statistical"] is True
    assert c.record["status"] == "failed"
    assert made().equal(1.39, 1.0, se=0.1, how="3.9 standard errors").record["passed"]
    assert not made().equal(1.41, 1.0, se=0.1, how="4.1 standard errors").record["passed"]


def test_the_detectable_effect_has_power_nine_tenths():
    c = made().equal(0.0, 0.0, se=1.0, how="null")
    draws = np.random.default_rng(0).standard_normal(200_000) + last(c)["detectable"]
    power = np.mean(np.abs(draws) > last(c)["tolerance"])
    # standard error 7e-4; false alarm 6e-5 at 4 standard errors; kills a wrong quantile
    assert abs(power - 0.9) < 4 * np.sqrt(0.09 / 200_000)


def test_many_comparisons_keep_the_false_alarm_of_one():
    one = last(made().equal(0.0, 0.0, se=1.0, how="one"))["tolerance"]
    many = last(made().equal(np.zeros(1000), 0.0, se=1.0, how="many"))["tolerance"]
    assert one == pytest.approx(4.0)
    assert many == pytest.approx(5.44, abs=0.05)


def test_few_repetitions_use_student_quantiles():
    few = last(made().equal(0.0, 0.0, se=1.0, df=4, how="five repetitions"))
    assert few["tolerance"] == pytest.approx(stats.t.isf(stats.norm.sf(4.0), 4))
    assert few["tolerance"] > 15
    many = last(made().equal(0.0, 0.0, se=1.0, df=10**6, how="many"))
    assert many["tolerance"] == pytest.approx(4.0, abs=1e-3)


def test_inequalities():
    made().at_most(1.0, 1.0, how="equality").at_least(1.0, 1.0, how="equality")
    made().at_most(1.05, 1.0, slack=0.1, how="slack").at_least(0.95, 1.0, slack=0.1, how="slack")
    with pytest.raises(ClaimError):
        made().at_most([0.5, 1.01], 1.0, how="one entry above")
    with pytest.raises(ClaimError):
        made().at_least([0.99, 2.0], 1.0, how="one entry below")


def test_without_slack_the_entry_nearest_to_failing_is_reported_too():
    """Kills gaps in units of the smallest float, which overflow: the first entry was shown."""
    c = made().at_most([0.1, 0.9, 0.5], 1.0, how="no slack")
    assert last(c)["measured"] == 0.9
    c = made().at_least([9.0, 3.0, 2.0], [1.0, 1.0, 1.5], how="no slack")
    assert (last(c)["measured"], last(c)["expected"]) == (2.0, 1.5)
    c = made().at_most([-5e307, -1e300, -2e300], 0.0, how="huge")
    assert last(c)["measured"] == -1e300
    c = made().at_most([1.0 - 2e-16, 1.0 - 1e-16], 1.0, how="rounding errors do not choose")
    assert last(c)["measured"] == 1.0 - 2e-16
    assert last(made().at_most([0.0, 0.0], 0.0, how="nothing but zeros"))["measured"] == 0.0


@pytest.mark.parametrize(
    ("method", "measured", "expected", "keywords", "nearest"),
    [
        # bounds of different sizes: the largest share of its bound, not the smallest gap
        ("at_most", [1e-8, 1.0], [1e-3, 1.1], {}, 1),
        ("at_most", [1e-8, 1.0], [1e-3, 1.1], {"slack": 1e-12}, 1),
        ("at_least", [1e-2, 1.5], [1e-3, 1.4], {}, 1),
        ("at_most", [1.0, 0.1], [1.0, 0.2], {}, 0),
        ("at_most", [-5.0, 0.9, -9.0], [0.0, 1.0, 0.0], {}, 1),
        ("at_least", [3e300, 2e300, 1e308], [1e300, 1e300, -1e308], {}, 1),
        ("at_most", [0.0, 5e-324], [0.0, 1.0], {}, 0),
        # equalities: the largest share of the tolerance; an exact zero is no near failure
        ("equal", [0.0, 1.0, 2.0 + 1e-9], [0.0, 1.0, 2.0], {}, 2),
        ("equal", [1e-3, 1000.0 + 1e-8], [1e-3 + 9e-13, 1000.0], {"rtol": 1e-9}, 0),
        # standard errors: the largest number of them, where there are any
        ("equal", [1.0, 1.0, 1.0], [1.3, 1.2, 1.0], {"se": [0.3, 0.1, 0.0]}, 1),
        ("at_most", [0.5, 0.9], [1.0, 1.0], {"se": [1.0, 0.01]}, 0),
    ],
)
def test_the_entry_nearest_to_failing(
    method: str, measured: list[float], expected: list[float], keywords: dict, nearest: int
):
    """Hand-made arrays; kills one unit for all entries, gaps without unit, and overflows."""
    with np.errstate(all="raise", under="ignore"):
        c = getattr(made(), method)(measured, expected, how="arrays", **keywords)
    assert last(c)["measured"] == measured[nearest]
    assert last(c)["expected"] == expected[nearest]


def test_an_entry_that_fails_is_the_one_reported():
    for method, measured in (("equal", [1.0, 0.0, 1e-30]), ("at_most", [0.5, 0.0, 1e-30])):
        c = made().not_run(reason="to see it")
        getattr(c, method)(measured, [1.0, 0.0, 0.0], how="one above")
        assert not last(c)["ok"]
        assert last(c)["measured"] == 1e-30


def test_attains_needs_ninety_nine_hundredths_and_no_violation():
    assert made("sharp").attains(0.995, 1.0, how="witness").record["passed"]
    for value in (0.98, 1.01):
        with pytest.raises(ClaimError):
            made("sharp").attains(value, 1.0, how="witness")


def test_refute_needs_the_margin_in_the_right_direction():
    made("erratum").refute(1.0, 1.2, margin=0.1, why="above")
    made("erratum").refute(1.0, 0.8, relation="<", margin=0.1, why="below")
    for relation, value in ((">", 1.05), ("<", 0.95), (">", 0.5), ("<", 1.5)):
        with pytest.raises(ClaimError):
            made("erratum").refute(1.0, value, relation=relation, margin=0.1, why="not enough")
    with pytest.raises(ValueError, match="relation must be"):
        made("erratum").refute(1.0, 2.0, relation=">=", why="unknown relation")


def test_reproduce_uses_both_standard_errors_and_the_reading_error():
    row = {"setting": "N = 1500", "paper": 1.0, "paper_se": 0.03, "ours_se": 0.04, "ours": 1.21}
    assert not made("reproduced").reproduce([row]).record["passed"]
    c = made("reproduced").reproduce([{**row, "reading_error": 0.02}])
    assert c.record["passed"]
    assert last(c)["rows"][0]["within"] is True


def test_a_named_miss_does_not_fail_and_an_unnamed_one_does():
    rows = [
        {"setting": "a", "paper": 1.0, "ours": 1.0},
        {"setting": "b", "paper": 1.0, "ours": 2.0, "miss": True},
    ]
    assert made("partly").reproduce(rows).record["passed"]
    rows[1]["miss"] = False
    assert not made("partly").reproduce(rows).record["passed"]
    with pytest.raises(ValueError, match="rows must not be empty"):
        made("partly").reproduce([])


def test_statements_need_a_computed_truth_value():
    assert made().statement("two is even", 2 % 2 == 0, how="division").record["passed"]
    with pytest.raises(TypeError, match="computed bool"):
        made().statement("yes", 1, how="not a bool")
    with pytest.raises(TypeError, match="computed bool"):
        made("defined").excludes("yes", "yes", how="not a bool")
    with pytest.raises(ClaimError):
        made().statement("two is odd", 2 % 2 == 1, how="division")


@pytest.mark.parametrize("verdict", ["defined", "sharp", "conditional", "erratum"])
def test_verdicts_need_more_than_one_positive_check(verdict: str):
    c = made(verdict).equal(1.0, 1.0, how="only this")
    assert c.record["status"] == "failed"
    assert verdict in str(c.record["reason"])


def test_sharp_needs_ninety_nine_hundredths_whatever_the_check_demanded():
    c = made("sharp").attains(0.9, 1.0, fraction=0.9, how="witness")
    assert c.record["status"] == "failed"
    assert "attains 0.99 of the bound" in str(c.record["reason"])
    assert c.attains(0.995, 1.0, how="another").record["passed"]


@pytest.mark.parametrize("verdict", ["reproduced", "partly"])
def test_a_figure_needs_printed_values_or_the_word_what_was_compared(verdict: str):
    c = made(verdict).statement("it falls", True, how="medians")
    assert c.record["status"] == "failed"
    assert "rows against printed values" in str(c.record["reason"])
    told = made(verdict, compared="the order; no value is printed")
    assert told.record["status"] == "failed"
    told.statement("it falls", True, how="medians")
    assert told.record["passed"]
    assert "Compared: the order; no value is printed" in told._repr_mimebundle_()["text/html"]
    row = {"setting": "a", "paper": 1.0, "ours": 1.0}
    assert made(verdict).reproduce([row]).record["passed"]


@pytest.mark.parametrize("verdict", ["conditional", "erratum"])
def test_a_refutation_alone_is_not_enough(verdict: str):
    c = made(verdict).refute(1.0, 2.0, why="printed too small")
    assert c.record["status"] == "failed"
    assert c.at_most(2.0, 2.0, how="corrected").record["passed"]


def test_a_claim_without_checks_fails_and_not_run_says_why():
    assert made().record["status"] == "failed"
    c = made("not-reproducible").not_run(reason="the digits are not here")
    assert c.record["status"] == "not_run"
    assert c.record["passed"] is False
    with pytest.raises(ValueError, match="reason must say"):
        made().not_run(reason="")
    with pytest.raises(ValueError, match="how must say"):
        made().equal(1.0, 1.0, how="")


def test_checks_after_not_run_are_recorded_for_information_and_never_raise():
    """Kills a raise on stand-in data, a status that such checks can turn, and lost checks."""
    c = made("erratum").not_run(reason="stand-in data")
    c.equal(1.0, 2.0, how="differs").at_most(np.nan, 1.0, how="not finite")
    c.attains(0.5, 1.0, how="half").refute(1.0, 0.5, why="holds").statement("no", False, how="no")
    c.reproduce([{"setting": "a", "paper": 1.0, "ours": 2.0}])
    assert [check["ok"] for check in c.checks] == [False] * 6
    assert (c.record["status"], c.record["reason"]) == ("not_run", "stand-in data")
    jsonschema.validate({**c.record, **COLLECTED}, claims.load_schema())
    page = c._repr_mimebundle_()["text/html"]
    assert "6 checks, for information" in page
    assert "dplit-not_run" in page
    assert "stand-in data" in page
    good = made().equal(1.0, 1.0, how="agrees").not_run(reason="stand-in data")
    assert good.record["status"] == "not_run"


def test_a_check_that_fails_before_not_run_still_raises():
    with pytest.raises(ClaimError, match="x-thm1: equal failed"):
        made().equal(1.0, 2.0, how="differs").not_run(reason="too late")
    page = made().equal(1.0, 1.0, how="agrees")._repr_mimebundle_()["text/html"]
    assert "for information" not in page


def test_the_badge_escapes_text_and_carries_the_record():
    bundle = made(corrected="2 < 3").equal(1.0, 1.0, how="a <i>route</i>")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", MIMETYPE}
    page = bundle["text/html"]
    assert "<b>bound</b>" not in page
    assert "<i>route</i>" not in page
    assert "2 &lt; 3" in page
    assert "data-claim='x-thm1'" in page
    assert json.loads(json.dumps(bundle[MIMETYPE])) == bundle[MIMETYPE]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda c: c.at_most(0.3, 0.31, slack=0.01, how="h"), "0.3 &lt;= 0.31 (+- 0.01)"),
        (lambda c: c.equal(0.12259, 0.1212, se=0.002, how="h"), "0.12259 = 0.1212 (+- 0.008)"),
        (lambda c: c.equal(2.0, 2.0, how="h"), "2 = 2 (+- 2e-09)"),
        (lambda c: c.at_least(0.3, 0.2, how="h"), "0.3 &gt;= 0.2</td>"),
        (lambda c: c.equal(1e-12, 0.0, atol=1e-11, how="h"), "= 0 (+- 1e-11)"),
        (lambda c: c.refute(0.1, 0.5, margin=0.2, why="h"), "0.5 &gt; 0.1 (by more than 0.2)"),
        (lambda c: c.equal(1 + 2j, 1 + 2j, how="h"), "1+2i = 1+2i (+- 2.2e-09)"),
        (lambda c: c.statement("two is even", True, how="h"), "<td>two is even</td>"),
        (lambda c: c.at_most(np.nan, 1.0, how="h"), "<td>not finite</td>"),
        (lambda c: c.refute(0.1, np.nan, why="h"), "not finite &gt; 0.1</td>"),
    ],
)
def test_a_row_says_what_was_compared_and_what_is_allowed(call, shown: str):
    page = call(made().not_run(reason="shown whatever it is"))._repr_mimebundle_()["text/html"]
    assert shown in page
    for raw in ("nan", "None", "True", "+- 0)", "0.0000", "j)"):
        assert raw not in page


@pytest.mark.parametrize("method", ["reproduce", "statement", "excludes", "attains", "refute"])
def test_every_kind_of_check_satisfies_the_schema(method: str):
    c = made("erratum", severity="cosmetic", corrected="that")
    calls = {
        "reproduce": lambda: c.reproduce([{"setting": "a", "paper": 1.0, "ours": 1.0}]),
        "statement": lambda: c.statement("s", True, how="h"),
        "excludes": lambda: c.excludes("s", True, how="h"),
        "attains": lambda: c.attains(1.0, 1.0, how="h"),
        "refute": lambda: c.refute(1.0, 2.0, why="h"),
    }
    calls[method]()
    jsonschema.validate({**c.record, **COLLECTED}, claims.load_schema())
    assert c.record["status"] == "failed"  # none of them alone demonstrates an erratum


def test_the_registry_knows_its_claims_and_names_near_ids():
    registry = claims.load_registry()
    assert claims.claim("dprf-thm7").entry["place"] == "Theorem 7"
    assert registry["dprf-thm7"]["slug"] == "random_features"
    with pytest.raises(KeyError, match="dprf-thm7"):
        claims.claim("dprf-thm99")


@pytest.mark.parametrize("slug", claims.slugs())
def test_registry_entries_satisfy_the_schema(slug: str):
    for item in claims.load_registry(slug).values():
        record = {**Claim(item).record, **COLLECTED}
        jsonschema.validate(record, claims.load_schema())
        assert (item["verdict"] == "erratum") == (item["severity"] is not None), item["id"]
        assert (item["verdict"] == "erratum") == (item["corrected"] is not None), item["id"]
        assert item["note"], item["id"]


def test_parameters_of_the_run_are_repeated_in_every_record():
    claims.set_context(seed=3, scale="quick")
    try:
        assert made().equal(1.0, 1.0, how="h").record["parameters"] == {"seed": 3, "scale": "quick"}
    finally:
        claims.set_context()


def test_records_do_not_hold_the_last_bits_of_a_sum():
    """Kills records that keep all digits, and a worst entry that rounding errors choose."""
    noise = 1e-15 * np.array([[0.0, 1.0, 3.0, 2.0], [2.0, 3.0, 0.0, 1.0]])
    records = []
    for error in noise:
        c = made()
        c.equal(np.array([1.0, 2.0, 3.0, 4.0]) + error, [1.0, 2.0, 3.0, 4.0], how="a vector")
        c.equal(float(error[1]), 0.0, atol=1e-10, how="a remainder")
        c.at_most(1 / 3 + error[1], 0.5, how="a bound")
        records.append(c.record["checks"])
    assert records[0] == records[1]
    assert [check["measured"] for check in records[0]] == [1.0, 0.0, 0.333333333]


def test_a_record_keeps_the_printed_value_whatever_the_margin():
    """Kills rounding to a margin (1e-5 refuted by 0.9 must not read 0), and ugly multiples."""
    c = made("erratum").refute(1e-5, 1.0, margin=0.9, why="delta")
    c.at_least(0.987654321, 0.95, slack=0.02, how="rounded below the slack")
    refuted, rounded = c.record["checks"]
    assert (refuted["expected"], refuted["measured"]) == (1e-5, 1.0)
    assert (rounded["expected"], rounded["measured"]) == (0.95, 0.98765)


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    """A machine that has no file of the papers, and a run that takes what it finds."""
    monkeypatch.setenv("DPLIT_DATA", str(tmp_path))
    monkeypatch.setenv("DPLIT_CACHE", str(tmp_path))
    monkeypatch.setattr(claims, "_context", {"data": "auto"})


def test_a_claim_about_missing_data_is_not_asked(without_data):
    """Kills what failed for every user: a false statement about stand-ins that stops the book."""
    c = made(data=["medical", "wine"])
    c.statement("it never holds", False, how="largest of 8 spectra").equal(1.0, 2.0, how="routes")
    assert c.checks == []
    assert c.record["status"] == "not_run"
    assert c.record["reason"] == (
        "it is about the paper's medical and wine data, and this run has stand-ins"
    )
    assert [check["how"] for check in c.record["unasked"]] == ["largest of 8 spectra", "routes"]
    jsonschema.validate({**c.record, **COLLECTED}, claims.load_schema())


def test_checks_on_missing_data_are_listed_and_the_others_decide(without_data):
    c = made("erratum", corrected="2")
    c.equal(1.0, 1.0, how="closed form")
    c.on("MNIST").refute(1.0, 0.5, why="digits").statement("so it is", False, how="digits, too")
    c.at_most(1.0, 2.0, how="asked again on the claim itself")
    assert [check["method"] for check in c.checks] == ["equal", "at_most"]
    assert [check["method"] for check in c.record["unasked"]] == ["refute", "statement"]
    assert c.record["status"] == "passed"
    page = c._repr_mimebundle_()["text/html"]
    assert "not asked, for want of the paper's MNIST data: 2 checks" in page.replace("&#x27;", "'")
    with pytest.raises(ClaimError, match="equal failed"):
        c.equal(1.0, 2.0, how="what needs no data stops the notebook as before")


def test_a_claim_asks_where_the_data_are(tmp_path, monkeypatch, without_data):
    """Kills data that are looked for and never believed, and a run on bundled data that asks."""
    from dplit.notebook.datasets.papers import FILES, DataFile

    monkeypatch.setitem(FILES, "insurance.csv", DataFile("insurance.csv", _sha(b"1"), "", ""))
    (tmp_path / "insurance.csv").write_bytes(b"1")
    with pytest.raises(ClaimError):
        made(data=["medical"]).statement("false", False, how="asked")
    claims._context["data"] = "bundled"
    assert made(data=["medical"]).statement("false", False, how="not asked").checks == []


def _sha(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def test_data_of_another_name_are_refused(without_data):
    with pytest.raises(ValueError, match=r"name must be one of \['MNIST', 'medical', 'wine'\]"):
        made().on("iris").statement("x", True, how="y")
