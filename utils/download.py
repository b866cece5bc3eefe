"""Downloads that are verified, mirrored and resumed. Nothing here runs unless you call it.

The course itself needs no download: its model, its vectors and its texts come from packages.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

__all__ = ["DownloadError", "fetch", "sha256_of"]

CHUNK = 1 << 20


class DownloadError(OSError):
    """A file could not be had, or what came is not the file that was asked for."""


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's content, as 64 hexadecimal digits.

    Args:
        path: An existing file.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as empty:
    ...     sha256_of(empty.name)[:8]
    'e3b0c442'
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(
    urls: Sequence[str],
    sha256: str,
    path: str | Path,
    *,
    tries: int = 3,
    timeout: float = 30.0,
    pause: float = 1.0,
) -> Path:
    """Bring one file, from the first address that has it, and check its content.

    The bytes go to ``<path>.part``, and only a file with the right hash is renamed to ``path``:
    an interrupted call loses nothing, and the next one goes on where it stopped.

    Args:
        urls: Addresses of the same file, the best first.
        sha256: The SHA-256 that the content must have, as 64 hexadecimal digits.
        path: Where the file shall stand. A file that is there and right is not fetched again.
        tries: How often each address is asked.
        timeout: Seconds without an answer, or without a byte, after which a try is given up.
        pause: Seconds before the second try of an address; doubled before each further one.

    Returns:
        ``path``.

    Raises:
        DownloadError: If no address gave the file. The message lists every address with its
            failure, and says where to put the file by hand. Or if another file stands at ``path``:
            it is left as it is.
        ValueError: If there is no address, or the hash is not one.
    """
    if isinstance(urls, str) or not urls:
        raise ValueError(f"expected a list of one or more addresses, got {urls!r}")
    sha256 = sha256.lower()
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise ValueError(f"expected a SHA-256 as 64 hexadecimal digits, got {sha256!r}")
    path = Path(path)
    part = path.with_name(path.name + ".part")
    if path.exists():
        if sha256_of(path) == sha256:
            return path
        raise DownloadError(
            f"{path} is damaged: its SHA-256 is not {sha256}. Delete it and try again."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in urls:
        for attempt in range(tries):
            if attempt:
                time.sleep(pause * 2 ** (attempt - 1))
            resumed = part.exists()
            try:
                _append(url, part, timeout)
            except (requests.RequestException, OSError) as error:
                failures.append(f"{url}: {_in_words(error)}")
                if _is_final(error):
                    break
                continue
            if sha256_of(part) == sha256:
                part.replace(path)
                return path
            part.unlink()
            failures.append(f"{url}: the content is not the expected one (wrong SHA-256)")
            if not resumed:  # else the bytes that were there may be at fault: fetch all of them
                break
    listed = "\n  ".join(dict.fromkeys(failures))
    raise DownloadError(
        f"{path.name} could not be downloaded.\n  {listed}\n"
        f"Fetch it by hand from one of these addresses and save it as {path} "
        f"(SHA-256 {sha256})."
    )


def _append(url: str, part: Path, timeout: float) -> None:
    """Write the rest of a file behind what ``part`` already holds."""
    have = part.stat().st_size if part.exists() else 0
    # Ranges count the bytes as sent, so they must not be sent compressed.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with requests.get(url, headers=headers, stream=True, timeout=timeout) as answer:
        if answer.status_code == 416:  # nothing is left to send: the hash decides
            return
        answer.raise_for_status()
        # A server that ignores the range sends the whole file again, with status 200.
        mode = "ab" if answer.status_code == 206 else "wb"
        expected = answer.headers.get("Content-Length")
        before = have if mode == "ab" else 0
        with open(part, mode) as file:
            try:
                # As the bytes come: a full chunk would lose those before a broken connection.
                while chunk := answer.raw.read1(CHUNK):
                    file.write(chunk)
            except ReadTimeoutError:
                raise requests.ReadTimeout("no byte in time") from None
            except HTTPError:
                if expected is None:
                    raise OSError("the connection ended before the file did") from None
                # Else the count below tells what is missing.
        got = part.stat().st_size - before
        if expected is not None and got < int(expected):
            raise OSError(f"the connection ended after {got} of {expected} bytes")


def _is_final(error: Exception) -> bool:
    """Tell whether asking the same address again is useless (4xx, but for time-outs and 429)."""
    answer = getattr(error, "response", None)
    return (
        answer is not None
        and 400 <= answer.status_code < 500
        and answer.status_code not in (408, 429)
    )


def _in_words(error: Exception) -> str:
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"the server answered {answer.status_code}"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error)
