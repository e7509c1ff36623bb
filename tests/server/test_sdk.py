#!/usr/bin/env python3
"""`hearth serve` under the official openai SDK: every route it has, streamed and not, sync and async.

HEARTH_BINARY names the program, HEARTH_TEST_VENV the folder that tools/test_venv.sh makes for the SDK. Without the SDK it
exits with code 77, which counts as skipped.
"""

import os
import pathlib
import sys

VENV = pathlib.Path(os.environ["HEARTH_TEST_VENV"]).resolve()
if pathlib.Path(sys.prefix).resolve() != VENV:
    # Its last file, without which it is not whole.
    if not (VENV / "requirements.txt").exists():
        print("the openai SDK is missing: tools/test_venv.sh installs it")
        sys.exit(77)
    os.execv(VENV / "bin" / "python3", [VENV / "bin" / "python3", *sys.argv])

import asyncio  # noqa: E402
import contextlib  # noqa: E402
import dataclasses  # noqa: E402
import unittest  # noqa: E402

import openai  # noqa: E402

from program import MODEL  # noqa: E402
from served import PATIENCE, Server, events_of, real_model_missing, tiny_model  # noqa: E402

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name the planets."}]
TEXT = "The sea is"
SETTINGS = {"api_key": "none", "max_retries": 0, "timeout": PATIENCE}


@dataclasses.dataclass
class Choice:
    text: str = ""
    reason: str | None = None
    tokens: list = dataclasses.field(default_factory=list)  # log probabilities, one entry a token


def add_logprobs(choice, logprobs):
    if logprobs is None:
        return
    if hasattr(logprobs, "content"):
        choice.tokens += [entry.model_dump() for entry in logprobs.content]
        return
    fields = (logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs, logprobs.text_offset)
    choice.tokens += zip(*fields, strict=True)


def add(choices, part):
    """Adds a whole choice, or a chunk of one."""
    choice = choices.setdefault(part.index, Choice())
    message = getattr(part, "message", None) or getattr(part, "delta", None)
    choice.text += (part.text if message is None else message.content) or ""
    choice.reason = part.finish_reason or choice.reason
    add_logprobs(choice, part.logprobs)


def listed(choices):
    return [choices[index] for index in range(len(choices))]


