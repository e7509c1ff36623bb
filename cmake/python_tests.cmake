find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

# python_tests(LABEL l PREFIX p FILES test_a.py ...): one ctest entry a file of unittest tests, named PREFIXa.
function(python_tests)
  cmake_parse_arguments(ARG "" "LABEL;PREFIX" "FILES" ${ARGN})
  foreach(file ${ARG_FILES})
    string(REGEX REPLACE "^.*test_(.*)\\.py$" "\\1" name ${file})
    set(path ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    add_test(NAME ${ARG_PREFIX}${name} COMMAND Python3::Interpreter ${path})
    set_tests_properties(
      ${ARG_PREFIX}${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 120 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1
      REQUIRED_FILES ${path}
    )
  endforeach()
endfunction()
