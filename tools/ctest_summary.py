#!/usr/bin/env python3
"""Says what ctest's result files come to: failed tests, skipped tests with their reasons, one closing line.

usage: ctest_summary.py RESULTS.xml...     written by ctest --output-junit

Exits 1 when a test failed, when none passed, or when a result file cannot be read.
The closing line has exactly the form `N passed, N failed, N skipped`.
"""

import re
import sys
import xml.etree.ElementTree

# GoogleTest: "file.cc:12: Skipped" and the reason on the next line. unittest: "skipped 'reason'".
GTEST_REASON = re.compile(r"^.*:\d+: Skipped\n(.+)$", re.M)
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
UNITTEST_REASON = re.compile(r"\bskipped ['\"](.+?)['\"]$", re.M)


def skip_reason(case):
    output = case.findtext("system-out") or ""
    for pattern in (GTEST_REASON, UNITTEST_REASON):
        if match := pattern.search(output):
            return match.group(1).strip()
    # What a script printed last before it left with the skip code.
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def read(path):
    """(passed names, failed names, [(name, reason)]) of one result file."""
    passed, failed, skipped = [], [], []
    with open(path, encoding="utf-8", errors="replace") as file:
        # Tests may print any byte, and ctest hands them on.
        text = NOT_XML.sub("?", file.read())
    for case in xml.etree.ElementTree.fromstring(text.encode()).iter("testcase"):
        name = case.get("name")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is not None:
            # ctest says the same of a test without a program or whose set-up failed, but nobody chose those.
            if (case.find("skipped").get("message") or "").startswith("SKIP_"):
                skipped.append((name, skip_reason(case)))
            else:
                failed.append(name)
        elif case.get("status") == "disabled":
            skipped.append((name, "disabled"))
        elif case.get("status") == "run":
            passed.append(name)
        else:
            failed.append(name)
    return passed, failed, skipped


def summarize(paths):
    """(lines to print, exit code)"""
    passed, failed, skipped, lines = 0, [], [], []
    for path in paths:
        try:
            more_passed, more_failed, more_skipped = read(path)
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            failed.append(f"{path}: no results: {error}")
            continue
        passed += len(more_passed)
        failed += more_failed
        skipped += more_skipped
    reasons = {}
    for name, reason in skipped:
        reasons.setdefault(reason, []).append(name)
    for reason, names in sorted(reasons.items()):
        lines.append(f"skipped, {reason}:")
        lines += [f"  {name}" for name in names]
    if failed:
        lines.append("failed:")
        lines += [f"  {name}" for name in failed]
    lines.append(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return lines, int(bool(failed) or passed == 0)


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    lines, code = summarize(paths)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
