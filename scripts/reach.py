"""What some code computes: the definitions of the package that it reaches, wherever they stand.

grimp and modulefinder were weighed: they know which module imports which, and a docstring or a
neighbouring function would make an archive stale.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from weakref import WeakKeyDictionary

from scripts.files import digest_bytes, digest_file

#: Fields of a syntax tree that hold names.
_NAMES = ("id", "attr", "name", "arg")
_IMPORTS = (ast.Import, ast.ImportFrom)


#: Statements that tell a ledger what is drawn beside them, and compute nothing.
_TOLD = {"record_draw", "record_step"}


def _says_only(line: ast.AST) -> bool:
    """Whether a statement is a docstring, the list of a module's public names, or a ledger's."""
    if isinstance(line, ast.Expr):
        if isinstance(line.value, ast.Call) and isinstance(line.value.func, ast.Name):
            return line.value.func.id in _TOLD
        return isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
    names: list[ast.expr] = line.targets if isinstance(line, ast.Assign) else []
    return any(isinstance(name, ast.Name) and name.id == "__all__" for name in names)


def _public(name: str) -> str:
    """Return a name, perhaps with attributes, without what makes its parts private."""
    return ".".join(p if p.startswith("__") else p.lstrip("_") for p in name.split("."))


def plain(node: object) -> str:
    """Return what Python computes from a syntax tree, as one line.

    Comments, layout, docstrings and imports are gone, and a name that becomes private stays what
    it was. What imported names stand for, :class:`Reach` says beside it.

    Examples
    --------
    >>> plain(ast.parse("def f(x):  # twice\\n    return 2 * x")) == plain(
    ...     ast.parse("def _f(x): 'Double.'; return 2*x"))
    True
    """
    if isinstance(node, list):
        kept = [x for x in node if not isinstance(x, _IMPORTS) and not _says_only(x)]
        return f"[{', '.join(map(plain, kept))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for name, value in ast.iter_fields(node):
        if name == "ctx":
            continue
        if isinstance(value, str) and name in _NAMES:
            value = _public(value)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            value = [_public(x) for x in node.names]
        parts.append(f"{name}={plain(value)}")
    return f"{type(node).__name__}({', '.join(parts)})"


def both(package: Path) -> tuple[Path, Path]:
    """Return the folder of the package, and of the studies that the book runs beside it."""
    return package, package.with_name(f"{package.name}_studies")


def page_name(module: str) -> str:
    """Return the name of a module's page, without folder and suffix.

    Examples
    --------
    >>> page_name("dplit.erm.stability"), page_name("dplit_studies.erm.tables")
    ('erm.stability', 'studies.erm.tables')
    """
    first, _, rest = module.partition(".")
    return f"studies.{rest}".rstrip(".") if first.endswith("_studies") else rest


def module_file(name: str, package: Path) -> Path | None:
    """Return the file of a module of the package or its studies, or None if it is none."""
    first, *rest = name.split(".")
    root = next((folder for folder in both(package) if folder.name == first), None)
    if root is None:
        return None
    place = root.joinpath(*rest)
    for candidate in (place / "__init__.py", place.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


@dataclass(frozen=True)
class _Found:
    """What a name stands for: a definition of a module, a whole module, or something outside."""

    module: str
    name: str = ""
    outside: bool = False


class _Uses(ast.NodeVisitor):
    """The names that some code uses, each with the attributes that it asks of it."""

    def __init__(self) -> None:
        self.chains: set[tuple[str, ...]] = set()

    def visit_Expr(self, node: ast.Expr) -> None:
        if not _says_only(node):
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.chains.add((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        names, value = [node.attr], node.value
        while isinstance(value, ast.Attribute):
            names.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name):
            self.chains.add((value.id, *names[::-1]))
        else:
            self.visit(value)


@dataclass(eq=False)
class _Lines:
    """Statements that belong together: all that bind one name, or all that only run."""

    lines: list[ast.stmt]
    module: str
    is_package: bool

    @cached_property
    def uses(self) -> tuple[set[tuple[str, ...]], dict[str, tuple[str, str]]]:
        """Names that are used, with their attributes, and what is imported on the spot."""
        visitor = _Uses()
        for line in self.lines:
            visitor.visit(line)
        return visitor.chains, _imports(self.lines, self.module, self.is_package)

    @cached_property
    def code(self) -> str:
        return digest_bytes(plain(self.lines).encode())


class _Module:
    """A module's statements by the names that they bind, and those that bind none."""

    def __init__(self, body: Iterable[ast.stmt], name: str, is_package: bool) -> None:
        self.imports: dict[str, tuple[str, str]] = {}
        self.bindings: dict[str, _Lines] = {}
        self.running = _Lines([], name, is_package)
        for line in body:
            if _says_only(line):
                continue
            if not isinstance(line, (ast.FunctionDef, ast.ClassDef)):
                self.imports |= _imports([line], name, is_package)
            names = set(_bound(line))
            for bound in names:
                self.bindings.setdefault(bound, _Lines([], name, is_package)).lines.append(line)
            if not names and not isinstance(line, (ast.Import, ast.ImportFrom)):
                self.running.lines.append(line)


