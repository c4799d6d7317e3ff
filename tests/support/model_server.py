"""A server on this machine that speaks OpenAI's protocol, as badly as it is told to."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Replies:
    """What the server does, and what it was asked.

    ``content(body, number)`` gives the text of the reply; ``status`` are HTTP codes to refuse with first, one a
    request; ``delay`` seconds pass before a reply.
    """

    def __init__(self, content, status=(), headers=None, delay=0.0, raw=None):
        self.content, self.status, self.headers = content, list(status), headers or {}
        self.delay, self.raw, self.seen, self.keys, self.at_once, self.most_at_once = delay, raw, [], [], 0, 0
        self.lock = threading.Lock()

    def answer(self, handler):
        with self.lock:
            body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
            self.seen.append(body)
            self.keys.append(handler.headers.get("Authorization"))
            number, code = len(self.seen) - 1, self.status.pop(0) if self.status else 200
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            time.sleep(self.delay)
        finally:
            with self.lock:  # before the reply is out: who has it may ask again at once
                self.at_once -= 1
        try:
            self.send(handler, code, body, number)
        except OSError:  # whoever asked has stopped waiting
            pass

    def send(self, handler, code, body, number):
        if code == 200:
            message = {"choices": [{"message": {"content": self.content(body, number)}}]}
            data = self.raw if self.raw is not None else json.dumps(message).encode()
        else:
            data = json.dumps({"error": f"refused, {handler.headers.get('Authorization')}"}).encode()
        handler.send_response(code)
        for name, value in (self.headers | {"Content-Length": str(len(data))}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


@contextmanager
def served(replies):
    """The address of a server that gives these replies, until the body ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            replies.answer(self)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
