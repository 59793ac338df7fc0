# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DSOURCE_DIR=… -DTEMPLATES=simt;hopper -DOUTPUT=embedded_templates.cpp -P EmbedTemplates.cmake
#
# Writes a C++ file with each template's text. `#include "name.cuh"` is replaced by that file, once; `specialisation*.cuh`, which
# let a template be compiled on its own, are left out: the rendered preamble of constants stands in their place.
# With -DFOLDER=… instead of OUTPUT, the texts themselves are written there, as NAME.cu.
function(read_template file seen_variable text_variable)
    set(seen ${${seen_variable}})
    set(text "")
    file(READ ${SOURCE_DIR}/${file} rest)
    while(rest MATCHES "#include \"([A-Za-z0-9_.]+)\"\n")
        set(included ${CMAKE_MATCH_1})
        string(FIND "${rest}" "${CMAKE_MATCH_0}" position)
        string(LENGTH "${CMAKE_MATCH_0}" length)
        string(SUBSTRING "${rest}" 0 ${position} before)
        math(EXPR after "${position} + ${length}")
        string(SUBSTRING "${rest}" ${after} -1 rest)
        string(APPEND text "${before}")
        if(NOT included MATCHES "^specialisation" AND NOT included IN_LIST seen)
            list(APPEND seen ${included})
            read_template(${included} seen inner)
            string(APPEND text "${inner}")
        endif()
    endwhile()
    string(APPEND text "${rest}")
    string(REPLACE "#pragma once\n" "" text "${text}")
    set(${seen_variable} ${seen} PARENT_SCOPE)
    set(${text_variable} "${text}" PARENT_SCOPE)
endfunction()

set(table "")
foreach(name IN LISTS TEMPLATES)
    set(seen "")
    read_template(${name}.cu seen text)
    if(FOLDER)
        file(WRITE ${FOLDER}/${name}.cu "${text}")
        continue()
    endif()
    # In pieces, because a compiler may limit the length of a literal, of joined ones too.
    set(literals "")
    string(LENGTH "${text}" length)
    set(position 0)
    while(position LESS length)
        string(SUBSTRING "${text}" ${position} 12000 piece)
        string(APPEND literals ".append(R\"kiln_template(${piece})kiln_template\")\n")
        math(EXPR position "${position} + 12000")
    endwhile()
    string(APPEND table "    {\"${name}\", std::string()\n${literals}},\n")
endforeach()

if(FOLDER)
    return()
endif()
file(WRITE ${OUTPUT}.new "// Generated from kernel_templates/ by cmake/EmbedTemplates.cmake.
#include \"jit/embedded_templates.hpp\"

namespace kiln {

const std::vector<EmbeddedTemplate>& embedded_templates() {
    static const std::vector<EmbeddedTemplate> templates{
${table}    };
    return templates;
}

}  // namespace kiln
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT})
file(REMOVE ${OUTPUT}.new)
