// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>

#include <tl/expected.hpp>

#include "cache/entry.hpp"
#include "cache/miss.hpp"
#include "support/files.hpp"

namespace kiln {

/// Reading and writing the entries below a cache directory that is already open. Names are those of cache/layout.hpp; every path
/// is relative to that descriptor, and no link is followed.
namespace entry_files {

/// Says why a file must not be believed; an empty sentence if it may.
using Objection = std::function<std::string(const struct stat& facts, const std::string& path)>;

struct Found {
    Entry entry;
    FileDescriptor file;  ///< still open, for `touch`
    struct stat facts;
};

/// The verified entry of this key. `path` names the directory in what is said about it.
[[nodiscard]] tl::expected<Found, Miss> read(int directory, const std::string& path, const Key& key, const Objection& objection);

/// Tells the eviction that an entry was of use, if it is older than an hour or in the future. Never fails.
void touch(const Found& found) noexcept;

/// Puts an entry under its name, whole or not at all. The shard is made where it is missing.
[[nodiscard]] Io<void> write(int directory, const std::string& key_name, ByteView bytes);

/// One file with an entry's name; what is in it has not been looked at.
struct File {
    std::string key_name;
    struct stat facts;
};

/// Calls with each entry file, shard by shard; the shard is open meanwhile. Unreadable shards are skipped.
void for_each(int directory, const std::function<void(int shard, const File&)>& call);

}  // namespace entry_files
}  // namespace kiln
