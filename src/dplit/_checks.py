"""Argument checks whose messages name the argument, the rule and the offending value."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Real numbers in double precision.
Array = NDArray[np.float64]

# What neighbours are: one data set has a record more, or one record is exchanged for another.
Neighboring = Literal["add_remove", "replace_one"]

_LARGEST_INTEGER = 2**63 - 1


def _real(name: str, value: object) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {name}={value!r}")
    try:
        number = float(value)
    except OverflowError as error:  # integers and fractions have no largest value
        raise ValueError(f"{name} must fit into a float64, got {name} beyond 1e308") from error
    if math.isnan(number):
        raise ValueError(f"{name} must not be NaN, got {name}={value!r}")
    return number


def check_positive(name: str, value: object, *, infinite: bool = False) -> float:
    """Return ``value`` as a float in (0, inf), or in (0, inf] with ``infinite=True``."""
    number = _real(name, value)
    if number <= 0 or (math.isinf(number) and not infinite):
        rule = "positive" if infinite else "positive and finite"
        raise ValueError(f"{name} must be {rule}, got {name}={value!r}")
    return number


def check_at_least(name: str, value: object, low: float) -> float:
    """Return ``value`` as a float in [low, inf), for a positive ``low``."""
    number = check_positive(name, value)
    if number < low:
        raise ValueError(f"{name} must be at least {low:g}, got {name}={value!r}")
    return number


def check_between(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float in [low, high], for a positive ``low``."""
    number = check_positive(name, value)
    if not low <= number <= high:
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {name}={value!r}")
    return number


def check_scale(name: str, value: object) -> float:
    """Return a length, penalty or rate as a float in [1e-50, 1e50].

    Squares, products and quotients of two of them are floats, also times a number of records.
    """
    return check_between(name, value, 1e-50, 1e50)


def check_epsilon(value: object, name: str = "epsilon") -> float:
    """Return the budget of an estimator as a float in [1e-50, 1e20].

    Squares of the noise, which grows as 1 / epsilon, are floats; Gaussian noise is calibrated up to
    1e20.
    """
    return check_between(name, value, 1e-50, 1e20)


def check_nonnegative(name: str, value: object) -> float:
    """Return ``value`` as a float in [0, inf)."""
    number = _real(name, value)
    if number < 0 or math.isinf(number):
        raise ValueError(f"{name} must be nonnegative and finite, got {name}={value!r}")
    return number


def check_probability(name: str, value: object, *, zero: bool = False, one: bool = False) -> float:
    """Return ``value`` as a float in (0, 1), with the ends that ``zero`` and ``one`` admit."""
    number = _real(name, value)
    low = number > 0 or (zero and number == 0)
    high = number < 1 or (one and number == 1)
    if not (low and high):
        rule = f"in {'[' if zero else '('}0, 1{']' if one else ')'}"
        raise ValueError(f"{name} must be {rule}, got {name}={value!r}")
    return number


def check_delta(delta: float) -> float:
    """Return a delta in [0, 1/2)."""
    number = check_probability("delta", delta, zero=True)
    if number >= 0.5:
        raise ValueError(f"delta must be below 1/2, got delta={delta!r}")
    return number


def check_interval(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float in the open interval (low, high)."""
    number = _real(name, value)
    if not low < number < high:
        raise ValueError(f"{name} must be in ({low:g}, {high:g}), got {name}={value!r}")
    return number


def check_integer(name: str, value: object, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int from ``minimum`` to ``maximum``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {name}={value!r}")
    if abs(int(value)) > _LARGEST_INTEGER:  # its text may be too long to form
        raise ValueError(f"{name} must be below 2**63, got {int(value).bit_length()} bits")
    if int(value) < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {name}={value!r}")
    if maximum is not None and int(value) > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {name}={value!r}")
    return int(value)


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False: a text such as "no" would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {name}={value!r}")
    return bool(value)


def check_callable(name: str, value: object) -> None:
    """Refuse ``value`` if it cannot be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {name}={value!r}")


def check_iterable(name: str, value: object) -> Iterator[Any]:
    """Return an iterator over ``value``."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
        raise TypeError(f"{name} must be an iterable of numbers, got a {type(value).__name__}")
    return iter(value)


def check_choice(name: str, value: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {sorted(choices)}, got {name}={value!r}")
    return value


def check_neighboring(value: str) -> Neighboring:
    """Return ``value`` if it names one of the two neighbouring relations."""
    check_choice("neighboring", value, get_args(Neighboring))
    return value  # type: ignore[return-value]


def check_rng(rng: object) -> np.random.Generator:
    """Return ``rng`` if it is a :class:`numpy.random.Generator`; seeds are refused."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, got rng={rng!r}")
    return rng


