"""Replies from a server that speaks OpenAI's protocol (``POST URL/chat/completions``), by the standard library."""

import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException, HTTPResponse

from livingpaper.asking.questions import Refused, Unanswered

BUSY = {408, 409, 425, 429, 500, 502, 503, 504, 529}  # may answer later
MOST_BYTES = 4_000_000  # of a reply; one word was asked for
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A model behind an address.

    Attributes:
        url: of the server, up to and without ``/chat/completions``; such as ``http://127.0.0.1:8000/v1``.
        model: its name there.
        key: sent as a bearer token; empty for none. It is never printed, recorded, or sent on to another address.
        timeout: seconds for one reply, from the first byte sent to the last one read.
        retries: how often a try is repeated where the server is busy, slow or away.
        temperature: of the draw; 0 always gives the likeliest reply, so that asking again is of no use.
        max_tokens: longest reply, in the model's tokens.
        sleep: waits between retries.

    Raises:
        Refused: an address that is none, or numbers out of range.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60.0
    retries: int = 4
    temperature: float = 1.0
    max_tokens: int = 32
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self):
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"--endpoint {self.url}: allowed: http://HOST:PORT/v1 or https://HOST/v1")
        if not (self.key.isascii() and self.key.isprintable()):
            raise Refused("the key holds signs that no header can carry; allowed: printable ASCII")
        if self.timeout <= 0 or self.retries < 0 or self.temperature < 0 or self.max_tokens < 1:
            raise Refused(
                f"timeout {self.timeout}, retries {self.retries}, temperature {self.temperature}, max_tokens "
                f"{self.max_tokens}; allowed: above 0, at least 0, at least 0, at least 1"
            )

    def __call__(self, text: str, seed: int) -> str:
        """One reply. A busy server is asked again after a pause that doubles, or that it names itself.

        Raises:
            Unanswered: busy, slow or away, however often it was asked.
            Refused: it says that this will never be answered, or it does not speak the protocol.
        """
        for attempt in range(self.retries + 1):
            try:
                return self._once(text, seed)
            except _Later as later:
                if attempt == self.retries:
                    raise Unanswered(f"{self.url}: {later} (asked {attempt + 1} times)") from later
                pause = min(LONGEST_PAUSE, max(later.pause, FIRST_PAUSE * 2**attempt * random.uniform(1, 1.5)))
                self.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _once(self, text: str, seed: int) -> str:
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": text}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": seed,
        }
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        address = f"{self.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self.timeout) as response:
                return self._content(_read(response, time.monotonic() + self.timeout))
        except urllib.error.HTTPError as error:
            if error.code in BUSY:
                raise _Later(f"HTTP {error.code} {error.reason}", _seconds(error.headers)) from error
            raise Refused(
                f"{self.url}: HTTP {error.code} {error.reason} for model {self.model!r}: {self._said(error)}"
            ) from error
        except TimeoutError as error:
            raise _Later(f"no reply within {self.timeout:g} s") from error
        except (OSError, HTTPException) as error:  # URLError among them
            reason = getattr(error, "reason", error)
            slow = isinstance(reason, TimeoutError)
            raise _Later(f"no reply within {self.timeout:g} s" if slow else f"no connection ({reason})") from error

    def _said(self, error: urllib.error.HTTPError) -> str:
        """The beginning of what the server explains, without our key if it repeats that."""
        text = ""
        with suppress(OSError, HTTPException):
            text = error.read(500).decode(errors="replace").strip()
        return (text.replace(self.key, "...") if self.key else text)[:200]

    def _content(self, data: bytes) -> str:
        try:
            content = json.loads(data)["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            begins = data[:200].decode(errors="replace")
            raise Refused(f"{self.url}: its reply is no chat completion; it begins with {begins!r}") from error
        if content is not None and not isinstance(content, str):
            raise Refused(f"{self.url}: the content of its reply is no text but {type(content).__name__}")
        return content or ""


class _Later(Exception):
    """It may be answered if asked again, after ``pause`` seconds if the server names them."""

    def __init__(self, what: str, pause: float = 0.0):
        super().__init__(what)
        self.pause = pause


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key is for the server that was named: whoever sends us elsewhere is refused."""

    def redirect_request(self, *details: object) -> None:
        """Never."""


def _read(response: HTTPResponse, deadline: float) -> bytes:
    """All of it; a server that sends a byte now and then does not make us wait for ever."""
    found = b""
    while chunk := response.read1(65_536):
        found += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(found) > MOST_BYTES:
            raise Refused(f"a reply of more than {MOST_BYTES:,} bytes, where one word was asked for")
    return found


def _seconds(headers: Message) -> float:
    """What ``Retry-After`` asks for; 0 where it is missing, or a date."""
    text = headers.get("Retry-After", "")
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0
