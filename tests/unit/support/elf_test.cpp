// SPDX-License-Identifier: Apache-2.0
#include "support/elf.hpp"

#include <array>
#include <limits>

#include "support/catch.hpp"
#include "support/cubin_builder.hpp"

using namespace kiln;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

}  // namespace

TEST_CASE("a slice lies inside or is not given") {
    const std::array<std::byte, 8> bytes{};
    CHECK(slice(bytes, 0, 8)->size() == 8);
    CHECK(slice(bytes, 8, 0)->empty());
    CHECK_FALSE(slice(bytes, 1, 8));
    CHECK_FALSE(slice(bytes, 9, 0));
    CHECK_FALSE(slice(bytes, std::numeric_limits<std::uint64_t>::max(), 2));
    CHECK_FALSE(slice(bytes, 2, std::numeric_limits<std::uint64_t>::max()));
    CHECK_FALSE(read_at<std::uint32_t>(bytes, 5));
    CHECK(read_at<std::uint32_t>(bytes, 4));
}

TEST_CASE("a string ends inside, and not too far away") {
    const auto bytes = bytes_of(std::string_view("ab\0cd", 5));
    CHECK(string_at(bytes, 0) == "ab");
    CHECK(string_at(bytes, 2) == "");
    CHECK_FALSE(string_at(bytes, 3));
    CHECK_FALSE(string_at(bytes, 5));
    std::vector<std::byte> endless(5000, std::byte{'x'});
    endless.back() = std::byte{0};
    CHECK_FALSE(string_at(endless, 0));
    CHECK(string_at(endless, 1000));
}

TEST_CASE("a note is found by owner and type, past others") {
    std::vector<std::byte> notes;
    const auto put = [&](std::string_view owner, std::uint32_t type, std::string_view description) {
        const std::array<std::uint32_t, 3> head{static_cast<std::uint32_t>(owner.size() + 1),
                                                static_cast<std::uint32_t>(description.size()), type};
        const auto* begin = reinterpret_cast<const std::byte*>(head.data());
        notes.insert(notes.end(), begin, begin + sizeof head);
        for (const std::string& text : {std::string(owner) + '\0', std::string(description)}) {
            const auto more = bytes_of(text);
            notes.insert(notes.end(), more.begin(), more.end());
            notes.resize((notes.size() + 3) / 4 * 4);
        }
    };
    put("GNU", 1, "first");
    put("Kiln", 3, "foreign");
    put("GNU", 3, "build-id");
    const auto found = find_note(notes, "GNU", 3);
    REQUIRE(found);
    CHECK(string_at(bytes_of(std::string(reinterpret_cast<const char*>(found->data()), found->size()) + '\0'), 0) == "build-id");
    CHECK_FALSE(find_note(notes, "GNU", 4));
    CHECK_FALSE(find_note({}, "GNU", 3));
    notes.resize(notes.size() - 4);
    CHECK_FALSE(find_note(notes, "GNU", 3));
}

TEST_CASE("sections are found by name") {
    const auto file = kiln::test::build_cubin();
    const auto image = ElfImage::parse(file);
    REQUIRE(image);
    REQUIRE(image->section(".text.kiln_forward") != nullptr);
    CHECK(image->section(".text.kiln_forward")->bytes.size() == 128);
    CHECK(image->section(".nothing") == nullptr);
}

TEST_CASE("a file of another kind is no ELF image") {
    CHECK_FALSE(ElfImage::parse(bytes_of("#!/bin/sh\n")));
    auto other_class = kiln::test::build_cubin();
    other_class[EI_CLASS] = std::byte{ELFCLASS32};
    CHECK_FALSE(ElfImage::parse(other_class));
}
