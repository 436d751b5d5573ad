# Examples are tests: examples/x.cc is the program example_x and must print exactly what its `// Output:` block says.
file(GLOB example_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cc")
foreach(file ${example_files})
  get_filename_component(name "${file}" NAME_WE)
  add_executable(example_${name} "${file}")
  file(STRINGS "${file}" uses_postgres REGEX "#include.*semel/postgres\\.h")
  file(STRINGS "${file}" uses_testing REGEX "#include.*semel/testing\\.h")
  target_link_libraries(example_${name} PRIVATE semel::semel semel_flags sqlite3)
  if(uses_postgres)
    target_link_libraries(example_${name} PRIVATE semel::postgres)
  endif()
  if(uses_testing)
    target_link_libraries(example_${name} PRIVATE semel::testing)
  endif()
  add_test(NAME example_${name}
           COMMAND "${CMAKE_COMMAND}" -DPROGRAM=$<TARGET_FILE:example_${name}> -DFILE=${file}
                   -DWORK=${CMAKE_BINARY_DIR}/examples/${name} -P "${PROJECT_SOURCE_DIR}/cmake/check_example.cmake")
  set_tests_properties(example_${name} PROPERTIES LABELS examples TIMEOUT 120)
endforeach()
