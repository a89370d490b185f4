#!/usr/bin/env python3
"""Packs what ./dev gpu runs on a machine that has a device, and neither network nor compiler:

    pack.py BUILD FOLDER       programs of a build of the preset `cuda`, stripped, into FOLDER, with the shared libraries
                               that they need

Left out are what comes with such a machine: libc and its kin, the driver, and cuBLASLt, which is larger than all that may
be carried (FOLDER must be under 64 MiB) and is there with the toolkit or with PyTorch.
"""
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["server/banyan", "loadtest/banyan-loadtest", "tests/bench/banyan_bench_cuda",
            "tests/bench/banyan_bench_cuda_attention"]
FILES = ["tests/e2e/banyan.py", "tests/e2e/conftest.py", "tests/e2e/test_cuda.py", "tests/bench/device_replay.py",
         "tests/bench/device_torch.py", "tests/cuda/on_device.py"]
THERE = re.compile(r"lib(c|m|dl|rt|pthread|resolv|cuda|cublasLt)\.so|ld-linux|linux-vdso")
MOST_BYTES = 64 << 20
COMPRESSION = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 8 << 20}]  # over what a made-up model's numbers take


def libraries(program):
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        name, _, path = line.strip().partition(" => ")
        if THERE.search(name):
            continue
        if not path.startswith("/"):
            sys.exit(f"pack.py: {program.name} needs {name}, which is not here")
        yield name, pathlib.Path(path.split(" (")[0])


def main():
    build, folder = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "lib", "tests"):
        (folder / name).mkdir(parents=True)
    for program in [*(build / name for name in PROGRAMS), *sorted((build / "tests/cuda").glob("*_on_device"))]:
        subprocess.run(["strip", "-o", folder / "bin" / program.name, program], check=True)
        for name, path in libraries(program):
            if not (folder / "lib" / name).exists():
                subprocess.run(["strip", "-o", folder / "lib" / name, path.resolve()], check=True)
    for name in FILES:
        shutil.copy(ROOT / name, folder / "tests")
    sys.path.insert(0, str(ROOT / "tests/e2e"))
    import made_up_gguf  # pylint: disable=import-outside-toplevel
    made_up_gguf.write(folder / "tiny.gguf")
    with tempfile.TemporaryDirectory() as scratch:
        made_up_gguf.write(pathlib.Path(scratch) / "model.gguf", made_up_gguf.SMOLLM2_135M)
        with open(pathlib.Path(scratch) / "model.gguf", "rb") as model, \
                lzma.open(folder / "smollm2-135m.gguf.xz", "wb", filters=COMPRESSION) as packed:
            shutil.copyfileobj(model, packed)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / (1 << 20):.1f} MiB")
    return 0 if size < MOST_BYTES else f"pack.py: more than {MOST_BYTES >> 20} MiB, which is the most that is carried"


if __name__ == "__main__":
    sys.exit(main())
