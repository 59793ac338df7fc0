// SPDX-License-Identifier: Apache-2.0
#include "cache/bundle.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace kiln::bundle {
namespace {

constexpr std::array<unsigned char, 8> magic{0x89, 'K', 'B', 'N', 'D', '\r', '\n', 0x1a};

namespace offset {
constexpr std::size_t version = 8;
constexpr std::size_t reserved_word = 12;
constexpr std::size_t entry_count = 16;
constexpr std::size_t entries_bytes = 24;
constexpr std::size_t file_bytes = 32;
constexpr std::size_t reserved = 40;
constexpr std::size_t head_hash = 48;
}  // namespace offset

Hash128 hash_of_head(ByteView header, ByteView index) {
    Hasher hasher;
    hasher.update(header.first(offset::head_hash));
    hasher.update(index);
    return hasher.digest();
}

/// Names ascend and ranges follow one another without gaps, so none is outside or shared. Returns where the last one ends.
tl::expected<std::uint64_t, EntryFault> check_records(const Index& index) {
    std::uint64_t at = header_bytes + index.size() * record_bytes;
    for (std::size_t i = 0; i < index.size(); ++i) {
        if (i > 0 && !(index[i - 1].name < index[i].name)) return fail_damaged("its index is not in order");
        if (index[i].offset != at || index[i].bytes > Entry::maximum_bytes)
            return fail_damaged("its index does not fit its entries");
        at += index[i].bytes;
    }
    return at;
}

Index decode_records(ByteView bytes) {
    Index index(bytes.size() / record_bytes);
    for (Record& record : index) {
        std::ranges::copy(bytes.first(Hash128::size_bytes), record.name.bytes.begin());
        record.offset = load_little<std::uint64_t>(bytes, Hash128::size_bytes);
        record.bytes = load_little<std::uint64_t>(bytes, Hash128::size_bytes + sizeof(std::uint64_t));
        bytes = bytes.subspan(record_bytes);
    }
    return index;
}

}  // namespace

Bytes encode_head(Index& index) {
    Bytes head(header_bytes + index.size() * record_bytes);
    std::uint64_t at = head.size();
    for (std::size_t i = 0; i < index.size(); ++i) {
        index[i].offset = at;
        at += index[i].bytes;
        const std::size_t place = header_bytes + i * record_bytes;
        std::ranges::copy(index[i].name.bytes, head.begin() + static_cast<std::ptrdiff_t>(place));
        store_little<std::uint64_t>(head, place + Hash128::size_bytes, index[i].offset);
        store_little<std::uint64_t>(head, place + Hash128::size_bytes + sizeof(std::uint64_t), index[i].bytes);
    }
    std::ranges::copy(std::as_bytes(std::span(magic)), head.begin());
    store_little<std::uint32_t>(head, offset::version, format_version);
    store_little<std::uint64_t>(head, offset::entry_count, index.size());
    store_little<std::uint64_t>(head, offset::entries_bytes, at - head.size());
    store_little<std::uint64_t>(head, offset::file_bytes, at + trailer_bytes);
    const ByteView view = head;
    const Hash128 hash = hash_of_head(view, view.subspan(header_bytes));
    std::ranges::copy(hash.bytes, head.begin() + offset::head_hash);
    return head;
}

tl::expected<Index, EntryFault> read_index(int file) {
    const auto facts = status(file);
    if (!facts) return fail_damaged("{}", facts.error().message());
    const auto file_bytes = static_cast<std::uint64_t>(facts->st_size);
    Bytes header(header_bytes);
    const auto count = read_at(file, header, 0);
    if (!count) return fail_damaged("{}", count.error().message());
    if (*count < offset::reserved_word || !equal(ByteView(header).first(magic.size()), std::as_bytes(std::span(magic)))) {
        return fail_damaged("it does not begin as a bundle does");
    }
    if (const auto version = load_little<std::uint32_t>(header, offset::version); version != format_version) {
        return tl::unexpected(
            EntryFault{EntryFault::Kind::other_version,
                       fmt::format("it has format version {}, and this is version {}", version, format_version)});
    }
    if (*count < header_bytes) return fail_damaged("it ends within the header");

    const auto entry_count = load_little<std::uint64_t>(header, offset::entry_count);
    if (load_little<std::uint64_t>(header, offset::file_bytes) != file_bytes) return fail_damaged("its size is wrong");
    if (load_little<std::uint32_t>(header, offset::reserved_word) != 0 ||
        load_little<std::uint64_t>(header, offset::reserved) != 0 || file_bytes < header_bytes + trailer_bytes ||
        entry_count > maximum_entries || entry_count > (file_bytes - header_bytes - trailer_bytes) / record_bytes) {
        return fail_damaged("its header does not fit its size");
    }
    Bytes records(static_cast<std::size_t>(entry_count) * record_bytes);
    const auto read = read_at(file, records, header_bytes);
    if (!read) return fail_damaged("{}", read.error().message());
    if (*read != records.size() ||
        !equal(ByteView(header).subspan(offset::head_hash, Hash128::size_bytes), hash_of_head(header, records).bytes)) {
        return fail_damaged("the hash of its index is wrong");
    }
    Index index = decode_records(records);
    const auto end = check_records(index);
    if (!end) return tl::unexpected(end.error());
    const std::uint64_t entries_begin = header_bytes + records.size();
    if (*end + trailer_bytes != file_bytes || load_little<std::uint64_t>(header, offset::entries_bytes) != *end - entries_begin) {
        return fail_damaged("its entries do not fill it");
    }
    return index;
}

tl::expected<void, EntryFault> check_trailer(int file) {
    const auto facts = status(file);
    if (!facts) return fail_damaged("{}", facts.error().message());
    const auto content_bytes = static_cast<std::size_t>(facts->st_size) - trailer_bytes;
    Bytes piece(std::size_t{1} << 20);
    Hasher hasher;
    for (std::size_t at = 0; at < content_bytes;) {
        const auto wanted = std::span(piece).first(std::min(piece.size(), content_bytes - at));
        const auto count = read_at(file, wanted, at);
        if (!count) return fail_damaged("{}", count.error().message());
        if (*count == 0) return fail_damaged("it was cut while it was read");
        hasher.update(wanted.first(*count));
        at += *count;
    }
    Bytes trailer(trailer_bytes);
    const auto count = read_at(file, trailer, content_bytes);
    if (!count) return fail_damaged("{}", count.error().message());
    if (*count != trailer_bytes || !equal(trailer, hasher.digest().bytes)) return fail_damaged("the hash at its end is wrong");
    return {};
}

Io<Bytes> read_entry(int file, const Record& record) {
    Bytes bytes(static_cast<std::size_t>(record.bytes));
    const auto count = read_at(file, bytes, static_cast<std::size_t>(record.offset));
    if (!count) return tl::unexpected(count.error());
    bytes.resize(*count);
    return bytes;
}

}  // namespace kiln::bundle
