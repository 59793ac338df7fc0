# SPDX-License-Identifier: Apache-2.0
# kiln_benchmark_shapes: bench/shapes.json as a string in a header, so that a test binary needs no file where it runs.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/shapes.json)
file(READ ${PROJECT_SOURCE_DIR}/bench/shapes.json shapes_text)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/benchmark_shapes_json.hpp
     CONTENT "#pragma once\n\ninline constexpr char benchmark_shapes_json[] = R\"json(@shapes_text@)json\";\n" @ONLY)
add_library(kiln_benchmark_shapes INTERFACE)
target_include_directories(kiln_benchmark_shapes INTERFACE ${PROJECT_BINARY_DIR}/generated)
