"""Handwritten fours and nines: MNIST's training or test images, or scikit-learn's small digits.

Which of them is used is said by ``source``: the training images of the papers where their idx files
are found, else the real test images, else the bundled stand-in.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice
from dplit.notebook.datasets.papers import DataError, cache_folder, find_all

_UBYTE = 0x08

_TRAIN = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")

_TEST = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")

_PREPARED = ("mnist_t10k_4v9.npz",)


@dataclass(frozen=True)
class Digits:
    """Images of fours (label +1) and nines (label -1), in file order.

    Attributes
    ----------
    source : {"paper", "test", "bundled"}
        MNIST's training images, MNIST's test images, or scikit-learn's 8 x 8 digits.
    images : ndarray of shape (n, side, side)
        Pixels scaled to [0, 1].
    labels : ndarray of shape (n,)
        +1 and -1.
    provenance : str
    """

    source: str
    images: NDArray[np.float64]
    labels: NDArray[np.float64]
    provenance: str


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes, packed with gzip or not.

    Parameters
    ----------
    path : Path
        Two zero bytes, the type 0x08, the number of axes, each axis as a big-endian 32-bit integer,
        then the bytes in row-major order; else it is refused by a
        :class:`~dplit.notebook.datasets.DataError`.

    Returns
    -------
    ndarray of uint8
        Of the shape that its header says.
    """
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} must be a whole gzip file: {error}") from error
    if len(content) < 4 or content[:3] != bytes([0, 0, _UBYTE]):
        raise DataError(f"{path} must start with 0x000008, got 0x{content[:3].hex()}")
    axes = content[3]
    start = 4 + 4 * axes
    if axes == 0 or len(content) < start:
        raise DataError(f"{path} must have a header for its {axes} axes")
    shape = struct.unpack(f">{axes}I", content[4:start])
    if len(content) - start != int(np.prod(shape, dtype=np.int64)):
        raise DataError(f"{path} must hold {shape} bytes, got {len(content) - start}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _select(
    images: NDArray[np.uint8], labels: NDArray[np.uint8]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise DataError(
            f"images and labels must have shapes (n, side, side) and (n,), got {images.shape} "
            f"and {labels.shape}"
        )
    chosen = (labels == 4) | (labels == 9)
    return images[chosen] / 255.0, np.where(labels[chosen] == 4, 1.0, -1.0)


def _bundled() -> Digits:
    from sklearn.datasets import load_digits

    data = load_digits()
    chosen = np.isin(data.target, (4, 9))
    return Digits(
        source="bundled",
        images=np.asarray(data.images[chosen] / 16.0),
        labels=np.where(data.target[chosen] == 4, 1.0, -1.0),
        provenance="Digits bundled with scikit-learn (UCI Optical Recognition), a stand-in",
    )


def load_fours_and_nines(source: str = "auto") -> Digits:
    """Return the fours and nines of MNIST, or their stand-in.

    Parameters
    ----------
    source : {"auto", "paper", "bundled"}, default="auto"
        ``"paper"`` requires MNIST's files: the training images where they are found, else the test
        images. ``"auto"`` takes the stand-in where there are neither, ``"bundled"`` always.

    Returns
    -------
    Digits

    Raises
    ------
    DataError
        If a file is damaged, or none is found with ``source="paper"``.

    Examples
    --------
    >>> digits = load_fours_and_nines("bundled")
    >>> digits.images.shape, digits.source
    ((361, 8, 8), 'bundled')
    """
    check_choice("source", source, ("auto", "paper", "bundled"))
    if source == "bundled":
        return _bundled()
    for name, files in (("paper", _TRAIN), ("test", _TEST)):
        paths = find_all(files, "auto")
        if paths is not None:
            images, labels = _select(*(read_idx(path) for path in paths))
            part = "training" if name == "paper" else "test"
            return Digits(name, images, labels, f"MNIST {part} images (LeCun, Cortes, Burges)")
    prepared = find_all(_PREPARED, "auto")
    if prepared is not None:
        with np.load(prepared[0], allow_pickle=False) as held:
            pixels, signs = held["X"], held["y"]
        images = pixels.reshape(len(pixels), 28, 28) / 255.0
        return Digits("test", images, signs.astype(float), "MNIST test images (LeCun et al.)")
    if source == "paper":
        raise DataError(
            f"{', '.join(_TRAIN)} must be in $DPLIT_DATA or in {cache_folder()}: "
            "run `make data` or set DPLIT_DATA"
        )
    return _bundled()
