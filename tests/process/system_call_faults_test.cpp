// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <kiln/cache.hpp>

#include "cache/upkeep/export.hpp"
#include "cache/upkeep/import.hpp"
#include "cache/upkeep/prune.hpp"
#include "cache/upkeep/verify.hpp"
#include "process/numbered_kernel.hpp"
#include "support/captured_log.hpp"
#include "support/catch.hpp"
#include "support/faulty_system_calls.hpp"

// For each scenario: count the system calls that it makes when all goes well, then let each of them fail in each way, and die at
// each of them. Afterwards whatever is on disk must be good or go unused, and the next run must be clean.

using namespace kiln;
using test::CapturedLog;
using test::Compiler;
using test::configuration_in;
using test::entry_path;
using test::fill;
using test::obtains;
using test::sample_cubin;
using test::sample_request;
using test::TemporaryDirectory;
using test::faults::Fault;

namespace {

constexpr std::array<int, 8> errors{EIO, ENOSPC, EDQUOT, EROFS, EACCES, EINTR, EMFILE, ESTALE};

/// Where a scenario happens: a user's directory, and a filled one that serves as a layer and for exports.
struct Stage {
    [[nodiscard]] CacheConfiguration user() const { return configuration_in((temporary / "user").string()); }
    [[nodiscard]] CacheConfiguration source() const { return configuration_in((temporary / "source").string()); }
    [[nodiscard]] std::string bundle() const { return temporary / "bundle"; }

    TemporaryDirectory temporary;
};

struct Scenario {
    void (*prepare)(const Stage&);
    bool (*act)(const Stage&);  ///< says whether the outcome is one that a user may get
};

void damage(const std::string& path) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3);
}

const Scenario cold{[](const Stage&) {}, [](const Stage& stage) { return obtains(stage.user(), 0); }};

const Scenario hit{[](const Stage& stage) { fill(stage.user(), 1); },
                   [](const Stage& stage) { return obtains(stage.user(), 0); }};

const Scenario damaged{[](const Stage& stage) {
                           fill(stage.user(), 1);
                           damage(entry_path(stage.user().directory, sample_request(0)));
                       },
                       [](const Stage& stage) { return obtains(stage.user(), 0); }};

const Scenario layered{[](const Stage& stage) {
                           fill(stage.source(), 2);
                           (void)export_bundle(stage.source(), {}, stage.bundle());
                       },
                       [](const Stage& stage) {
                           CacheConfiguration configuration = stage.user();
                           configuration.layers = {stage.source().directory, stage.bundle()};
                           return obtains(configuration, 0) && obtains(configuration, 2);
                       }};

const Scenario evicting{[](const Stage& stage) { fill(stage.user(), 5); },
                        [](const Stage& stage) {
                            CacheConfiguration configuration = stage.user();
                            configuration.maximum_bytes = 4000;
                            return obtains(configuration, 7);
                        }};

const Scenario exporting{[](const Stage& stage) { fill(stage.source(), 2); },
                         [](const Stage& stage) {
                             const auto result = export_bundle(stage.source(), {}, stage.bundle());
                             return result ? std::filesystem::exists(stage.bundle()) : result.error().code == ErrorCode::bad_file;
                         }};

const Scenario importing{[](const Stage& stage) {
                             fill(stage.source(), 2);
                             (void)export_bundle(stage.source(), {}, stage.bundle());
                         },
                         [](const Stage& stage) {
                             const auto result = import_bundle(stage.user(), stage.bundle());
                             return result || result.error().code == ErrorCode::bad_file;
                         }};

const Scenario tending{[](const Stage& stage) {
                           fill(stage.user(), 3);
                           damage(entry_path(stage.user().directory, sample_request(0)));
                       },
                       [](const Stage& stage) {
                           PruneOptions options;
                           options.target_bytes = 4000;
                           (void)verify_cache(stage.user(), true);
                           (void)prune(stage.user(), options);
                           return true;
                       }};

int calls_without_faults(const Scenario& scenario) {
    const Stage stage;
    scenario.prepare(stage);
    test::faults::arm({});
    const bool good = scenario.act(stage);
    const int calls = test::faults::disarm();
    REQUIRE(good);
    return calls;
}

