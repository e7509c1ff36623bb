#!/usr/bin/env python3
"""`hearth serve` as a process: starting, stopping, clients that leave, counters. HEARTH_BINARY names the program."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from program import BINARY, MODEL
from served import PATIENCE, Server, events_of, real_model_missing, tiny_model

LONG = 4000  # tokens: a second or more


def completion(max_tokens, prompt="once", **fields):
    # No token ends it before its length.
    return {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "logit_bias": {"256": -100}, **fields}


class Starting(unittest.TestCase):
    def test_a_port_in_use_is_one_line_before_the_model_is_read(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "broken.gguf"
            broken.write_bytes(b"GGUF, but not one that loads")
            port = taken.getsockname()[1]
            result = subprocess.run(
                [BINARY, "serve", broken, "--port", str(port)], capture_output=True, text=True, timeout=PATIENCE
            )
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertRegex(result.stderr, rf"^hearth: .*127\.0\.0\.1:{port}.*in use")

    def test_a_model_that_does_not_load_ends_the_server(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "broken.gguf"
            broken.write_bytes(b"GGUF, but not one that loads")
            result = subprocess.run(
                [BINARY, "serve", broken, "--port", "0", "--quiet"], capture_output=True, text=True, timeout=PATIENCE
            )
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"^hearth: [^\n]*broken\.gguf[^\n]*\n$")

    @unittest.skipIf(real_model_missing(), real_model_missing())
    def test_while_the_model_loads_the_server_says_so(self):
        with Server(MODEL, wait=False) as server:
            status, body, headers = server.ask("/health")
            if status == 503:
                self.assertEqual(body["status"], "loading")
                self.assertEqual(server.ask("/health/live")[0], 200)
                status, body, headers = server.ask("/v1/completions", {"prompt": "a", "max_tokens": 1})
                # It may have come up between the two.
                if status != 200:
                    self.assertEqual(status, 503, body)
                    self.assertIn("Retry-After", headers)
            server.wait_line(": ready\n")
            self.assertEqual(server.ask("/health")[:2], (200, {"status": "ok"}))
            self.assertEqual(server.ask("/health/ready")[0], 200)


class Stopping(unittest.TestCase):
    def test_sigterm_lets_a_stream_finish_and_admits_no_more(self):
        with Server(tiny_model(), "--shutdown-timeout", PATIENCE) as server:
            connection, response = server.open("POST", "/v1/completions", completion(LONG, stream=True))
            with contextlib.closing(connection):
                events = events_of(response)
                first = next(events)
                server.process.send_signal(signal.SIGTERM)
                server.wait_line("once more ends at once\n")
                time.sleep(0.05)
                try:
                    status = server.ask("/v1/completions", completion(1))[0]
                except OSError:
                    status = 503  # nobody listens any more
                self.assertEqual(status, 503)
                rest = [first, *events]
            self.assertEqual(rest[-1], "[DONE]")
            chunks = [json.loads(event) for event in rest[:-1]]
            self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")
            self.assertEqual(server.wait_end(), 0, server.lines)

    def test_a_request_on_a_connection_that_is_open_gets_503_while_the_server_ends(self):
        with Server(tiny_model(), "--shutdown-timeout", PATIENCE) as server:
            idle = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            connection, response = server.open("POST", "/v1/completions", completion(LONG, stream=True))
            with contextlib.closing(connection), idle:
                events = events_of(response)
                next(events)
                # Begun before the signal, ended behind it.
                idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
                time.sleep(0.1)
                server.process.send_signal(signal.SIGTERM)
                server.wait_line("once more ends at once\n")
                idle.sendall(b"\r\n")
                answer = http.client.HTTPResponse(idle)
                answer.begin()
                self.assertEqual((answer.status, json.loads(answer.read())["status"]), (503, "draining"))
                self.assertEqual(list(events)[-1], "[DONE]")
            self.assertEqual(server.wait_end(), 0)

    def test_a_second_signal_ends_at_once(self):
        with Server(tiny_model(), "--batch", 1) as server:
            connection, response = server.open("POST", "/v1/completions", completion(8000, stream=True))
            with contextlib.closing(connection):
                next(events_of(response))
                server.process.send_signal(signal.SIGTERM)
                server.wait_line("once more ends at once\n")
                server.process.send_signal(signal.SIGINT)
                self.assertEqual(server.wait_end(), 0, server.lines)
                with contextlib.suppress(OSError, http.client.HTTPException):
                    rest = response.read()
                    self.assertNotIn(b'"finish_reason":"length"', rest)

    def test_the_end_of_the_time_for_shutting_down_cuts_answers_off(self):
        with Server(tiny_model(), "--shutdown-timeout", 0.05) as server:
            connection, response = server.open("POST", "/v1/completions", completion(8000, stream=True))
            with contextlib.closing(connection):
                next(events_of(response))
                self.assertEqual(server.stop(), 0, server.lines)

    def test_idle_servers_end_on_both_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = Server(tiny_model())
            server.process.send_signal(number)
            self.assertEqual(server.wait_end(), 0, server.lines)


class Leaving(unittest.TestCase):
    """A client that goes away frees what its request held."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server(tiny_model(), "--batch", 1))

    def begin(self, **fields):
        return self.server.open("POST", "/v1/completions", completion(8000, stream=True, **fields))

    def test_in_the_middle_of_a_stream(self):
        connection, response = self.begin()
        next(events_of(response))
        response.close()
        connection.close()
        self.server.wait_idle()
        self.assertLess(self.server.ask("/stats")[1]["totals"]["generated_tokens"], 8000)

    def test_in_the_queue(self):
        running, response = self.begin()
        next(events_of(response))
        body = json.dumps(completion(8000)).encode()
        waiting = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        waiting.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        self.wait_for(lambda requests: requests["queued"] == 1)
        waiting.close()
        self.wait_for(lambda requests: requests["queued"] == 0)
        response.close()
        running.close()
        self.server.wait_idle()

    def test_before_a_whole_answer(self):
        body = json.dumps(completion(8000)).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        self.wait_for(lambda requests: requests["active"] == 1)
        connection.close()
        self.server.wait_idle()

    def test_half_closing_gets_no_stream_that_looks_whole(self):
        connection, response = self.begin()
        with contextlib.closing(connection):
            next(events_of(response))
            connection.sock.shutdown(socket.SHUT_WR)
            rest = b""
            with contextlib.suppress(OSError, http.client.HTTPException):
                for line in response:
                    rest += line
        self.assertNotIn(b'"finish_reason":"length"', rest)
        if b"[DONE]" in rest:
            self.assertIn(b'"error"', rest)
        self.server.wait_idle()

    def wait_for(self, reached):
        give_up = time.monotonic() + PATIENCE
        while not reached(requests := self.server.ask("/stats")[1]["requests"]):
            self.assertLess(time.monotonic(), give_up, requests)
            time.sleep(0.01)


