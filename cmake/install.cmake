# What an outside program sees: headers, static libraries, `find_package(semel)` and pkg-config.
#
#   semel::semel     the embedded engine on SQLite      pkg-config semel
#   semel::postgres  adds the PostgreSQL store (libpq)  pkg-config semel-postgres
#   semel::testing   the test kit                       pkg-config semel-testing
include(CMakePackageConfigHelpers)

set(component_semel semel_sdk semel_engine semel_store_sqlite semel_store semel_core semel_base)
set(component_postgres semel_sdk_postgres semel_store_postgres)
set(component_testing semel_testing_kit semel_testing)

# semel_component(<name> <libraries>...): the target semel::<name> and the list of -l flags for its .pc file.
function(semel_component name)
  add_library(semel_component_${name} INTERFACE)
  set_target_properties(semel_component_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(semel_component_${name} INTERFACE ${ARGN})
  add_library(semel::${name} ALIAS semel_component_${name})
  install(TARGETS semel_component_${name} ${ARGN} EXPORT semelTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set(flags "")
  foreach(library ${ARGN})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(APPEND flags " -l${library}")
    endif()
  endforeach()
  set(pc_libs_${name} "${flags}" PARENT_SCOPE)
endfunction()

foreach(name semel postgres testing)
  semel_component(${name} ${component_${name}})
endforeach()
target_link_libraries(semel_component_postgres INTERFACE semel_component_semel)
target_link_libraries(semel_component_testing INTERFACE semel_component_semel)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/semel" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(EXPORT semelTargets NAMESPACE semel:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/semel")
configure_package_config_file(cmake/semelConfig.cmake.in "${CMAKE_BINARY_DIR}/semelConfig.cmake"
                              INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/semel")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/semelConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/semelConfig.cmake" "${CMAKE_BINARY_DIR}/semelConfigVersion.cmake"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/semel")
# The .pc files find their tree from where they are, so that it can be moved.
file(RELATIVE_PATH pc_to_include "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
foreach(file semel semel-postgres semel-testing)
  configure_file("cmake/${file}.pc.in" "${CMAKE_BINARY_DIR}/${file}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/${file}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
if(TARGET semel)
  install(TARGETS semel RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
