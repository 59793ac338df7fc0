# SPDX-License-Identifier: Apache-2.0
# kiln_options: how everything here is compiled. Never exported to consumers.
add_library(kiln_options INTERFACE)
target_compile_features(kiln_options INTERFACE cxx_std_20)
target_compile_options(kiln_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
option(KILN_WARNINGS_AS_ERRORS "Stop at the first warning" OFF)
if(KILN_WARNINGS_AS_ERRORS)
    target_compile_options(kiln_options INTERFACE -Werror)
endif()
if(KILN_SANITIZE)
    target_compile_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
    target_link_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE})
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
