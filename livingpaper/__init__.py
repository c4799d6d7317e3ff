"""The machinery of a living paper: claims, figures, explorers, the book and its commands. It knows no study."""
