// SPDX-License-Identifier: Apache-2.0
#include <kiln/error.hpp>

#include "support/catch.hpp"
#include "support/result.hpp"

using namespace kiln;

TEST_CASE("a failure becomes an error with its code, native code and log") {
    Result<int> failed = tl::unexpected(Failure{ErrorCode::compile_failed, "refused", 6, "line 1: error"});
    try {
        value_or_throw(failed);
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::compile_failed);
        CHECK(std::string(error.what()) == "refused");
        CHECK(error.native_code() == 6);
        CHECK(error.log() == "line 1: error");
    }
}

TEST_CASE("every error code has its own name") {
    CHECK(to_string(ErrorCode::invalid_argument) == "invalid_argument");
    CHECK(to_string(ErrorCode::forked) == "forked");
    CHECK(to_string(ErrorCode::internal) == "internal");
}
