# The layers: base <- core <- store <- engine <- sdk, api <- cli. One static library each, found by folder.
#
# The SQLite and PostgreSQL stores are libraries of their own: an embedded program must not link libpq.

# semel_sources(<out> <folder> [EXCLUDE <subfolder>...]): product sources below src/<folder>.
function(semel_sources out folder)
  cmake_parse_arguments(arg "" "" "EXCLUDE" ${ARGN})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cc")
  list(FILTER files EXCLUDE REGEX "(_test|_pgtest|/main)\\.cc$")
  foreach(subfolder ${arg_EXCLUDE})
    list(FILTER files EXCLUDE REGEX "/src/${folder}/${subfolder}/")
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# semel_layer(<name> SOURCES ... LINK <lower layers> USE <third party>)
# A layer without sources yet is an INTERFACE library, so that the ones above can already name it.
function(semel_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;USE" ${ARGN})
  if(NOT arg_SOURCES)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} INTERFACE ${arg_LINK})
    return()
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:semel_flags>)
  semel_use(${name} ${arg_USE})
endfunction()

semel_sources(sources base)
semel_layer(semel_base SOURCES ${sources} USE libcrypto threads)

semel_sources(sources core)
semel_layer(semel_core SOURCES ${sources} LINK semel_base)

semel_sources(sources store EXCLUDE sqlite postgres)
semel_layer(semel_store SOURCES ${sources} LINK semel_core)

semel_sources(sources store/sqlite)
semel_layer(semel_store_sqlite SOURCES ${sources} LINK semel_store USE sqlite3)
semel_sources(sources store/postgres)
semel_layer(semel_store_postgres SOURCES ${sources} LINK semel_store USE libpq)
foreach(backend sqlite postgres)
  get_target_property(type semel_store_${backend} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    semel_embed_sql(semel_store_${backend} "${PROJECT_SOURCE_DIR}/src/store/${backend}" "semel::store::${backend}::sql")
  endif()
endforeach()

semel_sources(sources engine)
semel_layer(semel_engine SOURCES ${sources} LINK semel_store USE threads)

# src/sdk/postgres is the part of the API that needs libpq (component semel::postgres).
semel_sources(sources sdk EXCLUDE postgres)
semel_layer(semel_sdk SOURCES ${sources} LINK semel_engine semel_store_sqlite USE threads)
semel_sources(sources sdk/postgres)
semel_layer(semel_sdk_postgres SOURCES ${sources} LINK semel_sdk semel_store_postgres USE libpq)

semel_sources(sources api)
semel_layer(semel_api SOURCES ${sources} LINK semel_engine)

# `bench limits` speaks to the databases themselves, hence sqlite3 and libpq.
semel_sources(sources cli)
semel_layer(semel_cli SOURCES ${sources} LINK semel_api semel_sdk semel_sdk_postgres semel_store_sqlite semel_store_postgres
            USE cli11 tomlplusplus sqlite3 libpq threads)
get_target_property(type semel_cli TYPE)
if(type STREQUAL "STATIC_LIBRARY")
  target_compile_definitions(semel_cli PRIVATE SEMEL_VERSION="${PROJECT_VERSION}")
endif()

# Never linked into the product. It names only base, so that the tests of a low layer do not wait for a high one:
# a test program links the layer it tests, which brings what its test helpers need.
semel_sources(sources testing EXCLUDE kit)
semel_layer(semel_testing SOURCES ${sources} LINK semel_base USE sqlite3)
# src/testing/kit is the installed test kit (component semel::testing), on top of the sdk.
semel_sources(sources testing/kit)
semel_layer(semel_testing_kit SOURCES ${sources} LINK semel_sdk semel_testing)

add_custom_target(semel_library)
foreach(library base core store store_sqlite store_postgres engine sdk sdk_postgres api testing testing_kit)
  add_dependencies(semel_library semel_${library})
endforeach()

if(EXISTS "${PROJECT_SOURCE_DIR}/src/cli/main.cc")
  add_executable(semel "${PROJECT_SOURCE_DIR}/src/cli/main.cc")
  target_link_libraries(semel PRIVATE semel_cli semel_flags)
endif()
