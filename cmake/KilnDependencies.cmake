# SPDX-License-Identifier: Apache-2.0
# kiln_dependencies: header-only use of what Debian packages, so that nothing of it reaches a consumer of the library.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_path(KILN_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)

# cuda.h and nvrtc.h alone are needed to build: the libraries are opened at run time. A toolkit has them, and so do NVIDIA's wheels
# (tools/fetch-cuda-wheels puts those into build/cuda-wheels).
file(GLOB KILN_WHEEL_INCLUDE_DIRS ${PROJECT_SOURCE_DIR}/build/cuda-wheels/nvidia/*/include)
find_path(KILN_CUDA_INCLUDE_DIR cuda.h REQUIRED
          HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda/include ${KILN_WHEEL_INCLUDE_DIRS} PATH_SUFFIXES include
          DOC "The folder of cuda.h; without a toolkit, tools/fetch-cuda-wheels brings it")
find_path(KILN_NVRTC_INCLUDE_DIR nvrtc.h REQUIRED
          HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda/include ${KILN_WHEEL_INCLUDE_DIRS} PATH_SUFFIXES include
          DOC "The folder of nvrtc.h")

add_library(kiln_dependencies INTERFACE)
target_include_directories(kiln_dependencies SYSTEM INTERFACE ${KILN_XXHASH_INCLUDE_DIR} ${KILN_CUDA_INCLUDE_DIR}
                                                              ${KILN_NVRTC_INCLUDE_DIR})
# spdlog's own target would link libfmt.so beside the header-only fmt; its headers are all that is wanted.
target_compile_definitions(kiln_dependencies INTERFACE XXH_INLINE_ALL SPDLOG_FMT_EXTERNAL)
target_link_libraries(kiln_dependencies INTERFACE fmt::fmt-header-only nlohmann_json::nlohmann_json
                                                  tl::expected Threads::Threads ${CMAKE_DL_LIBS})
