// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "cache/key.hpp"
#include "support/bytes.hpp"
#include "support/result.hpp"

namespace kiln {

/// What a cache entry says beside the cubin.
struct EntryFacts {
    std::string toolchain;  ///< what built the cubin, from its own note
    std::string spec_json;  ///< what the kernel computes, for people
};

/// Why bytes are not an entry that can be used.
struct EntryFault {
    enum class Kind {
        damaged,        ///< cut, altered, or never an entry
        other_version,  ///< written by another version of Kiln: not damage
    };
    Kind kind;
    std::string what;
};

/// `return fail_damaged("its checksum is wrong");`, of an entry or a bundle.
template <typename... Args>
[[nodiscard]] tl::unexpected<EntryFault> fail_damaged(fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(EntryFault{EntryFault::Kind::damaged, fmt::format(format, std::forward<Args>(args)...)});
}

/// One kernel in one file, verified as it is read.
///
///     entry   := header fields cubin source trailer
///     header  := magic[8] version:u32 fields_bytes:u32 cubin_offset:u64 cubin_bytes:u64 source_offset:u64 source_bytes:u64
///                head_hash[16]                                                                         (64 bytes)
///     magic   := 89 "KILN" 0D 0A 1A                            (a transfer as text or a stripped eighth bit breaks it)
///     fields  := field text: "key" "toolchain" "spec"          (cache/field_text.hpp; header and fields ≤ 4,096 bytes;
///                                                               printable ASCII and LF alone: it goes to terminals and JSON)
///     key     := the key's text up to its source               (cache/key.hpp)
///     cubin   := cubin_bytes at cubin_offset = 64 + fields_bytes
///     source  := source_bytes at source_offset = cubin_offset + cubin_bytes
///     head_hash := XXH3-128 of the header before it and of the fields
///     trailer := XXH3-128 of all that is before it             (16 bytes, the last of the file)
///
/// Integers are little-endian. The head can be read and verified without the rest, so that listing a cache reads 4 KB of each
/// entry. The same kernel from the same compiler gives the same bytes: there are no times or names of machines in it.
/// Reading: `version` decides before anything else; what does not fit together in another way is damage.
class Entry {
public:
    static constexpr std::uint32_t format_version = 1;
    static constexpr std::size_t header_bytes = 64;
    static constexpr std::size_t maximum_head_bytes = 4096;
    static constexpr std::size_t trailer_bytes = 16;
    static constexpr std::size_t maximum_bytes = std::size_t{256} << 20;  ///< what is larger is no entry

    /// The file's bytes, or why there can be none (fields that are too long or not plain text).
    [[nodiscard]] static Result<Bytes> encode(const Key& key, const EntryFacts& facts, ByteView cubin);

    /// Verifies lengths, hashes and fields; the result does not refer to `file`.
    [[nodiscard]] static tl::expected<Entry, EntryFault> parse(ByteView file);

    Key key;  ///< recomputed from what the entry holds, not from the file's name
    EntryFacts facts;
    Bytes cubin;
};

/// What the first 4 KB of an entry say, verified by their own hash; the cubin and the source are not looked at.
struct EntryHead {
    std::string key_head;  ///< the key's text up to its source
    EntryFacts facts;
    std::uint64_t cubin_bytes = 0;
    std::uint64_t source_bytes = 0;
    std::uint64_t file_bytes = 0;  ///< what all lengths add up to

    /// `front`: the first `Entry::maximum_head_bytes` of the file, or the whole file where it is shorter.
    [[nodiscard]] static tl::expected<EntryHead, EntryFault> parse(ByteView front);
};

}  // namespace kiln
