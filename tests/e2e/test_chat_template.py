"""`--chat-template FILE`: what takes the place of a model's own template, and what is refused."""
import pytest

import banyan

LIMIT = 1 << 18


def refused(template):
    code, _, stderr = banyan.run("serve", "--model", banyan.MODEL, "--port", 0, "--chat-template", template)
    assert code == 1, (code, stderr)
    assert stderr.count("\n") == 1 and stderr.startswith("banyan: "), stderr
    print(stderr)
    return stderr


def test_it_takes_the_place_of_the_models_own(tmp_path):
    path = tmp_path / "short.jinja"
    path.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}bot:")
    with banyan.serving("--kv-memory", "16MiB", "--chat-template", path, model=banyan.MODEL) as server:
        rendered = server.post("/tokenize", {"messages": [{"role": "user", "content": "Hi"}]}).json()
        text = server.post("/detokenize", {"tokens": rendered["tokens"]}).json()["content"]
        assert text == "user: Hi\nbot:"
        assert server.chat("Hi", max_tokens=1).prompt == rendered["count"]


@pytest.mark.parametrize("text,named", [("", "empty"), ("{% for x %}", "line 1"), ("a\n{{ b", "line 2")])
def test_a_file_that_is_no_template(tmp_path, text, named):
    path = tmp_path / "broken.jinja"
    path.write_text(text)
    assert named in refused(path)


def test_files_that_cannot_be_read(tmp_path):
    line = refused(tmp_path / "nowhere.jinja")
    assert "nowhere.jinja" in line and "No such file" in line
    assert "no regular file" in refused(tmp_path)


def test_the_size_is_bounded(tmp_path):
    path = tmp_path / "large.jinja"
    for size in (LIMIT - 1, LIMIT):
        path.write_text("x" * size)
        code, _, stderr = banyan.run("serve", "--model", "/nowhere.gguf", "--port", 0, "--chat-template", path)
        assert code == 1 and "/nowhere.gguf" in stderr, "the template is read, the model is not there"
    path.write_text("x" * (LIMIT + 1))
    assert f"more than {LIMIT} bytes" in refused(path)
