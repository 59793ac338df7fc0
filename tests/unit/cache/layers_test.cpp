// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cache/counters.hpp"
#include "cache/kernel_cache.hpp"
#include "cache/upkeep/export.hpp"
#include "support/captured_log.hpp"
#include "support/catch.hpp"
#include "support/sample_kernel.hpp"
#include "support/skip.hpp"

using namespace kiln;
using test::CapturedLog;
using test::Compiler;
using test::configuration_in;
using test::entry_path;
using test::fill;
using test::no_compiler;
using test::own_name;
using test::sample_request;
using test::TemporaryDirectory;

namespace {

/// A layer with kernels 0 and 1, as a directory and as a bundle, and a user's directory of its own.
struct Layered {
    Layered() {
        fill(configuration_in(filled), 2);
        if (!export_bundle(configuration_in(filled), {}, bundle())) throw std::runtime_error("no bundle");
    }
    [[nodiscard]] std::string directory() const { return filled / own_name(); }
    [[nodiscard]] std::string bundle() const { return filled / "kernels.kiln-bundle"; }
    [[nodiscard]] CacheConfiguration configuration(std::vector<std::string> layers) const {
        CacheConfiguration result = configuration_in(user);
        result.layers = std::move(layers);
        return result;
    }
    /// The one entry's bytes in the middle of the bundle.
    void damage(const std::string& path, std::uint64_t at) const {
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(at));
        file.put('\x7e');
        file.put('\x7e');
    }

    TemporaryDirectory filled;
    TemporaryDirectory user;
};

Origin origin_of(const CacheConfiguration& configuration, int number) {
    KernelCache cache(configuration);
    const auto kernel = cache.obtain(sample_request(number), no_compiler());
    return kernel ? kernel->origin : Origin::compiled;
}

}  // namespace

TEST_CASE("layers are asked in order, and before the user's directory") {
    const Layered layered;
    CHECK(origin_of(layered.configuration({layered.directory()}), 0) == Origin::layer);
    CHECK(origin_of(layered.configuration({layered.bundle()}), 0) == Origin::bundle);
    CHECK(origin_of(layered.configuration({layered.bundle(), layered.directory()}), 0) == Origin::bundle);
    CHECK(origin_of(layered.configuration({layered.directory(), layered.bundle()}), 0) == Origin::layer);
    fill(configuration_in(layered.user), 3);
    CHECK(origin_of(layered.configuration({layered.bundle()}), 0) == Origin::bundle);
    CHECK(origin_of(layered.configuration({layered.bundle()}), 2) == Origin::user);
}

TEST_CASE("a directory that was used as a cache serves as a layer as it is") {
    const Layered layered;
    CHECK(origin_of(layered.configuration({layered.filled.path()}), 0) == Origin::layer);
}

TEST_CASE("layers are used though the user's directory is off or read-only, and nothing is written to them") {
    const Layered layered;
    CacheConfiguration configuration = layered.configuration({layered.directory(), layered.bundle()});
    configuration.mode = CacheMode::off;
    CHECK(origin_of(configuration, 0) == Origin::layer);
    KernelCache cache(layered.configuration({layered.directory()}));
    Compiler compiler;
    REQUIRE(cache.obtain(sample_request(7), compiler.function()));
    CHECK_FALSE(std::filesystem::exists(entry_path(layered.filled.path(), sample_request(7))));
    CHECK(std::filesystem::exists(entry_path(layered.user.path(), sample_request(7))));
}

TEST_CASE("a layer that is missing is passed over, with one warning") {
    const Layered layered;
    const CapturedLog log;
    KernelCache cache(layered.configuration({"/nowhere/at/all", layered.bundle()}));
    CHECK(cache.obtain(sample_request(0), no_compiler())->origin == Origin::bundle);
    CHECK(cache.obtain(sample_request(1), no_compiler())->origin == Origin::bundle);
    CHECK(log.count("/nowhere/at/all") == 1);
}

TEST_CASE("a layer that vanishes is passed over, with one warning") {
    const Layered layered;
    const CapturedLog log;
    KernelCache cache(layered.configuration({layered.directory()}));
    REQUIRE(cache.obtain(sample_request(0), no_compiler()));
    std::filesystem::remove_all(layered.directory());
    Compiler compiler;
    CHECK(cache.obtain(sample_request(1), compiler.function())->origin == Origin::compiled);
    CHECK(cache.obtain(sample_request(2), compiler.function())->origin == Origin::compiled);
    CHECK(log.count(layered.directory()) == 1);
}

TEST_CASE("a bundle that is replaced goes on serving those who have it open") {
    const Layered layered;
    KernelCache cache(layered.configuration({layered.bundle()}));
    REQUIRE(cache.obtain(sample_request(0), no_compiler()));
    std::filesystem::remove(layered.bundle());
    CHECK(cache.obtain(sample_request(1), no_compiler())->origin == Origin::bundle);
}

