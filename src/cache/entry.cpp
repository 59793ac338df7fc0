// SPDX-License-Identifier: Apache-2.0
#include "cache/entry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cache/field_text.hpp"
#include "support/hash.hpp"

namespace kiln {
namespace {

constexpr std::array<unsigned char, 8> magic{0x89, 'K', 'I', 'L', 'N', '\r', '\n', 0x1a};

namespace offset {
constexpr std::size_t version = 8;
constexpr std::size_t fields_bytes = 12;
constexpr std::size_t cubin_offset = 16;
constexpr std::size_t cubin_bytes = 24;
constexpr std::size_t source_offset = 32;
constexpr std::size_t source_bytes = 40;
constexpr std::size_t head_hash = 48;
}  // namespace offset

bool is_plain_text(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

Hash128 hash_of_head(ByteView front, std::size_t head_bytes) {
    Hasher hasher;
    hasher.update(front.first(offset::head_hash));
    hasher.update(front.subspan(Entry::header_bytes, head_bytes - Entry::header_bytes));
    return hasher.digest();
}

}  // namespace

Result<Bytes> Entry::encode(const Key& key, const EntryFacts& facts, ByteView cubin) {
    const auto head = key_head(key.text);
    const auto key_fields = parse_key(key.text);
    if (!head || !key_fields) return fail(ErrorCode::internal, "a cache entry needs a key, and '{}' is none", key.name);
    std::string fields;
    append_field(fields, "key", *head);
    append_field(fields, "toolchain", facts.toolchain);
    append_field(fields, "spec", facts.spec_json);

    const std::size_t head_bytes = header_bytes + fields.size();
    if (head_bytes > maximum_head_bytes) {
        return fail(ErrorCode::invalid_argument, "the fields of cache entry {} take {} bytes; {} are allowed", key.name,
                    fields.size(), maximum_head_bytes - header_bytes);
    }
    if (!is_plain_text(fields)) {
        return fail(ErrorCode::invalid_argument, "the fields of cache entry {} are not plain text", key.name);
    }
    const std::size_t source_offset = head_bytes + cubin.size();
    const std::size_t file_bytes = source_offset + key_fields->source.size() + trailer_bytes;
    if (file_bytes > maximum_bytes) {
        return fail(ErrorCode::invalid_argument, "cache entry {} would take {} bytes; {} are allowed", key.name, file_bytes,
                    maximum_bytes);
    }

    Bytes file;
    file.reserve(file_bytes);
    append(file, std::as_bytes(std::span(magic)));
    file.resize(header_bytes);
    store_little<std::uint32_t>(file, offset::version, format_version);
    store_little<std::uint32_t>(file, offset::fields_bytes, static_cast<std::uint32_t>(fields.size()));
    store_little<std::uint64_t>(file, offset::cubin_offset, head_bytes);
    store_little<std::uint64_t>(file, offset::cubin_bytes, cubin.size());
    store_little<std::uint64_t>(file, offset::source_offset, source_offset);
    store_little<std::uint64_t>(file, offset::source_bytes, key_fields->source.size());
    append(file, as_bytes(fields));
    const Hash128 head_hash = hash_of_head(file, head_bytes);
    std::copy(head_hash.bytes.begin(), head_hash.bytes.end(), file.begin() + offset::head_hash);
    append(file, cubin);
    append(file, as_bytes(key_fields->source));
    append(file, xxh3_128(file).bytes);
    return file;
}

tl::expected<EntryHead, EntryFault> EntryHead::parse(ByteView front) {
    if (front.size() < offset::fields_bytes || !equal(front.first(magic.size()), std::as_bytes(std::span(magic)))) {
        return fail_damaged("it does not begin as an entry does");
    }
    const auto version = load_little<std::uint32_t>(front, offset::version);
    if (version != Entry::format_version) {
        return tl::unexpected(
            EntryFault{EntryFault::Kind::other_version,
                       fmt::format("it has format version {}, and this is version {}", version, Entry::format_version)});
    }
    if (front.size() < Entry::header_bytes) return fail_damaged("it ends within the header");
    const std::size_t fields_bytes = load_little<std::uint32_t>(front, offset::fields_bytes);
    const std::size_t head_bytes = Entry::header_bytes + fields_bytes;
    if (head_bytes > std::min(front.size(), Entry::maximum_head_bytes)) return fail_damaged("it ends within the fields");
    if (!equal(front.subspan(offset::head_hash, Hash128::size_bytes), hash_of_head(front, head_bytes).bytes)) {
        return fail_damaged("the hash of its head is wrong");
    }

    EntryHead head;
    head.cubin_bytes = load_little<std::uint64_t>(front, offset::cubin_bytes);
    head.source_bytes = load_little<std::uint64_t>(front, offset::source_bytes);
    const auto cubin_offset = load_little<std::uint64_t>(front, offset::cubin_offset);
    const auto source_offset = load_little<std::uint64_t>(front, offset::source_offset);
    if (head.cubin_bytes > Entry::maximum_bytes || head.source_bytes > Entry::maximum_bytes || cubin_offset != head_bytes ||
        source_offset != cubin_offset + head.cubin_bytes) {
        return fail_damaged("its lengths do not fit together");
    }
    head.file_bytes = source_offset + head.source_bytes + Entry::trailer_bytes;
    const std::string_view fields = as_text(front.subspan(Entry::header_bytes, fields_bytes));
    FieldReader reader(fields);
    const auto key = reader.take("key");
    const auto toolchain = reader.take("toolchain");
    const auto spec = reader.take("spec");
    if (!key || !toolchain || !spec || !reader.rest().empty() || !parse_key_head(*key) || !is_plain_text(fields)) {
        return fail_damaged("its fields cannot be read");
    }
    head.key_head = *key;
    head.facts = {std::string(*toolchain), std::string(*spec)};
    return head;
}

tl::expected<Entry, EntryFault> Entry::parse(ByteView file) {
    auto head = EntryHead::parse(file.first(std::min(file.size(), maximum_head_bytes)));
    if (!head) return tl::unexpected(std::move(head.error()));
    if (file.size() != head->file_bytes) return fail_damaged("it has {} bytes and should have {}", file.size(), head->file_bytes);
    const ByteView content = file.first(file.size() - trailer_bytes);
    if (!equal(file.last(trailer_bytes), xxh3_128(content).bytes)) return fail_damaged("its checksum is wrong");
    const ByteView source = content.last(head->source_bytes);
    const ByteView cubin = content.first(content.size() - source.size()).last(head->cubin_bytes);
    return Entry{key_of_text(key_text(head->key_head, as_text(source))), std::move(head->facts),
                 Bytes(cubin.begin(), cubin.end())};
}

}  // namespace kiln
