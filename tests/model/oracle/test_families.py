"""Tiny models of every family, as the tests write them, run by Banyan and by decoder.py: the same logits.

BANYAN_TINY_MODELS names the program that writes them (tests/model/tiny_models_main.cc), BANYAN_LOGITS_DUMP the one that
runs them (tests/model/logits_dump.cc).
"""
import os
import pathlib
import subprocess

import numpy as np
import pytest

import decoder

WRITER = os.environ["BANYAN_TINY_MODELS"]
RUNNER = os.environ["BANYAN_LOGITS_DUMP"]
# As in families_test.cc: K and V in f16; with quantized weights, activations in int8.
TOLERANCES = {"F32": 2e-3, "F16": 2e-3, "BF16": 2e-3}
QUANTIZED = 0.08
NAMES = subprocess.run([WRITER, "names"], check=True, capture_output=True, text=True).stdout.split()
TOKENS = 75


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny")
    subprocess.run([WRITER, "write", path], check=True)
    return path


def test_every_family_is_there():
    assert {name.split("-")[0] for name in NAMES} == set(decoder.FAMILIES)


@pytest.mark.parametrize("name", NAMES)
def test_logits(folder: pathlib.Path, name):
    path = folder / f"{name}.gguf"
    model = decoder.Decoder(path)
    ids = [(17 * i * i + 5 * i + 3) % model.vocabulary for i in range(TOKENS)]
    prompt, dumped = folder / f"{name}.ids", folder / f"{name}.logits"
    prompt.write_text(" ".join(map(str, ids)) + "\n")
    subprocess.run([RUNNER, path, prompt, dumped], check=True)
    got = np.fromfile(dumped, dtype="<f4").reshape(TOKENS, model.vocabulary)
    want = model.logits(model.hidden([ids])[0])
    deviation = np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)
    assert deviation.max() < TOLERANCES.get(name.split("-")[1], QUANTIZED)
