"""Claims on laws of waiting and on the order of parts; ``design`` says after which pilots and how many looks."""

from dataclasses import replace

from retrieval_circuits.emergence_laws.claims.laws import LAWS
from retrieval_circuits.emergence_laws.claims.permutations import PERMUTATIONS
from retrieval_circuits.emergence_laws.design import RECALLED_EVERY

REMARKS = {
    "EL9": "The widest networks were given up at their cap, which counts as their wait: the effect is at least this.",
    "EL21": "Formed is half the way from chance to the end. Asked at three quarters, copying would not come first.",
    "EL24": "Formed is half the way from chance to the end. Asked at three quarters, it would be Supported.",
    "EL26": "Looked at twice: ten networks had left it open, and ten were added for that reason. Corrected for two "
    "looks it would still be open, as it is in the twenty networks of EL28.",
    "EL27": "Formed is half the way from chance to the end. Asked at three quarters this would be open, in these "
    "networks and in the twenty of EL29: attention comes early and falls back.",
    "EL28": "Looked at twice: ten networks had left it open, and ten were added for that reason. Corrected for two "
    f"looks it stands. Logits are moved within the first {RECALLED_EVERY} steps, when is not known: if at their end, "
    "this is open.",
}
"""Claim -> what tempers its verdict on the published networks. Two looks: each at a level of 2.9 %, after Pocock."""
CLAIMS = tuple(replace(claim, remark=REMARKS.get(claim.id, "")) for claim in (*LAWS, *PERMUTATIONS))
