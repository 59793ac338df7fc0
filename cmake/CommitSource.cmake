# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a source file that says which commit of REPOSITORY is being built, and only if that has changed.
#
#     cmake -DREPOSITORY=… -DOUTPUT=… -P CommitSource.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${REPOSITORY} rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit unknown)
else()
  execute_process(COMMAND git -C ${REPOSITORY} status --porcelain OUTPUT_VARIABLE modified ERROR_QUIET)
  if(modified)
    string(APPEND commit -modified)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// SPDX-License-Identifier: Apache-2.0
#include \"provenance.hpp\"

const char* const kiln::bench::commit = \"@commit@\";
" @ONLY)
