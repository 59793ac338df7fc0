// SPDX-License-Identifier: Apache-2.0
#include "cache/entry_files.hpp"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "cache/layout.hpp"
#include "support/atomic_file.hpp"

namespace kiln::entry_files {
namespace {

constexpr time_t touch_after_s = 3600;

tl::unexpected<Miss> miss(MissReason reason, std::string what) {
    return tl::unexpected(Miss{reason, std::move(what)});
}

Io<FileDescriptor> open_shard(int directory, const std::string& name) {
    return open_at(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/// Never waits: a planted pipe is refused after its fstat.
Io<FileDescriptor> open_entry(int directory, const std::string& key_name) {
    const auto shard = open_shard(directory, layout::shard(key_name));
    if (!shard) return tl::unexpected(shard.error());
    return open_at(shard->get(), layout::entry_file(key_name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

/// As many as can be read, and why there may be more.
std::vector<std::string> sorted_names(int directory, std::error_code& first_error) {
    std::vector<std::string> names;
    const auto read = for_each_name(directory, [&](const std::string& name) { names.push_back(name); });
    if (!read && !first_error) first_error = read.error();
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace

tl::expected<Found, Miss> read(int directory, const std::string& path, const std::string& key_name, const Objection& objection) {
    const auto file_path = [&] { return path + "/" + layout::entry_path(key_name); };
    const auto unreadable = [&](const std::error_code& error) {
        return miss(MissReason::unreadable, fmt::format("{}: {}", file_path(), error.message()));
    };
    auto file = open_entry(directory, key_name);
    if (!file && is(file.error(), std::errc::no_such_file_or_directory)) {
        return miss(MissReason::absent, fmt::format("there is no {}", file_path()));
    }
    if (!file) return unreadable(file.error());
    const auto facts = status(file->get());
    if (!facts) return unreadable(facts.error());
    if (!S_ISREG(facts->st_mode)) return miss(MissReason::damaged, fmt::format("{} is not a file", file_path()));
    if (std::string why = objection(*facts, file_path()); !why.empty()) return miss(MissReason::untrusted, std::move(why));
    const auto size = static_cast<std::uint64_t>(facts->st_size);
    if (size > Entry::maximum_bytes) return miss(MissReason::damaged, fmt::format("{} has {} bytes", file_path(), size));

    // Read, not mapped: a file that shrinks under a mapping kills the process.
    Bytes bytes(size);
    const auto count = read_at(file->get(), bytes, 0);
    if (!count) return unreadable(count.error());
    bytes.resize(*count);
    return Found{std::move(bytes), std::move(*file), *facts};
}

void touch(const Found& found) noexcept {
    const time_t now = std::time(nullptr);
    const time_t last = found.facts.st_mtim.tv_sec;
    if (last <= now && now - last < touch_after_s) return;
    const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
    (void)sys::futimens(found.file.get(), times);
}

Io<void> write(int directory, const std::string& key_name, ByteView bytes) {
    const std::string shard_name = layout::shard(key_name);
    auto shard = open_shard(directory, shard_name);
    if (!shard && is(shard.error(), std::errc::no_such_file_or_directory)) {
        const auto made = make_directory_at(directory, shard_name, 0755);
        if (!made && !is(made.error(), std::errc::file_exists)) return made;
        shard = open_shard(directory, shard_name);
    }
    if (!shard) return tl::unexpected(shard.error());
    auto file = AtomicFile::create(shard->get());
    if (!file) return tl::unexpected(file.error());
    if (auto written = file->write(bytes); !written) return written;
    return file->commit(layout::entry_file(key_name));
}

Io<void> remove(int directory, const std::string& key_name) {
    const auto shard = open_shard(directory, layout::shard(key_name));
    if (!shard) return tl::unexpected(shard.error());
    return remove_at(shard->get(), layout::entry_file(key_name));
}

Io<void> for_each(int directory, const std::function<void(const File&)>& call) {
    std::error_code first_error;
    for (const std::string& shard_name : sorted_names(directory, first_error)) {
        if (!layout::is_shard(shard_name)) continue;
        const auto shard = open_shard(directory, shard_name);
        // A file or a link of that name is nobody's shard; one that was removed meanwhile is empty.
        const auto is_ours = [](const std::error_code& error) {
            return !is(error, std::errc::not_a_directory) && !is(error, std::errc::too_many_symbolic_link_levels) &&
                   !is(error, std::errc::no_such_file_or_directory);
        };
        if (!shard && is_ours(shard.error()) && !first_error) first_error = shard.error();
        if (!shard) continue;
        for (std::string& name : sorted_names(shard->get(), first_error)) {
            std::string key_name(layout::key_name_of_file(shard_name, name));
            if (key_name.empty() && !AtomicFile::is_temporary_name(name)) continue;
            const auto facts = status_at(shard->get(), name);
            if (facts && S_ISREG(facts->st_mode)) call({shard->get(), std::move(name), *facts, std::move(key_name)});
        }
    }
    if (first_error) return tl::unexpected(first_error);
    return {};
}

tl::expected<void, Miss> list(int directory, const std::string& path, const ListFunction& call) {
    Bytes front(Entry::maximum_head_bytes);
    const auto all = for_each(directory, [&](const File& file) {
        if (file.key_name.empty()) return;
        const auto opened = open_at(file.shard, file.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        const auto count = opened ? read_at(opened->get(), front, 0) : tl::unexpected(opened.error());
        auto head = count ? EntryHead::parse(ByteView(front).first(*count))
                          : tl::unexpected(EntryFault{EntryFault::Kind::damaged, count.error().message()});
        const auto size = static_cast<std::uint64_t>(file.facts.st_size);
        if (head && head->file_bytes != size) {
            head = tl::unexpected(
                EntryFault{EntryFault::Kind::damaged, fmt::format("it has {} bytes and should have {}", size, head->file_bytes)});
        }
        call({file.key_name, path + "/" + layout::entry_path(file.key_name), size, file.facts.st_mtim.tv_sec, std::move(head)});
    });
    if (all) return {};
    return miss(MissReason::unreadable, fmt::format("{}: not all of it can be read: {}", path, all.error().message()));
}

}  // namespace kiln::entry_files
