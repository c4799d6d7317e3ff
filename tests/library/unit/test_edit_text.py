"""Edits as text: what is printed can be read again, and nothing else can."""

import itertools
import re

import pytest

from circuitcore.models import Ablate, CutEdge, Head, Mlp, Patch, Site
from circuitcore.models.edit_text import ALLOWED, parse_edit
from circuitcore.models.sites import HEAD_SITES, SITES

PARTS = (Head(0, 0), Head(12, 3), Mlp(0), Mlp(10))
POSITIONS = ("all", "0", "12", "read_out")
SITES_OF_LAYER_3 = [Site(name, 3) for name in SITES] + [Site(name, 3, 11) for name in HEAD_SITES]
EDITS = [
    *(Ablate(*made) for made in itertools.product(PARTS, ("zero", "mean", "resample"), POSITIONS)),
    *(Patch(*made) for made in itertools.product(SITES_OF_LAYER_3, POSITIONS, ("source", "mean"))),
    *(CutEdge(*made) for made in itertools.product(PARTS[:2], POSITIONS, POSITIONS)),
]


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_what_is_printed_is_read_again(edit):
    found = parse_edit(str(edit))
    assert found == edit
    assert type(found) is type(edit)


def test_the_allowed_shapes_are_shapes_that_can_be_read():
    shapes = re.split(", | or ", ALLOWED)
    assert [str(parse_edit(shape)) for shape in shapes] == shapes
    assert len(shapes) == 5


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "L1H0",
            "zero(L1H0)",
            "zero(L1H0)@",
            "zero(L1H0)@ 3",
            " zero(L1H0)@3",
            "zero(L1H0)@3\n",
            "Zero(L1H0)@all",
        ),
        *("zero(L1)@all", "zero(H1)@all", "zero(L1MLP0)@all", "zero(L01H0)@all", "zero(L-1H0)@all", "zero(L²H0)@all"),
        *("median(L1H0)@all", "patch(L1H0)@all", "patch(L1.z)@all", "patch(L1.z<-source)", "patch(z<-source)@all"),
        *("cut(L1H0)@all", "cut(L1MLP:3->2)", "cut(L1H0:3->2)@all", "cut(L1H0:3-2)", "zero(L1H0)@all zero(L0H0)@all"),
    ],
)
def test_another_text_is_refused_with_the_shapes_that_are_allowed(text):
    with pytest.raises(ValueError, match=re.escape(f"{ALLOWED}; got '{text}'")):
        parse_edit(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("patch(L1.resid<-source)@all", "unknown site 'resid'; allowed: resid_pre, resid_mid"),
        ("patch(L1H0.mlp_out<-source)@all", "mlp_out has no head axis to take head 0 of; those with one: q, k, v, z"),
    ],
)
def test_a_site_that_no_tensor_carries_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_edit(text)
