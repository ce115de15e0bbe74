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


@dataclass(frozen=True)
class Layout:
    """The folders of one copy of the repository.

    Parameters
    ----------
    root : Path
        The folder that holds the Makefile.
    """

    root: Path

    @property
    def notebooks(self) -> Path:
        """Sources: ``<slug>.md`` and the paired ``<slug>.ipynb``."""
        return self.root / "notebooks"

    @property
    def package(self) -> Path:
        """The package ``dplit``."""
        return self.root / "src" / "dplit"

    @property
    def studies(self) -> Path:
        """What the book runs beside the package: ``dplit_studies``."""
        return self.root / "src" / "dplit_studies"

    @property
    def tests(self) -> Path:
        """The tests."""
        return self.root / "tests"

    @property
    def book(self) -> Path:
        """Prose pages, and the generated ones that git ignores."""
        return self.root / "book"

    @property
    def chapters(self) -> Path:
        """Executed and normalised notebooks, the pages of the book."""
        return self.book / "chapters"

    @property
    def results(self) -> Path:
        """Archived runs at the papers' scale."""
        return self.root / "results"

    @property
    def build(self) -> Path:
        """Everything that `make clean` removes."""
        return self.root / "_build"

    @property
    def raw(self) -> Path:
        """Notebooks as papermill left them after a run that succeeded."""
        return self.build / "papermill"

    @property
    def failed(self) -> Path:
        """Notebooks of runs that failed, to be read."""
        return self.build / "failed"

    @property
    def state(self) -> Path:
        """What each step was made from."""
        return self.build / "state"

    @property
    def html(self) -> Path:
        """The site."""
        return self.build / "html"

    @property
    def claims(self) -> Path:
        """The collected records of all claims."""
        return self.build / "claims.json"

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
