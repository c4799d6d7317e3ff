"""How retrieval circuits emerge in small transformers: the studies of the paper, one package each."""
