"""Pictures: one module per kind, each a function from a ``View`` to an Altair chart. Nothing here imports torch."""
