"""Mistakes that a user can mend: said in one line or a few, without a traceback."""


class UserError(Exception):
    """Something in the command or its files is wrong; the text says what, and what to do."""
