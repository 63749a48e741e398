"""A server that speaks the protocols of OpenAI, Ollama, Bedrock and Voyage, for their real clients."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from hybrid_memory.models.embedders import HashingEmbedder

WIDTH = 64


class Provider:
    """What it was asked, and how it answers.

    Attributes:
        asked: path and body of each request.
        answer: of the chat model: text, or an object where one was asked for.
        status: of every answer; from 400 on an error.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answer = "The user lives in Bergen."
        self.structured: dict[str, Any] = {"facts": []}
        self.status = 200
        self._embedder = HashingEmbedder(WIDTH)

    @property
    def batches(self) -> list[list[str]]:
        """The texts of each request for vectors."""
        inputs = [body.get("input", body.get("inputText")) for path, body in self.asked if "chat" not in path]
        return [[one] if isinstance(one, str) else one for one in inputs if one is not None]

    def respond(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body of the answer."""
        self.asked.append((path, body))
        if self.status >= 400:
            return {"error": {"message": "overloaded, come back later"}, "message": "overloaded, come back later"}
        if path.endswith("/embeddings"):
            rows = self._rows(body["input"], as_text=body.get("encoding_format") == "base64")
            return {"object": "list", "model": body["model"], "data": rows, "usage": {"total_tokens": 1}}
        if path.endswith("/api/embed"):
            return {"model": body["model"], "embeddings": self._vectors(body["input"])}
        if path.endswith("/invoke"):
            return {"embedding": self._vectors([body["inputText"]])[0], "inputTextTokenCount": 1}
        if path.endswith("/api/chat"):
            done = {"done": True, "done_reason": "stop", "created_at": "2026-11-26T00:00:00Z"}
            return {"model": body["model"], "message": self._said(body), **done}
        choice = {"index": 0, "finish_reason": "stop", "message": self._said(body)}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}

    def _said(self, body: dict[str, Any]) -> dict[str, Any]:
        wanted = "JSON schema" in body["messages"][-1]["content"]
        return {"role": "assistant", "content": json.dumps(self.structured) if wanted else self.answer}

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return rows

    def _rows(self, texts: list[str], *, as_text: bool) -> list[dict[str, Any]]:
        vectors = self._vectors(texts)
        packed: list[Any] = [base64.b64encode(np.array(row, "<f4").tobytes()).decode() for row in vectors]
        rows = packed if as_text else vectors
        return [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]


@contextmanager
def serving() -> Iterator[Provider]:
    """Answers on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(provider.respond(self.path, body)).encode()
            self.send_response(provider.status)
            # OpenAI's client would try again by itself, and wait between its attempts. Some keep a connection open
            # beyond the test.
            headers = {"Content-Type": "application/json", "x-should-retry": "false", "Connection": "close"}
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider = Provider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