class NoiseWarning(UserWarning):
    """Public numbers say that the noise drowns what is learnt: expect no better than a constant.

    >>> import warnings
    >>> from dplit import NoiseWarning, NoisyGradientRegressor
    >>> model = NoisyGradientRegressor(epsilon=0.01, data_norm=1.0, bounds=(-1.0, 1.0))
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = model.fit(np.ones((20, 1)), np.ones(20))
    >>> [warning.category is NoiseWarning for warning in told]
    [True]
    """


def warn_of_noise(message: str) -> None:
    """Warn that the noise drowns what is learnt; a function of public numbers or of releases."""
    warn_caller(message, NoiseWarning)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of public numbers, at the line that called the package, through whatever is between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _WITHIN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


#: Where a call of the package still is: decorators of NumPy and Python, pipelines.
_WITHIN = {"dplit", "numpy", "contextlib", "functools", "sklearn"}

#: Decorates releases: a user's own setting of floating-point errors would tell of a record.
quiet = np.errstate(all="ignore")

#: What numbers beyond the floats count as: integers, decimals and long doubles can be larger.
_LARGEST_NUMBER = sys.float_info.max


def as_number(value: Any) -> float | complex:
    """Return one entry of a container as a float, or as a complex number if it is one.

    Dates and durations are none, although NumPy's can be counted in nanoseconds.
    """
    if isinstance(value, (np.datetime64, np.timedelta64)):
        raise TypeError("dates and durations are no numbers")
    if isinstance(value, (complex, np.complexfloating)):
        return complex(as_number(value.real), as_number(value.imag))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isinf(number) and value != number:
        return math.copysign(_LARGEST_NUMBER, number)
    return number


def as_numbers(name: str, value: Any) -> NDArray[Any]:
    """Return records, labels or other numbers as an array of NumPy's numbers, each by itself.

    Lists, arrays of objects and long doubles hold numbers beyond the floats; they count as the
    largest float with their sign, so that one record neither raises nor warns nor changes the
    others. An entry that is no number is an error, as NaN is.
    """
    try:
        array = np.asarray(value)
    except (OverflowError, TypeError):  # some integers beside floats, dates beside numbers
        array = np.asarray(value, dtype=object)
    except ValueError as error:  # ragged nested lists
        raise ValueError(f"{name} must be a rectangular array: {error}") from error
    if array.dtype.kind == "O":
        try:
            numbers = np.array([as_number(entry) for entry in array.ravel().tolist()])
        except TypeError as error:
            raise TypeError(
                f"{name} must be numeric, got {name} of dtype object: {error}"
            ) from error
        except ValueError:  # its text would quote the entry
            raise TypeError(f"{name} must be numeric, got {name} of dtype object") from None
        array = numbers.reshape(array.shape)
    if array.dtype.kind in "fc" and array.real.dtype.itemsize > 8:
        parts = np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array[None]
        inside = np.where(
            np.isfinite(parts), np.clip(parts, -_LARGEST_NUMBER, _LARGEST_NUMBER), parts
        )
        with np.errstate(all="ignore"):
            inside = inside.astype(np.float64)
        array = inside[0] + 1j * inside[1] if array.dtype.kind == "c" else inside[0]
    if array.dtype.kind not in "biufc":
        kind = array.dtype.type.__name__  # without a length, which is that of the longest entry
        raise TypeError(f"{name} must be numeric, got {name} of dtype {kind}")
    return array


def check_finite_array(name: str, value: Any, *, ndim: int | None = None) -> NDArray[Any]:
    """Return ``value`` as a nonempty numeric array without NaN or infinity, of ``ndim`` axes."""
    array = as_numbers(name, value)
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} axes, got {name} of shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got {name} of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {name} with NaN or infinite entries")
    return array


def check_real_array(
    name: str, value: ArrayLike, ndim: int | None = None, *, copy: bool = True
) -> Array:
    """Return ``value`` as a finite array in float64; a complex one is refused by its name."""
    array = check_finite_array(name, value, ndim=ndim)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
    return array.astype(np.float64, copy=copy)


def check_angles(
    X: NDArray[Any], frequencies: NDArray[Any], dtype: np.dtype[Any] | type = np.float64
) -> None:
    """Refuse records (n, d) and frequencies (d, m) whose inner products could overflow ``dtype``.

    The bound is ``max |x| * max_j ||omega_j||_1``.
    """
    largest = max(float(X.max()), -float(X.min()))
    with np.errstate(over="ignore"):
        length = float(np.abs(frequencies).sum(axis=0).max())
    limit = float(np.finfo(dtype).max)
    if not largest * length <= limit:
        raise ValueError(
            f"inner products of records and frequencies must stay below {limit:.2g}, "
            f"got records that are too large for frequencies of l1 norm up to {length:.2g}"
        )
