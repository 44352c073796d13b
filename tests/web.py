"""A web server on this machine that speaks https, with a certificate that is made for the test and trusted in it."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@dataclass
class Web:
    """What the server answers, by the path that is asked for; a path that it does not have is a 404.

    Attributes:
        address: `https://127.0.0.1:` and a port.
        pages: The content of a path; given as a generator it is sent piece by piece, without its length.
        redirects: The address that a path leads on to.
        asked: The paths that were asked for.
    """

    address: str = ""
    pages: dict[str, bytes | Iterator[bytes]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


def certificate(folder: Path) -> Path:
    """A key and a certificate of 127.0.0.1 signed by itself, in one file."""
    folder.mkdir(parents=True, exist_ok=True)
    key, signed = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(signed)], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text(key.read_text(encoding="utf-8") + signed.read_text(encoding="utf-8"), encoding="utf-8")
    return both


@contextmanager
def serving(folder: Path) -> Iterator[Web]:
    """Runs the server; its key and certificate are in the folder."""
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append(self.path)
            if self.path in web.redirects:
                self.send_response(302)
                self.send_header("Location", web.redirects[self.path])
                self.end_headers()
            elif self.path in web.pages:
                self.answer(web.pages[self.path])
            else:
                self.send_error(404)

        def answer(self, content: bytes | Iterator[bytes]) -> None:
            self.send_response(200)
            if isinstance(content, bytes):
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            try:
                for piece in [content] if isinstance(content, bytes) else content:
                    self.wfile.write(piece)
            except OSError:
                self.close_connection = True  # the client has heard enough

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    web.address = f"https://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
