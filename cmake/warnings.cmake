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
    # At -O3 GCC 12 finds overlaps and overruns in inlined library code where there are none (GCC bug 105651 and its
    # like); the other builds keep these warnings.
    $<$<CONFIG:Release>:-Wno-restrict>
    $<$<CONFIG:Release>:-Wno-stringop-overflow>
    $<$<CONFIG:Release>:-Wno-array-bounds>
    # Every fused multiply-add is written; the compiler must not invent one.
    -ffp-contract=off
)
