import pytest

import banyan


def pytest_configure(config):
    if not banyan.BINARY:
        raise pytest.UsageError("BANYAN_BIN must name the built banyan binary")


@pytest.fixture(scope="module")
def null():
    """A server without weights: every answer is a hash of its prompt."""
    with banyan.serving("--kv-memory", "1MiB") as server:
        yield server
        banyan.eventually(server.is_idle, "all pages given up after the tests")


@pytest.fixture(scope="module")
def smol():
    """The default model."""
    assert banyan.MODEL, "BANYAN_MODEL must name the default model's file"
    with banyan.serving("--kv-memory", "64MiB", "--served-model-name", "smol", "--max-batch-tokens",
                        "32", "--max-running", "8", model=banyan.MODEL) as server:
        yield server
        banyan.eventually(server.is_idle, "all pages given up after the tests")
