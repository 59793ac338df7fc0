// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc.hpp"

#include <iostream>

#include "jit/compiler.hpp"
#include "real_nvrtc.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/elf_build_id.hpp"

using namespace kiln;
using kiln::test::real_nvrtc;
using kiln::test::run_case;

TEST_CASE("describe NVRTC", "[.]") {
    const auto nvrtc = jit::describe_nvrtc();
    if (nvrtc) {
        std::cout << "found " << nvrtc->path << " version " << nvrtc->version() << '\n';
    } else {
        std::cout << to_string(nvrtc.error().code) << ": " << nvrtc.error().message << '\n';
    }
}

TEST_CASE("the named NVRTC is taken") {
    const auto result = run_case("describe NVRTC", {{"KILN_NVRTC_LIBRARY", FAKE_NVRTC_PATH}, {"FAKE_NVRTC_VERSION", "12.4"}});
    CHECK(result.output.find("found " FAKE_NVRTC_PATH " version 12.4") != std::string::npos);
}

TEST_CASE("a named NVRTC that is not there, is none, or is too old is refused, and nothing else is tried") {
    const auto refusal = [](std::map<std::string, std::string> environment) {
        const std::string output = run_case("describe NVRTC", environment).output;
        CHECK(output.find("no_nvrtc: cannot open NVRTC 12.0 or newer") != std::string::npos);
        CHECK(output.find("correct KILN_NVRTC_LIBRARY") != std::string::npos);
        return output;
    };
    CHECK(refusal({{"KILN_NVRTC_LIBRARY", "/nonexistent/libnvrtc.so"}}).find("/nonexistent/libnvrtc.so: cannot open") !=
          std::string::npos);
    CHECK(refusal({{"KILN_NVRTC_LIBRARY", "libm.so.6"}}).find("libm.so.6 is not NVRTC") != std::string::npos);
    CHECK(refusal({{"KILN_NVRTC_LIBRARY", FAKE_NVRTC_PATH}, {"FAKE_NVRTC_VERSION", "11.8"}}).find("is NVRTC 11.8") !=
          std::string::npos);
}

TEST_CASE("the archs of an NVRTC are Kiln's archs with their suffix") {
    jit::Nvrtc nvrtc;
    nvrtc.arch_numbers = {50, 80, 87, 90, 121};
    CHECK(nvrtc.supported_archs() == std::vector<Arch>{Arch::sm_80, Arch::sm_90a});
    CHECK(nvrtc.supports(Arch::sm_90a));
    CHECK_FALSE(nvrtc.supports(Arch::sm_120));
}

TEST_CASE("NVRTC's build-id is told without loading it") {
    const auto nvrtc = real_nvrtc();
    const auto id = jit::nvrtc_build_id();
    REQUIRE(id);
    CHECK(id->size() == 40);
    CHECK(*id == elf_build_id(nvrtc.path).value());
}

TEST_CASE("tell the build-id of the fake", "[.]") {
    CHECK(jit::nvrtc_build_id().value() == elf_build_id(FAKE_NVRTC_PATH).value());
}

TEST_CASE("the build-id is that of the named library") {
    CHECK(run_case("tell the build-id of the fake", {{"KILN_NVRTC_LIBRARY", FAKE_NVRTC_PATH}}).status == 0);
}
