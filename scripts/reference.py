"""The pages of the package: one for each public module; which claims it bears Sphinx adds.

autosummary lists them. Its recursive stubs were weighed: they give a page to a room's face and to
the module in which a name is at home, so that most names would have two.
"""

from __future__ import annotations

import ast
from pathlib import Path

from scripts.digest import both, module_file
from scripts.files import write_text
from scripts.layout import Layout
from scripts.normalise import page_name

#: Ends of the names of modules whose classes have bases of ours that the page tells too, and what
#: scikit-learn gives every estimator, which it does not.
WITH_BASES = (
    "adaptive",
    "additive",
    "components",
    "estimator",
    "estimators",
    "features",
    "gradient_classifier",
    "hats",
    "machines",
    "dplit.mechanisms",
    "kernels.random_features",
    "moments",
    "objective_classifier",
    "persons",
    "projected",
    "regressors",
    "dplit_studies.face_off.comparison",
)
INHERITED = (
    "   :inherited-members: ClassifierMixin, RegressorMixin, DensityMixin, TransformerMixin, "
    "ClassNamePrefixFeaturesOutMixin, BaseEstimator\n"
    "   :exclude-members: set_fit_request, set_score_request, set_predict_request, "
    "set_transform_request, set_partial_fit_request, set_inverse_transform_request\n"
)


def public_names(path: Path) -> set[str] | None:
    """Return the names that a module defines without an underscore; of a package what its
    ``__all__`` lists, None without such a list."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    targets = {
        name.id: line
        for line in body
        if isinstance(line, (ast.Assign, ast.AnnAssign)) and "TypeVar(" not in ast.unparse(line)
        for target in (line.targets if isinstance(line, ast.Assign) else [line.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    if listed := targets.get("__all__"):
        return set(ast.literal_eval(listed.value)) if listed.value else set()
    if path.name == "__init__.py":
        return None
    defined = {line.name for line in body if isinstance(line, (ast.FunctionDef, ast.ClassDef))}
    return {name for name in {*targets, *defined} if not name.startswith("_")}


def documented_modules(package: Path) -> list[str]:
    """Return the modules that have a page.

    These are the rooms, and in them each public module with a name that the room's face does not
    give; a package below a room has none for itself if it lists no names, but a paper's has.
    """
    told = []
    for path in sorted(path for folder in both(package) for path in folder.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        parts = parts[:-1] if is_package else parts
        if parts == (package.name,) or any(part.startswith("_") for part in parts):
            continue
        names = public_names(path)
        face = module_file(".".join(parts[:-1]), package) if len(parts) > 2 else None
        given = (public_names(face) if face else None) or set()
        own = not is_package if names is None else bool(names - given)
        if len(parts) <= 2 or own or (is_package and parts[1] == "papers"):
            told.append(".".join(parts))
    return sorted(told)


def _rooms(module: str, documented: list[str]) -> str:
    inside = [name for name in documented if name.startswith(module + ".")]
    if not inside:
        return ""
    lines = "".join(f"   {name.removeprefix(module + '.')}\n" for name in inside)
    return f"```{{eval-rst}}\n.. currentmodule:: {module}\n\n.. autosummary::\n\n{lines}```\n"


def _inherited(module: str) -> str:
    """Return which members of bases a page tells.

    Behind a mixin of scikit-learn no base is looked at: a room whose estimators share one that
    stands there names what it does not tell of mixins.
    """
    if module.startswith(("dplit.linear", "dplit.additive")):
        mixins, less = "ClassifierMixin, RegressorMixin, ", "score, "
    elif module.endswith("sketching.estimators"):
        mixins = "DensityMixin, TransformerMixin, ClassNamePrefixFeaturesOutMixin, "
        less = "fit_transform, set_output, get_feature_names_out, "
    else:
        return INHERITED
    told = INHERITED.replace(mixins, "")
    return told.replace(":exclude-members: ", f":exclude-members: {less}")


def pages(package: Path) -> dict[str, str]:
    """Return the text of every page by the name of its file."""
    documented, told = documented_modules(package), {}
    for name in documented:
        members = "   :members:\n" + (_inherited(name) if name.endswith(WITH_BASES) else "")
        block = f"```{{eval-rst}}\n.. automodule:: {name}\n{members}```\n"
        parts = (f"# {page_name(name)}\n", block, _rooms(name, documented))
        told[f"{page_name(name)}.md"] = "\n".join(part for part in parts if part)
    return told


def write_reference(layout: Layout) -> None:
    """Write the pages into the book's folder; an unchanged page is not touched."""
    folder, wanted = layout.book / "reference", pages(layout.package)
    for name, text in wanted.items():
        write_text(folder / name, text)
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
