// SPDX-License-Identifier: Apache-2.0
#include "driver/cubin.hpp"

#include "support/catch.hpp"
#include "support/cubin_builder.hpp"

using namespace kiln;
using kiln::driver::inspect_cubin;
using kiln::test::build_cubin;
using kiln::test::CubinFacts;

// tests/unit/jit/cubin_test.cpp reads the cubins of a real compiler.

TEST_CASE("a cubin's facts are read") {
    const auto info =
        inspect_cubin(build_cubin({.registers = 168, .local_bytes = 24, .static_shared_bytes = 2048}), "kiln_forward");
    REQUIRE(info);
    CHECK(info->arch == "sm_90a");
    CHECK(info->registers == 168);
    CHECK(info->local_bytes == 24);
    CHECK(info->static_shared_bytes == 2048);
    CHECK(info->toolchain == "13.0.88");
}

TEST_CASE("the arch is read from both layouts of the header, with and without the toolkit's note") {
    const auto arch = [](const CubinFacts& facts) { return inspect_cubin(build_cubin(facts), "kiln_forward").value().arch; };
    CHECK(arch({.arch_number = 75, .arch_suffix = "", .abi_version = 7}) == "sm_75");
    CHECK(arch({.arch_number = 90, .arch_suffix = "a", .abi_version = 7}) == "sm_90a");
    CHECK(arch({.arch_number = 90, .arch_suffix = "", .abi_version = 7}) == "sm_90");
    CHECK(arch({.arch_number = 120, .arch_suffix = ""}) == "sm_120");
    CHECK(arch({.arch_number = 100, .arch_suffix = "f"}) == "sm_100f");
    CHECK(arch({.arch_number = 100, .arch_suffix = "a", .toolchain = ""}) == "sm_100a");
}

TEST_CASE("without a note the toolchain is CUDA's version, as far as it is told") {
    CHECK(inspect_cubin(build_cubin({.abi_version = 7}), "kiln_forward").value().toolchain == "12.9");
}

TEST_CASE("a toolchain that is no version is not repeated") {
    CHECK(inspect_cubin(build_cubin({.toolchain = "13.0\x1b[31m"}), "kiln_forward").value().toolchain == "12.9");
}

TEST_CASE("an arch is told in its one spelling") {
    CHECK(inspect_cubin(build_cubin({.arch_suffix = "", .note_arch = "sm_0000090a"}), "kiln_forward").value().arch == "sm_90a");
    CHECK_FALSE(inspect_cubin(build_cubin({.note_arch = "sm_90x"}), "kiln_forward"));
    CHECK_FALSE(inspect_cubin(build_cubin({.note_arch = "compute_90"}), "kiln_forward"));
}

TEST_CASE("what is not a cubin with the kernel is refused, saying why") {
    const auto refusal = [](std::span<const std::byte> bytes, std::string_view kernel = "kiln_forward") {
        const auto info = inspect_cubin(bytes, kernel);
        REQUIRE_FALSE(info);
        CHECK(info.error().code == ErrorCode::bad_file);
        return info.error().message;
    };
    CHECK(refusal({}).find("not a whole ELF file") == 0);
    CHECK(refusal(build_cubin(), "another") == "a cubin without a kernel another");
    CHECK(refusal(build_cubin({.registers = 256})).find("registers") != std::string::npos);
    CHECK(refusal(build_cubin({.abi_version = 9})).find("ABI version 9") != std::string::npos);
    auto x86 = build_cubin();
    x86[18] = std::byte{62};
    CHECK(refusal(x86) == "an ELF file for machine 62, not for CUDA (190)");
    auto contradiction = build_cubin();
    contradiction[49] = std::byte{80};
    CHECK(refusal(contradiction).find("its header says sm_80, its note sm_") != std::string::npos);
}

TEST_CASE("a cubin cut at any length is refused, and one with any byte changed never crashes the reader") {
    const auto cubin = build_cubin({.static_shared_bytes = 16});
    for (std::size_t length = 0; length < cubin.size(); ++length) {
        INFO(length);
        // In memory of its own, so that a sanitizer sees a read past the end.
        const std::vector<std::byte> cut(cubin.begin(), cubin.begin() + static_cast<std::ptrdiff_t>(length));
        CHECK_FALSE(inspect_cubin(cut, "kiln_forward"));
    }
    std::size_t accepted = 0;
    for (std::size_t position = 0; position < cubin.size(); ++position) {
        for (const auto value : {std::byte{0}, std::byte{0x7f}, std::byte{0xff}}) {
            auto changed = cubin;
            changed[position] = value;
            accepted += inspect_cubin(changed, "kiln_forward").has_value() ? 1 : 0;
        }
    }
    CHECK(accepted > 0);
    CHECK(accepted < 3 * cubin.size());
}
