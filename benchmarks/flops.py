"""How much arithmetic a training step really does, from its shape alone.

Counted: the multiplications and additions (two for each multiply-add) of every matrix product, forward and backward.
A product of the forward pass has two in the backward pass, one for each factor's gradient; the gradient of the inputs
of a vector embedding is never formed. Not counted: norms, nonlinearities, softmax, optimizer, and what an attention
kernel computes a second time in its backward pass. So a share of the peak made from this is a lower bound of how busy
the multipliers were.
"""

from benchmarks.workloads import Workload

FORWARD_AND_BACKWARD = 3  # products for each product of the forward pass
OF_A_MULTIPLY_ADD = 2


def step_flops(workload: Workload, *, rows: str = "all", attention: str = "square") -> int:
    """Floating-point operations of one training step.

    With d the width of the stream, a = heads x d_head, m = the MLP's width, T positions, R = batch x T rows, and R' the
    rows that the last layer has to compute (R, or batch x loss positions):

    - every layer: keys and values ``2 R d a``, queries and output map ``2 R' d a``, MLP ``2 R' d m`` (SwiGLU: ``3``)
    - its attention: scores and mixing, ``2 a`` for each pair of a query and a key
    - once: unembedding ``R' d d_vocab``, vector embedding ``R d_in d``

    multiply-adds, where R' = R in all layers but the last.

    Args:
        workload: gives model, batch and loss positions.
        rows: "all", or "needed": the last layer computes queries, MLP and logits only where the loss is taken.
        attention: "square", every query against every key; "triangle", only keys that the query may see.

    Raises:
        ValueError: another word.
    """
    for word, allowed in ((rows, ("all", "needed")), (attention, ("square", "triangle"))):
        if word not in allowed:
            raise ValueError(f"{word!r}; allowed: {', '.join(allowed)}")
    model, everywhere = workload.model, tuple(range(workload.n_pos))
    a, total = model.n_heads * model.d_head, 0
    mlp = {"none": 0, "swiglu": 3}.get(model.mlp, 2) * model.d_mlp * model.d_model
    for layer in range(model.n_layers):
        last = layer == model.n_layers - 1
        at = workload.loss_positions if rows == "needed" and last else everywhere
        total += 2 * len(everywhere) * model.d_model * a + len(at) * (2 * model.d_model * a + mlp)
        total += 2 * a * sum(position + 1 if attention == "triangle" else workload.n_pos for position in at)
    total += len(at) * model.d_model * model.d_vocab
    total *= FORWARD_AND_BACKWARD
    total += (FORWARD_AND_BACKWARD - 1) * len(everywhere) * model.d_in * model.d_model
    return OF_A_MULTIPLY_ADD * workload.batch * total