@cache
def _read(text: str, stub: str, name: str, is_package: bool) -> _Module:
    """Return a module by its text, and its stub's, which says what is lazy: each is read once.

    What its names stand for is no part of it: that depends on other modules' texts.
    """
    lazy = [line for line in ast.parse(stub).body if isinstance(line, ast.ImportFrom)]
    return _Module([*ast.parse(text).body, *lazy], name, is_package)


def _bound(line: ast.stmt) -> Iterator[str]:
    if isinstance(line, (ast.FunctionDef, ast.ClassDef)):
        yield line.name
        return
    for node in ast.walk(line):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def source_of(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Return the module that a ``from`` import in some module names, relative ones resolved."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    return ".".join([*parts[: len(parts) - node.level + is_package], *filter(None, [node.module])])


def _imports(
    lines: Iterable[ast.stmt], module: str, is_package: bool
) -> dict[str, tuple[str, str]]:
    """Return for each name that is imported the module and the name there, "" for the module."""
    found = {}
    for node in (node for line in lines for node in ast.walk(line)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found[name] = (alias.name if alias.asname else name, "")
        elif isinstance(node, ast.ImportFrom):
            base = source_of(node, module, is_package)
            found |= {a.asname or a.name: (base, a.name) for a in node.names}
    return found


class Reach:
    """Follows names from some code through a package, and through the studies beside it.

    Parameters
    ----------
    package : Path
        The package's folder; its name is the package's name.
    """

    def __init__(self, package: Path) -> None:
        self.package = package
        self._modules: dict[str, _Module] = {}
        self._known: dict[_Found, str] = {}
        self._meant: WeakKeyDictionary[_Lines, dict[str, _Found | None]] = WeakKeyDictionary()
        self._file = cache(partial(module_file, package=package))

    def digests(self, sources: Iterable[str], names: Iterable[str] = ()) -> dict[str, str]:
        """Return a digest of some code, and of every definition of the package that it reaches.

        A definition's digest is that of its plain code (:func:`plain`) and of what the names
        in it stand for. Where a definition stands, what else stands there and by which way it is
        imported is no part of it: moving code changes no digest.

        Parameters
        ----------
        sources : iterable of str
            Python code that runs as it stands, for example a notebook's cells.
        names : iterable of str
            Dotted names of more functions and classes.

        Returns
        -------
        dict of str to str
            Digests by dotted name; that of the code is called "code".
        """
        body = [line for source in sources for line in ast.parse(source).body]
        self._modules[""] = _Module(body, "", False)
        code = _Lines([x for x in body if not _says_only(x)], "", False)
        found = {"code": self._digest(code)}
        waiting = list(self._uses(code).values())
        waiting += [
            self._follow(self._resolve("", part), rest) for part, rest in map(_split, names)
        ]
        seen: set[_Found] = set()
        while waiting:
            use = waiting.pop()
            if use is None or use.outside or use in seen or not use.module:
                continue
            seen.add(use)
            module = self._module(use.module)
            if not use.name:  # a module as a whole
                waiting += [
                    self._resolve(use.module, n) for n in {*module.bindings, *module.imports}
                ]
            parts = {use.name: module.bindings.get(use.name), "": module.running}
            for name, part in parts.items():
                if part is not None and part.lines:
                    whole = _Found(use.module, name)
                    if whole not in self._known:
                        self._known[whole] = self._digest(part)
                    found[f"{use.module}.{name}"] = self._known[whole]
                    waiting += self._uses(part).values()
        return found

    def home(self, module: str, name: str) -> str:
        """Return the module in which a name of a module is defined: itself, or another."""
        found = self._resolve(module, name)
        return found.module if found is not None and found.name else module

    def _module(self, name: str) -> _Module:
        if name not in self._modules:
            path = self._file(name)
            files = (path, path.with_suffix(".pyi")) if path else ()
            held = [file.read_text("utf-8") if file.is_file() else "" for file in files]
            is_package = path is not None and path.stem == "__init__"
            self._modules[name] = _read(*(held or ("", "")), name, is_package)
        return self._modules[name]

    def _resolve(self, module: str, name: str) -> _Found | None:
        """Return what a name of a module stands for; None for a builtin or a local name."""
        held = self._module(module)
        if name in held.bindings:
            return _Found(module, name)
        if held.imports.get(name, (module, name)) != (module, name):  # else `from . import name`
            return self._imported(*held.imports[name])
        inner = f"{module}.{name}" if module else name
        return _Found(inner) if self._file(inner) else None

    def _imported(self, base: str, name: str) -> _Found | None:
        if base.partition(".")[0] not in {folder.name for folder in both(self.package)}:
            return _Found(base, name, outside=True)
        return self._resolve(base, name) if name else _Found(base)

    def _follow(self, found: _Found | None, attributes: Iterable[str]) -> _Found | None:
        """Return what attributes of something stand for, as far as modules go."""
        for name in attributes:
            if found is None or found.outside or found.name:
                break
            found = self._resolve(found.module, name)
        return found

    def _uses(self, part: _Lines) -> dict[str, _Found | None]:
        """Return what the names in some statements stand for, found once."""
        if part in self._meant:
            return self._meant[part]
        chains, local = part.uses
        found = {}
        for first, *rest in chains:
            own = (
                self._imported(*local[first])
                if first in local
                else self._resolve(part.module, first)
            )
            found[".".join([first, *rest])] = self._follow(own, rest)
        self._meant[part] = found
        return found

    def _digest(self, part: _Lines) -> str:
        """Return the digest of statements together with what their names stand for."""
        links = []
        for name, use in self._uses(part).items():
            if use is not None and use.outside:
                links.append((_public(name), f"{use.module}.{use.name}"))
            elif use is not None and use.module and use.name:
                links.append((_public(name), self._module(use.module).bindings[use.name].code))
        return digest_bytes(repr([part.code, sorted(links)]).encode())


def reach_of(package: Path) -> Reach:
    """Return the reach within a package as its files are now: one as long as they stay."""
    files = (path for folder in both(package) for path in folder.rglob("*.py*"))
    sources = sorted(path for path in files if path.suffix in {".py", ".pyi"})
    state = "".join(f"{path} {digest_file(path)}" for path in sources)
    return _kept(package, digest_bytes(state.encode()))


@lru_cache(maxsize=1)
def _kept(package: Path, state: str) -> Reach:
    return Reach(package)


def _split(name: str) -> tuple[str, list[str]]:
    first, *rest = name.split(".")
    return first, rest
