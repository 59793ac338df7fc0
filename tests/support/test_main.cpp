// SPDX-License-Identifier: Apache-2.0
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

/// Catch2 2.13 exits with the number of failures, which a status of eight bits can turn into success.
int main(int argc, char** argv) {
    return Catch::Session().run(argc, argv) == 0 ? 0 : 1;
}