TEST_CASE("a damaged entry in a layer is skipped, remembered and counted") {
    const Layered layered;
    layered.damage(entry_path(layered.filled.path(), sample_request(0)), 700);
    const auto damaged = cache_stats().damaged;
    KernelCache cache(layered.configuration({layered.directory()}));
    Compiler compiler;
    const auto compiled = cache.obtain(sample_request(0), compiler.function());
    REQUIRE(compiled);
    CHECK(compiled->origin == Origin::compiled);
    CHECK(cache_stats().damaged == damaged + 1);
    CHECK(cache_stats().misses.damaged >= 1);
    CHECK(compiled->miss_reason.find(make_key(sample_request(0)).name) != std::string::npos);
    // Remembered: mending the file makes no difference to this process.
    std::filesystem::copy_file(entry_path(layered.user.path(), sample_request(0)),
                               entry_path(layered.filled.path(), sample_request(0)),
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(cache.look(sample_request(0)).origin == Origin::memory);
    CHECK(origin_of(layered.configuration({layered.directory()}), 0) == Origin::layer);
}

TEST_CASE("a damaged layer falls through to the next") {
    const Layered layered;
    layered.damage(entry_path(layered.filled.path(), sample_request(0)), 700);
    CHECK(origin_of(layered.configuration({layered.directory(), layered.bundle()}), 0) == Origin::bundle);
    CHECK(origin_of(layered.configuration({layered.directory()}), 1) == Origin::layer);
}

TEST_CASE("a bundle that is damaged, cut or shrinks under us is no hit and no crash") {
    const Layered layered;
    const auto size = std::filesystem::file_size(layered.bundle());
    Compiler compiler;
    SECTION("in its head") {
        layered.damage(layered.bundle(), 70);
        KernelCache cache(layered.configuration({layered.bundle()}));
        CHECK(cache.obtain(sample_request(0), compiler.function())->origin == Origin::compiled);
    }
    SECTION("cut before it is opened") {
        std::filesystem::resize_file(layered.bundle(), size - 1);
        KernelCache cache(layered.configuration({layered.bundle()}));
        CHECK(cache.obtain(sample_request(0), compiler.function())->origin == Origin::compiled);
    }
    SECTION("cut after it was opened") {
        KernelCache cache(layered.configuration({layered.bundle()}));
        CHECK_FALSE(cache.look(sample_request(7)).origin);
        std::filesystem::resize_file(layered.bundle(), 200);
        CHECK(cache.obtain(sample_request(0), compiler.function())->origin == Origin::compiled);
    }
}

TEST_CASE("strict mode takes what the layers have, and a missing layer or damage for an error that says so") {
    const Layered layered;
    const auto strict = [&](std::vector<std::string> layers) {
        CacheConfiguration configuration = layered.configuration(std::move(layers));
        configuration.strict = true;
        return configuration;
    };
    CHECK(origin_of(strict({layered.bundle()}), 0) == Origin::bundle);
    {
        KernelCache cache(strict({layered.bundle()}));
        const auto missing = cache.obtain(sample_request(7), no_compiler());
        REQUIRE_FALSE(missing);
        CHECK(missing.error().code == ErrorCode::not_cached);
        CHECK(missing.error().message.find("spec.in_channels is '") != std::string::npos);
        CHECK(missing.error().message.find("not '7'") != std::string::npos);
    }
    {
        KernelCache cache(strict({"/nowhere/at/all", layered.bundle()}));
        const auto failed = cache.obtain(sample_request(0), no_compiler());
        REQUIRE_FALSE(failed);
        CHECK(failed.error().code == ErrorCode::bad_file);
        CHECK(failed.error().message.find("/nowhere/at/all") != std::string::npos);
    }
    layered.damage(entry_path(layered.filled.path(), sample_request(0)), 700);
    KernelCache cache(strict({layered.directory(), layered.bundle()}));
    const auto failed = cache.obtain(sample_request(0), no_compiler());
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == ErrorCode::bad_file);
    CHECK(failed.error().message.find("cannot be used") != std::string::npos);
    CHECK(cache.obtain(sample_request(1), no_compiler())->origin == Origin::layer);
}

TEST_CASE("layers that somebody else could have written are refused, with the way to mend it, unless all named are accepted") {
    const Layered layered;
    std::string refused;
    std::string layer = layered.directory();
    SECTION("a directory that others can write to") {
        refused = layer;
        REQUIRE(chmod(refused.c_str(), 0775) == 0);
    }
    SECTION("an entry that others can write to") {
        refused = entry_path(layered.filled.path(), sample_request(0));
        REQUIRE(chmod(refused.c_str(), 0666) == 0);
    }
    SECTION("a bundle that others can write to") {
        layer = refused = layered.bundle();
        REQUIRE(chmod(refused.c_str(), 0664) == 0);
    }
    SECTION("a bundle of another owner") {
        layer = refused = layered.bundle();
        if (geteuid() != 0 || chown(refused.c_str(), 12345, 12345) != 0) test::skip("giving a file to another user needs root");
    }
    const CapturedLog log;
    CacheConfiguration configuration = layered.configuration({layer});
    KernelCache cache(configuration);
    Compiler compiler;
    const auto kernel = cache.obtain(sample_request(0), compiler.function());
    REQUIRE(kernel);
    CHECK(kernel->origin == Origin::compiled);
    CHECK(log.count(refused) == 1);
    CHECK(log.count("KILN_CACHE_TRUST=any") == 1);
    configuration.trust_named_paths = true;
    KernelCache trusting(configuration);
    CHECK(trusting.obtain(sample_request(0), no_compiler())->origin != Origin::compiled);
}

TEST_CASE("a cubin that the driver refuses in a layer is looked for further on, and a good one is kept for the next process") {
    const Layered layered;
    KernelCache cache(layered.configuration({layered.bundle()}));
    const auto kernel = cache.obtain(sample_request(0), no_compiler());
    REQUIRE(kernel);
    cache.refused(kernel->key, *kernel->cubin);
    const auto older = [] { return Result<CompiledKernel>(CompiledKernel{test::build_cubin({.toolchain = "12.0.1"}), 1}); };
    const auto fresh = cache.obtain(sample_request(0), older);
    REQUIRE(fresh);
    CHECK(fresh->origin == Origin::compiled);
    CHECK(fresh->on_disk);
    KernelCache next(layered.configuration({layered.bundle()}));
    const auto again = next.obtain(sample_request(0), no_compiler());
    REQUIRE(again);
    next.refused(again->key, *again->cubin);
    CHECK(next.obtain(sample_request(0), no_compiler())->origin == Origin::user);
}
