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

namespace {

Result<void> check_mode(const CacheConfiguration& configuration) {
    if (configuration.mode == CacheMode::read_write) return {};
    return fail(ErrorCode::invalid_argument, "KILN_CACHE is {}, and this would write to the user's directory; allowed is rw",
                configuration.mode == CacheMode::off ? "off" : "ro");
}

}  // namespace

Result<std::optional<FileDescriptor>> open_own_directory_to_write(const CacheConfiguration& configuration) {
    if (auto allowed = check_mode(configuration); !allowed) return pass_on(allowed);
    return open_own_directory(configuration);
}

Result<FileDescriptor> make_own_directory(const CacheConfiguration& configuration) {
    if (auto allowed = check_mode(configuration); !allowed) return pass_on(allowed);
    if (configuration.directory.empty()) return fail(ErrorCode::bad_file, "{}", configuration.why_no_directory);
    auto directory = OwnDirectory(configuration).make();
    if (!directory) return fail(ErrorCode::bad_file, "{}", directory.error().what);
    return std::move(*directory);
}

std::string own_directory_path(const CacheConfiguration& configuration) {
    return OwnDirectory(configuration).path();
}

}  // namespace kiln
