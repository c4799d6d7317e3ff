"""References to numbered figures, without reading the page that a figure is on anew for each of them.

Sphinx resolves ``{numref}`` by unpickling the whole page of the figure. A chapter is referred to a dozen times, most
often from itself, and its page is the largest there is.
"""

from functools import cache, cached_property
from typing import Any

from docutils.nodes import Element
from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment

NUMBERED = "numref"


class _PagesKept:
    """An environment that reads each page once; for who only looks at pages."""

    def __init__(self, env: BuildEnvironment):
        self._env, self.get_doctree = env, cache(env.get_doctree)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


class KeptStandardDomain(StandardDomain):
    """Sphinx's own; for references to numbered things it keeps the pages that it has read."""

    def resolve_xref(
        self, env: BuildEnvironment, fromdocname: str, builder: Any, typ: str, *rest: Any
    ) -> Element | None:
        """As Sphinx has it; pages are whole before the first reference is resolved."""
        return super().resolve_xref(self._kept if typ == NUMBERED else env, fromdocname, builder, typ, *rest)

    @cached_property
    def _kept(self) -> _PagesKept:
        return _PagesKept(self.env)


def setup(app: Sphinx) -> None:
    """Put it in the place of Sphinx's own."""
    app.add_domain(KeptStandardDomain, override=True)
