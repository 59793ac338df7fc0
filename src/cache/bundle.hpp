// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cache/entry.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"

/// Many entries in one file, to carry about and to use in place. The same entries give the same bytes.
///
///     bundle  := header index entries trailer
///     header  := magic[8] version:u32 reserved:u32 entry_count:u64 entries_bytes:u64 file_bytes:u64 reserved:u64
///                head_hash[16]                                                                         (64 bytes)
///     magic   := 89 "KBND" 0D 0A 1A
///     index   := { name[16] offset:u64 bytes:u64 }       (entry_count records of 32 bytes, ascending by name, no name twice;
///                                                         a name is the 16 bytes that an entry's file name writes in hex)
///     entries := entry files as they are (cache/entry.hpp), one behind the other in the order of the index
///     head_hash := XXH3-128 of the header before it and of the index
///     trailer := XXH3-128 of all that is before it       (16 bytes)
///
/// Integers are little-endian, reserved ones zero. The head can be verified without reading the entries, each of which verifies
/// itself, so a bundle is opened at the cost of its index. The offsets follow from the sizes; what does not fit is damage.
namespace kiln::bundle {

inline constexpr std::uint32_t format_version = 1;
inline constexpr std::size_t header_bytes = 64;
inline constexpr std::size_t record_bytes = 32;
inline constexpr std::size_t trailer_bytes = 16;
inline constexpr std::size_t maximum_entries = std::size_t{1} << 22;  ///< bounds what a hostile header can make us allocate

/// One record of the index.
struct Record {
    Hash128 name;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

using Index = std::vector<Record>;

/// Header and index for entries of these names (ascending) and sizes; offsets are filled in.
[[nodiscard]] Bytes encode_head(Index& index);

/// Reads and verifies the head of an open bundle. Whatever the file holds, every range in the result lies within it.
[[nodiscard]] tl::expected<Index, EntryFault> read_index(int file);

/// Reads the file to its end; fails if its trailer is not the hash of what is before it. Nothing that is used hangs on it, since
/// the head and each entry have hashes of their own: it is for whoever wants to know that the file is whole.
[[nodiscard]] tl::expected<void, EntryFault> check_trailer(int file);

/// The bytes of one entry, fewer if the file has been cut since.
[[nodiscard]] Io<Bytes> read_entry(int file, const Record& record);

}  // namespace kiln::bundle
