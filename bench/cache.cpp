// SPDX-License-Identifier: Apache-2.0
// How the cache scales: a hit among 10 and among 100,000 entries, the commands that look at all of them, and threads that all
// want what the process has. Page cache warm; entries of 2 KB, because only their number matters here.
#include <sys/resource.h>

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <utility>

#include "cache/entry_files.hpp"
#include "cache/kernel_cache.hpp"
#include "cache/loaded_kernels.hpp"
#include "cache/own_directory.hpp"
#include "cache/upkeep/directory_stats.hpp"
#include "cache/upkeep/prune.hpp"
#include "cache/user_layer.hpp"
#include "support/sample_kernel.hpp"

namespace {

using namespace kiln;
using test::configuration_in;
using test::sample_request;

/// A directory with this many entries, made once and shared by all benchmarks.
const CacheConfiguration& filled(int count) {
    static std::map<int, std::pair<std::unique_ptr<test::TemporaryDirectory>, CacheConfiguration>> all;
    auto& [directory, configuration] = all[count];
    if (directory) return configuration;
    directory = std::make_unique<test::TemporaryDirectory>();
    configuration = configuration_in(*directory);
    const auto own = OwnDirectory(configuration).make();
    const Bytes cubin = test::sample_cubin();
    for (int i = 0; i < count; ++i) {
        const KernelRequest request = sample_request(i);
        const Key key = make_key(request);
        (void)entry_files::write(own->get(), key.name, *Entry::encode(key, {"13.0.88", request.spec_json}, cubin));
    }
    return configuration;
}

void hit_from_disk(benchmark::State& state) {
    const CacheConfiguration& configuration = filled(static_cast<int>(state.range(0)));
    UserLayer user(configuration);
    int number = 0;
    for (auto _ : state) {
        const auto entry = user.look(make_key(sample_request(number++ % static_cast<int>(state.range(0)))));
        if (!entry) return state.SkipWithError("no hit");
    }
}
BENCHMARK(hit_from_disk)->Arg(10)->Arg(100'000)->Unit(benchmark::kMicrosecond);

void list(benchmark::State& state) {
    const CacheConfiguration& configuration = filled(static_cast<int>(state.range(0)));
    for (auto _ : state) {
        UserLayer user(configuration);
        std::size_t entries = 0;
        (void)user.list([&](const ListedEntry& entry) { entries += entry.head ? 1 : 0; });
        if (entries != static_cast<std::size_t>(state.range(0))) return state.SkipWithError("entries are missing");
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    state.counters["peak_MB"] = static_cast<double>(used.ru_maxrss) / 1024;
}
BENCHMARK(list)->Arg(100'000)->Unit(benchmark::kMillisecond);

void stats(benchmark::State& state) {
    const CacheConfiguration& configuration = filled(static_cast<int>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(directory_stats(configuration));
}
BENCHMARK(stats)->Arg(100'000)->Unit(benchmark::kMillisecond);

void prune_dry_run(benchmark::State& state) {
    const CacheConfiguration& configuration = filled(static_cast<int>(state.range(0)));
    PruneOptions options;
    options.target_bytes = 1'000'000;
    options.dry_run = true;
    for (auto _ : state) {
        if (!prune(configuration, options)) return state.SkipWithError("prune failed");
    }
}
BENCHMARK(prune_dry_run)->Arg(100'000)->Unit(benchmark::kMillisecond);

void nearest(benchmark::State& state) {
    KernelCache cache(filled(static_cast<int>(state.range(0))));
    for (auto _ : state) benchmark::DoNotOptimize(cache.nearest(sample_request(-1)));
}
BENCHMARK(nearest)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// Each thread asks for a cubin that the process has; a source as long as a real one.
void hit_from_memory(benchmark::State& state) {
    static const auto cache = std::make_unique<KernelCache>([] {
        CacheConfiguration configuration;
        configuration.mode = CacheMode::off;
        return configuration;
    }());
    KernelRequest request = sample_request();
    request.source.assign(20'000, 'x');
    test::Compiler compiler;
    for (auto _ : state) {
        if (!cache->obtain(request, compiler.function())) return state.SkipWithError("no kernel");
    }
}
BENCHMARK(hit_from_memory)->ThreadRange(1, 64)->UseRealTime()->Unit(benchmark::kMicrosecond);

void hit_on_loaded(benchmark::State& state) {
    static LoadedKernels<int> kernels;
    static const auto key = std::make_shared<const Key>(make_key(sample_request()));
    static const auto keep =
        kernels.get(key, 0, [] { return Result<LoadedKernels<int>::Pointer>(std::make_shared<const int>(1)); });
    for (auto _ : state) {
        const auto got =
            kernels.get(key, 0, [] { return Result<LoadedKernels<int>::Pointer>(fail(ErrorCode::internal, "not loaded")); });
        if (!got) return state.SkipWithError("no kernel");
    }
}
BENCHMARK(hit_on_loaded)->ThreadRange(1, 64)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
