"""Loader of fours and nines: idx files, the real test images, the stand-in, clear errors."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from dplit.notebook.datasets import digits, papers
from dplit.notebook.datasets.papers import DataError, DataFile

needs_digits = pytest.mark.skipif(
    papers.find_file("mnist_t10k_4v9.npz") is None, reason="the papers' data files are not here"
)


def _idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(np.uint8).tobytes()


def _publish(folder: Path, monkeypatch, kind: str, images: np.ndarray, labels: np.ndarray) -> None:
    """Write a small pair of idx files under MNIST's names, and register their checksums."""
    for part, array in (("images-idx3", images), ("labels-idx1", labels)):
        name = f"{kind}-{part}-ubyte.gz"
        content = gzip.compress(_idx(array))
        (folder / "data" / name).write_bytes(content)
        md5 = hashlib.md5(content).hexdigest()
        monkeypatch.setitem(papers.FILES, name, DataFile(name, "", "", "", md5=md5))


@pytest.mark.claim("proj-fig3")
def test_training_files_are_preferred_and_only_fours_and_nines_are_kept(nowhere, monkeypatch):
    images = np.arange(6 * 28 * 28).reshape(6, 28, 28) % 256
    labels = np.array([4, 0, 9, 9, 3, 4])
    _publish(nowhere, monkeypatch, "train", images, labels)
    _publish(nowhere, monkeypatch, "t10k", images[:1], labels[:1])
    found = digits.load_fours_and_nines("paper")
    assert found.source == "paper"
    assert found.labels.tolist() == [1, -1, -1, 1]
    np.testing.assert_array_equal(found.images, images[[0, 2, 3, 5]] / 255)
    assert "training" in found.provenance


def test_test_files_serve_where_the_training_files_are_missing(nowhere, monkeypatch):
    _publish(nowhere, monkeypatch, "t10k", np.full((2, 28, 28), 51), np.array([9, 4]))
    found = digits.load_fours_and_nines("paper")
    assert (found.source, found.labels.tolist()) == ("test", [-1, 1])
    assert found.images.max() == pytest.approx(0.2)


@needs_digits
@pytest.mark.claim("proj-fig3")
def test_real_test_digits():
    found = digits.load_fours_and_nines("auto")
    if found.source == "paper":
        pytest.skip("the training images are here")
    assert found.source == "test"
    assert found.images.shape == (1991, 28, 28)
    assert (found.labels == 1).sum() == 982  # fours
    assert (found.labels == -1).sum() == 1009
    assert (found.images.min(), found.images.max()) == (0.0, 1.0)


def test_the_stand_in_and_the_errors(nowhere):
    found = digits.load_fours_and_nines("auto")
    assert (found.source, found.images.shape) == ("bundled", (361, 8, 8))
    assert set(found.labels) == {-1.0, 1.0}
    assert found.images.max() == 1.0
    with pytest.raises(DataError, match="make data"):
        digits.load_fours_and_nines("paper")
    with pytest.raises(ValueError, match="source must be one of"):
        digits.load_fours_and_nines("mnist")


def test_idx_files_are_read_plain_or_packed_and_of_any_number_of_axes(tmp_path):
    array = np.arange(24).reshape(2, 3, 4)
    for name, content in (("a", _idx(array)), ("b.gz", gzip.compress(_idx(array)))):
        (tmp_path / name).write_bytes(content)
        np.testing.assert_array_equal(digits.read_idx(tmp_path / name), array)
    (tmp_path / "c").write_bytes(_idx(np.arange(300) % 256))  # sizes above one byte
    assert digits.read_idx(tmp_path / "c").shape == (300,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "must start with 0x000008", id="empty"),
        pytest.param(b"\x00\x00\x0d\x01", "must start with 0x000008", id="floats"),
        pytest.param(b"\x00\x00\x08\x02\x00\x00", "header for its 2 axes", id="cut-header"),
        pytest.param(b"\x00\x00\x08\x00", "header for its 0 axes", id="no-axes"),
        pytest.param(_idx(np.zeros((2, 2)))[:-1], r"must hold \(2, 2\) bytes, got 3", id="cut"),
        pytest.param(gzip.compress(_idx(np.zeros(9)))[:-4], "whole gzip file", id="cut-gzip"),
        pytest.param(gzip.compress(b"")[:10] + b"\xff" * 20, "whole gzip file", id="bad-gzip"),
    ],
)
def test_damaged_idx_files_are_refused_and_named(tmp_path, content, message):
    (tmp_path / "broken").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        digits.read_idx(tmp_path / "broken")
    assert "broken" in str(caught.value)


def test_labels_that_do_not_fit_the_images_are_refused(nowhere, monkeypatch):
    _publish(nowhere, monkeypatch, "train", np.zeros((3, 28, 28)), np.array([4, 9]))
    with pytest.raises(DataError, match="must have shapes"):
        digits.load_fours_and_nines("auto")
