"""A server that answers as a script says, well or badly; what tests of clients use."""
import contextlib
import gzip
import http.server
import json
import socket
import struct
import threading

ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 4, "total_tokens": 44,
                                  "prompt_tokens_details": {"cached_tokens": 30}}}


def content(text):
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


def event(value):
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        if self.path == "/v1/models":
            self.whole(self.server.models_status, {"object": "list", "data": [{"id": "scripted"}]})
        else:
            self.whole(404, {"error": {"message": "not here"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/completions"):
            return self.whole(404, {"error": {"message": "not here"}})
        with self.server.lock:
            number = len(self.server.bodies)
            self.server.bodies.append(body)
            self.server.heads.append((self.path, dict(self.headers)))
        behaviours = self.server.behaviours
        getattr(self, behaviours[min(number, len(behaviours) - 1)])()

    def whole(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, kind="text/event-stream"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def stream(self, *events):
        self.begin()
        for one in events:
            self.chunk(event(one))
        self.chunk(b"")

    # What a script is made of.

    def ok(self):
        self.stream(ROLE, content("Hi"), content(" there"), END, USAGE, b"[DONE]")

    def bundled(self):
        """Comments, events in one chunk, and no usage."""
        self.begin()
        self.chunk(b": ping\r\n\r\n" + event(ROLE) + event(content("a")) + event(content("b")))
        self.chunk(event(END) + event(b"[DONE]"))
        self.chunk(b"")

    def unstreamed(self):
        self.whole(200, {"choices": [{"message": {"role": "assistant", "content": "Hi there"},
                                      "finish_reason": "stop"}], "usage": USAGE["usage"]})

    def status(self):
        self.whole(429, {"error": {"message": "the queue is full"}})

    def error_event(self):
        self.stream(ROLE, content("Hi"), {"error": {"message": "a step failed"}})

    def empty(self):
        self.stream(ROLE, END, USAGE, b"[DONE]")

    def undone(self):
        """The stream ends well, the answer does not."""
        self.stream(ROLE, content("Hi"))

    def garbage(self):
        self.begin()
        self.chunk(b"<html>what?</html>\n\n")
        self.chunk(b"")

    def not_json(self):
        self.stream(b'{"choices":[')

    def not_http(self):
        self.wfile.write(b"\x00\x01\x02 what?\r\n\r\n")
        self.close_connection = True

    def truncated(self):
        self.begin()
        self.chunk(event(content("Hi")))
        self.close_connection = True

    def reset(self):
        self.begin()
        self.chunk(event(content("Hi")))
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The server's own shutdown() before it closes would send FIN first.
        self.server.shutdown_request = self.server.close_request
        self.close_connection = True

    def half_head(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Ty")
        self.close_connection = True

    def long_head(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n")
        self.close_connection = True

    def gzip(self):
        """Nobody asked for it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(gzip.compress(event(ROLE) + event(content("Hi")) + event(END) + event(b"[DONE]")))
        self.close_connection = True

    def page(self):
        body = b"<!DOCTYPE html><html><body>Welcome</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def nothing(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def endless(self):
        """Until the client leaves."""
        self.begin()
        try:
            while not self.server.over.wait(0.005):
                self.chunk(event(content("Hi")))
        except OSError:
            pass
        self.close_connection = True

    def hang(self):
        self.begin()
        self.chunk(event(ROLE) + event(content("Hi")))
        self.wfile.flush()
        self.server.over.wait()
        self.close_connection = True

    def die(self):
        """No connection after this one."""
        # A socket that a thread polls outlives its close() until the poll returns.
        self.server.shutdown()
        self.server.server_close()
        self.close_connection = True
        self.ok()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, behaviours):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = behaviours  # of the first requests; the last goes on
        self.models_status = 200
        self.bodies = []
        self.heads = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *arguments):
        pass  # clients that go away


@contextlib.contextmanager
def serving(*behaviours):
    server = Server(behaviours)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
