// SPDX-License-Identifier: Apache-2.0
#include "cache/own_directory.hpp"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "cache/trust.hpp"

namespace kiln {
namespace {

constexpr mode_t directory_mode = 0755;

tl::unexpected<Miss> miss(const std::string& path, const std::error_code& error) {
    const bool absent = is(error, std::errc::no_such_file_or_directory);
    return tl::unexpected(
        Miss{absent ? MissReason::absent : MissReason::unreadable, fmt::format("{}: {}", path, error.message())});
}

}  // namespace

OwnDirectory::OwnDirectory(const CacheConfiguration& configuration)
    : parent_(configuration.directory),
      name_(fmt::format("u{}", geteuid())),
      path_(parent_.empty() ? std::string() : parent_ + (parent_ == "/" ? "" : "/") + name_),
      trust_any_(configuration.trust_named_paths && configuration.directory_is_named) {}

tl::expected<FileDescriptor, Miss> OwnDirectory::open() const {
    const auto parent = open_at(AT_FDCWD, parent_, O_RDONLY | O_DIRECTORY);
    if (!parent) return miss(parent_, parent.error());
    return open_in(parent->get());
}

tl::expected<FileDescriptor, Miss> OwnDirectory::make() const {
    if (auto there = open(); there || there.error().reason != MissReason::absent) return there;
    if (const auto made = make_directories(parent_, directory_mode); !made) return miss(parent_, made.error());
    const auto parent = open_at(AT_FDCWD, parent_, O_RDONLY | O_DIRECTORY);
    if (!parent) return miss(parent_, parent.error());
    const auto made = make_directory_at(parent->get(), name_, directory_mode);
    if (!made && !is(made.error(), std::errc::file_exists)) return miss(path_, made.error());
    return open_in(parent->get());
}

tl::expected<FileDescriptor, Miss> OwnDirectory::open_in(int parent) const {
    auto directory = open_at(parent, name_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!directory && is(directory.error(), std::errc::not_a_directory)) {
        return tl::unexpected(
            Miss{MissReason::untrusted, fmt::format("{} is a link or a file, not a directory: remove it", path_)});
    }
    if (!directory) return miss(path_, directory.error());
    const auto facts = status(directory->get());
    if (!facts) return miss(path_, facts.error());
    if (!trust_any_) {
        std::string why = trust::objection_to_own(*facts, path_);
        if (!why.empty()) return tl::unexpected(Miss{MissReason::untrusted, std::move(why)});
    }
    return std::move(*directory);
}

entry_files::Objection OwnDirectory::objection() const {
    if (trust_any_) return [](const struct stat&, const std::string&) { return std::string(); };
    return trust::objection_to_own;
}

}  // namespace kiln
