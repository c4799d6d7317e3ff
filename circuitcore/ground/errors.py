"""What whoever gave a command can mend: a command prints such an error as a sentence, without a traceback."""


class UserError(Exception):
    """The text names what was wrong, what was seen, and what is allowed or what to do."""


EXPECTED = (UserError, ValueError, ArithmeticError)
"""Wrong words on a command line, in a params file or a recipe; files that cannot be used.

Any other exception is a defect of ours and keeps its traceback, but for ``OSError``, which names a path.
"""
