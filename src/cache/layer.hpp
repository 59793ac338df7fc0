// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <kiln/report.hpp>
#include <tl/expected.hpp>

#include "cache/configuration.hpp"
#include "cache/entry.hpp"
#include "cache/miss.hpp"

namespace kiln {

/// An entry as lists show it: what its head says, or why that cannot be read.
struct ListedEntry {
    std::string key_name;
    std::string path;  ///< of its file, or of the bundle that holds it
    std::uint64_t bytes = 0;
    std::int64_t used_s = 0;  ///< last use or write, to the hour, in seconds since 1970; a bundle's own for what is in it
    tl::expected<EntryHead, EntryFault> head;
};

using ListFunction = std::function<void(const ListedEntry&)>;

/// A place outside this process that may hold kernels. Implementations are thread safe.
class Layer {
public:
    Layer() = default;
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    virtual ~Layer() = default;

    [[nodiscard]] virtual Origin origin() const noexcept = 0;
    [[nodiscard]] virtual const std::string& path() const noexcept = 0;

    /// The verified entry of this key: checksum, lengths and the whole key's text.
    [[nodiscard]] virtual tl::expected<Entry, Miss> look(const Key& key) = 0;

    /// The bytes under this name as they are, for `show`, `export` and `verify`.
    [[nodiscard]] virtual tl::expected<Bytes, Miss> read(const std::string& key_name) = 0;

    /// What is wrong with the place besides its entries, for `verify`: may read all of it.
    [[nodiscard]] virtual tl::expected<void, Miss> check_rest() { return {}; }

    /// Calls with each entry in the order of names; a miss if the place cannot be read at all.
    [[nodiscard]] virtual tl::expected<void, Miss> list(const ListFunction& call) = 0;
};

/// Takes bytes that were found under a name for an entry. `path` names the place in what is said about it.
[[nodiscard]] tl::expected<Entry, Miss> verify(ByteView bytes, const std::string& key_name, const std::string& path);

/// The same where a certain kernel is wanted.
[[nodiscard]] tl::expected<Entry, Miss> verify(ByteView bytes, const Key& key, const std::string& path);

/// What every read-only layer does: damage cannot be mended there, so it is remembered, said once, and skipped.
class ReadOnlyLayer : public Layer {
public:
    [[nodiscard]] tl::expected<Entry, Miss> look(const Key& key) final;

private:
    std::mutex mutex_;
    std::set<std::string> damaged_;  ///< names
};

/// The layers of a configuration in their order, each a directory or a bundle; what is neither misses everything, with a reason.
/// Nothing is checked before it is looked at, so that one bad layer spoils no other.
[[nodiscard]] std::vector<std::unique_ptr<Layer>> open_layers(const CacheConfiguration& configuration);

}  // namespace kiln
