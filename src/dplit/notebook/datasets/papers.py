"""The papers' tables: where they are looked for, and their checksums."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice


class DataError(RuntimeError):
    """A data file is missing where it was required, or is not the published one."""


@dataclass(frozen=True)
class DataFile:
    """A published file: its checksum, address, licence, and its name inside an archive if any.

    Where the publisher gives an MD5 only, ``sha256`` is empty and ``md5`` identifies the file. A
    file without an address is derived from published ones and is not downloaded.
    """

    name: str
    sha256: str
    url: str
    licence: str
    member: str | None = None
    md5: str | None = None

    @property
    def checksum(self) -> tuple[str, str]:
        """Name of the hash that identifies the file, and its value."""
        return ("MD5", self.md5) if self.md5 and not self.sha256 else ("SHA-256", self.sha256)


_WINE_URL = "https://archive.ics.uci.edu/static/public/186/wine+quality.zip"

_MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist"

_MNIST_LICENCE = "LeCun, Cortes, Burges"

_MNIST_MD5 = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}

FILES: dict[str, DataFile] = {
    file.name: file
    for file in (
        DataFile(
            "insurance.csv",
            "388eff679557d08ac19f463d025de5e0b4adc482537c8456d19934d78621fd47",
            "https://raw.githubusercontent.com/liaochunyang/DPRFM/main/Dataset/insurance.csv",
            "Open Database License",
        ),
        DataFile(
            "winequality-red.csv",
            "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
            _WINE_URL,
            "CC BY 4.0",
            member="winequality-red.csv",
        ),
        DataFile(
            "winequality-white.csv",
            "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
            _WINE_URL,
            "CC BY 4.0",
            member="winequality-white.csv",
        ),
        DataFile(
            "mnist_t10k_4v9.npz",
            "9ed41a1b2754120795433fdb6f71730113e5f9e994ee0b267ea2d38b1527c00c",
            "",
            _MNIST_LICENCE,
        ),
        *(
            DataFile(name, "", f"{_MNIST_URL}/{name}", _MNIST_LICENCE, md5=md5)
            for name, md5 in _MNIST_MD5.items()
        ),
    )
}

_loaded: dict[str, str] = {}


@dataclass(frozen=True)
class Dataset:
    """A regression data set in file order.

    Attributes
    ----------
    name : str
        ``"medical"`` or ``"wine"``.
    source : {"paper", "bundled"}
        The paper's data, or the stand-in that scikit-learn bundles.
    numeric : ndarray of shape (n, p)
        Numeric columns, unscaled.
    numeric_names : tuple of str
    categorical : mapping of str to ndarray of shape (n,)
        Categorical columns as text.
    target : ndarray of shape (n,)
    target_name : str
    provenance : str
        Source, licence and checksums in one line.
    """

    name: str
    source: str
    numeric: NDArray[np.float64]
    numeric_names: tuple[str, ...]
    categorical: Mapping[str, NDArray[np.str_]]
    target: NDArray[np.float64]
    target_name: str
    provenance: str
    checksum: str = field(default="")


def cache_folder() -> Path:
    """Return the folder that ``make data`` fills: ``$DPLIT_CACHE`` or the user's cache."""
    if os.environ.get("DPLIT_CACHE"):
        return Path(os.environ["DPLIT_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dplit"


def loaded_files() -> dict[str, str]:
    """Return the names and checksums of the data files that this process has read."""
    return dict(_loaded)


def _verified(path: Path, file: DataFile) -> bytes:
    content = path.read_bytes()
    kind, expected = file.checksum
    hashed = hashlib.md5 if kind == "MD5" else hashlib.sha256  # against damage, not attacks
    checksum = hashed(content).hexdigest()
    if checksum != expected:
        cure = "and run `make data`" if file.url else "(`make data` does not fetch it)"
        raise DataError(
            f"{path} must have {kind} {expected}, got {checksum}: the file is damaged or is "
            f"another version; remove it {cure}"
        )
    return content


def _folders() -> list[Path]:
    """Return where files are looked for; a folder that was named and is not there is an error."""
    given = os.environ.get("DPLIT_DATA")
    if given and not Path(given).is_dir():
        raise DataError(f"DPLIT_DATA must name a folder, got DPLIT_DATA={given!r}")
    return [*([Path(given)] if given else []), cache_folder()]


def find_file(name: str) -> Path | None:
    """Return the path of a data file, checked by its checksum, or None where it is missing.

    A wrong checksum, or a ``$DPLIT_DATA`` that is no folder, is a :class:`DataError`.
    """
    file = FILES[name]
    for folder in _folders():
        path = folder / name
        if path.is_file():
            _verified(path, file)
            _loaded[name] = file.checksum[1]
            return path
    return None


def find_all(names: tuple[str, ...], source: str) -> list[Path] | None:
    """Return the paths of all named files, or None where the stand-in is wanted or needed.

    A damaged file is a :class:`DataError`, and so is a missing one with ``source="paper"``.
    """
    check_choice("source", source, ("auto", "paper", "bundled"))
    if source == "bundled":
        return None
    paths = [find_file(name) for name in names]
    found = [path for path in paths if path is not None]
    if len(found) == len(names):
        return found
    if source == "paper":
        missing = [name for name, path in zip(names, paths, strict=True) if path is None]
        raise DataError(
            f"{', '.join(missing)} must be in $DPLIT_DATA or in {cache_folder()}: "
            "run `make data` or set DPLIT_DATA"
        )
    return None


def _read_rows(path: Path, delimiter: str) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf8") as stream:
        rows = list(csv.reader(stream, delimiter=delimiter))
    return rows[0], rows[1:]


def _diabetes(name: str) -> Dataset:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    names = list(data.feature_names)
    sex = names.index("sex")
    keep = [i for i in range(len(names)) if i != sex]
    return Dataset(
        name=name,
        source="bundled",
        numeric=np.ascontiguousarray(data.data[:, keep]),
        numeric_names=tuple(names[i] for i in keep),
        categorical={"sex": np.where(data.data[:, sex] == 1, "1", "2")},
        target=np.asarray(data.target, dtype=float),
        target_name="disease progression",
        provenance="Diabetes data bundled with scikit-learn (Efron et al. 2004), a stand-in",
    )


def load_medical(source: str = "auto") -> Dataset:
    """Return the medical cost data (1338 records, charges in dollars), or its stand-in.

    Parameters
    ----------
    source : {"auto", "paper", "bundled"}, default="auto"
        ``"paper"`` requires the file, ``"bundled"`` takes the stand-in, ``"auto"`` takes the
        paper's file where it is found.

    Raises
    ------
    DataError
        If the file is damaged, or missing with ``source="paper"``.
    """
    paths = find_all(("insurance.csv",), source)
    if paths is None:
        return _diabetes("medical")
    header, rows = _read_rows(paths[0], ",")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    numeric = ("age", "bmi", "children")
    return Dataset(
        name="medical",
        source="paper",
        numeric=np.array([columns[name] for name in numeric], dtype=float).T.copy(),
        numeric_names=numeric,
        categorical={name: np.array(columns[name]) for name in ("sex", "smoker", "region")},
        target=np.array(columns["charges"], dtype=float),
        target_name="charges",
        provenance="Medical Cost Personal Datasets (Lantz 2013), Open Database License",
        checksum=FILES["insurance.csv"].sha256,
    )


def load_wine(source: str = "auto") -> Dataset:
    """Return the wine quality data (1599 red, then 4898 white), or its stand-in.

    Parameters and errors are those of :func:`load_medical`. The categorical column is ``colour``.
    """
    names = ("winequality-red.csv", "winequality-white.csv")
    paths = find_all(names, source)
    if paths is None:
        return _diabetes("wine")
    tables, colours = [], []
    for path, colour in zip(paths, ("red", "white"), strict=True):
        header, rows = _read_rows(path, ";")
        tables.append(np.array(rows, dtype=float))
        colours += [colour] * len(rows)
    table = np.vstack(tables)
    return Dataset(
        name="wine",
        source="paper",
        numeric=table[:, :-1].copy(),
        numeric_names=tuple(header[:-1]),
        categorical={"colour": np.array(colours)},
        target=table[:, -1].copy(),
        target_name="quality",
        provenance="Wine Quality (Cortez et al. 2009), doi 10.24432/C56S3T, CC BY 4.0",
        checksum=" ".join(FILES[name].sha256 for name in names),
    )


def _store(content: bytes, file: DataFile, folder: Path) -> Path:
    """Write a checked file whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{file.name}.", delete=False) as part:
        temporary = Path(part.name)
        try:
            part.write(content)
            part.flush()
            _verified(temporary, file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    temporary.replace(folder / file.name)
    return folder / file.name


def download(folder: Path | None = None) -> list[Path]:
    """Download every missing data file, check and store it (extra ``data``); return the paths.

    Parameters
    ----------
    folder : Path, optional
        Where the files go; by default :func:`cache_folder`.

    Raises
    ------
    DataError
        If a file cannot be fetched, or does not have its published checksum: it is not kept then.
    """
    try:
        import pooch
    except ImportError as error:
        raise ImportError("downloading data needs pooch: pip install 'dplit[data]'") from error
    target = folder or cache_folder()
    target.mkdir(parents=True, exist_ok=True)
    stored = []
    with tempfile.TemporaryDirectory() as scratch:
        for file in FILES.values():
            if not file.url:
                continue
            path = target / file.name
            if path.is_file():
                _verified(path, file)
            else:
                try:
                    fetched = pooch.retrieve(file.url, known_hash=None, path=scratch)
                except OSError as error:  # requests' errors are, too
                    raise DataError(
                        f"{file.url} cannot be fetched: {error}. With files of your own, set "
                        "DPLIT_DATA to the folder that has them"
                    ) from error
                path = _store(_member(Path(fetched).read_bytes(), file), file, target)
            stored.append(path)
    return stored


def _member(raw: bytes, file: DataFile) -> bytes:
    """Return the file's own bytes: what was downloaded, or its part of an archive."""
    if file.member is None:
        return raw
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return archive.read(file.member)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
        raise DataError(f"{file.url} must be a zip file with {file.member}: {error}") from error


def _main() -> int:
    """Download the data files into the cache, print where they are and return an exit code."""
    try:
        for path in download():
            print(path)
    except (DataError, ImportError, OSError) as error:
        print(f"dplit: {error}", file=sys.stderr)
        return 1
    return 0
