"""What the tests of `hearth serve` share: models, a server process on a port of its own, and plain HTTP."""

import atexit
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from made_model import make_model, write_vocabulary
from program import BINARY, MODEL, SANITIZED

PATIENCE = 120  # seconds until a test gives up; a sanitized program on a busy machine is slow
# Only the end of a turn is a token; everything else is bytes.
TEMPLATE = (
    "{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def tiny_model():
    """The path of a made model, one for this process."""
    if not hasattr(tiny_model, "path"):
        folder = tempfile.mkdtemp(prefix="hearth-server-test-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = pathlib.Path(folder) / "tiny.gguf"
        make_model(path, "q8_0", write_vocabulary(folder, TEMPLATE))
        tiny_model.path = path
    return tiny_model.path


def real_model_missing():
    """Why the default model cannot be used, or None."""
    if SANITIZED:
        return "the default model is too slow in a sanitized program"
    return None if MODEL.is_file() else f"{MODEL} is missing: tools/fetch_model.py installs it"


class Server:
    """A running `hearth serve`. Leaving it sends SIGTERM and checks that it ends well."""

    def __init__(self, model, *flags, wait=True):
        self.lines = []
        self.process = subprocess.Popen(
            [BINARY, "serve", str(model), "--port", "0", "--threads", "2", *map(str, flags)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            line = self.wait_line(": loading\n")
            self.port = int(re.search(r"http://127\.0\.0\.1:(\d+): loading", line).group(1))
            if wait:
                self.wait_line(": ready\n")
        except BaseException:
            self.kill()
            raise

    def _read(self):
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line)
                self._news.notify_all()
        with self._news:
            self.lines.append("")
            self._news.notify_all()

    def wait_line(self, ending):
        def found():
            return next((line for line in self.lines if line.endswith(ending) or line == ""), None)

        with self._news:
            self._news.wait_for(lambda: found() is not None, PATIENCE)
            line = found()
        if not line:
            raise AssertionError(f"no line '{ending.strip()}' but {self.lines}")
        return line

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def wait_end(self):
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self.process.stderr.close()
        return code

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait_end()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        if not self.process.stderr.closed:
            self.wait_end()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and self.process.poll() is None:
            code = self.stop()
            assert code == 0, (code, self.lines)
        self.kill()

    def open(self, method, path, body=None, headers=()):
        """(connection, response) with the body unread."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json", **dict(headers)})
        return connection, connection.getresponse()

    def ask(self, path, body=None, method=None, headers=()):
        """(status, JSON body, headers)"""
        connection, response = self.open(method or ("GET" if body is None else "POST"), path, body, headers)
        with contextlib.closing(connection):
            return response.status, json.loads(response.read()), response.headers

    def text(self, path):
        connection, response = self.open("GET", path)
        with contextlib.closing(connection):
            return response.read().decode()

    def metrics(self):
        """{name with labels: value}"""
        lines = [line for line in self.text("/metrics").splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def stream(self, path, body):
        """Every chunk of a streamed answer; the last event has to be [DONE]."""
        connection, response = self.open("POST", path, {**body, "stream": True})
        with contextlib.closing(connection):
            assert response.status == 200, response.read()
            events = list(events_of(response))
        assert events[-1] == "[DONE]", events[-1:]
        return [json.loads(event) for event in events[:-1]]

    def wait_idle(self):
        """Returns when no request is left; fails when that does not come."""
        give_up = time.monotonic() + PATIENCE
        while True:
            requests = self.ask("/stats")[1]["requests"]
            if not any(requests.values()):
                return
            assert time.monotonic() < give_up, requests
            time.sleep(0.02)


def events_of(response):
    """The data of each event; comments are left out."""
    for line in response:
        if line.startswith(b"data: "):
            yield line[len(b"data: ") :].decode().rstrip("\n")
