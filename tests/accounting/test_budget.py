"""A budget on disk: what it refuses, what it counts, and that no accident makes it count less."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dplit import Budget, PrivatePCA, explore
from dplit.accounting.budget import BudgetError, Entry, _within_gaussian, _within_sum
from dplit.audit import ledger
from dplit.mechanisms import (
    Gaussian,
    Laplace,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    report_noisy_min,
)
from dplit.mechanisms._draws import listen, open_accounts, passing, record_draw, stop
from dplit_studies.audits.cases import ESTIMATORS
from dplit_studies.audits.replays import unrelated

# a hundred records are few, and what is learnt of them is asked nowhere here
pytestmark = pytest.mark.filterwarnings("ignore::dplit.NoiseWarning")

X = np.linspace(-0.5, 0.5, 400).reshape(100, 4)


def pca(**given: Any) -> PrivatePCA:
    stated = {"epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "neighboring": "replace_one"}
    return PrivatePCA(2, **(stated | given))


class Ear:
    """Hears of a draw just before it is made."""

    def __init__(self, then: Callable[[], Any]) -> None:
        self.then = then

    def drawn(self, draw: Any, of: Any) -> None:
        self.then()

    def stepped(self, of: Any, added: Any) -> None: ...

    def missed(self) -> None: ...


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "b.json"


def test_each_fit_is_written_down_before_its_noise_and_refused_beyond_the_cap(file: Path) -> None:
    """Kills a fit that draws before its line is on the disk, and one more than the cap holds."""
    heard: list[int] = []
    budget = Budget(file, epsilon=2.5, delta=1e-5, table="patients")
    token = listen(Ear(lambda: heard.append(len(budget.entries()))))
    with budget:
        pca().fit(X)
        pca().fit(X)
        before = len(heard)
        with pytest.raises(BudgetError, match="nothing is drawn"):
            pca().fit(X)
    stop(token)
    assert len(heard) == before
    assert (heard[0], heard[-1]) == (1, 2)
    told = budget.entries()
    assert [(e.number, e.state, e.table) for e in told] == [
        (1, "drawn", "patients"),
        (2, "drawn", "patients"),
    ]
    assert budget.spent() == (2.0, 2e-6)
    assert budget.left(delta=1e-6) == 0.5
    assert budget.left(delta=1e-4) == 0.0
    assert told[0].drawn[0]["draw"] == "gaussian"
    pca().fit(X)  # outside nothing is counted
    assert len(budget.entries()) == 2


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_is_charged_once_at_its_guarantee(name: str, file: Path) -> None:
    """Kills an estimator whose fit no budget hears, one that is charged twice (for an estimator
    inside it), and a price below what the ledger hears.
    """
    model = clone(ESTIMATORS[name].release).set_params(random_state=3)
    relation = getattr(model, "neighboring", "replace_one")
    budget, data = Budget(file, epsilon=1e6, delta=0.4, neighboring=relation), unrelated(name)[0]
    entries = type(model).__module__.startswith("dplit.entries")
    with budget, ledger() as book, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of noise, and of defaults that the cases leave
        if entries:
            with pytest.raises(BudgetError, match="of one record, and the guarantee of one entry"):
                model.fit(*data)
        else:
            model.fit(*data)
    if entries:
        assert len(book) == len(budget.entries()) == 0
        return
    (entry,) = budget.entries()
    assert entry.state == "drawn"
    assert entry.epsilon == pytest.approx(model.epsilon_, rel=1e-9)
    assert entry.delta >= model.delta_  # of some parameters no delta is needed
    assert len(entry.drawn) == len(book)
    if entry.mu is not None:
        told = gaussian_delta(epsilon=entry.epsilon, sigma=1.0 / entry.mu)
        assert told <= entry.delta * (1.0 + 1e-6)
    elif not entry.delta:
        assert book.epsilon() <= entry.epsilon * (1.0 + 1e-12)


def test_what_is_announced_as_gaussian_is_that(file: Path) -> None:
    """By the ledger, under both relations where there are two. Kills a flag that an estimator has
    and its noise does not: a count with Laplace noise beside a Gaussian sketch had passed.
    """
    gaussian = set()
    for name, case in ESTIMATORS.items():
        if type(case.release).__module__.startswith("dplit.entries"):
            continue
        for relation in ("replace_one", "add_remove"):
            model = clone(case.release).set_params(random_state=3)
            for change in ({"neighboring": relation}, {"noise": "gaussian", "delta": 1e-6}):
                if set(change) <= set(model.get_params()):
                    model.set_params(**change)
            budget = Budget(
                file.with_name(f"{name} {relation}"),
                epsilon=9.0,
                delta=0.4,
                neighboring=getattr(model, "neighboring", "replace_one"),
            )
            with budget, ledger() as book, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # as above
                try:
                    model.fit(*unrelated(name)[0])
                except ValueError:  # a relation, or noise, that it does not have
                    continue
            (entry,) = budget.entries()
            if entry.mu is None:
                continue
            gaussian.add(type(model).__name__)
            (losses,) = book._losses()
            assert losses.pure == 0, name
            assert not losses.events
            assert float(losses.squares) ** 0.5 <= entry.mu * (1.0 + 1e-6)
    assert {"NoisyGradientRegressor", "PrivatePCA", "AdaSSPRegressor", "CompressivePCA"} <= gaussian
    assert "ObjectivePerturbationClassifier" not in gaussian


def test_an_interrupted_fit_counts_what_was_announced(file: Path) -> None:
    """Kills an entry that an accident makes dearer, or cheaper."""
    budget = Budget(file, epsilon=2.0, delta=1e-5, composition="gaussian")
    with budget:
        pca(epsilon=0.3).fit(X)
        with pytest.raises(KeyboardInterrupt), passing(interrupted):
            pca(epsilon=0.3).fit(X)
        pca(epsilon=0.3).fit(X)
    assert len({entry.mu for entry in budget.entries()}) == 1
    assert budget.spent()[0] < 0.9


def interrupted(_: Any) -> Any:
    raise KeyboardInterrupt


def test_what_fails_before_its_first_draw_counts_nothing(file: Path) -> None:
    """Kills a refund of what was drawn, and a charge for what was not."""
    budget = Budget(file, epsilon=1.0, delta=1e-6)
    with budget:
        with pytest.raises(ValueError, match="X must be finite"):
            pca().fit(np.full((5, 4), np.nan))
        assert budget.entries()[0].state == "nothing drawn"
        assert budget.spent() == (0.0, 0.0)
        with pytest.raises(ZeroDivisionError), passing(lambda _: 1 / 0):  # after the draw
            pca().fit(X)
        assert budget.entries()[1].state == "drawn"
        with pytest.raises(BudgetError):
            pca(epsilon=1e-9).fit(X)


def test_wrong_parameters_are_refused_and_cost_nothing(file: Path) -> None:
    budget = Budget(file, epsilon=1.0, delta=1e-6)
    with budget:
        for wrong in ({"epsilon": -1.0}, {"epsilon": "1"}, {"delta": 2.0}, {"delta": None}):
            with pytest.raises((TypeError, ValueError)):
                pca(**wrong).fit(X)
        with pytest.raises(BudgetError, match="neighboring must be 'replace_one'"):
            pca(neighboring="add_remove").fit(X)
    assert budget.spent() == (0.0, 0.0)


def test_a_budget_of_persons_takes_no_guarantee_for_records(file: Path) -> None:
    rule = "of one person, and the guarantee of one record"
    with (
        Budget(file, epsilon=1.0, delta=1e-6, unit="person"),
        pytest.raises(BudgetError, match=rule),
    ):
        pca().fit(X)


def test_draws_that_nobody_announced_are_refused_before_they_are_made(file: Path) -> None:
    """A draw does not say of which relation or unit its sensitivity is: one for an added record
    counts twice for a replaced one. Kills a bare draw that is not heard, or that is made.
    """
    budget = Budget(file, epsilon=3.0, delta=1e-5, table="stays")
    with budget, ledger() as book:
        for draw in (
            lambda: Laplace(scale=2.0).add(np.zeros(3), hides="a sum", sensitivity=1.0),
            lambda: Gaussian(sigma=20.0).add(np.zeros(3), hides="a sum", sensitivity=1.0),
            lambda: report_noisy_min(np.zeros(3), epsilon=0.25, sensitivity=1.0),
        ):
            with pytest.raises(BudgetError, match=r"announced by budget\.paying"):
                draw()
        assert len(book) == 0
        record_draw("secret", "an order", scale=1.0)
    assert budget.entries() == ()
    with budget.paying("a sum", epsilon=0.5), ledger() as book:
        Laplace(scale=2.0).add(np.zeros(3), hides="a sum", sensitivity=1.0)
        Laplace(scale=2.0).add(np.zeros(3), hides="a sum", sensitivity=1.0)  # the caller's word
    assert len(book) == 2
    (entry,) = budget.entries()
    assert (entry.what, entry.table, entry.epsilon, entry.delta) == ("a sum", "stays", 0.5, 0.0)
    dear = budget.paying("a sum", epsilon=2.6)
    with ledger() as book, pytest.raises(BudgetError, match="nothing is drawn"), dear:
        Laplace(scale=2.0).add(np.zeros(3), hides="a sum", sensitivity=1.0)
    assert len(book) == 0
    with budget.paying("many", epsilon=0.5, delta=1e-6, gaussian=True):
        Gaussian(sigma=20.0).add(np.zeros(3), hides="a sum", sensitivity=1.0)
    assert budget.entries()[-1].mu is not None


def test_other_threads_pay_too(file: Path) -> None:
    """Kills a budget that only the thread knows in which it was opened."""
    budget = Budget(file, epsilon=3.0, delta=1e-5)
    with budget:
        threads = [threading.Thread(target=lambda: pca().fit(X)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [entry.state for entry in budget.entries()] == ["drawn"] * 2
    assert budget.spent()[0] == 2.0


def test_a_budget_that_is_open_twice_pays_once_and_stays_open(file: Path) -> None:
    """Kills one that the inner block closes, as another thread's release would."""
    budget = Budget(file, epsilon=3.0, delta=1e-5)
    with budget:
        with budget:
            pca().fit(X)
        assert open_accounts() == (budget,)
        pca().fit(X)
    assert open_accounts() == ()
    assert budget.spent()[0] == 2.0
    other = Budget(file.with_name("other"), epsilon=0.5, delta=1e-5)
    with budget, other, pytest.raises(BudgetError, match=r"cap of epsilon 0\.5"):
        pca().fit(X)
    assert budget.spent()[0] == 2.0  # what one refuses, the other has not paid


