"""Servers of the benchmark's own: started, timed until ready, asked for facts, ended by their process."""
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


def note(text):
    print(text, file=sys.stderr, flush=True)


class Server:
    """`self.process` serves at `self.url`, calls its model `self.name`, and was ready after `self.start_s`."""

    def start(self, command, url, ready, stdout=None):
        """`url(process)` is where it listens; `ready` is a path that then answers. What it says on stderr, and where
        `stdout` is not given there too, is kept for the case that it does not start."""
        self.log = tempfile.TemporaryFile(mode="w+")
        started = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=stdout or self.log, stderr=self.log, text=True)
        self.url = url(self.process)
        while self.url is None or self.get(ready) is None:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise SystemExit(f"{' '.join(map(str, command))} ended with {self.process.returncode}: "
                                 f"{self.log.read()[-2000:]}")
            time.sleep(0.005)
        self.start_s = time.perf_counter() - started

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def post(self, path, body, timeout=30):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{self.url}{path}: HTTP {error.code}: {error.read().decode(errors='replace')}")

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()


class Banyan(Server):
    def __init__(self, args, *more, model=None):
        command = [args.banyan, "serve", "--model", model or args.model, "--port", "0",
                   "--threads", str(args.threads), *args.server_arg, *more]
        self.start(command, self.printed, "/ready", stdout=subprocess.PIPE)
        self.name = self.facts()[0]

    @staticmethod
    def printed(process):
        """The URL that it says; None when it ends without one."""
        for line in process.stdout:
            if found := re.search(r"http://[\w.\[\]:]+:\d+", line):
                return found[0]
        process.wait()
        return None

    def facts(self):
        model = json.loads(self.get("/v1/models"))["data"][0]
        return model["id"], model.get("banyan", {})

    def tokens_of(self, messages):
        """The ids of a chat's prompt."""
        return self.post("/tokenize", dict(messages=messages))["tokens"]

    def tokens_of_text(self, text):
        return self.post("/tokenize", dict(prompt=text))["tokens"]

    def metric(self, name):
        return int(float(re.search(rf"^{name} (\S+)", self.get("/metrics"), re.M)[1]))


class LlamaServer(Server):
    """llama.cpp's own server, with as many slots as it is asked things at once."""

    def __init__(self, binary, model, threads, slots, context, *more):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [binary, "-m", model, "-t", str(threads), "-tb", str(threads), "-np", str(slots), "-kvu",
                   "-c", str(context), "--host", "127.0.0.1", "--port", str(port), *more]
        self.name = "any"
        self.start(command, lambda _: f"http://127.0.0.1:{port}", "/health")

    def version(self):
        return json.loads(self.get("/props")).get("build_info", "unknown")
