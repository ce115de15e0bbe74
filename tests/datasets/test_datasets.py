"""The data loaders: shapes and facts of the real files, checksums, stand-ins, downloads."""

from __future__ import annotations

import hashlib
import http.server
import runpy
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dplit.notebook.datasets import papers
from dplit.notebook.datasets.papers import DataError, DataFile

USED = [name for name, file in papers.FILES.items() if file.sha256]
HAVE_DATA = all(papers.find_file(name) is not None for name in USED)
needs_data = pytest.mark.skipif(not HAVE_DATA, reason="the papers' data files are not here")


@needs_data
def test_medical_is_the_published_file():
    data = papers.load_medical("paper")
    assert (data.source, data.numeric.shape, data.target.shape) == ("paper", (1338, 3), (1338,))
    assert data.numeric[0].tolist() == [19.0, 27.9, 0.0]
    assert data.target[0] == 16884.924
    assert {k: len(set(v)) for k, v in data.categorical.items()} == {
        "sex": 2,
        "smoker": 2,
        "region": 4,
    }
    assert "insurance.csv" in papers.loaded_files()


@needs_data
def test_wine_is_red_then_white():
    data = papers.load_wine("paper")
    assert data.numeric.shape == (6497, 11)
    assert (data.categorical["colour"][:1599] == "red").all()
    assert (data.categorical["colour"][1599:] == "white").all()
    assert data.numeric_names[0] == "fixed acidity"
    assert set(np.unique(data.target)) <= set(range(11))


@pytest.mark.parametrize("load", [papers.load_medical, papers.load_wine])
def test_missing_files_give_the_stand_in_or_an_error(nowhere: Path, load):
    data = load("auto")
    assert data.source == "bundled"
    assert data.numeric.shape == (442, 9)
    assert set(data.categorical["sex"]) == {"1", "2"}
    with pytest.raises(DataError, match="make data"):
        load("paper")
    with pytest.raises(ValueError, match="source must be one of"):
        load("mine")


def test_the_stand_in_is_taken_when_asked_for_even_where_the_files_are():
    assert papers.load_medical("bundled").source == "bundled"


def test_a_damaged_file_is_refused_and_named(nowhere: Path):
    (nowhere / "data/insurance.csv").write_text("age,charges\n1,2\n")
    with pytest.raises(DataError, match="SHA-256") as caught:
        papers.load_medical("auto")
    assert "insurance.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("insurance.csv", "remove it and run `make data`"),
        ("mnist_t10k_4v9.npz", r"remove it \(`make data` does not fetch it\)"),
    ],
)
def test_the_cure_of_a_damaged_file_is_one_that_works(nowhere: Path, name: str, cure: str):
    (nowhere / "data" / name).write_bytes(b"damaged")
    with pytest.raises(DataError, match=f"{name} must have .*{cure}"):
        papers.find_file(name)


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_data_folder_that_is_none_is_an_error_and_no_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    place = tmp_path / "nope"
    if kind == "file":
        place.write_text("")
    monkeypatch.setenv("DPLIT_DATA", str(place))
    for load in (papers.load_medical, papers.load_wine):
        with pytest.raises(DataError, match=f"DPLIT_DATA must name a folder, got .*{place}"):
            load("auto")
    assert papers.load_medical("bundled").source == "bundled"


def test_the_data_folder_comes_before_the_cache(nowhere: Path, monkeypatch):
    content = b"x"
    file = DataFile("x.csv", hashlib.sha256(content).hexdigest(), "", "")
    monkeypatch.setitem(papers.FILES, "x.csv", file)
    (nowhere / "cache").mkdir()
    (nowhere / "cache/x.csv").write_bytes(content)
    assert papers.find_file("x.csv") == nowhere / "cache/x.csv"
    (nowhere / "data/x.csv").write_bytes(content)
    assert papers.find_file("x.csv") == nowhere / "data/x.csv"


def test_the_cache_follows_the_environment(monkeypatch, tmp_path: Path):
    monkeypatch.delenv("DPLIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert papers.cache_folder() == tmp_path / "dplit"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert papers.cache_folder().name == "dplit"


@pytest.fixture
def server(tmp_path: Path):
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=str(folder), **kwargs)

        def log_message(self, *args):
            return None

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


