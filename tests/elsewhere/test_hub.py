"""torch.hub with local folders and files; what needs the network is named."""

import hashlib

import pytest

import rushlight as torch
from rushlight import hub


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "hub"))


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "hubconf.py").write_text(
        "dependencies = ['numpy']\n"
        "from made_here import width\n"
        "def net(size, bias=True):\n"
        "    'A layer.'\n"
        "    import rushlight.nn as nn\n"
        "    return nn.Linear(size, width, bias)\n"
    )
    (folder / "made_here.py").write_text("width = 3\n")
    return folder


def test_a_local_folder(repository):
    net = hub.load(str(repository), "net", 2, source="local", bias=False)
    assert net.weight.shape == (3, 2) and net.bias is None
    assert hub.list(str(repository), source="local") == ["net"]
    assert hub.help(str(repository), "net", source="local") == "A layer."
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(str(repository), "other", source="local")


def test_missing_dependencies(repository):
    (repository / "hubconf.py").write_text("dependencies = ['no_such_package_']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_"):
        hub.load(str(repository), "net", source="local")


def test_a_file_of_a_state_dict(tmp_path):
    state = torch.nn.Linear(2, 1).state_dict()
    torch.save(state, tmp_path / "net.pt")
    loaded = hub.load_state_dict_from_url((tmp_path / "net.pt").as_uri())
    assert all(torch.equal(loaded[k], state[k]) for k in state)
    assert (tmp_path / "hub" / "checkpoints" / "net.pt").exists()
    # what is kept is not fetched again, wherever it came from
    again = hub.load_state_dict_from_url("https://example.org/net.pt")
    assert torch.equal(again["weight"], state["weight"])


def test_the_network_is_needed(tmp_path):
    with pytest.raises(RuntimeError, match=r"would download https://example.org/a.pt to .*a\.pt"):
        hub.load_state_dict_from_url("https://example.org/a.pt")
    with pytest.raises(RuntimeError, match="the repository owner/name"):
        hub.load("owner/name", "net")


def test_hashes(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    hub.download_url_to_file((tmp_path / "a").as_uri(), str(tmp_path / "b"), digest[:8])
    assert (tmp_path / "b").read_bytes() == b"abc"
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file((tmp_path / "a").as_uri(), str(tmp_path / "c"), "00")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("call", ["list", "help", "load"])
def test_a_folder_of_that_name_where_the_program_stands_is_not_run(tmp_path, monkeypatch, call):
    (tmp_path / "own" / "repo").mkdir(parents=True)
    (tmp_path / "own" / "repo" / "hubconf.py").write_text("open('run', 'w').close()\n")
    (tmp_path / "hubconf.py").write_text("open('run', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    for name in ("own/repo", "own/repo:main", ".", "./own/repo", str(tmp_path / "own" / "repo")):
        with pytest.raises(RuntimeError, match="would download the repository"):
            getattr(hub, call)(name, *([] if call == "list" else ["net"]))
    assert not (tmp_path / "run").exists()


def test_a_copy_that_is_cut_off_leaves_no_file_under_the_name(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"whole")

    def killed(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(hub.os, "replace", killed)
        hub.download_url_to_file((tmp_path / "a").as_uri(), str(tmp_path / "b"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]
    hub.download_url_to_file((tmp_path / "a").as_uri(), str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == b"whole"
