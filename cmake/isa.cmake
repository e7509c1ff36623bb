# What the files of a rung (platform/cpu_features.h) may use, exactly.
set(avx2_flags -mavx2 -mfma -mf16c)
set(avx512_flags ${avx2_flags} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(avx512vnni_flags ${avx512_flags} -mavx512vnni)
set(amx_flags ${avx512vnni_flags} -mavx512bf16 -mgfni -mamx-tile -mamx-int8 -mamx-bf16)

# hearth_isa(FILE... FLAGS flag...): one source file of one instruction set.
# The flags stay on the file, so that no shared inline function is compiled for a newer machine than the
# one that runs; the two warnings are off because GCC 12's own intrinsic headers set them off; -fno-lto keeps the linker from mixing such code into others;
# -fno-exceptions because kernels have none, and a destructor would bring in the weak name of the unwinder's routine.
function(hearth_isa)
  cmake_parse_arguments(ARG "" "" "FILES;FLAGS" ${ARGN})
  set_source_files_properties(${ARG_FILES} PROPERTIES COMPILE_OPTIONS "${ARG_FLAGS};-fno-lto;-fno-exceptions;-Wno-uninitialized;-Wno-maybe-uninitialized")
endfunction()
