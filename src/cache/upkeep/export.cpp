// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep/export.hpp"

#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

#include "cache/bundle.hpp"
#include "cache/upkeep/places.hpp"
#include "cache/user_layer.hpp"
#include "support/atomic_file.hpp"
#include "support/hash.hpp"

namespace kiln {
namespace {

tl::unexpected<Failure> cannot_write(const std::string& path, const std::error_code& error) {
    return fail(ErrorCode::bad_file, "{} cannot be written: {}", path, error.message());
}

/// The selected entries that verify, by name; sizes but no offsets yet.
Result<bundle::Index> choose(UserLayer& user, const Selection& selection, ExportResult& result) {
    const std::int64_t now_s = std::time(nullptr);
    bundle::Index index;
    const auto all = user.list([&](const ListedEntry& listed) {
        if (!selection.includes(listed, now_s)) return;
        const auto bytes = user.read(listed.key_name);
        const auto name = parse_hash(listed.key_name);
        if (bytes && name && verify(*bytes, listed.key_name, listed.path)) {
            index.push_back({*name, 0, bytes->size()});
        } else {
            ++result.skipped;
        }
    });
    if (!all && all.error().reason != MissReason::absent) return fail(ErrorCode::bad_file, "{}", all.error().what);
    if (index.empty()) {
        return fail(ErrorCode::invalid_argument, "no kernel of {} is whole and meant: a bundle of none would serve nobody",
                    user.path().empty() ? "the cache" : user.path());
    }
    return index;
}

/// Everything goes through here, so that the trailer can be written.
class BundleWriter {
public:
    explicit BundleWriter(AtomicFile file) : file_(std::move(file)) {}

    Io<void> write(ByteView bytes) {
        hasher_.update(bytes);
        return file_.write(bytes);
    }
    Io<void> finish(const std::string& name) {
        if (auto written = file_.write(hasher_.digest().bytes); !written) return written;
        return file_.commit(name);
    }

private:
    AtomicFile file_;
    Hasher hasher_;
};

}  // namespace

Result<ExportResult> export_bundle(const CacheConfiguration& configuration, const Selection& selection, const std::string& path) {
    const auto own = open_own_directory(configuration);
    if (!own) return tl::unexpected(own.error());
    const std::filesystem::path target(path);
    const std::string name = target.filename().string();
    if (name.empty()) return fail(ErrorCode::invalid_argument, "'{}' is not the name of a file", path);
    const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";

    ExportResult result;
    UserLayer user(configuration);
    auto chosen = choose(user, selection, result);
    if (!chosen) return pass_on(chosen);
    bundle::Index& index = *chosen;
    const auto directory = open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY);
    if (!directory) return cannot_write(path, directory.error());
    if (const auto there = status_at(directory->get(), name, 0); there && !S_ISREG(there->st_mode)) {
        return fail(ErrorCode::bad_file, "{} is not a file, and will not be replaced by one", path);
    }
    auto file = AtomicFile::create(directory->get());
    if (!file) return cannot_write(path, file.error());
    BundleWriter writer(std::move(*file));
    if (const auto written = writer.write(bundle::encode_head(index)); !written) return cannot_write(path, written.error());
    for (const bundle::Record& record : index) {
        const std::string key_name = record.name.hex();
        const auto bytes = user.read(key_name);
        // The index stands before the entries, so they must still be what was chosen.
        if (!bytes || bytes->size() != record.bytes || !verify(*bytes, key_name, user.path())) {
            return fail(ErrorCode::bad_file, "kernel {} was changed or removed while it was exported: export again", key_name);
        }
        if (const auto written = writer.write(*bytes); !written) return cannot_write(path, written.error());
        result.file_bytes += bytes->size();
    }
    if (const auto done = writer.finish(name); !done) return cannot_write(path, done.error());
    if (sys::syncfs(directory->get()) != 0) return cannot_write(path, last_error().value());
    result.entries = index.size();
    result.file_bytes += bundle::header_bytes + index.size() * bundle::record_bytes + bundle::trailer_bytes;
    return result;
}

}  // namespace kiln
