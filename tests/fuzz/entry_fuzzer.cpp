// SPDX-License-Identifier: Apache-2.0
// Any bytes as a cache entry: refused, or read into an entry that encodes to the same bytes. Hashes would stop nearly every input
// at the door, so each is also tried with its magic, version and hashes put right.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cache/cubin_check.hpp"
#include "cache/entry.hpp"
#include "support/hash.hpp"

namespace {

using kiln::Bytes;
using kiln::ByteView;
using kiln::Entry;

void try_as_entry(ByteView file) {
    const auto head = kiln::EntryHead::parse(file.first(std::min(file.size(), Entry::maximum_head_bytes)));
    const auto entry = Entry::parse(file);
    if (!entry) return;
    if (!head || head->file_bytes != file.size()) std::abort();
    (void)kiln::objection_to_cubin(entry->cubin, "sm_90a");
    const auto again = Entry::encode(entry->key, entry->facts, entry->cubin);
    if (!again || !std::equal(again->begin(), again->end(), file.begin(), file.end())) std::abort();
}

/// The same bytes with everything right that can be computed.
Bytes sealed(ByteView file) {
    Bytes copy(file.begin(), file.end());
    if (copy.size() < Entry::header_bytes + Entry::trailer_bytes) return copy;
    constexpr std::array<unsigned char, 8> magic{0x89, 'K', 'I', 'L', 'N', '\r', '\n', 0x1a};
    std::ranges::copy(std::as_bytes(std::span(magic)), copy.begin());
    kiln::store_little<std::uint32_t>(copy, 8, Entry::format_version);
    const std::size_t fields_bytes = std::min<std::size_t>(kiln::load_little<std::uint32_t>(copy, 12) % 2048,
                                                           copy.size() - Entry::header_bytes - Entry::trailer_bytes);
    kiln::store_little<std::uint32_t>(copy, 12, static_cast<std::uint32_t>(fields_bytes));
    kiln::Hasher head;
    head.update(ByteView(copy).first(48));
    head.update(ByteView(copy).subspan(Entry::header_bytes, fields_bytes));
    std::ranges::copy(head.digest().bytes, copy.begin() + 48);
    const auto trailer = kiln::xxh3_128(ByteView(copy).first(copy.size() - Entry::trailer_bytes));
    std::ranges::copy(trailer.bytes, copy.end() - static_cast<std::ptrdiff_t>(Entry::trailer_bytes));
    return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const ByteView file = std::as_bytes(std::span(data, size));
    try_as_entry(file);
    try_as_entry(sealed(file));
    return 0;
}
