"""One kernel for a chapter and its appendix: what modules keep is there, names are not; closed, it is gone."""

import os
import time
from contextlib import closing

import nbformat
import pytest

from livingpaper.book.notebooks import BookError, Job, kernel_environment, run_notebook
from livingpaper.book.study_kernel import StudyKernel

CHAPTER = "import os, sys\nsys.read, left = 'rows', 1\nprint(os.getpid())"
APPENDIX = "import os, sys\nprint(os.getpid(), getattr(sys, 'read', None), 'left' in globals(), 'seeds' in globals())"


@pytest.fixture
def job(tmp_path):
    """Give a notebook of some cells as a job."""

    def of(name, *cells):
        source = tmp_path / f"{name}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)]), source)
        return Job(source=source, parameters={}, executed=tmp_path / "out" / source.name, inputs="")

    return of


@pytest.fixture
def kernel(tmp_path):
    with kernel_environment("published", tmp_path / "out"), closing(StudyKernel()) as kernel:
        yield kernel


def said(job):
    """What the last cell of an executed notebook printed, in words."""
    return nbformat.read(job.executed, as_version=4).cells[-1].outputs[0].text.split()


def ends(pid):
    """Whether a process is gone within ten seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_an_appendix_finds_what_modules_keep_and_no_name_of_its_chapter(job, kernel, tmp_path):
    chapter, appendix = job("chapter", "seeds = [0]", CHAPTER), job("appendix", APPENDIX)
    for one in (chapter, appendix):
        assert run_notebook(one, tmp_path, kernel).startswith("executed in")
    (first,), (second, *found) = said(chapter), said(appendix)
    assert second == first, "one kernel"
    assert found == ["rows", "False", "False"]
    kernel.close()
    assert ends(int(first))


def test_a_kernel_that_was_closed_or_died_is_followed_by_another(job, kernel, tmp_path):
    with pytest.raises(BookError, match=r"^failed\.ipynb failed(?s:.*)KeyError: 'lost'"):
        run_notebook(job("failed", f"{CHAPTER}\n{{}}['lost']"), tmp_path, kernel)
    kernel.close()
    with pytest.raises(BookError, match=r"^dead\.ipynb failed \(DeadKernelError\)"):
        run_notebook(job("dead", "import os\nos._exit(1)"), tmp_path, kernel)
    appendix = job("appendix", APPENDIX)
    run_notebook(appendix, tmp_path, kernel)
    assert said(appendix)[1:] == ["None", "False", "False"]
