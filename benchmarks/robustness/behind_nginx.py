"""Sends requests that two servers may read differently, straight to task=serve and through nginx.

    apt-get install nginx
    python benchmarks/robustness/behind_nginx.py

A request is smuggled where nginx passes one on and the server behind it answers two. A line for each
shape has the statuses of the replies; the last line has both numbers.
"""

import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SECOND = b"GET /healthz?second=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
FIRST = b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
END = b"\r\n0\r\n\r\n"


def _length(count: int) -> bytes:
    return b"Content-Length: %d\r\n" % count


SHAPES = {
    "length, then chunks": FIRST + _length(len(SECOND) + 5) + CHUNKED + END + SECOND,
    "chunks, then length": FIRST + CHUNKED + _length(4) + b"\r\n40\r\n" + SECOND + END,
    "blank before the colon": FIRST + b"Transfer-Encoding : chunked\r\n" + END + SECOND,
    "an unknown encoding": FIRST + b"Transfer-Encoding: xchunked\r\n" + END + SECOND,
    "a tab before the encoding": FIRST + b"Transfer-Encoding:\tchunked\r\n" + END + SECOND,
    "two encodings": FIRST + b"Transfer-Encoding: identity\r\n" + CHUNKED + END + SECOND,
    "two lengths": FIRST + _length(0) + _length(len(SECOND)) + b"\r\n" + SECOND,
    "a length with a sign": FIRST + b"Content-Length: +0\r\n\r\n" + SECOND,
    "lines without CR": FIRST.replace(b"\r\n", b"\n") + b"Content-Length: 0\n\n" + SECOND,
    "a field after a bare LF": FIRST + b"X: a\n" + CHUNKED + _length(9) + END + SECOND,
    "a folded field": FIRST + b"X: a\r\n " + CHUNKED + _length(0) + b"\r\n" + SECOND,
    "a NUL": FIRST + b"X: a\0b\r\n" + _length(0) + b"\r\n" + SECOND,
    "a chunk's extension": FIRST + CHUNKED + b"\r\n5;a=b\r\nabcde" + END + SECOND,
    "a chunk's size without CR": FIRST + CHUNKED + b"\r\n5\nabcde" + END + SECOND,
    "a chunk's size of 68 bits": FIRST
    + CHUNKED
    + b"\r\nfffffffffffffffff5\r\nabcde"
    + END
    + SECOND,
    "a length as a trailer": FIRST + CHUNKED + b"\r\n0\r\nContent-Length: 60\r\n\r\n" + SECOND,
    "another host in the line": b"GET http://other/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}

NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/errors.log;
events {{}}
http {{
  log_format passed '$upstream_status';
  access_log {folder}/requests.log passed;
  upstream convrag {{ server 127.0.0.1:{server}; keepalive 4; }}
  server {{
    listen 127.0.0.1:{proxy};
    location / {{
      proxy_pass http://convrag; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host 127.0.0.1;
    }}
  }}
}}
"""


def find_port() -> int:
    """Find a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def send(port: int, request: bytes) -> list[str]:
    """Send bytes, and return the statuses of all replies."""
    replies = b""
    with socket.create_connection(("127.0.0.1", port), timeout=1.5) as connection:
        connection.sendall(request)
        try:
            while part := connection.recv(65_536):
                replies += part
        except TimeoutError:
            pass
    return re.findall(r"HTTP/1\.1 (\d+)", replies.decode("latin-1"))


class Relay:
    """Passes connections on to a server, and counts its replies.

    Args:
        port: of the server.
    """

    def __init__(self, port: int) -> None:
        self.replies = 0
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(("127.0.0.1", self._server))
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()
            threading.Thread(target=self._pass_back, args=(server, client), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        while part := client.recv(65_536):
            server.sendall(part)
        server.shutdown(socket.SHUT_WR)

    def _pass_back(self, server: socket.socket, client: socket.socket) -> None:
        while part := server.recv(65_536):  # each short reply of loopback comes whole
            self.replies += part.count(b"HTTP/1.1 ")
            client.sendall(part)
        client.close()


def main() -> None:
    """Start both servers, send all shapes, and print what came back."""
    folder = Path(tempfile.mkdtemp())
    server_port, proxy_port = find_port(), find_port()
    relay = Relay(server_port)
    config = NGINX.format(folder=folder, server=relay.port, proxy=proxy_port)
    (folder / "nginx.conf").write_text(config)
    serve = [sys.executable, "-m", "convrag", "task=serve", f"task.port={server_port}"]
    with (
        subprocess.Popen([*serve, f"store.path={folder}/store"], stdout=subprocess.PIPE) as server,
        subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf"]) as proxy,
    ):
        try:
            assert server.stdout
            server.stdout.readline()  # its address
            time.sleep(1)
            for name, request in SHAPES.items():
                direct = " ".join(send(server_port, request))
                through = " ".join(send(proxy_port, request))
                sys.stdout.write(f"{name:28} straight: {direct:8} through nginx: {through}\n")
            logged = (folder / "requests.log").read_text().splitlines()
            passed = sum(status != "-" for status in logged)
            sys.stdout.write(f"nginx passed {passed} requests on; {relay.replies} were answered\n")
        finally:
            proxy.terminate()
            server.terminate()


if __name__ == "__main__":
    main()
