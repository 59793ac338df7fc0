// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep/places.hpp"

#include <utility>

#include "cache/own_directory.hpp"

namespace kiln {

Result<std::optional<FileDescriptor>> open_own_directory(const CacheConfiguration& configuration) {
    if (configuration.directory.empty()) return fail(ErrorCode::bad_file, "{}", configuration.why_no_directory);
    auto directory = OwnDirectory(configuration).open();
    if (directory) return std::move(*directory);
    if (directory.error().reason == MissReason::absent) return std::optional<FileDescriptor>();
    return fail(ErrorCode::bad_file, "{}", directory.error().what);
}

Result<FileDescriptor> make_own_directory(const CacheConfiguration& configuration) {
    if (configuration.directory.empty()) return fail(ErrorCode::bad_file, "{}", configuration.why_no_directory);
    auto directory = OwnDirectory(configuration).make();
    if (!directory) return fail(ErrorCode::bad_file, "{}", directory.error().what);
    return std::move(*directory);
}

std::string own_directory_path(const CacheConfiguration& configuration) {
    return OwnDirectory(configuration).path();
}

}  // namespace kiln
