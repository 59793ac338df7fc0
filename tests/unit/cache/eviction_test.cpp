// SPDX-License-Identifier: Apache-2.0
#include "cache/eviction.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "cache/counters.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/sample_kernel.hpp"

using namespace kiln;
using test::configuration_in;
using test::entry_path;
using test::fill;
using test::own_name;
using test::sample_request;
using test::TemporaryDirectory;

namespace {

void set_age_s(const std::string& path, time_t age_s) {
    const timespec times[2] = {{0, UTIME_OMIT}, {std::time(nullptr) - age_s, 0}};
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

struct FilledCache {
    explicit FilledCache(int count) {
        fill(configuration_in(temporary), count);
        for (int i = 0; i < count; ++i) set_age_s(path(i), 100 * (count - i));  // 0 is the oldest
        directory = std::move(*open_at(AT_FDCWD, temporary / own_name(), O_RDONLY | O_DIRECTORY));
    }
    [[nodiscard]] std::string path(int number) const { return entry_path(temporary.path(), sample_request(number)); }
    [[nodiscard]] bool has(int number) const { return std::filesystem::exists(path(number)); }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const auto& each : std::filesystem::recursive_directory_iterator(temporary / own_name())) {
            if (each.is_regular_file()) sum += each.file_size();
        }
        return sum;
    }

    TemporaryDirectory temporary;
    FileDescriptor directory;
};

}  // namespace

TEST_CASE("a directory within its size loses nothing") {
    const FilledCache cache(4);
    const auto result = sweep(cache.directory.get(), cache.bytes(), 0);
    CHECK(result.entries == 4);
    CHECK(result.bytes == cache.bytes());
    CHECK(result.evicted == 0);
}

TEST_CASE("what was used longest ago goes first, until the target is reached") {
    const FilledCache cache(5);
    set_age_s(cache.path(0), 0);  // used just now
    const std::uint64_t each = std::filesystem::file_size(cache.path(0));
    const auto result = sweep(cache.directory.get(), 5 * each - 1, 3 * each);
    CHECK(result.evicted == 2);
    CHECK(result.evicted_bytes == 2 * each);
    CHECK(cache.has(0));
    CHECK_FALSE(cache.has(1));
    CHECK_FALSE(cache.has(2));
    CHECK(cache.has(3));
    CHECK(cache.has(4));
}

TEST_CASE("after a clock was set back, what nobody has used since goes first") {
    const FilledCache cache(3);
    set_age_s(cache.path(2), -1'000'000);
    (void)sweep(cache.directory.get(), cache.bytes() - 1, cache.bytes() - 1);
    CHECK_FALSE(cache.has(2));
    CHECK(cache.has(0));
}

TEST_CASE("only names that are ours go, and of temporaries only what was left behind") {
    const FilledCache cache(1);
    const auto shard = std::filesystem::path(cache.path(0)).parent_path();
    const auto plant = [&](const std::string& name, time_t age_s) {
        std::ofstream(shard / name) << std::string(1000, 'x');
        set_age_s(shard / name, age_s);
    };
    plant("notes.txt", 1'000'000);
    plant("tmp.0123456789abcdef", 1'000'000);
    plant("tmp.0123456789abcdee", -1'000'000);
    plant("tmp.0123456789abcded", 10);
    plant("ffffffffffffffffffffffffffffffff.kiln", 1'000'000);  // an entry's name, but not of this shard
    std::ofstream(cache.temporary / own_name() / "notes.kiln") << "x";
    const auto result = sweep(cache.directory.get(), 0, 0);
    CHECK(result.evicted == 1);
    CHECK(result.temporaries_removed == 2);
    CHECK(std::filesystem::exists(shard / "notes.txt"));
    CHECK(std::filesystem::exists(shard / "tmp.0123456789abcded"));
    CHECK(std::filesystem::exists(shard / "ffffffffffffffffffffffffffffffff.kiln"));
    CHECK(std::filesystem::exists(cache.temporary / own_name() / "notes.kiln"));
}

TEST_CASE("a shard that is a link is not followed") {
    const FilledCache cache(1);
    const TemporaryDirectory elsewhere;
    const std::string name = "00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.kiln";
    std::ofstream(elsewhere / name) << "x";
    const auto link = std::filesystem::path(cache.temporary / own_name()) / "00";
    std::filesystem::remove_all(link);
    std::filesystem::create_directory_symlink(elsewhere.path(), link);
    (void)sweep(cache.directory.get(), 0, 0);
    CHECK(std::filesystem::exists(elsewhere / name));
}

TEST_CASE("a cache keeps itself under its size as it is filled") {
    const TemporaryDirectory temporary;
    CacheConfiguration configuration = configuration_in(temporary);
    fill(configuration, 1);
    const std::uint64_t each = std::filesystem::file_size(entry_path(temporary.path(), sample_request(0)));
    configuration.maximum_bytes = 10 * each;
    const auto evicted = cache_stats().evicted;
    fill(configuration, 40);
    std::uint64_t left = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(temporary / own_name())) {
        left += file.is_regular_file() ? file.file_size() : 0;
    }
    CHECK(left <= configuration.maximum_bytes);
    CHECK(left >= configuration.maximum_bytes / 2);
    CHECK(cache_stats().evicted - evicted == 40 - left / each);
}

TEST_CASE("a maximum of nothing means no limit") {
    const TemporaryDirectory temporary;
    CacheConfiguration configuration = configuration_in(temporary);
    configuration.maximum_bytes = 0;
    fill(configuration, 5);
    for (int i = 0; i < 5; ++i) CHECK(std::filesystem::exists(entry_path(temporary.path(), sample_request(i))));
}