class Metrics(unittest.TestCase):
    def test_counters_grow_and_gauges_fall_back(self):
        with Server(tiny_model(), "--model-id", "tiny") as server:
            before = server.metrics()
            for stream in (False, True):
                connection, response = server.open("POST", "/v1/completions", completion(5, stream=stream))
                with contextlib.closing(connection):
                    response.read()
            server.wait_idle()
            after = server.metrics()
            label = '{model_name="tiny"}'
            tokens = len("once")
            for name, grown in (
                ("hearth_generated_tokens_total", 10),
                (f"vllm:generation_tokens_total{label}", 10),
                ("hearth_prompt_tokens_total", (tokens, 2 * tokens)),  # the second may come from the cache
                (f"vllm:prompt_tokens_total{label}", (tokens, 2 * tokens)),
                (f"hearth_first_token_seconds_count{label}", 2),
                (f"vllm:time_to_first_token_seconds_count{label}", 2),
                (f"vllm:e2e_request_latency_seconds_count{label}", 2),
                ('vllm:request_success_total{finished_reason="length",model_name="tiny"}', 2),
                ('hearth_http_answers_total{path="/v1/completions",status="200"}', 2),
            ):
                least, most = grown if isinstance(grown, tuple) else (grown, grown)
                self.assertIn(name, after)
                growth = after[name] - before.get(name, 0)
                self.assertTrue(least <= growth <= most, f"{name}: {growth}")
            for name in ("hearth_active", "hearth_queued", "hearth_preparing", "hearth_sessions"):
                self.assertEqual(after[name], 0, name)
            for name in ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:gpu_cache_usage_perc"):
                self.assertIn(name + label, after)

    def test_an_unknown_path_is_no_counter_of_its_own(self):
        with Server(tiny_model()) as server:
            self.assertEqual(server.ask("/no/such/path")[0], 404)
            text = server.text("/metrics")
            self.assertNotIn("/no/such/path", text)
            self.assertIn('path="other"', text)


if __name__ == "__main__":
    unittest.main()
