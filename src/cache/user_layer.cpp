// SPDX-License-Identifier: Apache-2.0
#include "cache/user_layer.hpp"

#include <utility>

#include "cache/counters.hpp"
#include "cache/layout.hpp"
#include "support/log.hpp"

namespace kiln {
namespace {

constexpr const char* cache_is_off = "the cache is off (KILN_CACHE)";

}  // namespace

UserLayer::UserLayer(const CacheConfiguration& configuration)
    : why_no_directory_(configuration.why_no_directory),
      mode_(configuration.mode),
      directory_(configuration),
      objection_(directory_.objection()),
      size_limit_(configuration.maximum_bytes) {}

tl::expected<FileDescriptor, Miss> UserLayer::open() {
    if (mode_ == CacheMode::off) return tl::unexpected(Miss{MissReason::absent, cache_is_off});
    if (path().empty()) {
        warn_once(why_no_directory_);
        return tl::unexpected(Miss{MissReason::absent, why_no_directory_});
    }
    auto directory = directory_.open();
    if (!directory && directory.error().reason != MissReason::absent) warn_once(directory.error().what);
    return directory;
}

tl::expected<Entry, Miss> UserLayer::look(const Key& key) {
    const auto directory = open();
    if (!directory) return tl::unexpected(directory.error());
    auto found = entry_files::read(directory->get(), path(), key.name, objection_);
    if (!found) return tl::unexpected(std::move(found.error()));
    auto entry = verify(found->bytes, key, path() + "/" + layout::entry_path(key.name));
    if (entry && mode_ == CacheMode::read_write) entry_files::touch(*found);
    return entry;
}

tl::expected<Bytes, Miss> UserLayer::read(const std::string& key_name) {
    const auto directory = open();
    if (!directory) return tl::unexpected(directory.error());
    auto found = entry_files::read(directory->get(), path(), key_name, objection_);
    if (!found) return tl::unexpected(std::move(found.error()));
    return std::move(found->bytes);
}

tl::expected<void, Miss> UserLayer::list(const ListFunction& call) {
    const auto directory = open();
    if (!directory) return tl::unexpected(directory.error());
    return entry_files::list(directory->get(), path(), call);
}

std::string UserLayer::why_not_writable() const {
    if (mode_ == CacheMode::off) return cache_is_off;
    if (mode_ == CacheMode::read_only) return "the cache is read-only (KILN_CACHE)";
    if (path().empty()) return why_no_directory_;
    return {};
}

std::string UserLayer::publish(const std::string& key_name, ByteView entry) {
    if (std::string why = why_not_writable(); !why.empty()) return why;
    const auto directory = directory_.make();
    if (!directory) return give_up(directory.error().what);
    if (const auto written = entry_files::write(directory->get(), key_name, entry); !written) {
        return give_up(fmt::format("{}: {}", path(), written.error().message()));
    }
    count(&Counters::published);
    log::debug("kept kernel {} in {}", key_name, path());
    size_limit_.after_publish(directory->get(), entry.size());
    return {};
}

void UserLayer::sync() {
    if (!why_not_writable().empty()) return;
    if (const auto directory = directory_.open()) (void)sys::syncfs(directory->get());
}

std::string UserLayer::give_up(std::string why) {
    count(&Counters::publish_failures);
    warn_once(why);
    return why;
}

void UserLayer::warn_once(const std::string& what) {
    if (warned_.exchange(true)) return;
    const bool advised = what.find("KILN_CACHE_DIR") != std::string::npos;
    log::warning("kernels are kept in memory only, and the next process compiles them again: {}{}", what,
                 advised ? "" : "; KILN_CACHE_DIR can name another directory");
}

}  // namespace kiln
