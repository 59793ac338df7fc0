// SPDX-License-Identifier: Apache-2.0
#include "cache/entry_files.hpp"

#include <ctime>
#include <utility>

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

}  // namespace

tl::expected<Found, Miss> read(int directory, const std::string& path, const Key& key, const Objection& objection) {
    const std::string file_path = path + "/" + layout::entry_path(key.name);
    auto file = open_entry(directory, key.name);
    if (!file && is(file.error(), std::errc::no_such_file_or_directory)) {
        return miss(MissReason::absent, fmt::format("there is no {}", file_path));
    }
    if (!file) return miss(MissReason::unreadable, fmt::format("{}: {}", file_path, file.error().message()));
    const auto facts = status(file->get());
    if (!facts) return miss(MissReason::unreadable, fmt::format("{}: {}", file_path, facts.error().message()));
    if (!S_ISREG(facts->st_mode)) return miss(MissReason::damaged, fmt::format("{} is not a file", file_path));
    if (std::string why = objection(*facts, file_path); !why.empty()) return miss(MissReason::untrusted, std::move(why));
    const auto size = static_cast<std::uint64_t>(facts->st_size);
    if (size > Entry::maximum_bytes) return miss(MissReason::damaged, fmt::format("{} has {} bytes", file_path, size));

    // Read, not mapped: a file that shrinks under a mapping kills the process.
    Bytes bytes(size);
    const auto count = read_at(file->get(), bytes, 0);
    if (!count) return miss(MissReason::unreadable, fmt::format("{}: {}", file_path, count.error().message()));
    auto entry = Entry::parse(ByteView(bytes).first(*count));
    if (!entry) {
        const bool other = entry.error().kind == EntryFault::Kind::other_version;
        return miss(other ? MissReason::other_version : MissReason::damaged,
                    fmt::format("{} cannot be used: {}", file_path, entry.error().what));
    }
    if (entry->key.text != key.text) return miss(MissReason::other_key, fmt::format("{} holds another kernel", file_path));
    return Found{std::move(*entry), std::move(*file), *facts};
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

void for_each(int directory, const std::function<void(int shard, const File&)>& call) {
    constexpr int shards = 256;
    for (int number = 0; number < shards; ++number) {
        const std::string name = fmt::format("{:02x}", number);
        const auto shard = open_shard(directory, name);
        if (!shard) continue;
        (void)for_each_name(shard->get(), [&](const std::string& file_name) {
            const std::string_view key_name = layout::key_name_of_file(name, file_name);
            if (key_name.empty()) return;
            const auto facts = status_at(shard->get(), file_name);
            if (facts && S_ISREG(facts->st_mode)) call(shard->get(), File{std::string(key_name), *facts});
        });
    }
}

}  // namespace kiln::entry_files
