"""A Banyan server of the benchmark's own: started, timed until ready, asked for facts, ended by its process."""
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.request


def note(text):
    print(text, file=sys.stderr, flush=True)


class Banyan:
    def __init__(self, args, *more):
        command = [args.banyan, "serve", "--model", args.model, "--port", "0",
                   "--threads", str(args.threads), *args.server_arg, *more]
        started = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # its log goes to ours
        for line in self.process.stdout:
            found = re.search(r"http://[\w.\[\]:]+:\d+", line)
            if found:
                self.url = found[0]
                break
        else:
            raise SystemExit(f"{' '.join(command)} ended with {self.process.wait()}")
        while self.get("/ready") is None:
            if self.process.poll() is not None:
                raise SystemExit(f"{' '.join(command)} ended with {self.process.returncode}")
            time.sleep(0.005)
        self.start_s = time.perf_counter() - started

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def facts(self):
        model = json.loads(self.get("/v1/models"))["data"][0]
        return model["id"], model.get("banyan", {})

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def tokens_of(self, messages):
        """The ids of a chat's prompt."""
        request = urllib.request.Request(self.url + "/tokenize", json.dumps(dict(messages=messages)).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["tokens"]

    def metric(self, name):
        return int(float(re.search(rf"^{name} (\S+)", self.get("/metrics"), re.M)[1]))
