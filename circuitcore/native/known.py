"""Which words of a config the C++ computes."""

from circuitcore.models import ModelConfig, capabilities
from circuitcore.models.capabilities import Known

SIZES = ("d_vocab", "n_ctx", "n_layers", "n_heads", "d_model", "d_head", "d_mlp", "d_in")
ACTIVATIONS = ("none", "relu", "gelu", "swiglu")  # in the order of the enum in mlp.hpp
WHO = "the native decoder"
# It tells norms, positions and biases by which tensors there are. How weights begin is torch's.
KNOWN: Known = {
    **dict.fromkeys((*SIZES, "init", "norm_eps"), ()),
    "norm": ("rms", "layer", "none"),
    "norm_position": ("pre", "post"),
    "positions": ("rope", "learned", "none"),
    "mlp": ACTIVATIONS,
    "tied": (True, False),
    "bias": ("none", "inside", "all"),
}


def unsupported(config: ModelConfig) -> str:
    """Why the C++ cannot compute a model of that config, in one sentence naming the words; empty where it can."""
    return capabilities.unsupported(WHO, KNOWN, config)
