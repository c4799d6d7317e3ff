"""The names of the tasks, for whoever cannot wait for torch; ``circuitcore.tasks`` has the tasks themselves."""

TASK_NAMES = ("symbolic_kv", "textual_kv", "story", "planted_repeats", "permutation_recall", "chain_retrieval")
TASK_NAMES += ("chain_words", "stream_kv", "balanced_stream", "chain_lengths", "k_fold_composition")
TASK_NAMES += ("conditional_retrieval", "in_context_recall")
PROMPT_NAMES = ("F1", "F2", "F3", "F4", "F5")