/// What the disk holds is good or known not to be, and the next run is clean.
void check_aftermath(const Stage& stage) {
    REQUIRE(obtains(stage.user(), 0));
    REQUIRE(verify_cache(stage.user(), true)->problems == 0);
    KernelCache next(stage.user());
    REQUIRE(next.look(sample_request(0)).origin == Origin::user);
    if (!std::filesystem::exists(stage.bundle())) return;
    const auto imported = import_bundle(stage.user(), stage.bundle());
    REQUIRE(imported);
    REQUIRE(imported->refused.empty());
}

void run_with(const Scenario& scenario, const Fault& fault) {
    CAPTURE(fault.at, static_cast<int>(fault.kind), fault.error_number);
    const Stage stage;
    scenario.prepare(stage);
    test::faults::arm(fault);
    const bool good = scenario.act(stage);
    const int calls = test::faults::disarm();
    CAPTURE(test::faults::names_of_calls());
    REQUIRE(calls > fault.at);
    REQUIRE(good);
    check_aftermath(stage);
}

void run_killed_at(const Scenario& scenario, int call) {
    CAPTURE(call);
    const Stage stage;
    scenario.prepare(stage);
    const pid_t child = fork();
    if (child == 0) {
        test::faults::arm({Fault::Kind::kill, call, 0});
        (void)scenario.act(stage);
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGKILL);
    check_aftermath(stage);
}

void check_that_counters_add_up() {
    const CacheStats stats = cache_stats();
    const auto& hits = stats.hits;
    const auto& misses = stats.misses;
    const auto all_hits = hits.loaded + hits.memory + hits.layer + hits.bundle + hits.user;
    const auto all_misses = misses.absent + misses.damaged + misses.other_version + misses.other_key + misses.refused +
                            misses.untrusted + misses.unreadable;
    REQUIRE(stats.requests == all_hits + all_misses + stats.shared_failures);
    REQUIRE(all_misses == stats.compiled + stats.compile_failures + stats.strict);
}

void run_in_every_way(const Scenario& scenario) {
    const CapturedLog log;  // keeps the warnings, of which there are many, from the terminal
    const int calls = calls_without_faults(scenario);
    REQUIRE(calls > 4);
    for (int call = 0; call < calls; ++call) {
        for (const int error : errors) run_with(scenario, {Fault::Kind::error, call, error});
        run_with(scenario, {Fault::Kind::cut, call, 0});
        run_killed_at(scenario, call);
    }
    check_that_counters_add_up();
}

}  // namespace

TEST_CASE("any fault during a cold compile leaves a model that works") {
    run_in_every_way(cold);
}
TEST_CASE("any fault during a hit leaves a model that works") {
    run_in_every_way(hit);
}
TEST_CASE("any fault while a damaged entry is replaced leaves a model that works") {
    run_in_every_way(damaged);
}
TEST_CASE("any fault in the layers leaves a model that works") {
    run_in_every_way(layered);
}
TEST_CASE("any fault during an eviction leaves a model that works") {
    run_in_every_way(evicting);
}
TEST_CASE("any fault during an export leaves a whole bundle or none") {
    run_in_every_way(exporting);
}
TEST_CASE("any fault during an import leaves whole entries or none") {
    run_in_every_way(importing);
}
TEST_CASE("any fault during repair and pruning leaves a cache that can be used") {
    run_in_every_way(tending);
}

TEST_CASE("a failed publish is one warning and one count, however many kernels there are") {
    const Stage stage;
    const CapturedLog log;
    const auto before = cache_stats();
    test::faults::arm({Fault::Kind::error, -1, ENOSPC, "write"});
    Compiler compiler;
    KernelCache cache(stage.user());
    for (int i = 0; i < 3; ++i) {
        const auto kernel = cache.obtain(sample_request(i), compiler.function());
        CHECK((kernel && !kernel->on_disk && !kernel->publish_error.empty()));
    }
    (void)test::faults::disarm();
    CHECK(log.count("kernels are kept in memory only") == 1);
    CHECK(log.count("KILN_CACHE_DIR") == 1);
    CHECK(cache_stats().publish_failures == before.publish_failures + 3);
    CHECK(cache_stats().published == before.published);
}
