# hearth_isa(FILE... FLAGS flag...): one source file of one instruction set.
# The flags stay on the file, so that no shared inline function is compiled for a newer machine than the
# one that runs; the two warnings are off because GCC 12's own intrinsic headers set them off; -fno-lto keeps the linker from mixing such code into others;
# -fno-exceptions because kernels have none, and a destructor would bring in the weak name of the unwinder's routine.
function(hearth_isa)
  cmake_parse_arguments(ARG "" "" "FILES;FLAGS" ${ARGN})
  set_source_files_properties(${ARG_FILES} PROPERTIES COMPILE_OPTIONS "${ARG_FLAGS};-fno-lto;-fno-exceptions;-Wno-uninitialized;-Wno-maybe-uninitialized")
endfunction()
