# SPDX-License-Identifier: Apache-2.0
# Configures, builds and runs the project beside this file, from nothing. OPTIONS are CMake's, with | between them.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" OPTIONS "${OPTIONS}")
file(REMOVE_RECURSE ${BUILD_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${KILN_SOURCE_DIR}/tests/consumer/project -B ${BUILD_DIR} -G ${GENERATOR}
                        -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} ${OPTIONS}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD_DIR} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BUILD_DIR}/consumer COMMAND_ERROR_IS_FATAL ANY)
