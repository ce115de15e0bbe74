"""Where everything lies in the repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scripts.files import BuildError


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

    def slugs(self) -> list[str]:
        """Return the chapters: the names of the notebooks' sources, sorted."""
        return sorted(path.stem for path in self.notebooks.glob("*.md"))

    def lessons(self) -> list[str]:
        """Return the chapters that teach: *basics*, and each that has a supplement of records."""
        slugs = self.slugs()
        return [s for s in slugs if s == "basics" or f"{s}_supplement" in slugs]

    def recorded(self) -> list[str]:
        """Return the chapters that record claims, sorted."""
        return [slug for slug in self.slugs() if slug not in self.lessons()]

    def check_recorded(self, slug: str) -> str:
        """Return ``slug`` if it is a chapter that records claims.

        Raises
        ------
        BuildError
            If there is no such chapter, or it is a lesson.
        """
        if self.check_slug(slug) in self.lessons():
            raise BuildError(
                f"{slug} is a lesson: it records no claims, and nothing of it is archived"
            )
        return slug

    def check_slug(self, slug: str) -> str:
        """Return ``slug`` if it is a chapter.

        Raises
        ------
        BuildError
            If there is no such chapter; the message lists those that exist.
        """
        if slug not in self.slugs():
            known = ", ".join(self.slugs()) or "none"
            raise BuildError(f"NAME must be a chapter ({known}), got NAME={slug!r}")
        return slug

    def name(self, path: Path) -> str:
        """Return a path as the reader sees it from the repository's folder."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)
