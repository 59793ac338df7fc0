// SPDX-License-Identifier: Apache-2.0
#include "cache/kernel_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/sample_kernel.hpp"
#include "support/temporary_directory.hpp"

using namespace kiln;
using test::bytes_of;
using test::Compiler;
using test::configuration_in;
using test::entry_path;
using test::no_compiler;
using test::own_name;
using test::sample_cubin;
using test::sample_request;
using test::TemporaryDirectory;

TEST_CASE("a kernel is compiled once, then comes from memory, then from the disk") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache cache(configuration_in(directory));
    const auto compiled = cache.obtain(sample_request(), compiler.function());
    REQUIRE(compiled);
    CHECK(compiled->origin == Origin::compiled);
    CHECK(compiled->compile_ms == 12.5);
    CHECK_FALSE(compiled->miss_reason.empty());
    CHECK(compiled->on_disk);
    CHECK(compiled->publish_error.empty());
    CHECK(*compiled->cubin == sample_cubin());

    const auto again = cache.obtain(sample_request(), no_compiler());
    REQUIRE(again);
    CHECK(again->origin == Origin::memory);
    CHECK(again->cubin == compiled->cubin);
    CHECK(again->compile_ms == 0);
    CHECK(again->miss_reason.empty());

    KernelCache next_process(configuration_in(directory));
    const auto from_disk = next_process.obtain(sample_request(), no_compiler());
    REQUIRE(from_disk);
    CHECK(from_disk->origin == Origin::user);
    CHECK(*from_disk->cubin == sample_cubin());
    CHECK(from_disk->on_disk);
    CHECK(compiler.calls == 1);
}

TEST_CASE("files are for all to read and the owner to write, and nothing else is left") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache cache(configuration_in(directory));
    REQUIRE(cache.obtain(sample_request(), compiler.function()));
    struct stat facts {};
    const std::string path = entry_path(directory.path(), sample_request());
    REQUIRE(stat(path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0133) == 0);
    const auto shard = std::filesystem::path(path).parent_path();
    CHECK(std::distance(std::filesystem::directory_iterator(shard), {}) == 1);
}

TEST_CASE("a damaged entry is a miss, and the next publish mends it") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache first(configuration_in(directory));
    REQUIRE(first.obtain(sample_request(), compiler.function()));
    const std::string path = entry_path(directory.path(), sample_request());
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);

    KernelCache second(configuration_in(directory));
    CHECK_FALSE(second.look(sample_request()).origin);
    const auto mended = second.obtain(sample_request(), compiler.function());
    REQUIRE(mended);
    CHECK(mended->origin == Origin::compiled);
    CHECK(mended->miss_reason.find(path) != std::string::npos);

    KernelCache third(configuration_in(directory));
    CHECK(third.obtain(sample_request(), no_compiler())->origin == Origin::user);
}

TEST_CASE("an entry under the name of another is not believed") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache first(configuration_in(directory));
    KernelRequest other = sample_request();
    other.source = "another source";
    REQUIRE(first.obtain(other, compiler.function()));
    const std::string path = entry_path(directory.path(), sample_request());
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::copy_file(entry_path(directory.path(), other), path);
    KernelCache second(configuration_in(directory));
    CHECK(second.obtain(sample_request(), compiler.function())->origin == Origin::compiled);
}

TEST_CASE("what is planted under an entry's name does no harm") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache first(configuration_in(directory));
    REQUIRE(first.obtain(sample_request(), compiler.function()));
    const std::string path = entry_path(directory.path(), sample_request());
    std::filesystem::remove(path);
    SECTION("a pipe, which would block who opens it") {
        REQUIRE(mkfifo(path.c_str(), 0644) == 0);
    }
    SECTION("a directory") {
        std::filesystem::create_directory(path);
    }
    SECTION("a link") {
        std::filesystem::create_symlink("/etc/passwd", path);
    }
    SECTION("an empty file") {
        std::ofstream{path};
    }
    SECTION("a file that others can write to") {
        std::ofstream{path} << "x";
        REQUIRE(chmod(path.c_str(), 0666) == 0);
    }
    KernelCache second(configuration_in(directory));
    const auto kernel = second.obtain(sample_request(), compiler.function());
    REQUIRE(kernel);
    CHECK(kernel->origin == Origin::compiled);
}

TEST_CASE("a failed compile is kept nowhere, and its log reaches every waiter") {
    const TemporaryDirectory directory;
    KernelCache cache(configuration_in(directory));
    std::atomic<int> calls{0};
    std::atomic<int> logs{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            const auto failed = cache.obtain(sample_request(), [&]() -> Result<CompiledKernel> {
                ++calls;
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                return tl::unexpected(Failure{ErrorCode::compile_failed, "no", 6, "line 1: the reason"});
            });
            if (!failed && failed.error().log == "line 1: the reason") ++logs;
        });
    }
    threads.clear();
    CHECK(calls == 1);
    CHECK(logs == 4);
    CHECK_FALSE(cache.look(sample_request()).origin);
    Compiler compiler;
    CHECK(cache.obtain(sample_request(), compiler.function())->origin == Origin::compiled);
}

TEST_CASE("threads that ask at the same time share one compile") {
    const TemporaryDirectory directory;
    KernelCache cache(configuration_in(directory));
    std::atomic<int> calls{0};
    std::atomic<int> from_memory{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            const auto kernel = cache.obtain(sample_request(), [&]() -> Result<CompiledKernel> {
                ++calls;
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                return CompiledKernel{sample_cubin(), 1};
            });
            if (kernel && kernel->origin == Origin::memory) ++from_memory;
        });
    }
    threads.clear();
    CHECK(calls == 1);
    CHECK(from_memory == 7);
}