class Sdk:
    """Of one model, by `model()`; answers of `length` tokens, where nothing wants more."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server(cls.model(), "--model-id", "served"))
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", **SETTINGS)
        cls.addClassCleanup(cls.client.close)

    def async_client(self):
        return openai.AsyncOpenAI(base_url=self.server.url + "/v1", **SETTINGS)

    def ways(self, route, **fields):
        """The choices of a request whose answer is decided, after all four ways of asking gave the same."""
        fields = {"model": "served", **fields}
        of = {
            "chat": lambda client: client.chat.completions.create,
            "text": lambda client: client.completions.create,
        }[route]

        async def without_waiting():
            async with self.async_client() as client:
                whole, stream = {}, {}
                create = of(client)

                async def read_stream():
                    async for chunk in await create(stream=True, **fields):
                        for part in chunk.choices:
                            add(stream, part)

                answer, _ = await asyncio.gather(create(**fields), read_stream())
                for part in answer.choices:
                    add(whole, part)
                return listed(whole), listed(stream)

        whole, stream = {}, {}
        answer = of(self.client)(**fields)
        for part in answer.choices:
            add(whole, part)
        for chunk in of(self.client)(stream=True, **fields):
            self.assertEqual(chunk.model, "served")
            for part in chunk.choices:
                add(stream, part)
        self.assertEqual(listed(stream), listed(whole))
        for other in asyncio.run(without_waiting()):
            self.assertEqual(other, listed(whole))
        self.last = answer
        return listed(whole)

    def greedy(self, route, **fields):
        asked = {"messages": CHAT} if route == "chat" else {"prompt": TEXT}
        return self.ways(route, **{"temperature": 0, "max_tokens": self.length, **asked, **fields})

    def test_models(self):
        cards = self.client.models.list().data
        self.assertEqual([(card.id, card.object) for card in cards], [("served", "model")])
        self.assertEqual(self.client.models.retrieve("served").id, "served")
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.models.retrieve("other/one")
        self.assertEqual(caught.exception.code, "model_not_found")

        async def ask():
            async with self.async_client() as client:
                return [card.id async for card in client.models.list()], await client.models.retrieve("served")

        names, card = asyncio.run(ask())
        self.assertEqual((names, card), (["served"], cards[0]))

    def test_greedy(self):
        for route in ("chat", "text"):
            with self.subTest(route):
                (choice,) = self.greedy(route)
                self.assertNotEqual(choice.text, "")
                self.assertIn(choice.reason, ("stop", "length"))
                usage = self.last.usage
                self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
                self.assertGreater(usage.prompt_tokens, 2)

    def test_a_seed_decides(self):
        for route in ("chat", "text"):
            with self.subTest(route):
                first = self.greedy(route, n=3, seed=11, temperature=1.3)
                self.assertEqual(self.last.seed, 11)
                self.assertGreater(len({choice.text for choice in first}), 1)
                self.assertEqual(self.greedy(route, n=3, seed=11, temperature=1.3), first)
                self.assertNotEqual(self.greedy(route, n=3, seed=12, temperature=1.3), first)

    def test_log_probabilities_of_chat(self):
        (choice,) = self.greedy("chat", logprobs=True, top_logprobs=3)
        # A token that ended the answer is no text of it, but counts.
        self.assertIn(self.last.usage.completion_tokens - len(choice.tokens), (0, 1))
        said = b"".join(bytes(entry["bytes"]) for entry in choice.tokens)
        self.assertEqual(said.decode(errors="replace"), choice.text)
        for entry in choice.tokens:
            values = [other["logprob"] for other in entry["top_logprobs"]]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertEqual(len(values), 3)
            # Greedy: the best is taken.
            self.assertEqual((entry["bytes"], entry["logprob"]), (entry["top_logprobs"][0]["bytes"], values[0]))
        (bare,) = self.greedy("chat", logprobs=True)
        self.assertEqual([entry["logprob"] for entry in bare.tokens], [entry["logprob"] for entry in choice.tokens])
        self.assertTrue(all(entry["top_logprobs"] == [] for entry in bare.tokens))
        self.assertEqual(self.greedy("chat")[0], Choice(choice.text, choice.reason))

    def tokens(self, text):
        return self.server.ask("/tokenize", {"content": text})[1]["tokens"]

    def test_stop_strings_across_tokens(self):
        for route in ("chat", "text"):
            with self.subTest(route):
                whole = self.greedy(route, max_tokens=10)[0].text
                stop = whole[4:9]
                self.assertEqual(len(stop), 5)
                (cut,) = self.greedy(route, max_tokens=10, stop=["never says this", stop])
                self.assertEqual((cut.text, cut.reason), (whole[: whole.index(stop)], "stop"))
                if route == "text":
                    (echoed,) = self.greedy(route, max_tokens=10, stop=stop, echo=True)
                    self.assertEqual(echoed.text, TEXT + cut.text)
                # What only looks like the beginning of a stop comes out in the end.
                (kept,) = self.greedy(route, max_tokens=10, stop=whole[-2:] + "never says this")
                self.assertEqual(kept.text, whole)

    def test_a_last_assistant_message_is_continued(self):
        begun = [*CHAT, {"role": "assistant", "content": "Mercury, "}]
        rendered = self.server.ask("/v1/chat/completions/render", {"messages": begun})[1]
        self.assertTrue(rendered["prompt"].endswith("Mercury, "), rendered)
        (chat,) = self.greedy("chat", messages=begun)
        (text,) = self.greedy("text", prompt=rendered["token_ids"])
        self.assertEqual(chat, text)
        self.assertNotEqual(chat, self.greedy("chat", messages=CHAT)[0])


class TinyModel(Sdk, unittest.TestCase):
    """Also what is the same for every model, where it takes the least time."""

    model = staticmethod(tiny_model)
    length = 16

    def test_several_prompts(self):
        texts = [TEXT, "Once upon"]
        alone = [self.greedy("text", prompt=text)[0] for text in texts]
        self.assertEqual(self.greedy("text", prompt=texts), alone)
        ids = [self.tokens(text) for text in texts]
        self.assertEqual(self.greedy("text", prompt=ids), alone)
        self.assertEqual(self.last.usage.prompt_tokens, sum(map(len, ids)))
        self.assertEqual(self.greedy("text", prompt=ids[1]), alone[1:])
        twice = self.greedy("text", prompt=texts, n=2)
        self.assertEqual(twice, [alone[0], alone[0], alone[1], alone[1]])
        self.assertEqual(self.last.usage.prompt_tokens, sum(map(len, ids)))
        echoed = self.greedy("text", prompt=texts, echo=True)
        self.assertEqual([choice.text for choice in echoed], [a + b.text for a, b in zip(texts, alone)])

    def test_max_tokens_is_exact(self):
        ends = {"256": -100}
        for name, route in (("max_tokens", "chat"), ("max_completion_tokens", "chat"), ("max_tokens", "text")):
            for count in (1, 7):
                with self.subTest(f"{name} {route}", count=count):
                    asked = {"messages": CHAT} if route == "chat" else {"prompt": TEXT}
                    (choice,) = self.ways(route, temperature=0, logit_bias=ends, **asked, **{name: count})
                    self.assertEqual((choice.reason, self.last.usage.completion_tokens), ("length", count))

    def test_a_drawn_seed_gives_the_answer_again(self):
        fields = {"model": "served", "messages": CHAT, "max_tokens": 12, "temperature": 1.3}
        drawn = [self.client.chat.completions.create(**fields) for _ in range(2)]
        self.assertNotEqual(drawn[0].seed, drawn[1].seed)
        again = self.client.chat.completions.create(**fields, seed=drawn[0].seed)
        self.assertEqual(again.choices, drawn[0].choices)

    def test_the_prompt_of_an_echo_has_the_same_log_probabilities_as_when_it_was_generated(self):
        # Of token ids, so that nothing depends on how a text is cut.
        prompt = self.tokens(TEXT)
        (made,) = self.greedy("text", prompt=prompt, logprobs=2, max_tokens=8, logit_bias={"40": 100})
        self.assertEqual(len(made.tokens), 8)
        whole = [*prompt, *[40] * 8]
        (plain,) = self.greedy("text", prompt=whole, max_tokens=0, echo=True, logprobs=2)
        self.assertEqual(self.last.usage.completion_tokens, 0)
        self.assertEqual(plain.reason, "length")
        self.assertEqual(plain.text, TEXT + made.text)
        self.assertEqual(len(plain.tokens), len(whole))
        self.assertIsNone(plain.tokens[0][1])
        self.assertTrue(all(token[1] <= 0 for token in plain.tokens[1:]))
        offsets = [token[3] for token in plain.tokens]
        self.assertEqual(offsets, sorted(offsets))
        self.assertEqual(self.greedy("text", prompt=whole, max_tokens=0, echo=True, logprobs=2), [plain])
        # The first row of the generated part, computed as a prompt and as a step.
        free = self.client.completions.create(
            model="served", prompt=whole, max_tokens=1, temperature=0, logprobs=2, echo=True
        )
        self.assertEqual(list(free.choices[0].logprobs.token_logprobs[: len(whole)]), [t[1] for t in plain.tokens])
        (one,) = self.greedy("text", prompt=whole, max_tokens=1, logprobs=2)
        self.assertEqual(one.tokens[0][1], free.choices[0].logprobs.token_logprobs[-1])

    def test_more_choices_than_rows(self):
        choices = self.greedy("text", n=40, max_tokens=3)
        self.assertEqual(choices, choices[:1] * 40)

    def test_usage_of_a_stream_comes_when_asked(self):
        fields = {"model": "served", "messages": CHAT, "max_tokens": 5, "temperature": 0}
        whole = self.client.chat.completions.create(**fields).usage
        chunks = list(
            self.client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **fields)
        )
        self.assertEqual(chunks[-1].choices, [])
        counts = [(u.prompt_tokens, u.completion_tokens, u.total_tokens) for u in (chunks[-1].usage, whole)]
        self.assertEqual(counts[0], counts[1])
        self.assertTrue(all(chunk.usage is None for chunk in chunks[:-1]))
        chunks = list(self.client.chat.completions.create(stream=True, **fields))
        self.assertTrue(all(chunk.usage is None and chunk.choices for chunk in chunks))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)

    def test_unknown_fields_are_named(self):
        for stream in (False, True):
            answer = self.client.chat.completions.with_raw_response.create(
                model="served", messages=CHAT, max_tokens=1, stream=stream, extra_body={"colour": 1, "a": None}
            )
            self.assertIn("colour", answer.headers["warning"])
            if stream:
                list(answer.parse())
        answer = self.client.completions.with_raw_response.create(model="served", prompt=TEXT, max_tokens=1)
        self.assertNotIn("warning", answer.headers)

    def test_neutral_fields_pass_and_others_are_refused_by_name(self):
        create = self.client.chat.completions.create
        fields = {"model": "served", "messages": CHAT, "max_tokens": 1}
        tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
        create(**fields, tools=[], tool_choice="none", response_format={"type": "text"}, modalities=["text"])
        for name, value in (
            ("tools", [tool]),
            ("response_format", {"type": "json_object"}),
            ("modalities", ["text", "audio"]),
        ):
            for stream in (False, True):
                with self.assertRaises(openai.BadRequestError) as caught:
                    create(**fields, stream=stream, **{name: value})
                self.assertEqual(caught.exception.param, name)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.completions.create(model="served", prompt=TEXT, suffix="end")
        self.assertEqual(caught.exception.param, "suffix")

    def test_bad_values_are_named(self):
        for name, value in (
            ("temperature", -1), ("top_p", 2), ("n", 0), ("max_tokens", 0), ("top_logprobs", 21), ("stop", [""]),
            ("messages", []), ("logit_bias", {"999999999": 1}),
        ):  # fmt: skip
            with self.subTest(name):
                with self.assertRaises(openai.BadRequestError) as caught:
                    self.client.chat.completions.create(**{"model": "served", "messages": CHAT, name: value})
                error = caught.exception
                self.assertTrue((error.param or "").startswith(name), error)
                self.assertEqual(error.type, "invalid_request_error")
                self.assertIn(name, error.body["message"])
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.completions.create(model="served", prompt=[0] * 9000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.assertRegex(str(caught.exception), "9000.*8192|8192.*9000")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.completions.create(model="served", prompt=[1, 999999999])
        self.assertEqual(caught.exception.param, "prompt")

    def test_a_stream_that_is_closed_early_frees_its_row(self):
        with self.client.completions.create(model="served", prompt=TEXT, max_tokens=4000, stream=True) as stream:
            next(iter(stream))
        self.server.wait_idle()


@unittest.skipIf(real_model_missing(), real_model_missing())
class DefaultModel(Sdk, unittest.TestCase):
    length = 5

    @staticmethod
    def model():
        return MODEL

    def test_greedy_steps_and_prompts_have_equal_bits(self):
        prompt = self.tokens(TEXT)
        made = self.server.ask(
            "/v1/completions", {"prompt": prompt, "max_tokens": 8, "temperature": 0, "logprobs": 1}
        )[1]["choices"][0]  # fmt: skip
        said = self.tokens(made["text"])
        texts = self.server.ask("/tokenize", {"content": made["text"], "with_pieces": True})[1]["token_strs"]
        self.assertEqual(texts, made["logprobs"]["tokens"])
        body = {"prompt": prompt + said, "max_tokens": 0, "echo": True, "logprobs": 1}
        read = self.server.ask("/v1/completions", body)[1]["choices"][0]["logprobs"]["token_logprobs"]
        self.assertEqual(read[len(prompt) :], made["logprobs"]["token_logprobs"])


class Refusals(unittest.TestCase):
    """Errors of the server itself, as the SDK's classes."""

    def client(self, server, **settings):
        client = openai.OpenAI(base_url=server.url + "/v1", **{**SETTINGS, **settings})
        self.addCleanup(client.close)
        return client

    def test_keys_paths_and_sizes(self):
        with Server(tiny_model(), "--api-key", "first", "--api-key", "second", "--max-body", "4K") as server:
            for key in ("none", "firs", "second1"):
                with self.subTest(key), self.assertRaises(openai.AuthenticationError):
                    self.client(server, api_key=key).models.list()
            for key in ("first", "second"):
                self.assertEqual(len(self.client(server, api_key=key).models.list().data), 1)
            self.assertEqual(server.ask("/health")[0], 200)
            self.assertEqual(server.ask("/metrics")[0:1], (401,))
            client = self.client(server, api_key="first")
            with self.assertRaises(openai.NotFoundError):
                client.embeddings.create(model="tiny", input="a")
            with self.assertRaises(openai.APIStatusError) as caught:
                client.completions.create(model="tiny", prompt="a" * 5000, max_tokens=1)
            self.assertEqual(caught.exception.status_code, 413)
            self.assertIsNotNone(caught.exception.body)

    def test_a_full_queue(self):
        with Server(tiny_model(), "--queue", 0, "--batch", 1) as server:
            body = {"prompt": "a", "max_tokens": 8000, "logit_bias": {"256": -100}, "stream": True}
            connection, response = server.open("POST", "/v1/completions", body)
            with contextlib.closing(connection):
                next(events_of(response))
                for stream in (False, True):
                    with self.assertRaises(openai.RateLimitError) as caught:
                        self.client(server).completions.create(model="tiny", prompt="a", stream=stream)
                    self.assertIn("retry-after", caught.exception.response.headers)
                response.close()
            server.wait_idle()
            # One row, and more choices than it: they take turns.
            answer = self.client(server).completions.create(model="tiny", prompt="a", n=3, max_tokens=2)
            self.assertEqual(len(answer.choices), 3)


if __name__ == "__main__":
    unittest.main()