def test_the_file_is_the_one_that_was_opened(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kills a path that follows the working folder, another cap under the same name, and an older
    copy that is put back.
    """
    monkeypatch.chdir(tmp_path)
    budget = Budget("b.json", epsilon=1.0, delta=1e-5)
    old = file.read_bytes()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    Budget("b.json", epsilon=9.0, delta=1e-5)
    with budget:
        pca(epsilon=0.9).fit(X)
        assert budget.spent()[0] == 0.9
        file.write_bytes(old)
        with pytest.raises(BudgetError, match="or has lost lines"):
            pca(epsilon=0.9).fit(X)
        file.unlink()
        Budget(file, epsilon=9.0, delta=1e-5)
        with pytest.raises(BudgetError, match="states another cap now"):
            pca(epsilon=0.9).fit(X)


def test_amounts_of_numpy_are_amounts(file: Path) -> None:
    budget = Budget(file, epsilon=np.float32(2.5), delta=1e-5)
    with budget:
        pca(epsilon=np.int64(1), delta=np.float64(1e-6)).fit(X)
    assert budget.spent() == (1.0, 1e-6)


def child(run: Callable[[], Any]) -> int:
    """Start a process that runs something, and ends with 0 if that comes back.

    Python warns of forks where there are threads; the child uses none of theirs.
    """
    number = os.fork()
    if number == 0:
        try:
            run()
            os._exit(0)
        finally:
            os._exit(1)
    return number


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_process_has_drawn_nothing_that_is_not_written_down(file: Path) -> None:
    """200 kills at random moments of fits without end. Each draw tells a pipe just before it is
    made. Kills a line that is written after the draw, or left in a buffer, and a line that is lost.
    """
    rng = np.random.default_rng(7)
    drawn, counted = 0, 0
    budget = Budget(file, epsilon=1e9, delta=0.9)

    def endless() -> None:
        listen(Ear(lambda: os.write(told, b".")))
        with budget:
            while True:
                pca().fit(X)

    for _ in range(200):
        heard, told = os.pipe()
        number = child(endless)
        os.close(told)
        time.sleep(float(rng.uniform(0.0, 0.05)))
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        while piece := os.read(heard, 1 << 16):
            drawn += len(piece)
        os.close(heard)
        entries = budget.entries()
        counted = sum(entry.state != "nothing drawn" for entry in entries)
        assert drawn <= counted
    assert counted <= drawn + 200
    assert drawn > 50
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert budget.spent()[0] == counted


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_two_processes_spend_one_cap(file: Path) -> None:
    """Kills a check and a line between which another process can write."""
    budget = Budget(file, epsilon=30.0, delta=0.5)

    def greedy() -> None:
        with budget:
            for _ in range(100):
                try:
                    pca().fit(X)
                except BudgetError:
                    return

    children = [child(greedy), child(greedy)]
    assert [os.waitpid(number, 0)[1] for number in children] == [0, 0]
    assert [entry.state for entry in budget.entries()] == ["drawn"] * 30
    assert budget.spent()[0] == 30.0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_full_disk_is_told_before_anything_is_drawn(file: Path) -> None:
    """Files of the child may not grow by a whole line. Kills a line of which half stays behind."""
    budget = Budget(file, epsilon=3.0, delta=1e-5)
    before = file.read_bytes()

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        most = len(before) + 40
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        with budget, ledger() as book:
            with pytest.raises(BudgetError, match="must be a file that can be written"):
                pca().fit(X)
            assert len(book) == 0

    assert os.waitpid(child(full), 0)[1] == 0
    assert file.read_bytes() == before
    assert budget.spent() == (0.0, 0.0)


def test_no_line_that_breaks_off_counts_less(file: Path) -> None:
    """Every place at which a line can break off: it counts whole, or it is told. Kills a reader
    that leaves out what it cannot read.
    """
    budget = Budget(file, epsilon=30.0, delta=0.5)
    with budget:
        pca().fit(X)
    whole = file.read_bytes()
    head, begun, closed, _ = whole.split(b"\n")
    for cut in range(1, len(begun)):
        file.write_bytes(head + b"\n" + begun[:cut])
        try:
            (entry,) = (budget := Budget(file)).entries()
        except BudgetError as error:
            assert "take it out by hand" in str(error)  # noqa: PT017
            assert b'"delta": 1e-06,' not in begun[:cut]
            continue
        assert (entry.epsilon, entry.delta) == (1.0, 1e-6)
        with budget:
            pca().fit(X)
        assert budget.spent()[0] == 2.0
    for cut in range(len(b'{"entry"'), len(closed)):
        file.write_bytes(head + b"\n" + begun + b"\n" + closed[:cut])
        budget = Budget(file)
        assert budget.spent() == (1.0, 1e-6)
        with budget:
            pca().fit(X)
        assert budget.spent()[0] == 2.0


def test_the_file_states_the_cap(file: Path) -> None:
    with pytest.raises(BudgetError, match="must be a budget that exists, or be given a cap"):
        Budget(file)
    assert not file.exists()
    with pytest.raises(BudgetError, match="stated together"):
        Budget(file, epsilon=1.0)
    with pytest.raises(BudgetError, match="positive where composition is 'gaussian'"):
        Budget(file, epsilon=1.0, delta=0.0, composition="gaussian")
    assert not file.exists()  # a refusal leaves no file
    first = Budget(file, epsilon=1.0, delta=1e-6, table="stay")
    again = Budget(file)
    assert (again.epsilon, again.delta, again.table) == (1.0, 1e-6, "stay")
    assert "epsilon 0 of 1 and delta 0 of 1e-06 spent by 0 releases" in repr(first)
    for wrong in ({"epsilon": 2.0, "delta": 1e-6}, {"table": "x"}, {"composition": "gaussian"}):
        with pytest.raises(BudgetError, match=r"as the budget b\.json states"):
            Budget(file, **wrong)
    file.write_text("{}\n")
    with pytest.raises(BudgetError, match="it is no budget"):
        again.entries()


def entry(epsilon: float, delta: float = 0.0, *, gaussian: bool = False) -> Entry:
    mu = 1.0 / float(gaussian_sigma(epsilon=epsilon, delta=delta)) if gaussian else None
    return Entry(1, "", "", "", epsilon, delta, mu)


def test_each_rule_of_the_gaussian_composition_is_a_filter_of_its_share() -> None:
    """For random entries that are let through, the exact delta of the rectangle that holds them is
    an eighth of the cap's: events and Gaussian releases have a sixteenth each. Kills a rectangle at
    the whole delta, and one whose pure part is not taken off epsilon.
    """
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(400):
        cap, delta = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-9, -3)
        held = [
            entry(cap * rng.uniform(0.01, 0.3), delta / 100, gaussian=True)
            for _ in range(rng.integers(1, 9))
        ]
        held += [
            entry(cap * rng.uniform(0.0, 0.2), float(rng.choice([0.0, delta / 40])))
            for _ in range(rng.integers(0, 4))
        ]
        if len(held) == 1 or not _within_gaussian(held, cap, delta):
            continue
        seen += 1
        mu = float(np.sqrt(sum(e.mu**2 for e in held if e.mu is not None)))
        others = [e for e in held if e.mu is None]
        pure = sum(e.epsilon for e in others)
        assert sum(e.delta for e in others) <= delta / 16
        reserved = np.ceil(pure / (cap / 8) - 1e-12) * cap / 8
        told = gaussian_delta(epsilon=float(cap - reserved), sigma=1.0 / mu)
        assert told <= delta / 16 * (1 + 1e-9)
    assert seen > 80


def test_many_equal_gaussian_releases_cost_as_the_root_of_their_number(file: Path) -> None:
    """Adding lets through 10 of an epsilon of .3 below 3; Gaussian composition over 50. One alone
    may take the whole cap in both.
    """

    def most(within: Any) -> int:
        return next(k for k in range(1, 999) if not within(k * [small], 3.0, 1e-4)) - 1

    small = entry(0.3, 1e-6, gaussian=True)
    assert most(_within_sum) == 10
    assert most(_within_gaussian) > 50
    for within in (_within_sum, _within_gaussian):
        assert within([entry(3.0, 1e-4, gaussian=True)], 3.0, 1e-4)
        assert not within([entry(3.0, 1.01e-4, gaussian=True)], 3.0, 1e-4)
    budget = Budget(file, epsilon=3.0, delta=1e-4, composition="gaussian")
    with budget:
        for _ in range(most(_within_gaussian) - 1):
            pca(epsilon=0.3).fit(X)
    spent, left = budget.spent(), budget.left(delta=1e-6, gaussian=True)
    assert 2.7 < spent[0] < 3.0
    assert spent[1] == 1e-4
    with budget:
        pca(epsilon=left).fit(X)
        with pytest.raises(BudgetError):
            pca(epsilon=0.05).fit(X)
    assert budget.spent()[0] == pytest.approx(3.0, rel=1e-4)
    assert budget.left(delta=1e-6, gaussian=True) < 0.05


def test_exploring_is_no_release_that_a_budget_covers(file: Path) -> None:
    """Its scores are not private: kills one that a budget seems to cover."""
    table = {"x": np.linspace(0, 1, 50), "y": np.linspace(0, 1, 50)}
    with Budget(file, epsilon=1e6, delta=0.4), pytest.raises(BudgetError, match="no budget covers"):
        explore(table, target="y", bounds={"x": (0, 1), "y": (0, 1)})


def test_amounts_are_the_decimals_that_they_are_written_as(file: Path) -> None:
    """Three of .1 are .3, and no fourth of any size fits. Kills sums of floats."""
    budget = Budget(file, epsilon=0.3, delta=3e-6)
    with budget:
        pca(epsilon=0.1).fit(X)
        pca(epsilon=0.1).fit(X)
        assert budget.left(delta=1e-6) == 0.1
        pca(epsilon=budget.left(delta=1e-6)).fit(X)
        assert budget.spent() == (0.3, 3e-6)
        with pytest.raises(BudgetError):
            pca(epsilon=1e-12).fit(X)
    assert budget.left() == 0.0


def test_the_price_of_adaptive_choice_is_as_the_docstring_says() -> None:
    """Of a Gaussian release at its own delta, and at a sixteenth of it. Kills a share that moved,
    or a number that was typed.
    """
    for delta, least, most in ((1e-6, 1.10, 1.18), (1e-4, 1.14, 1.34)):
        for epsilon in (0.1, 1.0, 10.0):
            sigma = gaussian_sigma(epsilon=epsilon, delta=delta)
            assert least <= gaussian_epsilon(sigma=sigma, delta=delta / 16) / epsilon <= most