TEST_CASE("a directory that cannot be used leaves a working model and says why") {
    const TemporaryDirectory directory;
    std::ofstream(directory / "file") << "not a directory";
    CacheConfiguration configuration;
    configuration.directory = directory / "file/below";
    Compiler compiler;
    KernelCache cache(configuration);
    const auto kernel = cache.obtain(sample_request(), compiler.function());
    REQUIRE(kernel);
    CHECK_FALSE(kernel->on_disk);
    CHECK(kernel->publish_error.find(configuration.directory) != std::string::npos);
    CHECK(cache.obtain(sample_request(), no_compiler())->origin == Origin::memory);
}

TEST_CASE("modes: read-only takes and does not write, off does neither") {
    const TemporaryDirectory directory;
    Compiler compiler;
    CacheConfiguration configuration = configuration_in(directory);
    configuration.mode = CacheMode::read_only;
    {
        KernelCache cache(configuration);
        CHECK_FALSE(cache.obtain(sample_request(), compiler.function())->on_disk);
        CHECK(std::filesystem::is_empty(directory.path()));
    }
    KernelCache filler(configuration_in(directory));
    REQUIRE(filler.obtain(sample_request(), compiler.function()));
    {
        KernelCache cache(configuration);
        CHECK(cache.obtain(sample_request(), no_compiler())->origin == Origin::user);
    }
    configuration.mode = CacheMode::off;
    KernelCache off(configuration);
    CHECK(off.obtain(sample_request(), compiler.function())->origin == Origin::compiled);
}

TEST_CASE("strict mode compiles nothing") {
    const TemporaryDirectory directory;
    CacheConfiguration configuration = configuration_in(directory);
    configuration.strict = true;
    KernelCache cache(configuration);
    const auto missing = cache.obtain(sample_request(), no_compiler());
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ErrorCode::not_cached);
}

TEST_CASE("an exact toolchain is part of the key") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache first(configuration_in(directory), "build-id-1");
    REQUIRE(first.obtain(sample_request(), compiler.function()));
    KernelCache same(configuration_in(directory), "build-id-1");
    CHECK(same.obtain(sample_request(), no_compiler())->origin == Origin::user);
    KernelCache other(configuration_in(directory), "build-id-2");
    CHECK(other.obtain(sample_request(), compiler.function())->origin == Origin::compiled);
}

TEST_CASE("a cubin that the driver refuses is a miss here and stays for others") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache filler(configuration_in(directory));
    const auto filled = filler.obtain(sample_request(), compiler.function());
    REQUIRE(filled);

    KernelCache old_driver(configuration_in(directory));
    const auto refused = old_driver.obtain(sample_request(), no_compiler());
    REQUIRE(refused);
    old_driver.refused(refused->key, *refused->cubin);
    const auto fresh = old_driver.obtain(sample_request(), []() -> Result<CompiledKernel> {
        return CompiledKernel{bytes_of("an older cubin"), 1};
    });
    REQUIRE(fresh);
    CHECK(fresh->origin == Origin::compiled);
    CHECK(*fresh->cubin == bytes_of("an older cubin"));
    CHECK_FALSE(fresh->on_disk);

    KernelCache new_driver(configuration_in(directory));
    CHECK(*new_driver.obtain(sample_request(), no_compiler())->cubin == sample_cubin());
}

TEST_CASE("what is in memory only can be put on disk later") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache cache(configuration_in(directory));
    REQUIRE(cache.obtain(sample_request(), compiler.function()));
    std::filesystem::remove_all(directory / own_name());
    const auto kept = cache.obtain_on_disk(sample_request(), no_compiler());
    REQUIRE(kept);
    CHECK(kept->on_disk);
    KernelCache next(configuration_in(directory));
    CHECK(next.obtain(sample_request(), no_compiler())->origin == Origin::user);
}

TEST_CASE("one object per distinct configuration") {
    const TemporaryDirectory directory;
    CacheOptions options;
    options.directory = directory.path();
    const auto first = KernelCache::open(options);
    const auto second = KernelCache::open(options);
    options.maximum_bytes = 1000;
    const auto third = KernelCache::open(options);
    REQUIRE((first && second && third));
    CHECK(*first == *second);
    CHECK(*first != *third);
    options.toolchain = ToolchainPolicy::exact;
    CHECK_FALSE(KernelCache::open(options));
    CHECK(KernelCache::open(options, [] { return Result<std::string>("0123"); }));
}

TEST_CASE("a hit tells the eviction that the entry is in use, also after the clock was set back") {
    const TemporaryDirectory directory;
    Compiler compiler;
    KernelCache filler(configuration_in(directory));
    REQUIRE(filler.obtain(sample_request(), compiler.function()));
    const std::string path = entry_path(directory.path(), sample_request());
    const auto set_age_s = [&](time_t age_s) {
        const timespec times[2] = {{0, UTIME_OMIT}, {std::time(nullptr) - age_s, 0}};
        REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    };
    const auto age_after_hit_s = [&] {
        KernelCache cache(configuration_in(directory));
        REQUIRE(cache.obtain(sample_request(), no_compiler()));
        struct stat facts {};
        REQUIRE(stat(path.c_str(), &facts) == 0);
        return std::time(nullptr) - facts.st_mtim.tv_sec;
    };
    set_age_s(7200);
    CHECK(age_after_hit_s() < 100);
    set_age_s(1800);
    CHECK(age_after_hit_s() > 1700);  // young enough: no write per hit
    set_age_s(-100'000);
    CHECK(std::abs(age_after_hit_s()) < 100);
}
