"""Other load testers, each at its best on one processor, against a server that somebody else started."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "text/oracle"))

MODEL = "canned"  # as null_server.cc calls it
GAP_MS = 0.5  # of the server whose tokens are counted: 64 streams, 128,000 tokens/s
REQUESTS = 3000  # of the short run; the long one has twice as many
STREAMS = 500


class Peer:
    """What it does with a second of processor time: the difference between a long and a short run, so that starting, which
    takes them seconds, does not count. `own` is the rate of the long run by the peer's own count."""

    def __init__(self, args, python):
        self.python, self.cpu, self.tokenizer = python, args.client_cpu, args.tokenizer
        self.commands = {}
        self.version = subprocess.run(
            [python, "-c", f"import importlib.metadata as m; print(m.version('{self.name}'))"], check=True,
            stdout=subprocess.PIPE, text=True).stdout.strip()

    def requests(self, url, at_once):
        return self.load("requests", url, at_once, 1, REQUESTS)

    def tokens(self, url, at_once, length):
        return self.load("tokens", url, at_once, length, STREAMS)

    def load(self, what, url, at_once, length, count):
        short, _ = self.run(what, url, at_once, length, count)
        long, rates = self.run(what, url, at_once, length, 2 * count)
        return dict(per_cpu_s=count * length / (long - short), own=rates[what])

    def run(self, what, url, at_once, length, count):
        """(seconds of processor time, {"requests": per second, "tokens": per second})"""
        with tempfile.TemporaryDirectory() as folder:
            command, environment = self.command(url, at_once, length, count, folder)
            self.commands[what] = " ".join(map(str, command))
            with tempfile.TemporaryFile(mode="w+") as log:
                process = subprocess.Popen(["taskset", "-c", str(self.cpu), *map(str, command)], cwd=folder, stdout=log,
                                           stderr=log, env=os.environ | environment)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                if process.returncode != 0:
                    log.seek(0)
                    raise SystemExit(f"{self.commands[what]} ended with {process.returncode}: {log.read()[-3000:]}")
            return usage.ru_utime + usage.ru_stime, self.rates(pathlib.Path(folder))


class Aiperf(Peer):
    """A worker sends, a record processor evaluates; more of either had no processor to run on."""
    name = "aiperf"

    def command(self, url, at_once, length, count, folder):
        return [pathlib.Path(self.python).parent / "aiperf", "profile", "--model", MODEL, "--url", url,
                "--endpoint-type", "chat", "--streaming", "--concurrency", at_once, "--request-count", count, "--isl", 8,
                "--osl", length, "--use-legacy-max-tokens", "--tokenizer", self.tokenizer, "--use-server-token-count",
                "--workers-max", 1, "--record-processors", 1, "--export-level", "summary", "--no-server-metrics",
                "--no-gpu-telemetry", "--ui", "none", "--artifact-dir", folder], {}

    @staticmethod
    def rates(folder):
        told = json.loads((folder / "profile_export_aiperf.json").read_text())
        return dict(requests=told["request_throughput"]["avg"], tokens=told["output_token_throughput"]["avg"])


class Guidellm(Peer):
    """One worker process, which is its share of one processor: it has ten by itself."""
    name = "guidellm"

    def command(self, url, at_once, length, count, folder):
        return [pathlib.Path(self.python).parent / "guidellm", "run", "--backend",
                f"kind=openai_http,target={url},model={MODEL},request_format=/v1/chat/completions", "--profile",
                f"kind=concurrent,streams={at_once}", "--constraint", f"kind=max_requests,count={count}", "--data",
                f"kind=synthetic_text,prompt_tokens=8,output_tokens={length}", "--tokenizer",
                f"kind=hf_auto,model={self.tokenizer}", "--output", f"kind=json,path={folder}/out.json",
                "--disable-console"], {"GUIDELLM__MAX_WORKER_PROCESSES": "1", "HF_HUB_OFFLINE": "1"}

    @staticmethod
    def rates(folder):
        told = json.loads((folder / "out.json").read_text())["benchmarks"][0]["metrics"]
        return {what: told[f"{name}_per_second"]["successful"]["mean"]
                for what, name in (("requests", "requests"), ("tokens", "output_tokens"))}


PEERS = [Guidellm, Aiperf]


def save_tokenizer(model, folder):
    """What Hugging Face's library reads, of a GGUF file."""
    from reference import File  # only now: it needs tokenizers and gguf
    File(model).tokenizers()[0].save(f"{folder}/tokenizer.json")
    pathlib.Path(folder, "tokenizer_config.json").write_text(
        json.dumps(dict(tokenizer_class="PreTrainedTokenizerFast", eos_token="<|im_end|>", model_max_length=8192)))


@contextlib.contextmanager
def chosen(args):
    """The peers that are there, in order."""
    pythons = [(kind, getattr(args, kind.name)) for kind in PEERS if getattr(args, kind.name)]
    with tempfile.TemporaryDirectory() as folder:
        args.tokenizer = folder
        if pythons:
            save_tokenizer(args.model, folder)
        yield [kind(args, python) for kind, python in pythons]
