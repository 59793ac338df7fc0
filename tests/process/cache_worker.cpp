// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <kiln/cache.hpp>
#include <kiln/log.hpp>

#include "cache/kernel_cache.hpp"
#include "process/numbered_kernel.hpp"
#include "support/faulty_system_calls.hpp"

// One process among many that want kernels from one cache directory. Its compiler is a fake that is counted in a file. Prints
// where each kernel came from; exits with 0 only if each was the right one.

using namespace kiln;
using test::numbered_cubin;
using test::numbered_request;

namespace {

struct Arguments {
    std::string directory;
    std::string count_file;
    std::vector<std::string> layers;
    int first_key = 0;
    int keys = 1;
    int threads = 1;
    int compile_ms = 0;
    int takeover_ms = 20'000;
    int loop_ms = 0;
    std::uint64_t maximum_bytes = CacheConfiguration::default_maximum_bytes;
    int user = -1;
    bool strict = false;
    bool stop_in_compile = false;
    bool fork_in_compile = false;
    bool verbose = false;
};

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    CLI::App app;
    app.add_option("--directory", arguments.directory);
    app.add_option("--count", arguments.count_file);
    app.add_option("--layer", arguments.layers);
    app.add_option("--first-key", arguments.first_key);
    app.add_option("--keys", arguments.keys);
    app.add_option("--threads", arguments.threads);
    app.add_option("--compile-ms", arguments.compile_ms);
    app.add_option("--takeover-ms", arguments.takeover_ms);
    app.add_option("--loop-ms", arguments.loop_ms);
    app.add_option("--max-bytes", arguments.maximum_bytes);
    app.add_option("--user", arguments.user);
    app.add_flag("--strict", arguments.strict);
    app.add_flag("--stop-in-compile", arguments.stop_in_compile);
    app.add_flag("--fork-in-compile", arguments.fork_in_compile);
    app.add_flag("--verbose", arguments.verbose);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return arguments;
}

void count_compile(const Arguments& arguments) {
    const int file = open(arguments.count_file.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file < 0 || write(file, "x", 1) != 1) std::abort();
    close(file);
}

Result<CompiledKernel> compile(const Arguments& arguments, int number) {
    count_compile(arguments);
    if (arguments.fork_in_compile && fork() == 0) {
        // A child that outlives its parent, as a shell started by a program would.
        for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(each);
        std::this_thread::sleep_for(std::chrono::seconds(3));
        _exit(0);
    }
    if (arguments.stop_in_compile) raise(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(arguments.compile_ms));
    return CompiledKernel{numbered_cubin(number), static_cast<double>(arguments.compile_ms)};
}

/// Whether the kernel could be had and is the right one.
bool take(KernelCache& cache, const Arguments& arguments, int number) {
    const auto kernel = cache.obtain(numbered_request(number), [&] { return compile(arguments, number); });
    if (!kernel) {
        std::printf("failed %s\n", kernel.error().message.c_str());
        return false;
    }
    if (arguments.loop_ms == 0) std::printf("%s\n", std::string(to_string(kernel->origin)).c_str());
    if (*kernel->cubin == numbered_cubin(number)) return true;
    std::printf("wrong cubin\n");
    return false;
}

CacheConfiguration configuration_of(const Arguments& arguments) {
    CacheConfiguration configuration;
    configuration.directory = arguments.directory;
    configuration.directory_is_named = true;
    configuration.layers = arguments.layers;
    configuration.maximum_bytes = arguments.maximum_bytes;
    configuration.strict = arguments.strict;
    return configuration;
}

/// All keys from all threads, each thread beginning with another one.
bool take_all(KernelCache& cache, const Arguments& arguments) {
    std::atomic<bool> good{true};
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < arguments.threads; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < arguments.keys; ++i) {
                const int number = arguments.first_key + (i + thread) % arguments.keys;
                if (!take(cache, arguments, number)) good = false;
            }
        });
    }
    threads.clear();
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments arguments = parse(argc, argv);
    if (arguments.user >= 0 &&
        (setgid(static_cast<gid_t>(arguments.user)) != 0 || setuid(static_cast<uid_t>(arguments.user)) != 0)) {
        return 70;
    }
    if (arguments.verbose) set_log_level(LogLevel::info);
    const Patience patience{std::chrono::milliseconds(1), std::chrono::milliseconds(50),
                            std::chrono::milliseconds(arguments.takeover_ms)};
    test::faults::arm_from_environment();
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(arguments.loop_ms);
    bool good = true;
    do {
        KernelCache cache(configuration_of(arguments), {}, patience);
        good = take_all(cache, arguments) && good;
    } while (std::chrono::steady_clock::now() < end);
    const CacheStats stats = cache_stats();
    std::printf("takeovers %llu waits %llu\n", static_cast<unsigned long long>(stats.takeovers),
                static_cast<unsigned long long>(stats.waits));
    return good ? 0 : 1;
}
