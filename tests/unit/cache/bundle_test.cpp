// SPDX-License-Identifier: Apache-2.0
#include "cache/bundle.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "support/catch.hpp"
#include "support/sample_kernel.hpp"

using namespace kiln;
using test::TemporaryDirectory;

namespace {

Hash128 name_number(int number) {
    return xxh3_128(as_bytes(std::to_string(number)));
}

/// Three "entries": their content is nothing to the bundle.
Bytes sample_bundle() {
    bundle::Index index{{name_number(1), 0, 5}, {name_number(2), 0, 0}, {name_number(3), 0, 7}};
    std::ranges::sort(index, {}, &bundle::Record::name);
    Bytes file = bundle::encode_head(index);
    for (const auto& record : index) file.resize(file.size() + record.bytes, static_cast<std::byte>(record.bytes));
    append(file, xxh3_128(file).bytes);
    return file;
}

FileDescriptor stored(const TemporaryDirectory& directory, ByteView bytes) {
    const auto path = directory / "bundle";
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(as_text(bytes).data(), static_cast<std::streamsize>(bytes.size()));
    return std::move(*open_at(AT_FDCWD, path, O_RDONLY));
}

}  // namespace

TEST_CASE("the golden bundle: its bytes change only with the format version") {
    CHECK(xxh3_128(sample_bundle()).hex() == "87f0203ed0ab6fccac955c80b6ee6cae");
}

TEST_CASE("a bundle's index reads back, and so do its entries") {
    const TemporaryDirectory directory;
    const FileDescriptor file = stored(directory, sample_bundle());
    const auto index = bundle::read_index(file.get());
    REQUIRE(index);
    REQUIRE(index->size() == 3);
    for (const auto& record : *index) {
        const auto bytes = bundle::read_entry(file.get(), record);
        REQUIRE(bytes);
        CHECK(*bytes == Bytes(record.bytes, static_cast<std::byte>(record.bytes)));
    }
}

TEST_CASE("an index of any sizes reads back") {
    const TemporaryDirectory directory;
    CHECK(rc::check("any sizes", [&](const std::vector<std::uint8_t>& sizes) {
        bundle::Index index;
        for (std::size_t i = 0; i < sizes.size(); ++i) index.push_back({name_number(static_cast<int>(i)), 0, sizes[i]});
        std::ranges::sort(index, {}, &bundle::Record::name);
        Bytes bytes = bundle::encode_head(index);
        bytes.resize(index.empty() ? bytes.size() + 16 : index.back().offset + index.back().bytes + 16);
        const auto read = bundle::read_index(stored(directory, bytes).get());
        RC_ASSERT(read.has_value());
        RC_ASSERT(std::ranges::equal(*read, index, [](const auto& a, const auto& b) {
            return a.name == b.name && a.offset == b.offset && a.bytes == b.bytes;
        }));
    }));
}

TEST_CASE("a bundle that is cut at any length, or grown, is damaged") {
    const TemporaryDirectory directory;
    const Bytes whole = sample_bundle();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        const auto index = bundle::read_index(stored(directory, ByteView(whole).first(length)).get());
        REQUIRE_FALSE(index);
        REQUIRE(index.error().kind == EntryFault::Kind::damaged);
    }
    Bytes grown = whole;
    grown.push_back({});
    CHECK_FALSE(bundle::read_index(stored(directory, grown).get()));
}

TEST_CASE("a bundle's head with any byte altered is not used") {
    const TemporaryDirectory directory;
    const Bytes whole = sample_bundle();
    for (std::size_t at = 0; at < bundle::header_bytes + 3 * bundle::record_bytes; ++at) {
        CAPTURE(at);
        Bytes altered = whole;
        altered[at] ^= std::byte{0x40};
        const auto index = bundle::read_index(stored(directory, altered).get());
        REQUIRE_FALSE(index);
        const bool in_version = at >= 8 && at < 12;
        REQUIRE((index.error().kind == EntryFault::Kind::other_version) == in_version);
    }
}

TEST_CASE("an index that lies is caught though every hash is right") {
    const TemporaryDirectory directory;
    const auto head_of = [](bundle::Index index) {
        Bytes head = bundle::encode_head(index);
        head.resize(static_cast<std::size_t>(load_little<std::uint64_t>(head, 32)));
        return head;
    };
    const auto reads = [&](const Bytes& bytes) { return bundle::read_index(stored(directory, bytes).get()).has_value(); };
    bundle::Index good{{name_number(1), 0, 5}, {name_number(2), 0, 5}};
    std::ranges::sort(good, {}, &bundle::Record::name);
    CHECK(reads(head_of(good)));
    SECTION("a name twice") {
        CHECK_FALSE(reads(head_of({good[0], good[0]})));
    }
    SECTION("names in the wrong order") {
        CHECK_FALSE(reads(head_of({good[1], good[0]})));
    }
    SECTION("entries that overlap, or reach outside") {
        for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
            for (const std::size_t field : {16U, 24U}) {
                Bytes bytes = head_of(good);
                store_little<std::uint64_t>(bytes, bundle::header_bytes + field, lie);
                Hasher hasher;
                hasher.update(ByteView(bytes).first(48));
                hasher.update(ByteView(bytes).subspan(64, 64));
                std::ranges::copy(hasher.digest().bytes, bytes.begin() + 48);
                CHECK_FALSE(reads(bytes));
            }
        }
    }
}
