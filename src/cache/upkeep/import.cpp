// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep/import.hpp"

#include <utility>

#include "cache/bundle.hpp"
#include "cache/cubin_check.hpp"
#include "cache/entry_files.hpp"
#include "cache/eviction.hpp"
#include "cache/layer.hpp"
#include "cache/own_directory.hpp"
#include "cache/upkeep/places.hpp"
#include "support/log.hpp"

namespace kiln {
namespace {

/// Why an entry is not taken in; empty if it may be.
std::string objection_to_entry(ByteView bytes, const std::string& key_name) {
    const auto entry = verify(bytes, key_name, fmt::format("entry {}", key_name));
    if (!entry) return entry.error().what;
    const auto key = parse_key(entry->key.text);
    return objection_to_cubin(entry->cubin, key ? key->arch : std::string_view());
}

struct OpenBundle {
    FileDescriptor file;
    bundle::Index index;
};

Result<OpenBundle> open_bundle(const std::string& path) {
    auto file = open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file) return fail(ErrorCode::bad_file, "{}: {}", path, file.error().message());
    const auto facts = status(file->get());
    if (!facts) return fail(ErrorCode::bad_file, "{}: {}", path, facts.error().message());
    if (!S_ISREG(facts->st_mode)) return fail(ErrorCode::bad_file, "{} is not a file", path);
    auto index = bundle::read_index(file->get());
    if (!index) return fail(ErrorCode::bad_file, "{} is not a bundle that can be used: {}", path, index.error().what);
    return OpenBundle{std::move(*file), std::move(*index)};
}

}  // namespace

Result<ImportResult> import_bundle(const CacheConfiguration& configuration, const std::string& path) {
    auto bundle = open_bundle(path);
    if (!bundle) return pass_on(bundle);
    auto directory = make_own_directory(configuration);
    if (!directory) return pass_on(directory);
    const OwnDirectory own(configuration);
    SizeLimit size_limit(configuration.maximum_bytes);

    ImportResult result;
    for (const bundle::Record& record : bundle->index) {
        const std::string key_name = record.name.hex();
        const auto bytes = bundle::read_entry(bundle->file.get(), record);
        std::string why = bytes ? objection_to_entry(*bytes, key_name) : bytes.error().message();
        if (!why.empty()) {
            log::warning("kernel {} of {} is not taken in: {}", key_name, path, why);
            result.refused.push_back({key_name, std::move(why)});
            continue;
        }
        const auto there = entry_files::read(directory->get(), own.path(), key_name, own.objection());
        if (there && there->bytes == *bytes) {
            ++result.already_there;
            continue;
        }
        if (const auto written = entry_files::write(directory->get(), key_name, *bytes); !written) {
            return fail(ErrorCode::bad_file, "{} cannot be written to: {} ({} kernels were imported before)", own.path(),
                        written.error().message(), result.imported);
        }
        ++result.imported;
        size_limit.after_publish(directory->get(), bytes->size());
    }
    if (sys::syncfs(directory->get()) != 0)
        return fail(ErrorCode::bad_file, "{}: {}", own.path(), last_error().value().message());
    return result;
}

}  // namespace kiln
