// SPDX-License-Identifier: Apache-2.0
#include "cache/bundle_layer.hpp"

#include <algorithm>
#include <utility>

#include "cache/trust.hpp"

namespace kiln {

BundleLayer::BundleLayer(std::string path, bool trust_any) : path_(std::move(path)), unusable_(open(trust_any)) {}

std::optional<Miss> BundleLayer::open(bool trust_any) {
    auto file = open_at(AT_FDCWD, path_, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    const auto facts = file ? status(file->get()) : tl::unexpected(file.error());
    const auto read_only_mount = facts ? is_read_only_mount(file->get()) : tl::unexpected(facts.error());
    if (!read_only_mount) {
        return Miss{MissReason::unreadable, fmt::format("bundle {}: {}", path_, read_only_mount.error().message())};
    }
    if (!S_ISREG(facts->st_mode)) return Miss{MissReason::unreadable, fmt::format("bundle {} is not a file", path_)};
    if (std::string why = trust::objection_to_layer(*facts, *read_only_mount, path_); !why.empty() && !trust_any) {
        return Miss{MissReason::untrusted, std::move(why)};
    }
    auto index = bundle::read_index(file->get());
    if (!index) {
        const bool other = index.error().kind == EntryFault::Kind::other_version;
        return Miss{other ? MissReason::other_version : MissReason::damaged,
                    fmt::format("bundle {} cannot be used: {}", path_, index.error().what)};
    }
    file_ = std::move(*file);
    index_ = std::move(*index);
    modified_s_ = facts->st_mtim.tv_sec;
    return std::nullopt;
}

tl::expected<Bytes, Miss> BundleLayer::read(const std::string& key_name) {
    if (unusable_) return tl::unexpected(*unusable_);
    const auto name = parse_hash(key_name);
    const auto found = name ? std::ranges::lower_bound(index_, *name, {}, &bundle::Record::name) : index_.end();
    if (found == index_.end() || found->name != *name) {
        return tl::unexpected(Miss{MissReason::absent, fmt::format("bundle {} has no {}", path_, key_name)});
    }
    auto bytes = bundle::read_entry(file_.get(), *found);
    if (!bytes) return tl::unexpected(Miss{MissReason::unreadable, fmt::format("bundle {}: {}", path_, bytes.error().message())});
    return std::move(*bytes);
}

tl::expected<void, Miss> BundleLayer::check_rest() {
    if (unusable_) return tl::unexpected(*unusable_);
    const auto whole = bundle::check_trailer(file_.get());
    if (whole) return {};
    return tl::unexpected(Miss{MissReason::damaged, fmt::format("bundle {} is damaged: {}", path_, whole.error().what)});
}

tl::expected<void, Miss> BundleLayer::list(const ListFunction& call) {
    if (unusable_) return tl::unexpected(*unusable_);
    Bytes front(Entry::maximum_head_bytes);
    for (const bundle::Record& record : index_) {
        const auto wanted = std::span(front).first(static_cast<std::size_t>(std::min<std::uint64_t>(front.size(), record.bytes)));
        const auto count = read_at(file_.get(), wanted, static_cast<std::size_t>(record.offset));
        auto head = count ? EntryHead::parse(ByteView(front).first(*count))
                          : tl::unexpected(EntryFault{EntryFault::Kind::damaged, count.error().message()});
        if (head && head->file_bytes != record.bytes) {
            head = tl::unexpected(EntryFault{EntryFault::Kind::damaged, "its size is not what the bundle's index says"});
        }
        call({record.name.hex(), path_, record.bytes, modified_s_, std::move(head)});
    }
    return {};
}

}  // namespace kiln
