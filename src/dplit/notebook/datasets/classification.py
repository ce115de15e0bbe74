"""Six classification problems with kernels, scaled by public constants only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from dplit._checks import Array, check_choice
from dplit.notebook.datasets.digits import load_fours_and_nines

#: Lowest and highest value of the thirty measurements of the breast cancer data (UCI, Wolberg et
#: al.), rounded by us and taken as public; values outside are clipped.
_MEAN = (
    [5, 8, 40, 100, 0.05, 0, 0, 0, 0.1, 0.05],
    [25, 35, 170, 2000, 0.15, 0.3, 0.4, 0.2, 0.3, 0.1],
)

_ERROR = ([0] * 10, [1.5, 3, 10, 150, 0.015, 0.1, 0.15, 0.03, 0.05, 0.01])

_WORST = (
    [5, 10, 50, 150, 0.05, 0, 0, 0, 0.1, 0.05],
    [35, 45, 220, 3500, 0.2, 1, 1, 0.3, 0.5, 0.15],
)

CANCER_RANGES: Array = np.hstack([np.array(part, float) for part in (_MEAN, _ERROR, _WORST)])

#: Width, margin and norm bound of every problem, all fixed before any run.
PROBLEMS: dict[str, tuple[float, float, float]] = {
    "moons": (2.0, 1.0, 5.0),
    "breast cancer": (0.1, 0.3, 1.0),
    "digits 4/9": (1.0, 0.3, 1.0),
    "digits 3/8": (1.0, 0.3, 1.0),
    "digits even/odd": (2.0, 0.3, 2.0),
    "MNIST 4/9": (2.0, 0.3, 2.0),
}


@dataclass(frozen=True)
class KernelProblem:
    """Records, labels and the settings of the learner.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, d)
        Scaled by public constants, row by row.
    y : ndarray of shape (n,)
        Labels -1 and 1.
    gamma, margin, weight_norm : float
        Of the kernel ``exp(-gamma ||x - x'||^2)``, the hinge loss and the ball.
    source : str
        ``"synthetic"``, ``"bundled"`` (with scikit-learn), ``"test"`` or ``"paper"`` (MNIST).
    """

    name: str
    X: Array
    y: Array
    gamma: float
    margin: float
    weight_norm: float
    source: str


def _unit(X: Array) -> Array:
    rows: Array = X / np.linalg.norm(X, axis=1, keepdims=True)
    return rows


def _records(name: str, rng: np.random.Generator, source: str) -> tuple[Array, Array, str]:
    from sklearn import datasets

    if name == "moons":
        seed = int(rng.integers(2**31))
        X, labels = datasets.make_moons(3000, noise=0.2, random_state=seed)
        return X, 2.0 * labels - 1.0, "synthetic"
    if name == "breast cancer":
        data = datasets.load_breast_cancer()
        low, high = CANCER_RANGES
        scaled = np.clip(2.0 * (data.data - low) / (high - low) - 1.0, -1.0, 1.0)
        return scaled, 2.0 * data.target - 1.0, "bundled"
    if name == "MNIST 4/9":
        digits = load_fours_and_nines(source)
        images = digits.images.reshape(len(digits.images), -1)
        return _unit(images), digits.labels, digits.source
    data = datasets.load_digits()
    pixels = data.data / 16.0
    if name == "digits even/odd":
        return _unit(pixels), np.where(data.target % 2 == 0, 1.0, -1.0), "bundled"
    first, second = (int(digit) for digit in name.removeprefix("digits ").split("/"))
    chosen = np.isin(data.target, (first, second))
    return _unit(pixels[chosen]), np.where(data.target[chosen] == first, 1.0, -1.0), "bundled"


def kernel_problem(name: str, *, rng: np.random.Generator, source: str = "auto") -> KernelProblem:
    """Return one of the six problems.

    Parameters
    ----------
    name : str
        A key of ``PROBLEMS``.
    rng : numpy.random.Generator
        Source of the synthetic records; the others use none.
    source : {"auto", "paper", "bundled"}, default="auto"
        For MNIST, see :func:`dplit.notebook.datasets.load_fours_and_nines`.

    Returns
    -------
    KernelProblem

    Notes
    -----
    Digits: pixels in [0, 1], rows of unit norm, which is a map of each record alone. Breast cancer:
    clipped to fixed ranges and scaled to [-1, 1]; no mean of the data is used.

    Examples
    --------
    >>> kernel_problem("digits 4/9", rng=np.random.default_rng(0)).X.shape
    (361, 64)
    """
    gamma, margin, weight_norm = PROBLEMS[check_choice("name", name, PROBLEMS)]
    X, y, found = _records(name, rng, source)
    return KernelProblem(name, X, y, gamma, margin, weight_norm, found)


def scaled_table(name: str) -> tuple[Array, Array]:
    """Load a bundled table with columns scaled to [-1, 1] and a standardised response.

    Parameters
    ----------
    name : {"breast_cancer", "diabetes"}
        scikit-learn's table.

    Returns
    -------
    X : ndarray of shape (n, d)
        Every column has the minimum -1 and the maximum 1. (A private pipeline would need public
        limits; an audit of a release does not.)
    y : ndarray of shape (n,)

    Examples
    --------
    >>> X, y = scaled_table("diabetes")
    >>> X.shape, float(X.min()), float(X.max())
    ((442, 10), -1.0, 1.0)
    """
    check_choice("name", name, ("breast_cancer", "diabetes"))
    loader = load_breast_cancer if name == "breast_cancer" else load_diabetes
    X, y = loader(return_X_y=True)
    low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray(2 * (X - low) / (high - low) - 1), np.asarray((y - y.mean()) / y.std())


#: Largest values declared for the ten measurements of the cancer data, means, errors and worst.
_LARGEST = np.array([40, 50, 250, 4000, 0.25, 0.5, 0.5, 0.25, 0.5, 0.1])


def scaled_classes(name: str) -> tuple[Array, Array]:
    """Return the records of a bundled data set, scaled by declared constants, and labels -1, +1.

    Parameters
    ----------
    name : {"cancer", "digits"}
        Breast cancer (569 records, benign +1) or the digits 4 (-1) against 9 (+1), 361 records.

    Returns
    -------
    X : ndarray of shape (n, d)
        Measurements divided by round numbers declared beforehand and clipped to [0, 1], or pixels
        divided by 16.
    y : ndarray of shape (n,)

    Examples
    --------
    >>> X, y = scaled_classes("digits")
    >>> X.shape, float(X.max())
    ((361, 64), 1.0)
    """
    if check_choice("name", name, ("cancer", "digits")) == "cancer":
        X, labels = load_breast_cancer(return_X_y=True)
        scaled = np.clip(X / np.concatenate([_LARGEST, _LARGEST / 5.0, _LARGEST]), 0.0, 1.0)
        return scaled, np.where(labels == 1, 1.0, -1.0)
    X, labels = load_digits(return_X_y=True)
    kept = np.isin(labels, (4, 9))
    return X[kept] / 16.0, np.where(labels[kept] == 9, 1.0, -1.0)
