"""Files inside a page: ``data:`` addresses of texts, and what such an address holds."""

import base64
from urllib.parse import quote, unquote_to_bytes

SAFE = " !$&'()*+,-./:;=?@_~{}[]|^`"
"""Characters that a ``data:`` address can carry as they are inside double quotes."""


def data_address(kind: str, text: str) -> str:
    """Text as a ``data:`` address; percent-encoded rather than base64, which compresses far worse."""
    return f"data:{kind};charset=utf-8," + quote(text, safe=SAFE)


def content_of(address: str) -> bytes:
    """What a ``data:`` address holds."""
    kind, _, text = address.partition(",")
    return base64.b64decode(text) if kind.endswith(";base64") else unquote_to_bytes(text)
