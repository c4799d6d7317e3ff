"""What the chapter claims, fixed before any of its networks was trained.

Thresholds of births are the source's (0.90, 0.85, 0.75). A battery that errs in one network of twenty is the usual
bound; twenty networks without an error cannot show it, seventy-five can, which is why each control that could fail has
twenty-five. The quantifiers, and the intervals of the controls, came in version 0.9.0 and moved no bound; since then
the three networks of a seed make one draw, and twenty-five draws without an error cannot show it either. A claim whose
id ends in ``.published`` is the one after it, under the source's definitions.

Twenty-five networks of an arm share their rows. Twelve more, each on rows of its own, were asked for after the verdicts
on those: a claim counts rows since, and the first twenty-five networks are one draw of them. The story is one text, and
its claims go on counting networks; their controls on planted repeats count rows.

SC7 came later, and the positive control was changed: in its first version one phrase of eight words came twice in a
row. Four networks that were looked at had learnt it perfectly, and none of their heads routed. In the positive control
pairs come twice since; phrases stayed as a control of their own, with new rows, and SC7 was written before it was
trained.
"""

from retrieval_circuits.story_control.claims.detection import OF_PHRASES, OF_REPEATS
from retrieval_circuits.story_control.claims.false_alarms import FALSE_ALARMS
from retrieval_circuits.story_control.claims.story import STORY_ONLY
from retrieval_circuits.story_control.design import data_set_of

__all__ = ["CLAIMS"]

CLAIMS = (*STORY_ONLY, *(claim.on_data_sets(data_set_of) for claim in (*OF_REPEATS, *FALSE_ALARMS, *OF_PHRASES)))
