"""What an observer sees of one run: numbers, texts, warnings, errors, attributes, bytes."""

from __future__ import annotations

import contextlib
import copy
import gc
import hashlib
import io
import pickle
import re
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

_Release = Callable[[tuple[Any, ...], np.random.Generator], Any]


#: What was seen in one run: a text for every channel.
_Seen = dict[str, str]


_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?\d+(\.\d*)?(e[-+]?\d+)?j?(?![\w.])|[-+]?\d*\.\d+(e[-+]?\d+)?j?"
)


_FLOAT = re.compile(r"\bnan\b|\binf\b|(\d+\.\d*|\.\d+|\d+(?=e[-+]?\d))(e[-+]?\d+)?j?")


_SIGNS = re.compile(r"[\s,+-]+")


#: Texts in which numbers are masked where the caller says that noise covers them.
_TEXTS = {
    "exception": "exception",
    "traceback": "exception",
    "warning texts": "warnings",
    "printed": "printed",
}


_ARRAYS = (np.ndarray, np.generic, float, complex)


_NUMBERS = (int, float, complex)


_NAMED = (bool, str, bytes, type, types.ModuleType, type(None))


def _state(item: Any) -> Mapping[str, Any]:
    """Return what an object holds: attributes, items, closures, frames; nothing is called."""
    if isinstance(item, Mapping):
        return {f"[{key!r}]": value for key, value in item.items()}
    if isinstance(item, np.ndarray):
        base = {} if item.base is None else {".base": item.base}
        return base | ({"[:]": item.ravel().tolist()} if item.dtype.kind == "O" else {})
    if isinstance(item, (set, frozenset)):
        item = sorted(item, key=repr)
    if isinstance(item, tuple) and hasattr(item, "_asdict"):
        return {f".{name}": value for name, value in item._asdict().items()}
    if isinstance(item, (list, tuple)):
        return {f"[{index}]": value for index, value in enumerate(item)}
    if isinstance(item, np.random.Generator):
        return {".state": item.bit_generator.state}
    if isinstance(item, types.FunctionType):
        cells = [cell.cell_contents for cell in item.__closure__ or () if cell != types.CellType()]
        return {".closure": cells, ".defaults": [item.__defaults__, item.__kwdefaults__]}
    if isinstance(item, types.GeneratorType):
        return {".frame": {} if item.gi_frame is None else dict(item.gi_frame.f_locals)}
    if isinstance(item, types.MethodType):
        return {".__self__": item.__self__, ".__func__": item.__func__}
    slots = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(item, "__dict__", {}), *(name for name in slots if hasattr(item, name))]
    if names:
        return {f".{name}": getattr(item, name) for name in names if name != "__dict__"}
    return {f"<{index}>": value for index, value in enumerate(gc.get_referents(item))}


def _leaves(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield every object that is reachable from a released one, with its path."""
    plain = (*_NAMED, *_NUMBERS, np.generic)
    seen: dict[int, Any] = {}  # the objects are kept, so that no number is used twice
    stack = [("", root)]
    while stack:
        path, item = stack.pop()
        if not isinstance(item, plain) and id(item) in seen:
            continue
        seen[id(item)] = item
        yield path.lstrip("."), item
        if not isinstance(item, (*plain, types.BuiltinFunctionType, np.ufunc, np.dtype)):
            stack += [(path + name, value) for name, value in _state(item).items()]


def _token(item: Any, noised: bool) -> str:
    """Return what an observer may know of one object: of a noised one not the numbers."""
    kind = type(item).__qualname__
    if isinstance(item, (np.ndarray, np.generic)):
        array = np.asarray(item)
        order = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "strided"
        kind += f" {array.dtype} {array.shape} {order}"
        if not noised and array.dtype.kind != "O":
            values = repr(item) if array.size == 1 else hashlib.md5(array.tobytes()).hexdigest()[:8]
            return f"{kind} {values}"
    elif isinstance(item, _NAMED) or (isinstance(item, _NUMBERS) and not noised):
        return f"{kind} {item!r}"
    elif not isinstance(item, _NUMBERS):
        return kind
    finite = np.asarray(item).dtype.kind not in "fc" or bool(np.isfinite(item).all())
    return f"{kind} {'finite' if finite else 'NaN or infinite'}"


def _is_noised(path: str, noised: Sequence[str]) -> bool:
    return any(path == name or path.startswith((f"{name}.", f"{name}[")) for name in noised)


def _look(released: Any, noised: Sequence[str]) -> _Seen:
    """Return what can be read off a released object."""
    leaves = list(_leaves(released))
    seen = {
        f"attribute {path or '(itself)'}": _token(item, _is_noised(path, noised))
        for path, item in leaves
    }
    seen["attributes"] = " ".join(path for path, _ in leaves)
    seen["repr"] = _SIGNS.sub("", _FLOAT.sub("", repr(released)))  # attributes have the numbers
    try:
        seen["pickle"] = f"{len(pickle.dumps(released))} bytes"
    except Exception as problem:  # lambdas and open files cannot be pickled: that too is seen
        seen["pickle"] = repr(problem)
    return seen


def _run(
    release: _Release, data: tuple[Any, ...], seed: int, noised: Sequence[str]
) -> tuple[_Seen, Any]:
    """Run a release once; return what was seen, and what was released (None if it raised)."""
    printed, released = io.StringIO(), None
    seen: _Seen = {"raises": "nothing"}
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            released = release(copy.deepcopy(data), np.random.default_rng(seed))
        except Exception as problem:  # whatever it is, the observer sees it
            seen = {
                "raises": type(problem).__qualname__,
                "exception": "".join(traceback.format_exception_only(problem)).strip(),
                "traceback": traceback.format_exc(),
            }
    seen["warnings"] = " ".join(warning.category.__qualname__ for warning in caught)
    seen["warning texts"] = " | ".join(str(warning.message) for warning in caught)
    seen["printed"] = printed.getvalue()
    if seen["raises"] == "nothing":
        seen |= _look(released, noised)
    for channel, name in _TEXTS.items():
        if name in noised and channel in seen:
            seen[channel] = _NUMBER.sub("#", seen[channel])
    return {channel: _ADDRESS.sub("0x", text) for channel, text in seen.items()}, released
