// SPDX-License-Identifier: Apache-2.0
#include "cache/layer.hpp"

#include <utility>

#include "cache/bundle_layer.hpp"
#include "cache/directory_layer.hpp"
#include "support/files.hpp"

namespace kiln {
namespace {

/// A name in KILN_CACHE_LAYERS behind which there is nothing.
class MissingLayer final : public Layer {
public:
    MissingLayer(std::string path, std::string why) : path_(std::move(path)), why_(std::move(why)) {}

    [[nodiscard]] Origin origin() const noexcept override { return Origin::layer; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] tl::expected<Entry, Miss> look(const Key&) override { return tl::unexpected(miss()); }
    [[nodiscard]] tl::expected<Bytes, Miss> read(const std::string&) override { return tl::unexpected(miss()); }
    [[nodiscard]] tl::expected<void, Miss> list(const ListFunction&) override { return tl::unexpected(miss()); }

private:
    [[nodiscard]] Miss miss() const { return {MissReason::unreadable, why_}; }
    const std::string path_;
    const std::string why_;
};

std::unique_ptr<Layer> open_layer(const std::string& path, bool trust_any) {
    const auto facts = status_at(AT_FDCWD, path, 0);
    if (facts && S_ISDIR(facts->st_mode)) return std::make_unique<DirectoryLayer>(path, trust_any);
    if (facts && S_ISREG(facts->st_mode)) return std::make_unique<BundleLayer>(path, trust_any);
    return std::make_unique<MissingLayer>(
        path, fmt::format("layer {}: {}", path, facts ? "neither a directory nor a file" : facts.error().message()));
}

}  // namespace

tl::expected<Entry, Miss> verify(ByteView bytes, const std::string& key_name, const std::string& path) {
    auto entry = Entry::parse(bytes);
    if (!entry) {
        const bool other = entry.error().kind == EntryFault::Kind::other_version;
        return tl::unexpected(Miss{other ? MissReason::other_version : MissReason::damaged,
                                   fmt::format("{} cannot be used: {}", path, entry.error().what)});
    }
    if (entry->key.name != key_name) {
        return tl::unexpected(Miss{MissReason::other_key, fmt::format("{} holds kernel {}", path, entry->key.name)});
    }
    return std::move(*entry);
}

tl::expected<Entry, Miss> verify(ByteView bytes, const Key& key, const std::string& path) {
    auto entry = verify(bytes, key.name, path);
    if (entry && entry->key.text != key.text) {
        return tl::unexpected(Miss{MissReason::other_key, fmt::format("{} holds another kernel of the same name", path)});
    }
    return entry;
}

tl::expected<Entry, Miss> ReadOnlyLayer::look(const Key& key) {
    {
        const std::lock_guard lock(mutex_);
        if (damaged_.contains(key.name)) {
            return tl::unexpected(
                Miss{MissReason::damaged, fmt::format("kernel {} in {} is known to be damaged", key.name, path())});
        }
    }
    const auto bytes = read(key.name);
    if (!bytes) return tl::unexpected(bytes.error());
    auto entry = verify(*bytes, key, fmt::format("kernel {} in {}", key.name, path()));
    if (!entry && entry.error().reason == MissReason::damaged) {
        const std::lock_guard lock(mutex_);
        damaged_.insert(key.name);
    }
    return entry;
}

std::vector<std::unique_ptr<Layer>> open_layers(const CacheConfiguration& configuration) {
    std::vector<std::unique_ptr<Layer>> layers;
    for (const std::string& path : configuration.layers) layers.push_back(open_layer(path, configuration.trust_named_paths));
    return layers;
}

}  // namespace kiln
