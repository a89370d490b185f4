"""A server that answers as a script says and writes down when it really did, by CLOCK_MONOTONIC, which
all processes of a machine share. One thread, so that nothing of its own gets between a time and its bytes.

  timed_server.py SCRIPT LOG

SCRIPT: JSON {"c0 t1": [step, ...], ...}: what is done for a request whose last message is "c0 t1"; a step is
{"after_ms": since the step before was due, or since the request came, "bytes": to be sent, "then": null,
"close" or "reset"}. Prints its port; on SIGTERM writes LOG: {"c0 t1": {"received_ns", "steps_ns": [...]}, ...}, each time
that of the moment before the bytes were handed to the system.
"""
import gc
import heapq
import json
import re
import selectors
import signal
import socket
import struct
import sys
import time


class Connection:
    def __init__(self, server, peer):
        self.server = server
        self.peer = peer
        self.held = b""

    def readable(self):
        try:
            data = self.peer.recv(1 << 20)
        except ConnectionError:
            data = b""
        if not data:
            return self.close()
        now = time.monotonic_ns()
        self.held += data
        head, blank, body = self.held.partition(b"\r\n\r\n")
        if not blank:
            return
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        length = int(length.group(1)) if length else 0
        if len(body) < length:
            return
        self.held = body[length:]
        self.answer(head.split(b" ", 2)[1].decode(), body[:length], now)

    def answer(self, path, body, now):
        if path == "/v1/models":
            return self.whole(200, {"object": "list", "data": [{"id": "timed"}]})
        if not path.endswith("/completions"):
            return self.whole(404, {"error": {"message": "not here"}})
        name = json.loads(body)["messages"][-1]["content"]
        log = {"received_ns": now, "steps_ns": []}
        self.server.log[name] = log
        self.server.plan(now, self, self.server.script[name], 0, log)

    def whole(self, status, value):
        body = json.dumps(value).encode()
        self.peer.send(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                       % (status, len(body), body))

    def do(self, step):
        """The moment before it is done."""
        now = time.monotonic_ns()
        try:
            self.peer.sendall(step["bytes"])
        except OSError:
            return now  # the client left
        if step["then"] == "reset":
            self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if step["then"]:
            self.close()
        return now

    def close(self):
        if self.peer.fileno() >= 0:
            self.server.selector.unregister(self.peer)
            self.peer.close()


class Server:
    def __init__(self, script):
        self.script = script
        self.log = {}
        self.plans = []  # (when, a number that orders equals, what)
        self.number = 0
        self.over = False
        self.selector = selectors.SelectSelector()  # epoll's timeouts are whole milliseconds in Python
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)

    def accept(self):
        peer, _ = self.listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(peer, selectors.EVENT_READ, Connection(self, peer).readable)

    def plan(self, before, connection, steps, index, log):
        if index == len(steps):
            return
        self.number += 1
        when = before + round(steps[index]["after_ms"] * 1e6)
        heapq.heappush(self.plans, (when, self.number, (connection, steps, index, log)))

    def run(self):
        while not self.over:
            now = time.monotonic_ns()
            while self.plans and self.plans[0][0] <= now:
                when, _, (connection, steps, index, log) = heapq.heappop(self.plans)
                log["steps_ns"].append(connection.do(steps[index]))
                self.plan(when, connection, steps, index + 1, log)
                now = time.monotonic_ns()
            wait = (self.plans[0][0] - now) / 1e9 if self.plans else 0.1
            for key, _ in self.selector.select(min(max(wait, 0), 0.1)):
                key.data()


def main():
    with open(sys.argv[1]) as file:
        script = json.load(file)
    for steps in script.values():
        for step in steps:
            step["bytes"] = step["bytes"].encode()
    server = Server(script)
    signal.signal(signal.SIGTERM, lambda *_: setattr(server, "over", True))
    gc.disable()
    print(server.listener.getsockname()[1], flush=True)
    server.run()
    with open(sys.argv[2], "w") as file:
        json.dump(server.log, file)


main()
