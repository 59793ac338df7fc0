# SPDX-License-Identifier: Apache-2.0
# kiln_dependencies: the headers of what Debian packages, so that nothing of it reaches a consumer of the library.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_path(KILN_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)

# cuda.h and nvrtc.h alone are needed to build: the libraries are opened at run time. A toolkit has them, and so do NVIDIA's wheels
# (tools/fetch-cuda-wheels puts those into build/cuda-wheels). Debian 12's own toolkit is CUDA 11.8, which is too old.
file(GLOB wheel_include_folders ${PROJECT_SOURCE_DIR}/build/cuda-wheels/nvidia/*/include)
function(kiln_accept_cuda_12 result folder)
    file(STRINGS "${folder}/cuda.h" version REGEX "^#define CUDA_VERSION +(1[2-9]|[2-9][0-9])")
    if(NOT version OR NOT EXISTS ${folder}/nvrtc.h)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()
find_path(KILN_CUDA_INCLUDE_DIR cuda.h
          HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda/include ${wheel_include_folders} PATH_SUFFIXES include
          VALIDATOR kiln_accept_cuda_12
          DOC "The folder of cuda.h and nvrtc.h, CUDA 12.0 or later")
if(NOT KILN_CUDA_INCLUDE_DIR)
    message(FATAL_ERROR "There is no cuda.h with nvrtc.h of CUDA 12.0 or later: install a CUDA toolkit, or run "
                        "tools/fetch-cuda-wheels, which takes the headers from NVIDIA's wheels")
endif()
# Where the headers are the wheels', so is NVRTC: what is built here finds it by its run path (src/jit/nvrtc_search.hpp), which an
# installation strips.
if(KILN_CUDA_INCLUDE_DIR IN_LIST wheel_include_folders)
    file(GLOB wheel_nvrtc ${PROJECT_SOURCE_DIR}/build/cuda-wheels/nvidia/*/lib/libnvrtc.so.*)
    foreach(library IN LISTS wheel_nvrtc)
        cmake_path(GET library PARENT_PATH folder)
        list(APPEND CMAKE_BUILD_RPATH ${folder})
    endforeach()
endif()

add_library(kiln_dependencies INTERFACE)
target_include_directories(kiln_dependencies SYSTEM INTERFACE ${KILN_XXHASH_INCLUDE_DIR} ${KILN_CUDA_INCLUDE_DIR})
# fmt's and spdlog's own targets would link libfmt.so: their headers are all that is wanted. src/support/fmt_implementation.cpp says
# why fmt is compiled here, and in a namespace of ours.
target_compile_definitions(kiln_dependencies INTERFACE XXH_INLINE_ALL SPDLOG_FMT_EXTERNAL
                                                       "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace kiln_fmt {"
                                                       "FMT_END_NAMESPACE=}}")
target_link_libraries(kiln_dependencies INTERFACE nlohmann_json::nlohmann_json tl::expected Threads::Threads ${CMAKE_DL_LIBS})

add_library(kiln_fmt_objects OBJECT ${PROJECT_SOURCE_DIR}/src/support/fmt_implementation.cpp)
target_link_libraries(kiln_fmt_objects PRIVATE kiln_options)
target_compile_definitions(kiln_fmt_objects PRIVATE $<TARGET_PROPERTY:kiln_dependencies,INTERFACE_COMPILE_DEFINITIONS>)
set_target_properties(kiln_fmt_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                  VISIBILITY_INLINES_HIDDEN ON)
add_library(kiln_fmt STATIC $<TARGET_OBJECTS:kiln_fmt_objects>)
target_link_libraries(kiln_dependencies INTERFACE $<LINK_ONLY:kiln_fmt>)
