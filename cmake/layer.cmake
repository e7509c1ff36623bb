# layer(NAME SOURCES a.cc ... [USES other layers] [LIBRARIES imported targets] [TESTS a_test.cc ...])
# Makes the static library hearth_NAME ('/' becomes '_') from the current folder, linked to exactly its USES;
# TESTS make one binary NAME_test that links only this layer, so a missing edge fails at link time.
# architecture.toml holds the same USES; tests/architecture compares the two.
function(layer NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBRARIES;TESTS;TEST_USES;TEST_LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" id ${NAME})
  set(target hearth_${id})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE hearth_warnings)
  foreach(used ${ARG_USES})
    string(REPLACE "/" "_" used_id ${used})
    target_link_libraries(${target} PUBLIC hearth_${used_id})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY HEARTH_LAYERS "${NAME}=${ARG_USES}")
  if(BUILD_TESTING AND ARG_TESTS)
    hearth_test(${id}_test LABEL unit SOURCES ${ARG_TESTS} LIBRARIES ${target} ${ARG_TEST_LIBRARIES})
    foreach(used ${ARG_TEST_USES})
      target_link_libraries(${id}_test PRIVATE hearth_${used})
    endforeach()
  endif()
endfunction()

# hearth_test(NAME LABEL l SOURCES ... LIBRARIES ... [PREFIX p]): a GoogleTest binary, one ctest entry a test,
# with its label (unit, conformance, parity, architecture, fuzz_replay) and the prefix before each name.
function(hearth_test NAME)
  cmake_parse_arguments(ARG "" "LABEL;PREFIX;TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE hearth_warnings ${ARG_LIBRARIES} GTest::gtest GTest::gtest_main)
  target_include_directories(${NAME} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(
    ${NAME} PRIVATE HEARTH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HEARTH_BINARY_DIR="${CMAKE_BINARY_DIR}"
  )
  # Discovery at test time: a build of one target must not run binaries of another.
  gtest_discover_tests(
    ${NAME}
    TEST_PREFIX "${ARG_PREFIX}"
    NO_PRETTY_VALUES
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT}
  )
endfunction()
