// SPDX-License-Identifier: Apache-2.0
#include "support/run_catch.hpp"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

namespace kiln::test {

int run_catch(int argc, char** argv) {
    return Catch::Session().run(argc, argv) == 0 ? 0 : 1;
}

}  // namespace kiln::test
