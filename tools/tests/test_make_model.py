"""make_model.py: what the files hold, decoded here by the formats' definitions."""

import contextlib
import io
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import make_gguf_corpus as gguf  # noqa: E402
import make_model  # noqa: E402


def half(data, at):
    return struct.unpack_from("<e", data, at)[0]


def decode_q4_0(block):
    codes = [byte & 15 for byte in block[2:]] + [byte >> 4 for byte in block[2:]]
    return [half(block, 0) * (code - 8) for code in codes]


def decode_q8_0(block):
    return [half(block, 0) * code for code in struct.unpack("<32b", block[2:])]


def decode_q4_k(block):
    packed, codes, values = block[4:16], block[16:], []
    for i in range(8):
        if i < 4:
            scale, minimum = packed[i] & 63, packed[i + 4] & 63
        else:
            scale = packed[i + 4] & 15 | packed[i - 4] >> 6 << 4
            minimum = packed[i + 4] >> 4 | packed[i] >> 6 << 4
        for byte in codes[i // 2 * 32 : i // 2 * 32 + 32]:
            code = byte >> 4 if i % 2 else byte & 15
            values.append(half(block, 0) * scale * code - half(block, 2) * minimum)
    return values


def decode_q6_k(block):
    low, high, scales = block[:128], block[128:192], struct.unpack("<16b", block[192:208])
    values = []
    for i in range(256):
        part, quarter, lane = i // 128, i % 128 // 32, i % 32
        nibbles = low[64 * part + 32 * (quarter % 2) + lane]
        code = (nibbles >> 4 if quarter > 1 else nibbles & 15) | (high[32 * part + lane] >> 2 * quarter & 3) << 4
        values.append(half(block, 208) * scales[i // 16] * (code - 32))
    return values


def decode_bf16(block):
    return [struct.unpack("<f", b"\0\0" + block)[0]]


def decode_f32(block):
    return [struct.unpack("<f", block)[0]]


DECODERS = {
    "Q4_0": decode_q4_0, "Q8_0": decode_q8_0, "Q4_K": decode_q4_k, "Q6_K": decode_q6_k, "BF16": decode_bf16,
    "F32": decode_f32,
}  # fmt: skip


def values_of(tensor, seed=1, most=4096):
    data = b"".join(make_model.tensor_pieces(tensor, seed))
    _, block_values, block_bytes = gguf.TENSOR_TYPES[tensor.type]
    blocks = min(tensor.blocks, most // block_values)
    return [v for i in range(blocks) for v in DECODERS[tensor.type](data[i * block_bytes : (i + 1) * block_bytes])]


class Weights(unittest.TestCase):
    def test_are_centred_and_of_the_size_that_keeps_activations_level(self):
        for name in ("Q4_0", "Q8_0", "Q4_K", "Q6_K", "BF16"):
            with self.subTest(name):
                values = values_of(make_model.Tensor("w", (1024, 64), name), most=32768)
                rms = math.sqrt(sum(v * v for v in values) / len(values))
                self.assertAlmostEqual(rms * math.sqrt(1024), 1, delta=0.05)
                self.assertLess(abs(sum(values) / len(values)), 0.05 * rms)

    def test_gains_are_around_one(self):
        values = values_of(make_model.Tensor("norm", (1024,), "F32"))
        self.assertTrue(all(0.75 <= v <= 1.25 for v in values))
        self.assertAlmostEqual(sum(values) / 1024, 1, delta=0.05)

    def test_depend_on_seed_and_name_and_nothing_else(self):
        tensor = make_model.Tensor("w", (256, 8), "Q4_K")
        self.assertEqual(values_of(tensor), values_of(tensor))
        self.assertNotEqual(values_of(tensor), values_of(tensor, seed=2))
        self.assertNotEqual(values_of(tensor), values_of(make_model.Tensor("v", (256, 8), "Q4_K")))

    def test_pieces_add_up_to_the_padded_size(self):
        # More than one piece, with a rest.
        tensor = make_model.Tensor("w", (256, 70001), "Q6_K")
        size = sum(len(piece) for piece in make_model.tensor_pieces(tensor, 1))
        self.assertEqual(size, 210 * 70001 + 14)
        self.assertEqual(size % make_model.ALIGNMENT, 0)


class Shapes(unittest.TestCase):
    def test_sizes_are_those_of_llama_3_2(self):
        values = {
            name: sum(math.prod(t.dims) for t in make_model.tensors_of(make_model.SHAPES[name], "q4_0", 128256))
            for name in ("1b", "3b")
        }
        self.assertEqual(values, {"1b": 1235814400, "3b": 3212749824})

    def test_the_mix_of_q4_k_m(self):
        tensors = make_model.tensors_of(make_model.SHAPES["1b"], "q4_k_m", 1000)
        better = [t.name for t in tensors if t.type == "Q6_K" and "ffn_down" in t.name]
        self.assertEqual(better, [f"blk.{i}.ffn_down.weight" for i in (0, 1, 4, 7, 10, 13, 14, 15)])
        self.assertEqual({t.type for t in tensors}, {"F32", "Q4_K", "Q6_K"})


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.vocabulary = self.folder / "vocabulary.gguf"
        self.vocabulary.write_bytes(gguf.file(gguf.llama_entries()))

    def run_main(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = make_model.main([str(a) for a in arguments], {"HEARTH_HOME": str(self.folder / "home")})
        return code, out.getvalue(), errors.getvalue()

    def test_writes_the_file_with_the_vocabulary_and_nothing_beside_it(self):
        code, out, _ = self.run_main("--shape", "tiny", "--type", "q8_0", "--vocabulary", self.vocabulary)
        self.assertEqual(code, 0)
        models = self.folder / "home" / "models"
        self.assertEqual([p.name for p in models.iterdir()], ["llama-tiny-random.Q8_0.gguf"])
        path = models / "llama-tiny-random.Q8_0.gguf"
        self.assertEqual(out, f"{path}\n")
        self.assertEqual(make_model.vocabulary_entries(path), make_model.vocabulary_entries(self.vocabulary))
        entries, tokens = make_model.vocabulary_entries(path)
        self.assertEqual(entries, [e for e in gguf.llama_entries() if b"tokenizer." in e])
        self.assertEqual(tokens, 5)

    def refused(self, text, *arguments):
        code, out, errors = self.run_main(*arguments)
        self.assertEqual((code, out, errors.count("\n")), (1, "", 1), errors)
        self.assertIn(text, errors)

    def test_a_vocabulary_file_that_does_not_do_is_refused_in_one_line(self):
        self.refused("fetch_model.py")
        path = self.folder / "bad"
        self.refused("No such file", "--vocabulary", path)
        whole = self.vocabulary.read_bytes()
        for content, text in (
            (b"", "not a GGUF file"),
            (b"GGUF", "not a GGUF file"),
            (whole[:-60], "ends at byte"),
            (gguf.file([gguf.entry("general.name", gguf.STRING, "x")]), "no vocabulary"),
            (gguf.file(counts=(0, gguf.HUGE)), "entries"),
            (gguf.file([gguf.text("k") + struct.pack("<I", 99)]), "type 99"),
            (gguf.file([gguf.text("k") + struct.pack("<IIQ", gguf.ARRAY, gguf.UINT64, gguf.HUGE)]), "ends at byte"),
        ):
            with self.subTest(text):
                path.write_bytes(content)
                self.refused(text, "--vocabulary", path)

    def test_a_folder_that_cannot_be_written_is_refused_in_one_line(self):
        (self.folder / "file").write_text("")
        self.refused("file", "--vocabulary", self.vocabulary, "--output", self.folder / "file" / "m.gguf")

    def test_the_script_runs_by_itself(self):
        script = pathlib.Path(make_model.__file__)
        done = subprocess.run(
            [script, "--shape", "tiny", "--vocabulary", self.vocabulary, "--output", self.folder / "out"],
            capture_output=True, text=True, env={**os.environ, "HEARTH_HOME": str(self.folder)}, check=False,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
