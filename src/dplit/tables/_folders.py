"""The folder of a release: claimed before anything is drawn, and finished by a rename."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dplit.audit import Ledger
from dplit.tables._cards import _card, _page, _stated
from dplit.tables._chunks import TableError
from dplit.tables._pictures import as_svg, draw_shapes
from dplit.tables.facts import TableFacts
from dplit.tables.mechanisms import TableMechanism
from dplit.tables.released import (
    _FILES,
    _FORMAT,
    ReleasedModel,
    _as_json,
    _canonical,
    _sha256,
    _state,
)

#: What a card says of a release until all of it is written.
_UNFINISHED = "unfinished: the noise may have been drawn and the budget spent; this is no release"


def _public(model: Any) -> dict[str, Any]:
    """Return the public arguments of an estimator, which can be written as JSON."""
    public = {k: v for k, v in model.get_params().items() if k != "random_state"}
    for name, value in public.items():
        try:
            json.dumps(value, default=_listed)
        except (TypeError, ValueError):
            raise TableError(
                f"settings must be numbers, texts or lists of them, not {name}"
            ) from None
    return public


def _listed(value: Any) -> Any:
    """Return an array as JSON has it; anything else is refused."""
    if not isinstance(value, (np.ndarray, np.generic)):
        raise TypeError
    return value.tolist()


def _check_new(place: Path) -> None:
    """Refuse a folder that holds a release, one that is unfinished, or anything else."""
    if any((place / name).exists() for name in _FILES):
        raise TableError(
            f"output must be a new folder, got output={str(place)!r}, which holds a release, whole "
            "or unfinished: another release from the same table costs another budget"
        )
    if place.is_dir() and any(place.iterdir()):
        raise TableError(
            f"output must be a new folder or an empty one, got output={str(place)!r}: what it "
            "holds would be published with the model"
        )


@contextmanager
def writing(
    folder: str | os.PathLike[str] | None,
    facts: TableFacts,
    book: Ledger,
    epsilon: float,
    delta: float,
) -> Iterator[Callable[..., ReleasedModel]]:
    """Claim a folder before any noise is drawn, and give what writes a release into it.

    The claim is a card that is created exclusively and says that it is unfinished: of two releases
    into one folder, one is refused here. Room for the model is taken too, so that a full disk is
    found now. What fails before the ``book`` heard a draw leaves nothing; later the card stays, and
    says that the budget may be spent.
    """
    if folder is None:
        yield partial(_write, None, facts, book)
        return
    place = Path(folder)
    _check_new(place)
    draft = {
        "state": _UNFINISHED,
        "epsilon": epsilon,
        "delta": delta,
        "stated as public": _stated(facts, {}),
    }
    width, classes = len(facts.box[0]), max(1, len(facts.classes))
    mine: list[Path] = []
    try:
        for parent in (place, *place.parents):  # what is made here, the deepest first
            if not parent.exists():
                mine.append(parent)
        place.mkdir(parents=True, exist_ok=True)
        with (place / "card.json").open("xb") as file:
            mine.insert(0, place / "card.json")
            file.write(json.dumps(draft, indent=1).encode())
        with (place / "model.part").open("xb") as file:
            mine.insert(0, place / "model.part")
            file.write(bytes(min(_ROOM * (1 + width * classes), _MOST_ROOM)))
            os.fsync(file.fileno())
    except OSError as error:
        _removed(mine)
        if isinstance(error, FileExistsError):
            _check_new(place)
        raise TableError(
            f"output must be a folder that can be written, with room for a model, got "
            f"output={str(place)!r}: {error.strerror}"
        ) from None
    try:
        yield partial(_write, place, facts, book)
    except Exception:
        if not len(book):
            _removed(mine)
        raise


#: Bytes that are taken for a model, of each encoded column and class, and at most.
_ROOM, _MOST_ROOM = 1 << 16, 1 << 26


def _removed(mine: Sequence[Path]) -> None:
    """Remove files and then folders that were made here, if nobody else has put something there."""
    with suppress(OSError):
        for path in mine:
            path.rmdir() if path.is_dir() else path.unlink()


def _write(
    place: Path | None,
    facts: TableFacts,
    book: Ledger,
    found: TableMechanism,
    fitted: Any,
    settings: Mapping[str, Any],
    told: Sequence[str],
    releases: Sequence[Any] | None = None,
    n_records: int | None = None,
    about: Mapping[str, Any] = MappingProxyType({}),
) -> ReleasedModel:
    """Return a fitted model with its card, as it is written into a folder if there is one.

    ``releases`` are the numbers and choices that left the mechanisms, of which the model is made.
    """
    card = _card(found.name, fitted, facts, settings, told, book, about)
    if place is None:
        return ReleasedModel(card, facts, fitted)
    content = {
        "format": _FORMAT,
        "card": _sha256(_canonical(card)),
        "mechanism": found.name,
        "facts": facts.as_json(),
        "n_features": fitted.n_features_in_,
        "public": _public(fitted),
        "released": _state(fitted, found.released),
        "releases": None if releases is None else [_as_json(one) for one in releases],
        "n_records": n_records,
    }
    picture = as_svg(draw_shapes(fitted, facts)) if hasattr(fitted, "shapes_") else ""
    model = json.dumps(content, default=_listed).encode()
    card["sha256"] = {"model.json": _sha256(model)}
    page = _page(card, picture).encode()
    card["sha256"]["card.html"] = _sha256(page)
    written = {
        "model.json": model,
        "card.html": page,
        "card.json": json.dumps(card, indent=1).encode(),
    }
    for name, text in written.items():
        part = place / (name.partition(".")[0] + ".part")
        with part.open("r+b" if part.exists() else "xb") as file:  # into the room that was taken
            file.write(text)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place / name)
    return ReleasedModel(card, facts, fitted)
