# SPDX-License-Identifier: Apache-2.0
# memtape_embed(KIND OUTPUT DEPENDS files...): a data file as C++ tables, made by scripts/embed_data.py in the build folder.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

function(memtape_embed KIND SOURCE OUTPUT)
  set(script ${PROJECT_SOURCE_DIR}/scripts/embed_data.py)
  add_custom_command(
    OUTPUT ${OUTPUT}
    COMMAND Python3::Interpreter ${script} ${KIND} ${SOURCE} ${OUTPUT}
    DEPENDS ${script} ${ARGN}
    COMMENT "Embedding ${SOURCE}"
    VERBATIM)
endfunction()
