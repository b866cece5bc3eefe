"""Downloads against a server on this machine that does what servers do."""

from __future__ import annotations

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from utils.download import DownloadError, fetch

CONTENT = bytes(range(256)) * 2_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT under every path, in the way that the path asks for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []  # (path, Range header) of every request
        self.failures_left = {}

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        way = self.path.strip("/")
        wanted = self.headers.get("Range")
        self.server.asked.append((way, wanted))
        if way.isdigit():
            self.send_error(int(way))
            return
        if way.startswith("once-"):  # fails the first time, serves the second
            left = self.server.failures_left.setdefault(way, 1)
            self.server.failures_left[way] = left - 1
            if left:
                self.send_error(int(way.removeprefix("once-")))
                return
        body = b"other bytes" if way == "wrong" else CONTENT
        start = 0
        if wanted and way != "no-ranges":
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        rest = body[start:]
        if way == "truncates" and len(rest) > 100_000:
            rest = rest[:100_000]
        if way == "stalls":
            self.wfile.write(rest[:1000])
            self.wfile.flush()
            time.sleep(1.5)
            return
        self.wfile.write(rest)


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def get(server, path, *ways, **options):
    options = {"timeout": 0.5, "pause": 0.01, **options}
    return fetch([server.url(way) for way in ways], SHA256, path, **options)


def test_a_file_is_fetched_checked_and_not_fetched_again(server, tmp_path):
    path = tmp_path / "new" / "file.bin"
    assert get(server, path, "good") == path
    assert path.read_bytes() == CONTENT
    get(server, path, "good")
    assert len(server.asked) == 1
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]


@pytest.mark.parametrize("way", ["404", "410", "503", "429", "wrong", "stalls"])
def test_a_second_address_steps_in(server, tmp_path, way):
    path = get(server, tmp_path / "file.bin", way, "good")
    assert path.read_bytes() == CONTENT
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin"]


@pytest.mark.parametrize("way", ["once-503", "once-429", "once-408"])
def test_a_passing_fault_is_tried_again(server, tmp_path, way):
    assert get(server, tmp_path / "file.bin", way).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_a_final_no_is_not_asked_again(server, tmp_path):
    with pytest.raises(DownloadError):
        get(server, tmp_path / "file.bin", "404")
    assert len(server.asked) == 1


def test_a_broken_connection_is_resumed_where_it_broke(server, tmp_path):
    path = get(server, tmp_path / "file.bin", "truncates", tries=6)
    assert path.read_bytes() == CONTENT
    assert server.asked[1] == ("truncates", "bytes=100000-")


def test_a_later_call_goes_on_where_an_earlier_one_stopped(server, tmp_path):
    path, part = tmp_path / "file.bin", tmp_path / "file.bin.part"
    with pytest.raises(DownloadError, match="the connection ended"):
        get(server, path, "truncates", tries=1)
    assert part.stat().st_size == 100_000
    assert not path.exists()
    get(server, path, "good")
    assert server.asked[-1] == ("good", "bytes=100000-")
    assert path.read_bytes() == CONTENT
    assert not part.exists()


def test_a_server_that_ignores_ranges_is_read_from_the_start(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:5000])
    assert get(server, tmp_path / "file.bin", "no-ranges").read_bytes() == CONTENT


@pytest.mark.parametrize("left_over", [b"rubbish", CONTENT + b"more", CONTENT])
def test_whatever_an_interruption_left_the_right_file_comes_out(server, tmp_path, left_over):
    (tmp_path / "file.bin.part").write_bytes(left_over)
    assert get(server, tmp_path / "file.bin", "good").read_bytes() == CONTENT


def test_one_error_lists_every_address_and_says_what_to_do(server, tmp_path):
    path = tmp_path / "file.bin"
    ways = ["404", "503", "wrong", "stalls"]
    with pytest.raises(DownloadError) as caught:
        get(server, path, *ways)
    message = str(caught.value)
    for way in ways:
        assert server.url(way) in message
    for part in ("answered 404", "answered 503", "wrong SHA-256", str(path), SHA256, "by hand"):
        assert part in message
    assert not path.exists()


def test_nobody_there_is_said_in_words(tmp_path):
    with pytest.raises(DownloadError, match="no connection"):
        fetch(["http://127.0.0.1:9/x"], SHA256, tmp_path / "x", tries=1, timeout=0.5)


def test_a_damaged_file_is_reported_and_not_overwritten(server, tmp_path):
    path = tmp_path / "file.bin"
    path.write_bytes(b"mine")
    with pytest.raises(DownloadError, match=r"is damaged.*Delete it"):
        get(server, path, "good")
    assert path.read_bytes() == b"mine"
    assert not server.asked


@pytest.mark.parametrize(
    ("urls", "sha256", "said"),
    [
        ("http://127.0.0.1/x", SHA256, "a list of one or more addresses"),
        ([], SHA256, "a list of one or more addresses"),
        (["http://127.0.0.1/x"], "abc", "64 hexadecimal digits"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, urls, sha256, said):
    with pytest.raises(ValueError, match=said):
        fetch(urls, sha256, tmp_path / "x")
