// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

#include <kiln/cache.hpp>

#include "cache/upkeep/directory_stats.hpp"
#include "process/numbered_kernel.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"

using namespace kiln;
using namespace std::chrono_literals;
using test::configuration_in;
using test::no_compiler;
using test::numbered_cubin;
using test::numbered_request;
using test::run_forked;
using test::TemporaryDirectory;

namespace {

Result<CompiledKernel> compile_at_once(int number) {
    return CompiledKernel{numbered_cubin(number), 1};
}

/// A thread in the middle of a compile, until it is let go.
class Compiling {
public:
    Compiling(KernelCache& cache, int number) {
        std::promise<void> begun;
        auto has_begun = begun.get_future();
        thread_ = std::jthread([this, &cache, number, begun = std::move(begun)]() mutable {
            succeeded_ = cache
                             .obtain(numbered_request(number),
                                     [&] {
                                         begun.set_value();
                                         let_go_.get_future().wait();
                                         return compile_at_once(number);
                                     })
                             .has_value();
        });
        has_begun.wait();
    }
    bool finish() {
        let_go_.set_value();
        thread_.join();
        return succeeded_;
    }

private:
    std::promise<void> let_go_;
    bool succeeded_ = false;
    std::jthread thread_;
};

}  // namespace

TEST_CASE("a child that is forked in the middle of a compile can use the cache at once") {
    const TemporaryDirectory temporary;
    KernelCache cache(configuration_in(temporary), {}, Patience{1ms, 5ms, 100ms});
    REQUIRE(cache.obtain(numbered_request(0), [] { return compile_at_once(0); }));
    Compiling parent(cache, 1);
    const auto child = run_forked([&] {
        const auto is = [&](int number, Origin origin) {
            const auto kernel = cache.obtain(numbered_request(number), [&] { return compile_at_once(number); });
            return kernel && kernel->origin == origin && *kernel->cubin == numbered_cubin(number);
        };
        if (cache_stats().requests != 0) return 1;  // counts are of a process
        if (!is(0, Origin::user)) return 2;         // from disk: the parent's memory is not ours
        if (!is(0, Origin::memory)) return 3;
        if (!is(2, Origin::compiled)) return 4;
        // The parent holds the lock of this key and seems to be stuck.
        if (!is(1, Origin::compiled)) return 5;
        if (cache_stats().takeovers != 1) return 6;
        if (directory_stats(configuration_in(temporary)).front().all.entries != 3) return 7;
        return 0;
    });
    CHECK(child.status == 0);
    CHECK(parent.finish());
    CHECK(cache.obtain(numbered_request(1), no_compiler())->origin == Origin::memory);
}

TEST_CASE("a child waits for its parent's compile as for any other process's") {
    const TemporaryDirectory temporary;
    KernelCache cache(configuration_in(temporary));
    Compiling parent(cache, 1);
    bool finished = false;
    std::jthread later([&] {
        std::this_thread::sleep_for(100ms);
        finished = parent.finish();
    });
    const auto child = run_forked([&] {
        const auto kernel = cache.obtain(numbered_request(1), no_compiler());
        return kernel && kernel->origin == Origin::user ? 0 : 1;
    });
    later.join();
    CHECK(finished);
    CHECK(child.status == 0);
}

TEST_CASE("the caches of the process are other ones in a child") {
    const TemporaryDirectory temporary;
    CacheOptions options;
    options.directory = temporary.path();
    const auto parents = KernelCache::open(options);
    REQUIRE(parents);
    const auto child = run_forked([&] {
        const auto own = KernelCache::open(options);
        if (!own) return 1;
        const auto kernel = (*own)->obtain(numbered_request(3), [] { return compile_at_once(3); });
        return kernel && kernel->on_disk ? 0 : 2;
    });
    CHECK(child.status == 0);
    CHECK((*parents)->obtain(numbered_request(3), no_compiler())->origin == Origin::user);
}
