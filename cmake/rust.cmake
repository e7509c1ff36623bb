# hearth_rust(NAME DIRECTORY dir LIBRARY lib): a Rust crate built as a static library by cargo, imported as
# target NAME; its own tests are the ctest entry rust.lib.
function(hearth_rust NAME)
  cmake_parse_arguments(ARG "" "DIRECTORY;LIBRARY" "" ${ARGN})
  # Shared between build trees (and checkouts, when the environment says so): the crates take minutes to compile.
  if(DEFINED ENV{HEARTH_CARGO_TARGET_DIR})
    set(cargo_target $ENV{HEARTH_CARGO_TARGET_DIR})
  else()
    set(cargo_target ${PROJECT_SOURCE_DIR}/build/cargo)
  endif()
  set(archive ${PROJECT_BINARY_DIR}/rust/lib${ARG_LIBRARY}.a)
  set(built ${cargo_target}/release/lib${ARG_LIBRARY})
  add_custom_command(
    OUTPUT ${archive}
    COMMAND cargo build --locked --release --quiet --manifest-path ${ARG_DIRECTORY}/Cargo.toml
            --target-dir ${cargo_target}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/rust
    COMMAND ${CMAKE_COMMAND} -E copy ${built}.a ${archive}
    # cargo knows the crate's sources; its list, under the copy's name, tells ninja when to ask cargo again.
    COMMAND sed -e "s|^[^:]*:|${archive}:|" ${built}.d > ${archive}.d
    DEPFILE ${archive}.d
    DEPENDS ${ARG_DIRECTORY}/Cargo.toml ${ARG_DIRECTORY}/Cargo.lock
    COMMENT "cargo build ${ARG_LIBRARY}"
    VERBATIM
    USES_TERMINAL
  )
  add_custom_target(${NAME}_build DEPENDS ${archive})
  add_library(${NAME} STATIC IMPORTED GLOBAL)
  set_target_properties(${NAME} PROPERTIES IMPORTED_LOCATION ${archive})
  target_link_libraries(${NAME} INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
  add_dependencies(${NAME} ${NAME}_build)
  if(BUILD_TESTING)
    add_test(
      NAME rust.${ARG_LIBRARY}
      COMMAND cargo test --locked --release --quiet --lib --manifest-path ${ARG_DIRECTORY}/Cargo.toml
              --target-dir ${cargo_target}
    )
    set_tests_properties(rust.${ARG_LIBRARY} PROPERTIES LABELS unit TIMEOUT 1200)
  endif()
endfunction()
