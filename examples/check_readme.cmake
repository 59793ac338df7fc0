# SPDX-License-Identifier: Apache-2.0
# The README's first block of C++ is examples/minimal.cpp, less its licence line.
cmake_minimum_required(VERSION 3.25)
file(READ ${README} readme)
file(READ ${EXAMPLE} example)
string(FIND "${example}" "\n" first_line_end)
math(EXPR begin "${first_line_end} + 1")
string(SUBSTRING "${example}" ${begin} -1 example)
string(FIND "${readme}" "```cpp\n${example}```\n" position)
if(position EQUAL -1)
    message(FATAL_ERROR "README.md does not show ${EXAMPLE} as it is: paste it, without its first line, into the block of C++")
endif()
