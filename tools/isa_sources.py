"""Which source files belong to one instruction set, told by their names."""

import platform
import re

# kernels/avx512/dot.cc, kernels/dot_avx2.cc, kernels/dot_amx_bf16.cc
FOLDER = re.compile(r"^(?:src/kernels|bench/forms)/(avx2|avx512|avx512vnni|amx|neon)/")
SUFFIX = re.compile(r"^src/kernels/.*_(avx2|avx512|avx512vnni|amx|neon)(_[a-z0-9]+)?\.cc$")
MACHINES = {"avx2": "x86", "avx512": "x86", "avx512vnni": "x86", "amx": "x86", "neon": "arm"}


def isa_of(name):
    """The instruction set (a key of MACHINES), or None for a file that every machine runs. `name` starts at the root."""
    match = FOLDER.match(name) or SUFFIX.match(name)
    return match.group(1) if match and not name.endswith("_test.cc") else None


def machine():
    return "arm" if platform.machine() in ("aarch64", "arm64") else "x86"


def expected(name, portable):
    """Whether a build on this machine has to compile the file; `portable`: a build of the portable kernels only."""
    isa = isa_of(name)
    return isa is None or (not portable and MACHINES[isa] == machine())
