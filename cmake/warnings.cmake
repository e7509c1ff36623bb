# Warnings are a target, so that only our own code is held to them.
add_library(hearth_warnings INTERFACE)
target_compile_options(
  hearth_warnings
  INTERFACE
    -Wall
    -Wextra
    -Wshadow
    -Wconversion
    -Wsign-conversion
    -Wold-style-cast
    -Wnon-virtual-dtor
    -Wunused-result
    -Werror
    # GCC 12 sees overlaps where there are none in std::string's operator+ at -O3 (GCC bug 105651).
    -Wno-restrict
    # Every fused multiply-add is written; the compiler must not invent one.
    -ffp-contract=off
)
