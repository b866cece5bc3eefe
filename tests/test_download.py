"""Downloads against a server on this machine that fails in every way a real one does."""

import gzip
import hashlib
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from utils.download import DownloadError, fetch, sha256_of

BODY = bytes(range(256)) * 40
SHA256 = hashlib.sha256(BODY).hexdigest()
HALF = len(BODY) // 2
FAST = {"timeout": 0.3, "pause": 0.01}


# What the server may do with one request. `range_from` is where the client wants to start, or None.


def whole(handler, range_from, body=BODY):
    """Send everything, whatever was asked for."""
    handler.answer(200, body)


def ranged(handler, range_from):
    """Send what was asked for."""
    if range_from is None:
        handler.answer(200, BODY)
    elif range_from >= len(BODY):
        handler.answer(416, b"")
    else:
        rest = BODY[range_from:]
        content = f"bytes {range_from}-{len(BODY) - 1}/{len(BODY)}"
        handler.answer(206, rest, {"Content-Range": content})


def truncated(handler, range_from):
    """Promise the rest of the file, send the half of it, and hang up."""
    start = range_from or 0
    rest = BODY[start:]
    status = 200 if range_from is None else 206
    handler.answer(status, rest[: len(rest) // 2], {"Content-Length": str(len(rest))})


def chunked(handler, range_from):
    """Begin a file of unknown length, and hang up."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"%x\r\n%s\r\n" % (HALF, BODY[:HALF]))


def stalled(handler, range_from):
    """Send the first half, and then nothing for longer than the client waits."""
    handler.answer(200, BODY[:HALF], {"Content-Length": str(len(BODY))})
    handler.wfile.flush()
    time.sleep(3 * FAST["timeout"])


def silent(handler, range_from):
    time.sleep(3 * FAST["timeout"])


def wrong(handler, range_from):
    """Send another file of the same length."""
    handler.answer(200, BODY[::-1])


def other_range(handler, range_from):
    """Answer a range with another one."""
    handler.answer(206 if range_from else 200, BODY[: (range_from or 0) + 7])


def compressing(handler, range_from):
    """Compress where the client allows it; ranges then count compressed bytes."""
    allowed = "gzip" in handler.headers.get("Accept-Encoding", "")
    if not allowed:
        ranged(handler, range_from)
        return
    packed = gzip.compress(BODY)[range_from or 0 :]
    status = 206 if range_from else 200
    handler.answer(status, packed, {"Content-Encoding": "gzip"})


def status(code):
    return lambda handler, range_from: handler.answer(code, b"no")


class Server:
    """Answers each path by its script, one entry a request; the last entry is repeated."""

    def __init__(self):
        self.scripts: dict[str, list] = {}
        self.requests: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.requests.append((self.path, self.headers.get("Range")))
                script = outer.scripts[self.path]
                action = script.pop(0) if len(script) > 1 else script[0]
                asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
                action(self, int(asked[1]) if asked else None)
                self.close_connection = True

            def answer(self, code, body, headers=()):
                self.send_response(code)
                for name, value in {"Content-Length": str(len(body)), **dict(headers)}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *args: None  # a client that gave up is no fault
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def url(self, path, *script):
        self.scripts[path] = list(script)
        return f"http://127.0.0.1:{self.http.server_port}{path}"

    def ranges(self, path):
        return [asked for where, asked in self.requests if where == path]


@pytest.fixture(scope="module")
def running():
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def server(running, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running.requests.clear()
    return running


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "file.bin"


def names(path):
    return sorted(found.name for found in path.parent.iterdir())


def test_sha256_of_a_known_text(tmp_path):
    file = tmp_path / "abc"
    file.write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_of(file) == sha256_of(str(file)) == expected


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([whole], id="whole"),
        pytest.param([ranged], id="honours-ranges"),
        pytest.param([truncated, ranged], id="truncated-then-resumed"),
        pytest.param([truncated, truncated, ranged], id="truncated-twice"),
        pytest.param([chunked, ranged], id="chunks-then-resumed"),
        pytest.param([truncated, whole], id="truncated-and-ignores-ranges"),
        pytest.param([stalled, ranged], id="stalled-then-resumed"),
        pytest.param([silent, whole], id="silent-once"),
        pytest.param([status(503), whole], id="503-once"),
        pytest.param([status(429), status(429), whole], id="429-twice"),
        pytest.param([status(408), whole], id="408-once"),
        pytest.param([truncated, other_range, whole], id="answers-another-range"),
        pytest.param([truncated, compressing], id="would-compress"),
    ],
)
def test_the_right_file_comes_in_the_end(server, path, script):
    assert fetch([server.url("/a", *script)], SHA256, path, **FAST) == path
    assert path.read_bytes() == BODY
    assert names(path) == ["file.bin"]
    assert len(server.requests) == len(script)


def test_the_second_try_asks_only_for_the_rest(server, path):
    fetch([server.url("/a", truncated, ranged)], SHA256, path, **FAST)
    assert server.ranges("/a") == [None, f"bytes={HALF}-"]


def test_the_next_address_goes_on_where_the_first_stopped(server, path):
    urls = [server.url("/a", truncated), server.url("/b", ranged)]
    fetch(urls, SHA256, path, tries=1, **FAST)
    assert path.read_bytes() == BODY
    assert server.ranges("/b") == [f"bytes={HALF}-"]


def test_a_good_mirror_behind_bad_ones_is_used(server, path):
    bad = [server.url("/404", status(404)), server.url("/wrong", wrong)]
    fetch([*bad, server.url("/good", whole), server.url("/unused", whole)], SHA256, path, **FAST)
    assert path.read_bytes() == BODY
    asked = [where for where, _ in server.requests]
    assert asked == ["/404", "/wrong", "/good"]  # a 404 or another file is not asked for again


def test_an_interrupted_call_leaves_the_part_and_the_next_one_resumes(server, path):
    with pytest.raises(DownloadError):
        fetch([server.url("/a", truncated)], SHA256, path, tries=1, **FAST)
    assert names(path) == ["file.bin.part"]
    assert (path.parent / "file.bin.part").read_bytes() == BODY[:HALF]
    server.requests.clear()
    fetch([server.url("/a", ranged)], SHA256, path, tries=1, **FAST)
    assert server.ranges("/a") == [f"bytes={HALF}-"]
    assert path.read_bytes() == BODY
    assert names(path) == ["file.bin"]


def test_ctrl_c_loses_nothing(server, path):
    def impatient(file):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("utils.download.sha256_of", impatient)
        with pytest.raises(KeyboardInterrupt):
            fetch([server.url("/a", ranged)], SHA256, path, **FAST)
    assert names(path) == ["file.bin.part"]
    server.requests.clear()
    fetch([server.url("/a", ranged)], SHA256, path, **FAST)
    assert server.ranges("/a") == [f"bytes={len(BODY)}-"]  # answered 416: nothing is left to send
    assert path.read_bytes() == BODY


@pytest.mark.parametrize(
    "stale", [b"old", BODY[::-1], BODY + b"more"], ids=["short", "as-long", "longer"]
)
def test_a_part_of_another_file_is_fetched_anew(server, path, stale):
    path.parent.mkdir()
    (path.parent / "file.bin.part").write_bytes(stale)
    fetch([server.url("/a", ranged)], SHA256, path, **FAST)
    assert path.read_bytes() == BODY
    assert server.ranges("/a") == [f"bytes={len(stale)}-", None]


@pytest.mark.parametrize(
    ("script", "said", "n_requests", "left"),
    [
        pytest.param([status(404)], "the server answered 404", 1, [], id="404"),
        pytest.param([status(403)], "the server answered 403", 1, [], id="403"),
        pytest.param([status(429)], "the server answered 429", 3, [], id="429"),
        pytest.param([status(503)], "the server answered 503", 3, [], id="503"),
        pytest.param([wrong], "wrong SHA-256", 1, [], id="wrong"),
        pytest.param([truncated], "the connection ended after", 3, ["file.bin.part"], id="cut"),
        pytest.param([chunked], "ended before the file did", 3, ["file.bin.part"], id="cut-chunks"),
        pytest.param([silent], "no answer in time", 3, [], id="silent"),
        pytest.param([stalled], "no answer in time", 3, ["file.bin.part"], id="stalled"),
    ],
)
def test_what_an_address_that_fails_is_told_about(server, path, script, said, n_requests, left):
    url = server.url("/a", *script)
    with pytest.raises(DownloadError) as error:
        fetch([url], SHA256, path, **FAST)
    message = str(error.value)
    assert f"{url}: " in message
    assert said in message
    if n_requests > 1 and script != [truncated]:  # each of its tries ended after other bytes
        assert message.count(said) == 1  # said once, however often it was tried
    assert str(path) in message
    assert SHA256 in message
    assert len(server.requests) == n_requests
    assert names(path) == left


def test_one_error_lists_each_address(server, path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}/x"
        urls = [server.url("/gone", status(404)), server.url("/wrong", wrong), nobody]
        with pytest.raises(DownloadError, match=r"file\.bin could not be downloaded") as error:
            fetch(urls, SHA256, path, tries=2, **FAST)
    lines = [line.strip() for line in str(error.value).splitlines()]
    assert lines[1].startswith(f"{urls[0]}: the server answered 404")
    assert lines[2].startswith(f"{urls[1]}: the content is not")
    assert lines[3].startswith(f"{nobody}: no connection")
    assert lines[4].startswith("Fetch it by hand")
    assert isinstance(error.value, OSError)


def test_the_pause_doubles(server, path, monkeypatch):
    pauses = []
    monkeypatch.setattr("utils.download.time.sleep", pauses.append)
    with pytest.raises(DownloadError):
        fetch([server.url("/a", status(503))], SHA256, path, tries=4, timeout=1, pause=0.5)
    assert pauses == [0.5, 1, 2]


def test_a_file_that_is_there_is_not_fetched_again(server, path):
    path.parent.mkdir()
    path.write_bytes(BODY)
    url = server.url("/a", status(404))
    assert fetch([url], SHA256, path) == path
    assert fetch([url], SHA256.upper(), str(path)) == path
    assert server.requests == []


def test_a_damaged_file_is_reported_and_left_alone(server, path):
    path.parent.mkdir()
    path.write_bytes(BODY[:HALF])
    with pytest.raises(DownloadError, match="is damaged") as error:
        fetch([server.url("/a", whole)], SHA256, path)
    assert str(path) in str(error.value)
    assert "Delete it and try again" in str(error.value)
    assert path.read_bytes() == BODY[:HALF]
    assert server.requests == []


@pytest.mark.parametrize(
    ("urls", "sha256", "said"),
    [
        ("http://127.0.0.1/a", SHA256, "expected a list of one or more addresses, got 'http"),
        ([], SHA256, r"expected a list of one or more addresses, got \[\]"),
        (["http://127.0.0.1/a"], "d41d8cd98f00b204e9800998ecf8427e", "64 hexadecimal digits, got"),
        (["http://127.0.0.1/a"], "z" * 64, "64 hexadecimal digits, got 'zzz"),
    ],
    ids=["one-string", "none", "md5", "no-digits"],
)
def test_what_cannot_be_fetched_is_refused_before_asking(path, urls, sha256, said):
    with pytest.raises(ValueError, match=said):
        fetch(urls, sha256, path)
    assert not path.parent.exists()
