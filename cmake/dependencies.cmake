# Third-party libraries, each linked only by the layer that uses it (docs/dependencies.md says why each one is here).
#
# They are linked by plain name, so the exported targets need no find_dependency calls and no paths of this machine.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
foreach(module sqlite3 libpq tomlplusplus libcrypto)
  pkg_check_modules(${module} REQUIRED ${module})
endforeach()

include(CheckIncludeFileCXX)
foreach(header CLI/CLI.hpp)
  string(MAKE_C_IDENTIFIER "HAVE_${header}" have)
  check_include_file_cxx(${header} ${have})
  if(NOT ${have})
    message(FATAL_ERROR "${header} not found: run ./dev setup")
  endif()
endforeach()

# semel_use(<target> <dependency>...): private include paths, flags and -l names of the dependencies.
function(semel_use target)
  foreach(name ${ARGN})
    if(name STREQUAL "cli11")
      # Header only, found on the default path.
    elseif(name STREQUAL "threads")
      target_link_libraries(${target} PRIVATE pthread)
    else()
      target_include_directories(${target} SYSTEM PRIVATE ${${name}_INCLUDE_DIRS})
      target_compile_options(${target} PRIVATE ${${name}_CFLAGS_OTHER})
      target_link_libraries(${target} PRIVATE ${${name}_LIBRARIES})
    endif()
  endforeach()
endfunction()