@pytest.fixture
def published(server, monkeypatch):
    folder, address = server
    plain, packed = b"a,b\n1,2\n", b"c;d\n3;4\n"
    (folder / "plain.csv").write_bytes(plain)
    with zipfile.ZipFile(folder / "both.zip", "w") as archive:
        archive.writestr("packed.csv", packed)
    files = {
        "plain.csv": DataFile(
            "plain.csv", hashlib.sha256(plain).hexdigest(), f"{address}/plain.csv", ""
        ),
        "packed.csv": DataFile(
            "packed.csv",
            hashlib.sha256(packed).hexdigest(),
            f"{address}/both.zip",
            "",
            member="packed.csv",
        ),
    }
    monkeypatch.setattr(papers, "FILES", files)
    return folder


def test_downloads_are_checked_and_stored(published: Path, nowhere: Path, capsys):
    pytest.importorskip("pooch")
    assert papers._main() == 0
    assert (nowhere / "cache/plain.csv").read_bytes() == b"a,b\n1,2\n"
    assert (nowhere / "cache/packed.csv").read_bytes() == b"c;d\n3;4\n"
    assert "packed.csv" in capsys.readouterr().out
    (published / "plain.csv").unlink()
    assert len(papers.download()) == 2  # nothing is fetched again


def test_a_file_with_an_md5_only_is_checked_and_recorded_by_it(nowhere: Path, monkeypatch):
    content = b"idx"
    good = hashlib.md5(content).hexdigest()
    monkeypatch.setitem(papers.FILES, "x.gz", DataFile("x.gz", "", "", "", md5=good))
    (nowhere / "data/x.gz").write_bytes(content)
    assert papers.find_file("x.gz") == nowhere / "data/x.gz"
    assert papers.loaded_files()["x.gz"] == good
    (nowhere / "data/x.gz").write_bytes(b"other")
    with pytest.raises(DataError, match=f"MD5 {good}"):
        papers.find_file("x.gz")


def test_a_derived_file_without_an_address_is_not_downloaded(nowhere: Path, monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.setattr(papers, "FILES", {"y.npz": DataFile("y.npz", "0" * 64, "", "")})
    assert papers.download() == []


@pytest.mark.parametrize("fault", ["no zip", "cut", "another zip"])
def test_a_bad_archive_is_named_and_leaves_nothing(published: Path, nowhere: Path, fault: str):
    pytest.importorskip("pooch")
    archive = published / "both.zip"
    if fault == "another zip":
        with zipfile.ZipFile(archive, "w") as other:
            other.writestr("other.csv", b"")
    else:
        archive.write_bytes(b"<html>" if fault == "no zip" else archive.read_bytes()[:40])
    with pytest.raises(DataError, match=r"both.zip must be a zip file with packed\.csv"):
        papers.download()
    assert [path.name for path in (nowhere / "cache").iterdir()] == ["plain.csv"]


def test_without_a_network_one_line_says_so(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Nobody listens at port 9 of this machine; kills a traceback and an exit code of 0."""
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch.get_logger(), "disabled", True)  # it holds an older test's stderr
    address = "http://127.0.0.1:9/far.csv"
    monkeypatch.setattr(papers, "FILES", {"far.csv": DataFile("far.csv", "0", address, "")})
    monkeypatch.delitem(
        sys.modules, "dplit.notebook.datasets.__main__", raising=False
    )  # if a test read it
    with pytest.raises(SystemExit) as ended:  # what `make data` runs
        runpy.run_module("dplit.notebook.datasets", run_name="__main__")
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert f"dplit: {address} cannot be fetched" in told.err
    assert "Traceback" not in told.err


def test_a_wrong_download_leaves_nothing_behind(published: Path, nowhere: Path):
    pytest.importorskip("pooch")
    (published / "plain.csv").write_bytes(b"something else")
    with pytest.raises(DataError, match="SHA-256"):
        papers.download()
    assert list((nowhere / "cache").iterdir()) == []
