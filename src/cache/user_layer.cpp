// SPDX-License-Identifier: Apache-2.0
#include "cache/user_layer.hpp"

#include <utility>

#include "support/log.hpp"

namespace kiln {

UserLayer::UserLayer(const CacheConfiguration& configuration)
    : why_no_directory_(configuration.why_no_directory),
      mode_(configuration.mode),
      directory_(configuration),
      objection_(directory_.objection()) {}

tl::expected<Entry, Miss> UserLayer::look(const Key& key) {
    if (mode_ == CacheMode::off) return tl::unexpected(Miss{MissReason::absent, "the cache is off (KILN_CACHE)"});
    if (path().empty()) {
        warn_once(why_no_directory_);
        return tl::unexpected(Miss{MissReason::absent, why_no_directory_});
    }
    const auto directory = directory_.open();
    if (!directory) {
        if (directory.error().reason != MissReason::absent) warn_once(directory.error().what);
        return tl::unexpected(directory.error());
    }
    auto found = entry_files::read(directory->get(), path(), key, objection_);
    if (!found) return tl::unexpected(std::move(found.error()));
    if (mode_ == CacheMode::read_write) entry_files::touch(*found);
    return std::move(found->entry);
}

std::string UserLayer::why_not_writable() const {
    if (mode_ == CacheMode::off) return "the cache is off (KILN_CACHE)";
    if (mode_ == CacheMode::read_only) return "the cache is read-only (KILN_CACHE)";
    if (path().empty()) return why_no_directory_;
    return {};
}

std::string UserLayer::publish(const Key& key, const EntryFacts& facts, ByteView cubin) {
    if (std::string why = why_not_writable(); !why.empty()) return why;
    const auto bytes = Entry::encode(key, facts, cubin);
    if (!bytes) {
        warn_once(bytes.error().message);
        return bytes.error().message;
    }
    const auto directory = directory_.make();
    if (!directory) {
        warn_once(directory.error().what);
        return directory.error().what;
    }
    if (const auto written = entry_files::write(directory->get(), key.name, *bytes); !written) {
        std::string what = fmt::format("{}: {}", path(), written.error().message());
        warn_once(what);
        return what;
    }
    log::debug("kept {} in {}", key.name, path());
    return {};
}

void UserLayer::sync() {
    if (!why_not_writable().empty()) return;
    if (const auto directory = directory_.open()) (void)sys::syncfs(directory->get());
}

void UserLayer::warn_once(const std::string& what) {
    std::call_once(warned_, [&] {
        log::warning(
            "kernels are kept in memory only, and compiled again by the next process: {}; KILN_CACHE_DIR names another directory",
            what);
    });
}

}  // namespace kiln
