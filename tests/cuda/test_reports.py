"""What is written of a device's measurements, and of what kernels take."""
import json
import pathlib

import gpu_page
import resources

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "gpu.md"
RATES = {"per_second": 50.0, "step_ms": 20.0}
FOUND = {
    "device": "Some GPU, 1.2, 9.0\n",
    "checks": [{"step": "cuda_rows_on_device", "passed": True}, {"step": "server", "passed": False}],
    "failed": [{"step": "server", "why": "1"}, {"step": "torch-llama3-8b", "why": "timeout"}],
    "measurements": [
        {"step": "roof", "what": "copy", "gb_per_second": 4000.0},
        {"step": "roof", "what": "product", "tflop_per_second": 800.0},
        {"step": "attention", "what": "decode", "format": "f16", "sequences": 64, "keys": 4096, "gb_per_second": 3200.0},
        {"step": "attention", "what": "decode", "format": "int8", "sequences": 64, "keys": 4096, "gb_per_second": 1000.0},
        {"step": "attention", "what": "prefill", "format": "f16", "tokens": 8192, "tflop_per_second": 280.0},
        {"step": "tiny", "what": "load", "weight_bytes": 40_000_000_000},
        {"step": "tiny", "what": "decode", "sequences": 1, "context": 512, **RATES},
        {"step": "tiny", "what": "cached", "tokens": 1024, "uncached_ms": 30.0, "cached_ms": 1.5},
        {"step": "torch-tiny", "what": "decode", "sequences": 1, "context": 512, "per_second": 100.0},
        {"step": "replay", "what": "replay", "prefix_caching": "on", "requests": 1200, "hit_rate": 0.75,
         "per_second": 9000.0, "ttft_p50_ms": 12.5, "ttft_p99_ms": 140.0},
    ],
}


def test_a_device_is_measured_against_its_roofs_and_pytorch(tmp_path):
    page = tmp_path / "gpu.md"
    page.write_text(PAGE.read_text())
    gpu_page.marks.put(page, gpu_page.MARK, gpu_page.text(gpu_page.Report(json.loads(json.dumps(FOUND)))))
    text = page.read_text()
    assert "Measured on: Some GPU, 1.2, 9.0. Of 2 checks 1 **failed**: `server`." in text
    assert "| decode, 64 x 4,096 keys | 3,200 GB/s (80%) | 1,000 GB/s (25%) |" in text
    assert "| prefill of 8,192 tokens | 280 TFLOP/s (35%) |  |" in text
    assert "| decode, 1 x 512 tokens | 50 | 100 | 0.50 |" in text
    assert "reads its weights at 2,000 GB/s (50%)" in text
    assert "| 1,024 | 30 | 1.5 |" in text
    assert "| on | 1,200 | 75% | 9,000 | 12.5 | 140 |" in text
    assert "`torch-llama3-8b` (timeout)" in text
    assert "Not yet measured" not in text and "ptxas" in text, "all between the marks, and no more"


def test_without_roofs_no_share_is_told():
    found = {**FOUND, "measurements": FOUND["measurements"][2:3], "failed": []}
    text = gpu_page.text(gpu_page.Report(found))
    assert "| decode, 64 x 4,096 keys | 3,200 GB/s |" in text and "%" not in text


def problems(tmp_path, monkeypatch, uses, listed=""):
    spills = tmp_path / "spills.txt"
    spills.write_text("# architecture bytes kernel\n" + listed)
    monkeypatch.setattr(resources, "SPILLS", spills)
    found = []
    resources.examine(uses, found)
    return found


GATE, SAMPLE = "_Z10GateKernelPf", "_Z12SampleKernelPf"


def test_spills_are_those_that_are_listed(tmp_path, monkeypatch):
    uses = {("sm_90", SAMPLE): (40, 56, 2324)}
    assert problems(tmp_path, monkeypatch, uses) == ["sm_90 SampleKernel: spills 56 bytes, spills.txt says 0"]
    assert not problems(tmp_path, monkeypatch, uses, "sm_90 56 SampleKernel\n")
    none = {("sm_90", GATE): (40, 0, 0)}
    assert problems(tmp_path, monkeypatch, none, "sm_90 56 SampleKernel\nsm_80 8 GateKernel\n") == [
        "sm_90 SampleKernel: spills.txt lists it, and it was not compiled"]
    fewer = {("sm_90", SAMPLE): (40, 0, 2324)}
    assert problems(tmp_path, monkeypatch, fewer, "sm_90 56 SampleKernel\n") == [
        "sm_90 SampleKernel: spills 0 bytes, spills.txt says 56"]


def test_shared_memory_is_what_a_block_may_have(tmp_path, monkeypatch):
    most = {("sm_89", GATE): (20, 0, 99 << 10), ("sm_80", GATE): (20, 0, 163 << 10)}
    assert not problems(tmp_path, monkeypatch, most)
    more = {("sm_89", GATE): (20, 0, (99 << 10) + 1)}
    assert problems(tmp_path, monkeypatch, more) == [
        "sm_89 GateKernel: 101377 bytes of shared memory, which no block may have"]


def test_a_kernel_whose_launch_is_not_known_is_told(tmp_path, monkeypatch):
    found = problems(tmp_path, monkeypatch, {("sm_90", "_Z11OtherKernelPf"): (20, 0, 0)})
    assert found == ["OtherKernel: how it is launched is not known to resources.py"]
