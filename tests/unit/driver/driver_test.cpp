// SPDX-License-Identifier: Apache-2.0
#include "driver/driver.hpp"

#include <iostream>

#include "fake_cuda.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"

using namespace kiln;
using namespace kiln::driver;
using kiln::test::run_case;

namespace {

/// What `describe the driver` prints in a process of its own with this environment.
std::string described(const std::map<std::string, std::string>& environment) {
    const auto result = run_case("describe the driver", environment);
    const auto begin = result.output.find('<');
    const auto end = result.output.rfind('>');
    INFO(result.output);
    REQUIRE(begin < end);
    return result.output.substr(begin + 1, end - begin - 1);
}

}  // namespace

TEST_CASE("describe the driver", "[.]") {
    const auto cuda = entry_points();
    if (cuda) {
        std::cout << "<usable>\n";
    } else {
        std::cout << '<' << to_string(cuda.error().code) << ": " << cuda.error().message << ">\n";
    }
}

TEST_CASE("the driver is opened once and says its file and version") {
    const auto library = open_library();
    REQUIRE(library);
    CHECK((*library)->path == FAKE_CUDA_PATH);
    CHECK((*library)->version == 13000);
    CHECK(open_library().value() == *library);
    CHECK(entry_points().value() == &(*library)->cuda);
    CHECK(version_text(12040) == "12.4");
}

TEST_CASE("every entry point of the table is found") {
    const EntryPoints& cuda = open_library().value()->cuda;
#define KILN_CHECK_FOUND(name, symbol, type) CHECK(cuda.name != nullptr);
    KILN_CUDA_ENTRY_POINTS(KILN_CHECK_FOUND)
#undef KILN_CHECK_FOUND
}

TEST_CASE("a driver that is there is usable") {
    CHECK(described({}) == "usable");
}

TEST_CASE("a driver that is not there is named, with what to do") {
    const std::string told = described({{"KILN_CUDA_LIBRARY", "/nonexistent/libcuda.so"}});
    CHECK(told.find("no_driver: ") == 0);
    CHECK(told.find("/nonexistent/libcuda.so") != std::string::npos);
    CHECK(told.find("KILN_CUDA_LIBRARY") != std::string::npos);
}

TEST_CASE("a library that is no driver is refused") {
    const std::string told = described({{"KILN_CUDA_LIBRARY", "libm.so.6"}});
    CHECK(told.find("no_driver: ") == 0);
    CHECK(told.find("libm.so.6 is not a CUDA driver") != std::string::npos);
}

TEST_CASE("a driver older than CUDA 12.0 is refused with both versions, the oldest supported one is not") {
    const std::string told = described({{"FAKE_CUDA_VERSION", "11080"}});
    CHECK(told.find("no_driver: ") == 0);
    CHECK(told.find("CUDA 11.8; Kiln needs CUDA 12.0") != std::string::npos);
    CHECK(described({{"FAKE_CUDA_VERSION", "12000"}}) == "usable");
}

TEST_CASE("a driver without a GPU says that there is no device") {
    CHECK(described({{"FAKE_CUDA_DEVICES", "0"}}).find("no_device: starting the CUDA driver: CUDA_ERROR_NO_DEVICE") == 0);
}

TEST_CASE("a driver that fails to start is a failure of the driver, and one that cannot start after a fork says so") {
    CHECK(described({{"FAKE_CUDA_FAIL", "cuInit=999"}}).find("driver_failure: starting the CUDA driver") == 0);
    CHECK(described({{"FAKE_CUDA_FAIL", "cuInit=3"}}).find("forked: ") == 0);
}

TEST_CASE("start the driver twice", "[.]") {
    REQUIRE_FALSE(entry_points());
    REQUIRE(entry_points());
}

TEST_CASE("a start that failed is tried again") {
    CHECK(run_case("start the driver twice", {{"FAKE_CUDA_FAIL", "cuInit#1=999"}}).status == 0);
}
