"""Starts and stops the built binary, and speaks to it; what every end-to-end test uses."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import requests

BINARY = os.environ.get("BANYAN_BIN", "")
MODEL = os.environ.get("BANYAN_MODEL", "")
# Only a hang lasts as long; sanitized builds on a busy machine are slow.
PATIENCE = 200


def environment(**variables):
    """The tests' environment without the options of `banyan serve`."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("BANYAN_")}
    env.update(variables)
    return env


def run(*arguments, binary=BINARY, **variables):
    """Runs the binary to its end: (exit code, stdout, stderr)."""
    done = subprocess.run([binary, *map(str, arguments)], env=environment(**variables),
                          capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def eventually(condition, what):
    """Waits until `condition()` is true, and returns it."""
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.02)


class Server:
    """One `banyan serve` on a free port of 127.0.0.1, ready."""

    def __init__(self, *arguments, model="null", stderr=None, binary=BINARY):
        self.log = tempfile.NamedTemporaryFile(prefix="banyan-e2e-", suffix=".log", mode="w+")
        command = [binary, "serve", "--model", model, "--port", "0", *map(str, arguments)]
        self.process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE,
                                        stderr=stderr or self.log, text=True)
        watchdog = threading.Timer(PATIENCE, self.process.kill)
        watchdog.start()
        self.greeting = []
        for line in self.process.stdout:
            self.greeting.append(line)
            if "ready on" in line:
                break
        watchdog.cancel()
        found = re.search(r"ready on (http://\S+)", "".join(self.greeting))
        assert found, f"{command} did not get ready: {self.greeting} {self.stderr()}"
        self.url = found.group(1)
        self.port = int(self.url.rsplit(":", 1)[1])

    def stderr(self):
        return pathlib.Path(self.log.name).read_text()

    def logged(self, event):
        """What it has logged of an event, once there is any; with `--log-format json`."""
        def lines():
            entries = [json.loads(line) for line in self.stderr().splitlines() if line.endswith("}")]
            return [entry for entry in entries if entry.get("event") == event]

        return eventually(lines, f"the event {event!r} in the log")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        code = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        return code

    def stop(self):
        """SIGTERM; the exit code, which is 0 unless something is wrong (a sanitizer's finding too)."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def get(self, path):
        return requests.get(self.url + path, timeout=PATIENCE)

    def post(self, path, body=None, **kwargs):
        return requests.post(self.url + path, json=body, timeout=PATIENCE, **kwargs)

    def chat(self, messages, **members):
        """The whole answer, which must be one."""
        answer = self.post("/v1/chat/completions", {"messages": as_messages(messages), **members})
        assert answer.status_code == 200, answer.text
        return Answer(answer.json())

    def stream(self, messages, **members):
        """The events of a stream, parsed; "[DONE]" stays a string."""
        body = {"messages": as_messages(messages), "stream": True, **members}
        answer = self.post("/v1/chat/completions", body, stream=True)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = [line for line in answer.content.decode().split("\n\n") if line]
        assert all(line.startswith("data: ") for line in lines), lines
        events = [line.removeprefix("data: ") for line in lines]
        return [e if e == "[DONE]" else json.loads(e) for e in events]

    def complete(self, prompt, **members):
        """The whole answer of /v1/completions, which must be one."""
        answer = self.post("/v1/completions", {"prompt": prompt, **members})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def metrics(self):
        """{name{labels}: value}, histograms' buckets too."""
        values = {}
        for line in self.get("/metrics").text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def metric(self, name):
        return self.metrics().get(name, 0.0)

    def pages(self):
        """{state: pages}"""
        found = {}
        for name, value in self.metrics().items():
            match = re.fullmatch(r'banyan_kv_pages\{state="(\w+)"\}', name)
            if match:
                found[match.group(1)] = int(value)
        return found

    def pool(self):
        """All pages there are, by what gateways read."""
        info = next(name for name in self.metrics() if name.startswith("vllm:cache_config_info"))
        return int(re.search(r'num_gpu_blocks="(\d+)"', info).group(1))

    def computed(self):
        """Tokens of prompts that steps computed, and all tokens that they computed again."""
        metrics = self.metrics()
        return metrics["banyan_computed_prompt_tokens_total"] + \
            metrics["banyan_recomputed_tokens_total"]

    def is_idle(self):
        """Nothing runs and no page is held by a request."""
        metrics = self.metrics()
        held = sum(metrics[f'banyan_kv_pages{{state="{s}"}}']
                   for s in ("open", "copying", "private", "detached"))
        return held == 0 and all(metrics[f"banyan_{name}"] == 0 for name in
                                 ("running_requests", "waiting_requests", "kv_reserved_pages"))

    def raw(self, data):
        """A connection on which `data` was sent and nothing read; the caller closes it."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection.sendall(data)
        return connection

    def raw_chat(self, messages, **members):
        """As raw(), with a whole chat request."""
        return self.raw(post_bytes("/v1/chat/completions",
                                   {"messages": as_messages(messages), **members}))


class Answer:
    """The parts of a chat completion that tests look at."""

    def __init__(self, body):
        choice = body["choices"][0]
        self.body = body
        self.text = choice["message"]["content"]
        self.finish_reason = choice["finish_reason"]
        usage = body["usage"]
        self.prompt = usage["prompt_tokens"]
        self.output = usage["completion_tokens"]
        self.cached = usage["prompt_tokens_details"]["cached_tokens"]
        assert usage["total_tokens"] == self.prompt + self.output
        assert 0 <= self.cached < self.prompt


def post_bytes(path, body):
    """A whole POST request as it goes over the wire."""
    body = json.dumps(body).encode()
    head = (f"POST {path} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


def reset(connection):
    """Closes with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def cached(answer):
    """The cached tokens of an answer's prompts."""
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"]


def as_messages(messages):
    return [{"role": "user", "content": messages}] if isinstance(messages, str) else messages


def text_of(events):
    """The text of a stream."""
    return "".join(e["choices"][0]["delta"].get("content", "") for e in events
                   if e != "[DONE]" and e["choices"])


@contextlib.contextmanager
def serving(*arguments, model="null", binary=BINARY):
    """A server for one test; it must end well."""
    server = Server(*arguments, model=model, binary=binary)
    try:
        yield server
    except BaseException:
        server.process.kill()
        server.wait()
        print("The end of the log:", *server.stderr().splitlines()[-20:], sep="\n")
        raise
    code = server.stop()
    assert code == 0, f"exit code {code}: {server.stderr()[-5000:]}"
