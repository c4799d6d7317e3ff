"""A kernel whose port was taken after it was chosen is started once more, with other ports; no other failure is."""

import socket

import nbformat
import pytest
from jupyter_client.provisioning.local_provisioner import LocalPortCache

from livingpaper.book.notebooks import BookError, Job, kernel_environment, run_notebook


@pytest.fixture
def job(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("open('done', 'a').write('x')")])
    nbformat.write(notebook, tmp_path / "alone.ipynb")
    return Job(source=tmp_path / "alone.ipynb", parameters={}, executed=tmp_path / "out" / "alone.ipynb", inputs="")


@pytest.fixture
def taken(monkeypatch):
    """Somebody else's port, which is given as free so many times; the ports given so far, five a kernel."""
    held, asked = socket.socket(), []
    held.bind(("127.0.0.1", 0))

    def tell(times):
        find = LocalPortCache.find_available_port

        def found(self, ip):
            port = held.getsockname()[1] if len(asked) < times else find(self, ip)
            asked.append(port)
            return port

        monkeypatch.setattr(LocalPortCache, "find_available_port", found)
        return asked

    yield tell
    held.close()


def test_a_kernel_whose_port_is_taken_is_started_once_more(job, taken, tmp_path):
    given = taken(1)
    with kernel_environment("published", tmp_path / "out"):
        assert run_notebook(job, tmp_path).startswith("executed in")
    assert (tmp_path / "done").read_text() == "x"
    assert len(given) == 10


def test_a_kernel_that_never_comes_up_fails_the_notebook(job, taken, tmp_path):
    given = taken(99)
    with kernel_environment("published", tmp_path / "out"), pytest.raises(BookError, match="Kernel died before"):
        run_notebook(job, tmp_path)
    assert len(given) == 10
    assert not (tmp_path / "done").exists()
