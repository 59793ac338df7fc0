# SPDX-License-Identifier: Apache-2.0
find_package(Catch2 REQUIRED)
include(Catch)

# kiln_add_tests(unit_cache SOURCES a.cpp b.cpp [LIBRARIES …] [LABELS gpu] [GPU] [FAULTY_SYSTEM_CALLS])
# One binary of Catch2 tests, each case a CTest test named `unit_cache: case`. GPU binaries exit with 77 where there is no device,
# which CTest counts as skipped; KILN_REQUIRE_GPU=1 in the environment turns that into a failure.
function(kiln_add_tests name)
    cmake_parse_arguments(ARG "GPU;FAULTY_SYSTEM_CALLS" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    if(ARG_FAULTY_SYSTEM_CALLS)  # tests/support/faulty_system_calls.hpp
        target_link_libraries(${name} PRIVATE kiln_internal_without_system_calls kiln_faulty_system_calls)
    else()
        target_link_libraries(${name} PRIVATE kiln_internal)
    endif()
    target_link_libraries(${name} PRIVATE kiln_test_support ${ARG_LIBRARIES})
    if(ARG_GPU)
        target_link_libraries(${name} PRIVATE kiln_gpu_test_main)
    else()
        target_link_libraries(${name} PRIVATE kiln_test_main)
    endif()
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    set(properties TIMEOUT ${ARG_TIMEOUT})
    if(ARG_LABELS)
        list(APPEND properties LABELS "${ARG_LABELS}")
    endif()
    list(APPEND properties SKIP_RETURN_CODE 77)
    # LeakSanitizer takes a library's block of thread-local data for one that glibc 2.19 made, with a header in front, whenever its
    # address in a page is 16, and crashes. NVRTC's is there by chance. The block is found through the thread's own data all the same.
    if(KILN_SANITIZE MATCHES address)
        list(APPEND properties ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
    endif()
    if(ARG_GPU)
        # One CTest test for the whole binary: listing cases needs no device, but each case would say "skipped" on its own.
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES ${properties})
    else()
        catch_discover_tests(${name} TEST_PREFIX "${name}: " EXTRA_ARGS -w NoTests PROPERTIES ${properties})
    endif()
endfunction()

# kiln_add_fuzzer(fuzz_entry SOURCES fuzz_entry.cpp [LIBRARIES …])
# A libFuzzer target; `.ci/run` runs every bin/fuzz_* for a short while. Does nothing unless KILN_BUILD_FUZZERS is on.
function(kiln_add_fuzzer name)
    if(NOT KILN_BUILD_FUZZERS)
        return()
    endif()
    cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE kiln_internal ${ARG_LIBRARIES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
