"""Edits as text, which is how a reader writes them: ``parse_edit`` undoes ``str`` of all but ``Attend``.

``explorer/static/edits.js`` does the same in the page, with the same sentences.
"""

import re

from circuitcore.models.edits import Ablate, CutEdge, Edit, Patch
from circuitcore.models.sites import Head, Mlp, Site, check_site

ALLOWED = (
    "zero(L1H0)@all, mean(L0MLP)@12, resample(L1H1)@all, patch(L1.resid_post<-source)@12 or cut(L1H0:15->8)"
)  # fmt: skip
_NUMBER = "(0|[1-9][0-9]*)"
_ABLATE = re.compile(rf"(zero|mean|resample)\(L{_NUMBER}(?:H{_NUMBER}|MLP)\)@(\w+)", re.ASCII)
_PATCH = re.compile(rf"patch\(L{_NUMBER}(?:H{_NUMBER})?\.(\w+)<-(\w+)\)@(\w+)", re.ASCII)
_CUT = re.compile(rf"cut\(L{_NUMBER}H{_NUMBER}:(\w+)->(\w+)\)", re.ASCII)


def parse_edit(text: str) -> Edit:
    """The ablation, patch or cut whose ``str`` is ``text``.

    Raises:
        ValueError: a text of another shape, that of ``Attend`` included, or a patch of a site that no tensor carries.
    """
    if found := _ABLATE.fullmatch(text):
        how, layer, head, positions = found.groups()
        part = Mlp(int(layer)) if head is None else Head(int(layer), int(head))
        return Ablate(part, how, positions)
    if found := _PATCH.fullmatch(text):
        layer, head, name, source, positions = found.groups()
        site = Site(name, int(layer), None if head is None else int(head))
        check_site(site)
        return Patch(site, positions, source)
    if found := _CUT.fullmatch(text):
        layer, head, query, key = found.groups()
        return CutEdge(Head(int(layer), int(head)), query, key)
    raise ValueError(f"an edit is written like {ALLOWED}; got '{text}'")
