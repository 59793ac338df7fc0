# SPDX-License-Identifier: Apache-2.0
# Each family's template becomes one string in the library, its quoted includes in place: NVRTC is given no header.
set(templates simt mma_sync hopper_gemm hopper_shift hopper_stream)
set(embedded ${PROJECT_BINARY_DIR}/embedded_templates.cpp)
file(GLOB template_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernel_templates/*.cu ${PROJECT_SOURCE_DIR}/kernel_templates/*.cuh)
add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}/kernel_templates "-DTEMPLATES=${templates}" -DOUTPUT=${embedded}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedTemplates.cmake
    DEPENDS ${template_files} ${PROJECT_SOURCE_DIR}/cmake/EmbedTemplates.cmake
    VERBATIM)
target_sources(kiln_objects PRIVATE ${embedded})
