"""The table behind each figure of the chapter, with what its caption must say."""

VIEWS = {}
