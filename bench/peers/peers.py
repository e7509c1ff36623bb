#!/usr/bin/env python3
"""Times hearth beside llama.cpp: the same model file, prompt, rows and threads, in turn, on this machine.

usage: peers.py [MODEL] [--isa native|avx2] [--threads N] [--prompt N] [--rows N,N] [--context N] [--gen N] [--rounds N]
                [--json]

The first run builds llama.cpp in the user's cache (README.md says what that takes). Then each round measures each side
once a measure, one after the other and never at once: prefill of a prompt in one batch, then decoding with each number
of rows. llama.cpp runs with the fastest of its settings for each measure, hearth as it is.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

import comparison  # noqa: E402
import environment  # noqa: E402
import fetch_model  # noqa: E402
from environment import PeerError  # noqa: E402

PREFILL_REPEAT = 3
SPIN_SECONDS = 0.3  # llama.cpp's threads spin for 0.2 s after their work, on cores that the next turn needs


def whole_number(least, most):
    def parse(text):
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not from {least} to {most}")
        return value

    parse.__name__ = "whole number"  # argparse says it when the text is none
    return parse


def row_counts(text):
    parse = whole_number(1, 256)  # what llama.cpp takes
    return [parse(part) for part in text.split(",")]


row_counts.__name__ = "list of whole numbers"


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="smollm2", help="a GGUF file (default: the default model)")
    parser.add_argument("--isa", choices=environment.BUILDS, default="native", help="limit of both (default: native)")
    parser.add_argument("--threads", type=whole_number(1, 256), help="of each side (default: hearth's)")
    parser.add_argument("--prompt", type=whole_number(1, 65536), default=512, help="tokens of the prefill (512)")
    parser.add_argument("--rows", type=row_counts, default=[1, 16, 32], help="sequences that decode together (1,16,32)")
    parser.add_argument("--context", type=whole_number(1, 65536), default=128, help="tokens before decoding (128)")
    parser.add_argument("--gen", type=whole_number(1, 4096), default=32, help="tokens that each row decodes (32)")
    parser.add_argument("--rounds", type=whole_number(1, 1000), default=5, help="measurements of each side (5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with every measurement")
    return parser.parse_args(arguments)


class Hearth:
    """Our side: one process a measurement, since it loads fast."""

    def __init__(self, model, isa, threads):
        self._binary = ROOT / "build" / "release" / "bin" / "hearth"
        if not self._binary.exists():
            raise PeerError(f"{self._binary} is not there: run `make build`")
        self._model = model
        self._fixed = (["--isa", "avx2"] if isa == "avx2" else []) + (["--threads", str(threads)] if threads else [])
        self.reads = []  # plain reads of memory during the runs, bytes a second

    def bench(self, prompt, tokens, rows, repeat):
        command = [
            self._binary, "bench", "--json", *self._fixed, "--prompt", str(prompt), "--gen", str(tokens),
            "--rows", str(rows), "--repeat", str(repeat), self._model,
        ]  # fmt: skip
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PeerError(f"hearth bench: {done.stderr.strip()}")
        facts = json.loads(done.stdout)
        self.reads.append(facts["plain_read_bytes_per_second"]["median"])
        return facts

    def prefill(self, tokens):
        run = self.bench(tokens, 1, 1, PREFILL_REPEAT)["runs"][0]
        return run["prefill_tokens_per_second"]["median"]

    def decode(self, rows, context, tokens):
        run = self.bench(context, tokens + 1, rows, 1)["runs"][0]  # the prompt gives the first token
        return run["decode_tokens_per_second"]["median"]


class LlamaCpp:
    """Their side: one process that keeps the model and answers requests. It is idle between them."""

    def __init__(self, place, build, model, threads):
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [place.python, HERE / "llama_worker.py", model, str(threads)],
            env={**os.environ, "LLAMA_CPP_LIB_PATH": str(place.libraries(build))}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def ask(self, **request):
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            self._errors.seek(0)
            said = [line for line in self._errors.read().splitlines() if line.strip()]
            raise PeerError(f"llama.cpp ended: {said[-1] if said else f'code {self._process.returncode}'}")
        return json.loads(answer)

    def prefill(self, tokens):
        return statistics.median(self.ask(do="prefill", tokens=tokens, repeat=PREFILL_REPEAT)["tokens_per_second"])

    def decode(self, rows, context, tokens):
        return self.ask(do="decode", rows=rows, context=context, tokens=tokens)["tokens_per_second"][0]


def model_path(name, cache):
    if name == "smollm2":
        path = cache / "models" / fetch_model.SMOLLM2.file
    else:
        path = pathlib.Path(name)
        if not path.exists() and path.name == name:
            path = cache / "models" / name
    if not path.is_file():
        raise PeerError(f"{path} is not there")
    return str(path.resolve())


def measures_of(options):
    """(name, what to ask a side)."""
    measures = [(f"prefill {options.prompt}", lambda side: side.prefill(options.prompt))]
    for rows in options.rows:
        name = f"decode {rows} row{'s' if rows > 1 else ''}"
        measures.append((name, lambda side, rows=rows: side.decode(rows, options.context, options.gen)))
    return measures


def measure(options, cache, stream):
    model = model_path(options.model, cache)
    ours = Hearth(model, options.isa, options.threads)
    place = environment.Environment(cache, stream)
    place.prepare(options.isa)
    facts = ours.bench(prompt=8, tokens=2, rows=1, repeat=1)
    ours.reads.clear()
    measures = measures_of(options)
    speeds = {name: ([], []) for name, _ in measures}
    with LlamaCpp(place, options.isa, model, facts["threads"]) as theirs:
        # Not counted: here llama.cpp's settings are tried, and both sides have read the file.
        for name, ask in measures:
            print(f"peers: trying llama.cpp's settings, {name}", file=stream, flush=True)
            ask(theirs)
        time.sleep(SPIN_SECONDS)
        for round in range(options.rounds):
            print(f"peers: round {round + 1} of {options.rounds}", file=stream, flush=True)
            for name, ask in measures:
                speeds[name][0].append(ask(ours))
                speeds[name][1].append(ask(theirs))
                time.sleep(SPIN_SECONDS)
        about = theirs.ask(do="about")
    return {
        "model": model,
        "cpu": facts["cpu"],
        "isa": facts["isa"],
        "threads": facts["threads"],
        "context": options.context,
        "gen": options.gen,
        "rounds": options.rounds,
        "peer": f"llama.cpp of {environment.PACKAGE} {environment.VERSION}, {options.isa} build",
        "peer_system": about["system"].strip(" |"),
        "peer_settings": about["settings"],
        "plain_read_bytes_per_second": {
            "median": statistics.median(ours.reads), "min": min(ours.reads), "max": max(ours.reads),
        },
        "measures": {
            name: {**comparison.compare(a, b), "hearth_runs": a, "llama_cpp_runs": b} for name, (a, b) in speeds.items()
        },
    }  # fmt: skip


def main(arguments):
    options = parse_arguments(arguments)
    try:
        result = measure(options, fetch_model.cache_home(os.environ), sys.stderr)
    except PeerError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("peers: interrupted", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(result, indent=2))
        return 0
    read = result["plain_read_bytes_per_second"]
    print(f"{result['model']}\n{result['cpu']}, {result['threads']} threads; hearth: {result['isa']}; {result['peer']}")
    print(f"plain read {read['median'] / 1e9:.1f} GB/s ({read['min'] / 1e9:.1f} to {read['max'] / 1e9:.1f})")
    print(f"tokens/s, medians of {options.rounds} rounds in turn; pairs: least and largest ratio of a round\n")
    print("\n".join(comparison.table(result["measures"].items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
