"""ctest_summary.py on result files as ctest 3.25 writes them."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import ctest_summary  # noqa: E402

PASSED = '<testcase name="A.Pass" status="run"><system-out>[  PASSED  ] 1 test.</system-out></testcase>'
FAILED = '<testcase name="A.Fail" status="fail"><failure message=""/><system-out>x</system-out></testcase>'
SKIPPED = """<testcase name="A.Skip" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] A.Skip
/src/a.cc:4: Skipped
no model: run make run
[  SKIPPED ] A.Skip
</system-out></testcase>"""
SCRIPT_SKIPPED = """<testcase name="script" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>looking
nothing to look at
</system-out></testcase>"""
DISABLED = '<testcase name="A.Off" status="disabled"><system-out>Disabled</system-out></testcase>'
NO_PROGRAM = """<testcase name="gone" status="notrun"><skipped message="Unable to find executable"/>
<system-out>Unable to find executable: /x</system-out></testcase>"""
NO_SET_UP = """<testcase name="dep" status="notrun"><skipped message="Fixture dependency failed"/>
<system-out>Failed test dependencies: gone</system-out></testcase>"""


class SummaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def results(self, *cases, name="results.xml"):
        path = self.folder / name
        path.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="x">' + "".join(cases) + "</testsuite>"
        )
        return path

    def test_all_passed(self):
        self.assertEqual((["2 passed, 0 failed, 0 skipped"], 0), ctest_summary.summarize([self.results(PASSED, PASSED)]))

    def test_skips_are_listed_with_their_reasons(self):
        lines, code = ctest_summary.summarize([self.results(PASSED, SKIPPED, SCRIPT_SKIPPED, DISABLED)])
        self.assertEqual(0, code)
        self.assertEqual(
            [
                "skipped, disabled:",
                "  A.Off",
                "skipped, no model: run make run:",
                "  A.Skip",
                "skipped, nothing to look at:",
                "  script",
                "1 passed, 0 failed, 3 skipped",
            ],
            lines,
        )

    def test_failures_are_named_and_fail(self):
        lines, code = ctest_summary.summarize([self.results(PASSED, FAILED)])
        self.assertEqual((["failed:", "  A.Fail", "1 passed, 1 failed, 0 skipped"], 1), (lines, code))

    def test_what_could_not_run_failed(self):
        lines, code = ctest_summary.summarize([self.results(PASSED, NO_PROGRAM, NO_SET_UP)])
        self.assertEqual((["failed:", "  gone", "  dep", "1 passed, 2 failed, 0 skipped"], 1), (lines, code))

    def test_several_files_add_up(self):
        lines, code = ctest_summary.summarize([self.results(PASSED, name="a.xml"), self.results(FAILED, name="b.xml")])
        self.assertEqual(("1 passed, 1 failed, 0 skipped", 1), (lines[-1], code))

    def test_nothing_passed_is_a_failure(self):
        self.assertEqual((["0 passed, 0 failed, 0 skipped"], 1), ctest_summary.summarize([self.results()]))

    def test_missing_or_broken_file_is_a_failure(self):
        broken = self.folder / "broken.xml"
        broken.write_text("<testsuite><testcase")
        for path in (broken, self.folder / "absent.xml"):
            lines, code = ctest_summary.summarize([self.results(PASSED), path])
            self.assertEqual(("1 passed, 1 failed, 0 skipped", 1), (lines[-1], code))
            self.assertIn(str(path), lines[1])

    def test_bytes_that_no_xml_may_hold(self):
        path = self.results(PASSED)
        path.write_bytes(path.read_bytes().replace(b"1 test.", b"\x01\x1b[31m\xff\xfe"))
        self.assertEqual(("1 passed, 0 failed, 0 skipped", 0), (lambda r: (r[0][-1], r[1]))(ctest_summary.summarize([path])))


if __name__ == "__main__":
    unittest.main()
