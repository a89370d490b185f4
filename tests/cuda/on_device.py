#!/usr/bin/env python3
"""What is asked of a device, in the order of what matters most, until the time is over.

    on_device.py FOLDER OUT [SECONDS]     FOLDER as pack.py made it; OUT gets gpu.json and a log of each step

Whether there is a device that these programs run on; whether kernels are right, whether whole models give the CPU's logits,
whether the server's answers are the same bits however they are computed; then how quick attention, models, the same shapes
in PyTorch, and the server under load are. Exit status 1 when a check failed; a measurement that did not come off is only told.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

CUBLAS = ["/usr/local/cuda/lib64"]


def cublas_folders():
    """Where PyTorch keeps it, else the toolkit's."""
    try:
        import nvidia  # pylint: disable=import-outside-toplevel
        found = [path.parent for root in nvidia.__path__ for path in pathlib.Path(root).rglob("libcublasLt.so.*")]
    except ImportError:
        found = []
    return [*map(str, found), *CUBLAS]


class Session:
    def __init__(self, folder, out, seconds):
        self.folder, self.out = folder, out
        self.end = time.monotonic() + seconds
        self.report = {"checks": [], "measurements": [], "failed": []}
        paths = [str(folder / "lib"), *cublas_folders()]
        # Programs find cuBLASLt behind their own libraries; other programs, Python among them, are left as they are.
        self.environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(paths)}

    def run(self, name, command, most, environment):
        """The output; None where it failed or there was no time."""
        left = min(most, self.end - time.monotonic())
        start = time.monotonic()
        if left < 1:
            self.report["failed"].append({"step": name, "why": "no time left"})
            return None
        with open(self.out / f"{name}.log", "w+", encoding="utf-8") as log:
            try:
                code = subprocess.run(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT, env=environment,
                                      timeout=left, check=False).returncode
            except subprocess.TimeoutExpired:
                code = "timeout"
            except OSError as error:
                code = str(error)
            log.seek(0)
            text = log.read()
        print(f"{name}: {'ok' if code == 0 else code}, {time.monotonic() - start:.1f} s", flush=True)
        if code != 0:
            print("\n".join(text.splitlines()[-15:]), flush=True)
            self.report["failed"].append({"step": name, "why": str(code)})
            return None
        return text

    def check(self, name, command, most, **variables):
        passed = self.run(name, command, most, {**self.environment, **variables}) is not None
        self.report["checks"].append({"step": name, "passed": passed})
        return passed

    def measure(self, name, command, most, environment=None):
        """Each line of JSON; also those that came before the time was over."""
        self.run(name, command, most, environment or self.environment)
        log = self.out / f"{name}.log"
        for line in log.read_text().splitlines() if log.exists() else []:
            if line.startswith("{"):
                self.report["measurements"].append({"step": name, **json.loads(line)})

    def write(self):
        (self.out / "gpu.json").write_text(json.dumps(self.report, indent=1))


def main():
    folder, out = map(pathlib.Path, sys.argv[1:3])
    session = Session(folder.resolve(), out, float(sys.argv[3]) if len(sys.argv) > 3 else 540.0)
    out.mkdir(parents=True, exist_ok=True)
    programs = session.folder / "bin"
    query = "name,driver_version,memory.total,compute_cap,clocks.max.sm"
    session.report["device"] = session.run("nvidia-smi", ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                                           20, session.environment)
    if not session.check("device", [programs / "banyan_bench_cuda", "tiny", "0"], 60):
        session.write()
        return 1
    passed = True
    for program in sorted(programs.glob("*_on_device")):
        # Those that await death fork, which no device does.
        passed &= session.check(program.name, [program, "--gtest_filter=-*DeathTest*"], 90)
    server = {"BANYAN_BIN": str(programs / "banyan"), "BANYAN_CUDA_BIN": str(programs / "banyan"),
              "BANYAN_TINY": str(session.folder / "tiny.gguf")}
    same_bits = ["-k", "same_bits and (deterministic or preempted)", session.folder / "tests/test_cuda.py"]
    passed &= session.check("server", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *same_bits], 90,
                            **server)
    session.write()
    torch = [sys.executable, session.folder / "tests/device_torch.py"]
    session.measure("roof", [*torch, "roof", "0.5"], 60, dict(os.environ))
    session.measure("attention", [programs / "banyan_bench_cuda_attention", "full", "0.3"], 60)
    for shape in ("smollm2-135m", "llama3-8b"):
        session.measure(shape, [programs / "banyan_bench_cuda", shape, "1"], 120)
        session.measure(f"torch-{shape}", [*torch, shape, "1"], 90, dict(os.environ))
        session.write()
    session.measure("replay", [sys.executable, session.folder / "tests/device_replay.py",
                               session.folder / "smollm2-135m.gguf.xz", "8"], 90,
                    {**session.environment, **server, "BANYAN_LOADTEST": str(programs / "banyan-loadtest")})
    session.write()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
