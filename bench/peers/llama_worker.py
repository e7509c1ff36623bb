"""llama.cpp as a process that measures on request; run by peers.py with the Python of the peer's environment.

usage: llama_worker.py MODEL THREADS        LLAMA_CPP_LIB_PATH names the folder of the build's libraries

Each line of standard input is a request in JSON, each line of standard output its answer:
  {"do": "about"}                                            the library's system info, and the settings chosen so far
  {"do": "prefill", "tokens": 512, "repeat": 3}              prompt tokens a second, one number a repeat
  {"do": "decode", "rows": 16, "context": 128, "tokens": 64} decoded tokens a second over all rows, one number

A measure is first tried with flash attention on and off and, for several rows, with the cache shared or one a row; it
then keeps the fastest. Prompts are those of `hearth bench`; tokens are chosen greedily, in the measured time.
"""

import ctypes
import itertools
import json
import sys
import time

import llama_cpp.llama_cpp as llama
import numpy

UNMEASURED_STEPS = 4
TRIAL_TOKENS = 16


def prompts(rows, length, vocabulary):
    """The token ids that `hearth bench` makes up."""
    state, made = 1, []
    for _ in range(rows):
        row = []
        for _ in range(length):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            row.append((state >> 33) % vocabulary)
        made.append(row)
    return made


class Context:
    """One llama_context with its prompts; tokens beyond them are forgotten before each measurement."""

    def __init__(self, model, threads, rows, length, most_new, flash, unified):
        self._rows, self._length = rows, length
        cells = length + most_new
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = rows * (cells + -cells % 256)
        parameters.n_batch = max(length, rows)
        parameters.n_ubatch = max(min(512, length), rows)
        parameters.n_seq_max = rows
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.flash_attn_type = (
            llama.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash else llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        parameters.kv_unified = unified
        parameters.no_perf = True
        self._context = llama.llama_init_from_model(model, parameters)
        if not self._context:
            raise RuntimeError("llama.cpp could not make a context")
        self._memory = llama.llama_get_memory(self._context)
        self._vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
        self._prompts = prompts(rows, length, self._vocabulary)
        self._batch = llama.llama_batch_init(max(length, rows), 0, 1)
        self._filled = False

    def close(self):
        llama.llama_batch_free(self._batch)
        llama.llama_free(self._context)

    def _put(self, index, token, position, row, logits):
        batch = self._batch
        batch.token[index], batch.pos[index], batch.logits[index] = token, position, logits
        batch.n_seq_id[index], batch.seq_id[index][0] = 1, row

    def _run(self, count):
        self._batch.n_tokens = count
        if llama.llama_decode(self._context, self._batch) != 0:
            raise RuntimeError("llama_decode failed")

    def _best(self, index):
        logits = llama.llama_get_logits_ith(self._context, index)
        return int(numpy.ctypeslib.as_array(logits, shape=(self._vocabulary,)).argmax())

    def _prompt(self, row):
        for i, token in enumerate(self._prompts[row]):
            self._put(i, token, i, row, i == self._length - 1)
        return self._length

    def prefill(self):
        """Seconds for the first row's prompt and the choice of a token."""
        llama.llama_memory_clear(self._memory, False)
        self._filled = False
        count = self._prompt(0)
        start = time.perf_counter()
        self._run(count)
        self._best(-1)
        return time.perf_counter() - start

    def decode(self, tokens):
        """Seconds for `tokens` tokens of each row, after a few that are not counted."""
        if not self._filled:
            llama.llama_memory_clear(self._memory, False)
            self._next = []
            for row in range(self._rows):
                self._run(self._prompt(row))
                self._next.append(self._best(-1))
            self._filled = True
        following = list(self._next)
        for row in range(self._rows):
            llama.llama_memory_seq_rm(self._memory, row, self._length, -1)
        for step in range(UNMEASURED_STEPS + tokens):
            if step == UNMEASURED_STEPS:
                start = time.perf_counter()
            for row in range(self._rows):
                self._put(row, following[row], self._length + step, row, True)
            self._run(self._rows)
            following = [self._best(row) for row in range(self._rows)]
        return time.perf_counter() - start


class Worker:
    def __init__(self, path, threads):
        self._threads, self._contexts, self._chosen = threads, {}, {}
        llama.llama_backend_init()
        parameters = llama.llama_model_default_params()
        parameters.n_gpu_layers = 0
        self._model = llama.llama_model_load_from_file(path.encode(), parameters)
        if not self._model:
            raise RuntimeError(f"llama.cpp cannot load {path}")

    def _fastest(self, name, rows, length, most_new, seconds):
        """The context for a measure, made once: the fastest of the settings, and the others closed."""
        key = (name, rows, length, most_new)
        if key not in self._contexts:
            trials = {}
            for flash, unified in itertools.product((True, False), (True, False) if rows > 1 else (True,)):
                context = Context(self._model, self._threads, rows, length, most_new, flash, unified)
                trials[flash, unified] = min(seconds(context) for _ in range(2))
                context.close()
            flash, unified = best = min(trials, key=trials.get)
            self._contexts[key] = Context(self._model, self._threads, rows, length, most_new, flash, unified)
            self._chosen[f"{name}, {rows} rows"] = {
                "flash_attention": flash, "unified_cache": unified,
                "slowest_setting": max(trials.values()) / trials[best],
            }  # fmt: skip
        return self._contexts[key]

    def about(self, _):
        return {"system": llama.llama_print_system_info().decode(), "settings": self._chosen}

    def prefill(self, request):
        tokens = request["tokens"]
        context = self._fastest("prefill", 1, tokens, 1, Context.prefill)
        return {"tokens_per_second": [tokens / context.prefill() for _ in range(request["repeat"])]}

    def decode(self, request):
        rows, tokens = request["rows"], request["tokens"]
        most_new = UNMEASURED_STEPS + max(tokens, TRIAL_TOKENS)
        context = self._fastest(
            "decode", rows, request["context"], most_new, lambda context: context.decode(TRIAL_TOKENS)
        )
        return {"tokens_per_second": [rows * tokens / context.decode(tokens)]}


@llama.llama_log_callback
def errors_only(level, text, _):
    if level == 4:  # GGML_LOG_LEVEL_ERROR
        sys.stderr.write(text.decode("utf-8", "replace"))


def main(path, threads):
    llama.llama_log_set(errors_only, ctypes.c_void_p(0))
    worker = Worker(path, int(threads))
    commands = {"about": worker.about, "prefill": worker.prefill, "decode": worker.decode}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(commands[request["do"]](request)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
