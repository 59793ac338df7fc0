// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cache/bundle.hpp"
#include "cache/upkeep/directory_stats.hpp"
#include "cache/upkeep/export.hpp"
#include "cache/upkeep/import.hpp"
#include "cache/upkeep/prune.hpp"
#include "cache/upkeep/verify.hpp"
#include "support/captured_log.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/sample_kernel.hpp"

using namespace kiln;
using test::CapturedLog;
using test::configuration_in;
using test::entry_path;
using test::fill;
using test::no_compiler;
using test::own_name;
using test::sample_request;
using test::TemporaryDirectory;

namespace {

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void set_age_s(const std::string& path, time_t age_s) {
    const timespec times[2] = {{0, UTIME_OMIT}, {std::time(nullptr) - age_s, 0}};
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

/// Kernels 0 … count − 1; number n was used 1,000 · (count − n) seconds ago.
struct Filled {
    explicit Filled(int count) : configuration(configuration_in(temporary)) {
        fill(configuration, count);
        for (int i = 0; i < count; ++i) set_age_s(path(i), 1000 * (count - i));
    }
    [[nodiscard]] std::string path(int number) const { return entry_path(temporary.path(), sample_request(number)); }
    [[nodiscard]] bool has(int number) const { return std::filesystem::exists(path(number)); }

    TemporaryDirectory temporary;
    CacheConfiguration configuration;
};

void put(const CacheConfiguration& configuration, const KernelRequest& request, const test::CubinFacts& cubin) {
    KernelCache cache(configuration);
    REQUIRE(cache.obtain(request, [&] { return Result<CompiledKernel>(CompiledKernel{test::build_cubin(cubin), 1}); }));
}

/// An entry of another format version in the place of a kernel.
void make_other_version(const std::string& path) {
    std::string bytes = content(path);
    bytes[8] = 99;
    overwrite(path, bytes);
}

}  // namespace

TEST_CASE("what the directories hold is counted by arch and toolchain") {
    const Filled filled(3);
    KernelRequest older = sample_request(7);
    older.arch = Arch::sm_80;
    put(filled.configuration, older, {.arch_number = 80, .arch_suffix = "", .toolchain = "12.9.1"});
    make_other_version(filled.path(0));
    overwrite(filled.path(1), "damage");
    const auto places = directory_stats(filled.configuration);
    REQUIRE(places.size() == 1);
    const PlaceStats& stats = places.front();
    CHECK(stats.path == filled.temporary / own_name());
    CHECK(stats.origin == Origin::user);
    CHECK(stats.problem.empty());
    CHECK(stats.all.entries == 4);
    CHECK(stats.damaged.entries == 1);
    CHECK(stats.damaged.bytes == 6);
    CHECK(stats.other_versions.entries == 1);
    CHECK(stats.by_arch.at("sm_90a").entries == 1);
    CHECK(stats.by_arch.at("sm_80").entries == 1);
    CHECK(stats.by_toolchain.at("13.0.88").entries == 1);
    CHECK(stats.by_toolchain.at("12.9.1").entries == 1);
    CHECK(stats.oldest_use_s < stats.newest_use_s);
}

TEST_CASE("a directory that is not there yet holds nothing, one that cannot be used says why") {
    const TemporaryDirectory temporary;
    CHECK(directory_stats(configuration_in(temporary)).front().problem.empty());
    CHECK_FALSE(directory_stats(configuration_in("/dev/null")).front().problem.empty());
    CacheConfiguration nowhere;
    nowhere.why_no_directory = "HOME is not set";
    CHECK(directory_stats(nowhere).front().problem == "HOME is not set");
    CHECK_FALSE(prune(nowhere, {}));
    CHECK_FALSE(import_bundle(nowhere, "/dev/null"));
}

TEST_CASE("prune removes what is selected") {
    const Filled filled(4);
    KernelRequest older = sample_request(7);
    older.arch = Arch::sm_80;
    put(filled.configuration, older, {.arch_number = 80, .arch_suffix = "", .toolchain = "12.9.1"});
    PruneOptions options;
    SECTION("by age") {
        options.selection.unused_for_s = 2500;
        CHECK(prune(filled.configuration, options)->removed == 2);
        CHECK((!filled.has(0) && !filled.has(1) && filled.has(2) && filled.has(3)));
    }
    SECTION("by use") {
        options.selection.used_within_s = 2500;
        CHECK(prune(filled.configuration, options)->removed == 3);
    }
    SECTION("by arch") {
        options.selection.arch = "sm_80";
        CHECK(prune(filled.configuration, options)->removed == 1);
        CHECK_FALSE(std::filesystem::exists(entry_path(filled.temporary.path(), older)));
    }
    SECTION("by toolchain, whole or its beginning") {
        options.selection.toolchain = "13.0.8";
        CHECK(prune(filled.configuration, options)->removed == 0);
        options.selection.toolchain = "12.9.1";
        CHECK(prune(filled.configuration, options)->removed == 1);
        options.selection.toolchain = "13";
        CHECK(prune(filled.configuration, options)->removed == 4);
    }
    SECTION("by size") {
        options.selection.minimum_bytes = 100'000;
        CHECK(prune(filled.configuration, options)->removed == 0);
        options.selection.minimum_bytes = 100;
        CHECK(prune(filled.configuration, options)->removed == 5);
    }
    SECTION("by format") {
        make_other_version(filled.path(2));
        options.selection.other_formats_only = true;
        CHECK(prune(filled.configuration, options)->removed == 1);
        CHECK_FALSE(filled.has(2));
    }
    SECTION("by conditions that must all hold") {
        options.selection.arch = "sm_90a";
        options.selection.unused_for_s = 3500;
        CHECK(prune(filled.configuration, options)->removed == 1);
        CHECK_FALSE(filled.has(0));
    }
    SECTION("down to a size, what was used longest ago first") {
        const auto before = prune(filled.configuration, {{}, std::nullopt, true});
        options.target_bytes = before->bytes - 1;
        const auto result = prune(filled.configuration, options);
        CHECK(result->removed == 1);
        CHECK(result->removed_bytes > 0);
        CHECK_FALSE(filled.has(0));
    }
    SECTION("nothing in a dry run, which still says what") {
        options.dry_run = true;
        options.selection.arch = "sm_90a";
        std::vector<std::string> seen;
        CHECK(prune(filled.configuration, options, [&](const ListedEntry& entry) { seen.push_back(entry.key_name); })->removed ==
              4);
        CHECK(seen.size() == 4);
        CHECK(std::is_sorted(seen.begin(), seen.end()));
        CHECK(filled.has(0));
        options.dry_run = false;
        CHECK(prune(filled.configuration, options, [&](const ListedEntry& entry) { seen.push_back(entry.key_name); })->removed ==
              4);
        CHECK(seen.size() == 8);
        CHECK_FALSE(filled.has(0));
    }
}

TEST_CASE("clear removes entries and temporaries, and nothing that is not ours") {
    const Filled filled(3);
    const auto shard = std::filesystem::path(filled.path(0)).parent_path();
    overwrite(filled.path(1), "damage");
    overwrite(shard / "tmp.0123456789abcdef", "x");
    overwrite(shard / "mine.txt", "x");
    const auto result = clear(filled.configuration);
    REQUIRE(result);
    CHECK(result->removed == 3);
    CHECK_FALSE(std::filesystem::exists(shard / "tmp.0123456789abcdef"));
    CHECK(std::filesystem::exists(shard / "mine.txt"));
    CHECK(std::filesystem::exists(filled.temporary / own_name() / "lock"));
    CHECK(clear(filled.configuration)->entries == 0);
}

TEST_CASE("verify finds every kind of damage, and repair removes it so that it can be made anew") {
    const Filled filled(6);
    CHECK(verify_cache(filled.configuration, false)->problems == 0);
    make_other_version(filled.path(0));
    std::string bytes = content(filled.path(1));
    bytes[bytes.size() / 2] ^= 1;
    overwrite(filled.path(1), bytes);
    overwrite(filled.path(2), "");
    const std::string misnamed = entry_path(filled.temporary.path(), sample_request(77));
    std::filesystem::create_directories(std::filesystem::path(misnamed).parent_path());
    std::filesystem::copy_file(filled.path(3), misnamed);
    KernelRequest wrong_arch = sample_request(78);
    wrong_arch.arch = Arch::sm_80;
    put(filled.configuration, wrong_arch, {});  // whose cubin is for sm_90a
    KernelRequest no_cubin = sample_request(79);
    {
        KernelCache cache(filled.configuration);
        REQUIRE(cache.obtain(no_cubin, [] { return Result<CompiledKernel>(CompiledKernel{test::bytes_of("no ELF file"), 1}); }));
    }
    std::vector<std::string> paths;
    const auto found = verify_cache(filled.configuration, false, [&](const VerifyProblem& problem) {
        paths.push_back(problem.path);
        CHECK_FALSE(problem.what.empty());
    });
    REQUIRE(found);
    CHECK(found->entries == 9);
    CHECK(found->other_versions == 1);
    CHECK(found->problems == 5);
    CHECK(found->repaired == 0);
    const auto repaired = verify_cache(filled.configuration, true);
    CHECK(repaired->problems == 5);
    CHECK(repaired->repaired == 5);
    for (const std::string& path : paths) CHECK_FALSE(std::filesystem::exists(path));
    CHECK(verify_cache(filled.configuration, false)->problems == 0);
    CHECK(filled.has(3));
}

TEST_CASE("verify looks into layers, and repairs nothing there") {
    const Filled filled(2);
    overwrite(filled.path(1), "damage");
    const TemporaryDirectory user;
    CacheConfiguration configuration = configuration_in(user);
    configuration.layers = {filled.temporary / own_name(), "/nowhere/at/all"};
    const auto found = verify_cache(configuration, true);
    REQUIRE(found);
    CHECK(found->problems == 2);
    CHECK(found->repaired == 0);
    CHECK(filled.has(1));
}

TEST_CASE("what cannot be read or removed is told, and not taken for empty or done") {
    // Root may do everything, so it steps aside.
    const TemporaryDirectory out;
    REQUIRE(chmod(out.path().c_str(), 0777) == 0);
    const auto child = test::run_forked([&] {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1;
        const CacheConfiguration configuration = configuration_in(out / "cache");
        std::filesystem::create_directory(out / "cache");
        fill(configuration, 2);
        const std::string shard = std::filesystem::path(entry_path(out / "cache", sample_request(0))).parent_path();
        if (chmod(shard.c_str(), 0555) != 0) return 2;
        const auto pruned = prune(configuration, {});
        if (!pruned || pruned->kept == 0 || pruned->problem.empty() || pruned->removed + pruned->kept != 2) return 3;
        const auto cleared = clear(configuration);
        if (!cleared || cleared->kept == 0 || cleared->problem.empty()) return 4;
        if (chmod(shard.c_str(), 0) != 0) return 5;
        if (export_bundle(configuration, {}, out / "bundle")) return 6;
        if (verify_cache(configuration, false)->problems != 1) return 7;
        if (clear(configuration)->problem.empty()) return 8;
        return chmod(shard.c_str(), 0755) == 0 ? 0 : 9;
    });
    INFO(child.output);
    CHECK(child.status == 0);
}

TEST_CASE("a cache that is not to be written to keeps what it has") {
    Filled filled(2);
    const TemporaryDirectory out;
    REQUIRE(export_bundle(filled.configuration, {}, out / "bundle"));
    for (const CacheMode mode : {CacheMode::read_only, CacheMode::off}) {
        filled.configuration.mode = mode;
        CHECK(clear(filled.configuration).error().code == ErrorCode::invalid_argument);
        CHECK(prune(filled.configuration, {}).error().code == ErrorCode::invalid_argument);
        CHECK(verify_cache(filled.configuration, true).error().code == ErrorCode::invalid_argument);
        CHECK(import_bundle(filled.configuration, out / "bundle").error().code == ErrorCode::invalid_argument);
        CHECK(verify_cache(filled.configuration, false)->problems == 0);
    }
    CHECK(filled.has(0));
    CHECK(filled.has(1));
}

TEST_CASE("a bundle is verified where there is no directory of the user's") {
    const Filled filled(1);
    const TemporaryDirectory out;
    REQUIRE(export_bundle(filled.configuration, {}, out / "bundle"));
    CacheConfiguration configuration;
    configuration.layers = {out / "bundle"};
    configuration.why_no_directory = "HOME is not set";
    CHECK(verify_cache(configuration, false)->entries == 1);
    CHECK(verify_cache(configuration, false)->problems == 0);
}

TEST_CASE("verify notices any byte of a bundle that is altered") {
    const Filled filled(2);
    const TemporaryDirectory out;
    REQUIRE(export_bundle(filled.configuration, {}, out / "bundle"));
    const std::string good = content(out / "bundle");
    CacheConfiguration configuration = configuration_in(out / "cache");
    configuration.layers = {out / "bundle"};
    CHECK(verify_cache(configuration, false)->problems == 0);
    for (std::size_t place = 0; place < good.size(); ++place) {
        std::string altered = good;
        altered[place] = static_cast<char>(altered[place] ^ 0x10);
        overwrite(out / "bundle", altered);
        INFO(place);
        CHECK(verify_cache(configuration, false)->problems == 1);
    }
}

TEST_CASE("what is exported can be imported, and the same entries give the same bytes") {
    const Filled filled(5);
    const TemporaryDirectory out;
    const auto first = export_bundle(filled.configuration, {}, out / "first");
    REQUIRE(first);
    CHECK(first->entries == 5);
    CHECK(first->file_bytes == std::filesystem::file_size(out / "first"));
    for (int i = 0; i < 5; ++i) set_age_s(filled.path(i), 5 + i);
    REQUIRE(export_bundle(filled.configuration, {}, out / "second"));
    CHECK(content(out / "first") == content(out / "second"));
    CHECK(std::distance(std::filesystem::directory_iterator(out.path()), {}) == 2);

    const CacheConfiguration other = configuration_in(out / "cache");
    const auto imported = import_bundle(other, out / "first");
    REQUIRE(imported);
    CHECK(imported->imported == 5);
    CHECK(imported->refused.empty());
    CHECK(import_bundle(other, out / "first")->already_there == 5);
    KernelCache cache(other);
    for (int i = 0; i < 5; ++i) CHECK(cache.obtain(sample_request(i), no_compiler())->origin == Origin::user);
    REQUIRE(export_bundle(other, {}, out / "third"));
    CHECK(content(out / "first") == content(out / "third"));
}

TEST_CASE("export takes what is selected and whole, and replaces a bundle at once") {
    const Filled filled(4);
    overwrite(filled.path(0), "damage");
    make_other_version(filled.path(1));
    const TemporaryDirectory out;
    overwrite(out / "bundle", "old");
    Selection selection;
    const auto all = export_bundle(filled.configuration, selection, out / "bundle");
    REQUIRE(all);
    CHECK(all->entries == 2);
    CHECK(all->skipped == 2);
    selection.unused_for_s = 1500;
    CHECK(export_bundle(filled.configuration, selection, out / "bundle")->entries == 1);
    const std::string good = content(out / "bundle");
    CHECK(export_bundle(configuration_in(out / "empty"), {}, out / "bundle").error().code == ErrorCode::invalid_argument);
    CHECK(content(out / "bundle") == good);
    CHECK(export_bundle(filled.configuration, {}, out / "no/such/folder/bundle").error().code == ErrorCode::bad_file);
    CHECK_FALSE(export_bundle(filled.configuration, {}, ""));
    REQUIRE(mkfifo((out / "pipe").c_str(), 0644) == 0);
    CHECK_FALSE(export_bundle(filled.configuration, {}, out / "pipe"));
    CHECK_FALSE(export_bundle(filled.configuration, {}, out.path()));
    CHECK(std::filesystem::is_fifo(out / "pipe"));
}

TEST_CASE("import takes in nothing that fails a check, and the rest") {
    const Filled filled(3);
    KernelRequest wrong_arch = sample_request(78);
    wrong_arch.arch = Arch::sm_80;
    put(filled.configuration, wrong_arch, {});
    const TemporaryDirectory out;
    REQUIRE(export_bundle(filled.configuration, {}, out / "bundle"));
    std::string bytes = content(out / "bundle");
    const auto index = bundle::read_index(open_at(AT_FDCWD, out / "bundle", O_RDONLY)->get());
    REQUIRE(index);
    const std::string damaged = make_key(sample_request(1)).name;
    for (const auto& record : *index) {
        if (record.name.hex() == damaged) bytes[record.offset + record.bytes / 2] ^= 1;
    }
    overwrite(out / "bundle", bytes);
    const CapturedLog log;
    const CacheConfiguration other = configuration_in(out / "cache");
    const auto result = import_bundle(other, out / "bundle");
    REQUIRE(result);
    CHECK(result->imported == 2);
    REQUIRE(result->refused.size() == 2);
    CHECK(log.count("is not taken in") == 2);
    KernelCache cache(other);
    CHECK(cache.look(sample_request(0)).origin == Origin::user);
    CHECK_FALSE(cache.look(sample_request(1)).origin);
    CHECK_FALSE(cache.look(wrong_arch).origin);
}

TEST_CASE("what is no bundle is an error that names it") {
    const TemporaryDirectory out;
    overwrite(out / "file", "not a bundle");
    for (const std::string& path :
         {std::string(out / "file"), std::string(out / "absent"), out.path().string(), std::string("/dev/zero")}) {
        CAPTURE(path);
        const auto result = import_bundle(configuration_in(out / "cache"), path);
        REQUIRE_FALSE(result);
        CHECK(result.error().code == ErrorCode::bad_file);
        CHECK(result.error().message.find(path) != std::string::npos);
    }
}
