if(HEARTH_SANITIZE)
  add_compile_options(-fsanitize=${HEARTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEARTH_SANITIZE})
  add_compile_definitions(HEARTH_SANITIZED=1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Instrumented, GCC 12 loses sight of which member of a variant or optional is alive. Plain builds keep the warning.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  if(HEARTH_SANITIZE MATCHES thread)
    # The thread sanitizer does not know stand-alone fences; Asio's queues are ordered by their mutexes without them.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
