// SPDX-License-Identifier: Apache-2.0
#include "cache/directory_layer.hpp"

#include <algorithm>
#include <utility>

#include "cache/entry_files.hpp"
#include "cache/trust.hpp"

namespace kiln {
namespace {

bool is_user_directory(const std::string& name) {
    return name.size() > 1 && name.front() == 'u' && name.find_first_not_of("0123456789", 1) == std::string::npos;
}

}  // namespace

DirectoryLayer::DirectoryLayer(std::string path, bool trust_any) : path_(std::move(path)), trust_any_(trust_any) {
    const auto layer = open_layer();
    if (!layer) return;
    (void)for_each_name(layer->directory.get(), [&](const std::string& name) {
        if (is_user_directory(name)) user_directories_.push_back(name);
    });
    std::sort(user_directories_.begin(), user_directories_.end());
}

tl::expected<DirectoryLayer::Root, Miss> DirectoryLayer::open_root(int parent, const std::string& name,
                                                                   const std::string& path) const {
    const auto unreadable = [&](const std::error_code& error) {
        return tl::unexpected(Miss{MissReason::unreadable, fmt::format("layer {}: {}", path, error.message())});
    };
    auto directory = open_at(parent, name, O_RDONLY | O_DIRECTORY | (parent == AT_FDCWD ? 0 : O_NOFOLLOW));
    if (!directory) return unreadable(directory.error());
    const auto facts = status(directory->get());
    if (!facts) return unreadable(facts.error());
    const auto read_only_mount = is_read_only_mount(directory->get());
    if (!read_only_mount) return unreadable(read_only_mount.error());
    if (std::string why = objection(*facts, *read_only_mount, path); !why.empty()) {
        return tl::unexpected(Miss{MissReason::untrusted, std::move(why)});
    }
    return Root{path, std::move(*directory), *read_only_mount};
}

std::string DirectoryLayer::objection(const struct stat& facts, bool read_only_mount, const std::string& path) const {
    return trust_any_ ? std::string() : trust::objection_to_layer(facts, read_only_mount, path);
}

tl::expected<Bytes, Miss> DirectoryLayer::read(const std::string& key_name) {
    const auto layer = open_layer();
    if (!layer) return tl::unexpected(layer.error());
    const auto read_in = [&](const Root& root) -> tl::expected<Bytes, Miss> {
        auto found = entry_files::read(root.directory.get(), root.path, key_name, [&](const auto& facts, const auto& path) {
            return objection(facts, root.read_only_mount, path);
        });
        if (!found) return tl::unexpected(std::move(found.error()));
        return std::move(found->bytes);
    };
    auto bytes = read_in(*layer);
    for (const std::string& name : user_directories_) {
        if (bytes) break;
        const auto root = open_root(layer->directory.get(), name, path_ + "/" + name);
        if (!root) continue;  // somebody else's part: not ours to believe, and no fault of the layer
        auto inside = read_in(*root);
        if (inside || inside.error().reason != MissReason::absent) bytes = std::move(inside);
    }
    return bytes;
}

tl::expected<void, Miss> DirectoryLayer::list(const ListFunction& call) {
    const auto layer = open_layer();
    if (!layer) return tl::unexpected(layer.error());
    auto listed = entry_files::list(layer->directory.get(), path_, call);
    for (const std::string& name : user_directories_) {
        const auto root = open_root(layer->directory.get(), name, path_ + "/" + name);
        if (!root) continue;
        auto inside = entry_files::list(root->directory.get(), root->path, call);
        if (listed) listed = std::move(inside);
    }
    return listed;
}

}  // namespace kiln
