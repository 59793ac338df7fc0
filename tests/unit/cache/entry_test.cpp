// SPDX-License-Identifier: Apache-2.0
#include "cache/entry.hpp"

#include <rapidcheck.h>

#include <algorithm>

#include "support/catch.hpp"
#include "support/hash.hpp"
#include "support/sample_kernel.hpp"

using namespace kiln;
using test::bytes_of;
using test::sample_cubin;
using test::sample_facts;
using test::sample_request;

namespace {

/// Small, so that every byte of it can be tried.
Bytes sample_entry() {
    const auto file = Entry::encode(make_key(sample_request()), sample_facts(), bytes_of("these bytes stand for a cubin"));
    REQUIRE(file);
    return *file;
}

/// Puts right what hangs on the content, so that only the content itself can be objected to.
void seal(Bytes& file, std::size_t head_bytes) {
    Hasher hasher;
    hasher.update(ByteView(file).first(48));
    hasher.update(ByteView(file).subspan(64, head_bytes - 64));
    std::ranges::copy(hasher.digest().bytes, file.begin() + 48);
    std::ranges::copy(xxh3_128(ByteView(file).first(file.size() - 16)).bytes, file.end() - 16);
}

}  // namespace

TEST_CASE("the golden entry: its bytes change only with the format version") {
    CHECK(xxh3_128(sample_entry()).hex() == "bc7dfadcfde61755964c0f590eb99a25");
}

TEST_CASE("an entry reads back") {
    CHECK(rc::check("any content", [](const std::string& source, const std::vector<std::uint8_t>& cubin) {
        KernelRequest request = sample_request();
        request.source = source;
        const Key key = make_key(request);
        const auto file = Entry::encode(key, sample_facts(), std::as_bytes(std::span(cubin)));
        RC_ASSERT(file.has_value());
        const auto entry = Entry::parse(*file);
        RC_ASSERT(entry.has_value());
        RC_ASSERT(entry->key == key);
        RC_ASSERT(entry->facts.toolchain == sample_facts().toolchain);
        RC_ASSERT(entry->facts.spec_json == sample_facts().spec_json);
        RC_ASSERT(std::ranges::equal(entry->cubin, std::as_bytes(std::span(cubin))));
    }));
}

TEST_CASE("the head of an entry reads alone") {
    KernelRequest request = sample_request();
    request.source.assign(10'000, 'x');
    const auto file = Entry::encode(make_key(request), sample_facts(), sample_cubin());
    REQUIRE(file);
    const auto head = EntryHead::parse(ByteView(*file).first(Entry::maximum_head_bytes));
    REQUIRE(head);
    CHECK(head->file_bytes == file->size());
    CHECK(head->cubin_bytes == sample_cubin().size());
    CHECK(head->source_bytes == 10'000);
    CHECK(parse_key_head(head->key_head)->arch == "sm_90a");
    CHECK(head->facts.toolchain == "13.0.88");
}

TEST_CASE("an entry that is cut at any length is damaged, and so is one with more") {
    const Bytes file = sample_entry();
    for (std::size_t length = 0; length < file.size(); ++length) {
        CAPTURE(length);
        const auto entry = Entry::parse(ByteView(file).first(length));
        REQUIRE_FALSE(entry);
        REQUIRE(entry.error().kind == EntryFault::Kind::damaged);
    }
    Bytes longer = file;
    longer.push_back(std::byte{0});
    CHECK_FALSE(Entry::parse(longer));
}

TEST_CASE("an entry with any byte altered is not used") {
    const Bytes file = sample_entry();
    for (std::size_t at = 0; at < file.size(); ++at) {
        for (const auto change : {std::byte{1}, std::byte{0x80}, std::byte{0xff}}) {
            CAPTURE(at);
            Bytes altered = file;
            altered[at] ^= change;
            const auto entry = Entry::parse(altered);
            REQUIRE_FALSE(entry);
            const bool in_version = at >= 8 && at < 12;
            REQUIRE((entry.error().kind == EntryFault::Kind::other_version) == in_version);
        }
    }
}

TEST_CASE("another format version is not damage, whatever follows it") {
    Bytes file = sample_entry();
    store_little<std::uint32_t>(file, 8, Entry::format_version + 1);
    for (const std::size_t length : {std::size_t{12}, std::size_t{30}, file.size()}) {
        const auto entry = Entry::parse(ByteView(file).first(length));
        REQUIRE_FALSE(entry);
        CHECK(entry.error().kind == EntryFault::Kind::other_version);
    }
}

TEST_CASE("lengths that lie are caught though every hash is right") {
    const Bytes file = sample_entry();
    const auto head_bytes = static_cast<std::size_t>(load_little<std::uint64_t>(file, 16));
    for (const std::size_t field : {16U, 24U, 32U, 40U}) {
        for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
            CAPTURE(field, lie);
            Bytes altered = file;
            store_little<std::uint64_t>(altered, field, lie);
            seal(altered, head_bytes);
            CHECK_FALSE(Entry::parse(altered));
        }
    }
}

TEST_CASE("fields that do not fit in 4 KB, or are not plain text, make no entry") {
    KernelRequest request = sample_request();
    request.tile.assign(5000, 'x');
    CHECK(Entry::encode(make_key(request), sample_facts(), sample_cubin()).error().code == ErrorCode::invalid_argument);
    CHECK_FALSE(Entry::encode(make_key(sample_request()), {"\x1b[31m", "{}"}, sample_cubin()));
    CHECK_FALSE(Entry::encode(make_key(sample_request()), {"\xff", "{}"}, sample_cubin()));
    CHECK_FALSE(Entry::encode(Key{"no key text", "00"}, sample_facts(), sample_cubin()));
}

TEST_CASE("fields that are not plain text are damage, though every hash is right") {
    Bytes file = sample_entry();
    const auto head_bytes = static_cast<std::size_t>(load_little<std::uint64_t>(file, 16));
    const std::size_t at = as_text(file).find("13.0.88");
    file[at] = std::byte{0x1b};
    seal(file, head_bytes);
    CHECK_FALSE(Entry::parse(file));
    file[at] = std::byte{'1'};
    seal(file, head_bytes);
    CHECK(Entry::parse(file));
}
