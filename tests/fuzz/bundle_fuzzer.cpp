// SPDX-License-Identifier: Apache-2.0
// Any bytes as a bundle: refused, or read into an index whose every range lies within the file.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cache/bundle.hpp"
#include "cache/layer.hpp"

namespace {

using kiln::Bytes;
using kiln::ByteView;

void try_as_bundle(ByteView bytes) {
    const kiln::FileDescriptor file(memfd_create("bundle", MFD_CLOEXEC));
    if (!file || !kiln::write_all(file.get(), bytes)) return;
    const auto index = kiln::bundle::read_index(file.get());
    if (!index) return;
    for (const auto& record : *index) {
        if (record.offset > bytes.size() || record.bytes > bytes.size() - record.offset) std::abort();
        const auto entry = kiln::bundle::read_entry(file.get(), record);
        if (!entry || entry->size() != record.bytes) std::abort();
        (void)kiln::verify(*entry, record.name.hex(), "bundle");
    }
}

/// The same bytes with the magic, the version, the size and the hash of the head put right.
Bytes sealed(ByteView file) {
    Bytes copy(file.begin(), file.end());
    if (copy.size() < kiln::bundle::header_bytes + kiln::bundle::trailer_bytes) return copy;
    constexpr std::array<unsigned char, 8> magic{0x89, 'K', 'B', 'N', 'D', '\r', '\n', 0x1a};
    std::ranges::copy(std::as_bytes(std::span(magic)), copy.begin());
    kiln::store_little<std::uint32_t>(copy, 8, kiln::bundle::format_version);
    kiln::store_little<std::uint32_t>(copy, 12, 0);
    kiln::store_little<std::uint64_t>(copy, 32, copy.size());
    kiln::store_little<std::uint64_t>(copy, 40, 0);
    const std::size_t room =
        (copy.size() - kiln::bundle::header_bytes - kiln::bundle::trailer_bytes) / kiln::bundle::record_bytes;
    const std::uint64_t count = kiln::load_little<std::uint64_t>(copy, 16) % (room + 1);
    kiln::store_little<std::uint64_t>(copy, 16, count);
    kiln::Hasher head;
    head.update(ByteView(copy).first(48));
    head.update(ByteView(copy).subspan(kiln::bundle::header_bytes, static_cast<std::size_t>(count) * kiln::bundle::record_bytes));
    std::ranges::copy(head.digest().bytes, copy.begin() + 48);
    return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const ByteView bytes = std::as_bytes(std::span(data, size));
    try_as_bundle(bytes);
    try_as_bundle(sealed(bytes));
    return 0;
}
