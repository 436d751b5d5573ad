# SQL lives in .sql files beside the code and is embedded at build time.
#
# semel_embed_sql(<target> <folder> <namespace>): every .sql file below <folder> becomes a constant of the generated
# header "<folder relative to src>/sql.gen.h". `claim_take.sql` and `sql/claim/take.sql` are both `claim_take`;
# `migrations/0001_init.sql` is an element {1, "init", text} of `kMigrations`, ordered by number.
function(semel_embed_sql target folder namespace)
  file(GLOB_RECURSE sql_files CONFIGURE_DEPENDS "${folder}/*.sql")
  file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}/src" "${folder}")
  set(header "${CMAKE_BINARY_DIR}/gen/${relative}/sql.gen.h")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake")
  # The list of files is an input too: a deleted or renamed file must change the header.
  set(list_file "${CMAKE_BINARY_DIR}/gen/${relative}/sql.list")
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "${sql_files}" @ONLY)
  add_custom_command(
    OUTPUT "${header}"
    COMMAND "${CMAKE_COMMAND}" -DFOLDER=${folder} -DLIST=${list_file} -DNAMESPACE=${namespace} -DOUT=${header} -P "${script}"
    DEPENDS ${sql_files} "${list_file}" "${script}"
    COMMENT "Embedding ${relative}/*.sql"
    VERBATIM)
  target_sources(${target} PRIVATE "${header}")
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/gen>)
endfunction()
