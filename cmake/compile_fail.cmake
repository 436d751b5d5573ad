# tests/compile_fail/*.cc must not compile, and must say why: the file's line `// expect: TEXT` is part of the compiler's
# message. With -DCONTROL the same file compiles, so that it cannot fail for an unrelated reason.
# `// only: gcc` or `// only: clang` restricts a file to one compiler.
file(GLOB compile_fail_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/compile_fail/*.cc")
foreach(file ${compile_fail_files})
  get_filename_component(name "${file}" NAME_WE)
  file(STRINGS "${file}" only REGEX "^// only: ")
  if(only AND ((only MATCHES "gcc" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU") OR
               (only MATCHES "clang" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")))
    continue()
  endif()
  add_test(NAME compile_fail.${name}
           COMMAND "${CMAKE_COMMAND}" -DCOMPILER=${CMAKE_CXX_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/include
                   -DFILE=${file} -P "${PROJECT_SOURCE_DIR}/cmake/check_compile_fail.cmake")
  set_tests_properties(compile_fail.${name} PROPERTIES LABELS compile_fail)
endforeach()
