"""Where everything lies in the repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scripts.files import BuildError

#: How the notebook is called that records what a lesson teaches.
SUPPLEMENT = "_supplement"


def slug_of(name: str) -> str:
    """Return the slug of a notebook: that of its room in the package, tests and results.

    Examples
    --------
    >>> slug_of("erm_supplement"), slug_of("basics")
    ('erm', 'basics')
    """
    return name.removesuffix(SUPPLEMENT)


#: Folders by the names that :class:`Layout` gives them.
PLACES = {
    "notebooks": "notebooks",  # sources: <slug>.md and the paired <slug>.ipynb
    "package": "src/dplit",
    "studies": "src/dplit_studies",  # what the book runs beside the package
    "tests": "tests",
    "book": "book",
    "chapters": "book/chapters",  # executed and normalised notebooks, the pages of the book
    "results": "results",  # archived runs at the papers' scale
    "build": "_build",  # everything that `make clean` removes, and so is what follows
    "raw": "_build/papermill",  # notebooks as papermill left them after a run that succeeded
    "failed": "_build/failed",  # notebooks of runs that failed, to be read
    "state": "_build/state",  # what each chapter was made from
    "html": "_build/html",  # the site
    "claims": "_build/claims.json",  # the collected records of all claims
}


@dataclass(frozen=True)
class Layout:
    """The folders of one copy of the repository: its attributes are those of :data:`PLACES`.

    Parameters
    ----------
    root : Path
        The folder that holds the Makefile.
    """

    root: Path

    def __getattr__(self, name: str) -> Path:
        if name not in PLACES:
            raise AttributeError(f"the repository has no place {name!r}")
        return self.root / PLACES[name]

    def names(self) -> list[str]:
        """Return the notebooks: the names of their sources, sorted.

        A notebook is called by its chapter's slug, or ``<slug>_supplement``: the record of a paper,
        whose lesson has the slug alone.
        """
        return sorted(path.stem for path in self.notebooks.glob("*.md"))

    def record(self, slug: str) -> str:
        """Return the notebook that records a slug's claims: its supplement, if it has one."""
        supplement = f"{slug}{SUPPLEMENT}"
        return supplement if (self.notebooks / f"{supplement}.md").exists() else slug

    def lessons(self) -> list[str]:
        """Return the notebooks that teach: *basics*, and each that has a supplement of records."""
        names = self.names()
        return [name for name in names if name == "basics" or self.record(name) != name]

    def recorded(self) -> list[str]:
        """Return the notebooks that record claims, sorted."""
        return [name for name in self.names() if name not in self.lessons()]

    def archive(self, name: str) -> Path:
        """Return the file of a notebook's archived run at the papers' scale."""
        return self.results / f"{slug_of(name)}.json"

    def check_recorded(self, name: str) -> str:
        """Return the notebook that records the claims of a slug, given by either name.

        Raises
        ------
        BuildError
            If there is no such notebook, or only a lesson.
        """
        record = self.record(name)
        if self.check_name(record) in self.lessons():
            raise BuildError(
                f"{name} is a lesson: it records no claims, and nothing of it is archived"
            )
        return record

    def check_name(self, name: str) -> str:
        """Return ``name`` if it is a notebook; the slug of a paper without a lesson its supplement.

        Raises
        ------
        BuildError
            If there is no such notebook; the message lists those that exist.
        """
        found = name if name in self.names() else self.record(name)
        if found not in self.names():
            known = ", ".join(self.names()) or "none"
            raise BuildError(f"NAME must be a chapter ({known}), got NAME={name!r}")
        return found

    def name(self, path: Path) -> str:
        """Return a path as the reader sees it from the repository's folder."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)
