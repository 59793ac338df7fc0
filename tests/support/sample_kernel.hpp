// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <string>

#include <fmt/format.h>

#include "cache/entry.hpp"
#include "cache/kernel_cache.hpp"
#include "cache/layout.hpp"
#include "support/bytes.hpp"
#include "support/cubin_builder.hpp"
#include "support/temporary_directory.hpp"

namespace kiln::test {

/// A small request that stands for any.
inline KernelRequest sample_request() {
    return {Arch::sm_90a,
            "simt",
            "positions=128,filters=64",
            "-arch=sm_90a\n-std=c++17",
            "constexpr int n = 8;\nkernel text\n",
            R"({"in_channels":8})"};
}

/// One of many.
inline KernelRequest sample_request(int number) {
    KernelRequest request = sample_request();
    request.source = fmt::format("constexpr int n = {};\nkernel text\n", number);
    request.spec_json = fmt::format(R"({{"in_channels":{}}})", number);
    return request;
}

inline Bytes bytes_of(std::string_view text) {
    const ByteView view = as_bytes(text);
    return {view.begin(), view.end()};
}

/// For sm_90a, from CUDA 13.0.88.
inline Bytes sample_cubin() {
    return build_cubin();
}

inline EntryFacts sample_facts() {
    return {"13.0.88", R"({"in_channels":8})"};
}

inline CacheConfiguration configuration_in(const std::string& directory) {
    CacheConfiguration configuration;
    configuration.directory = directory;
    configuration.directory_is_named = true;
    return configuration;
}
inline CacheConfiguration configuration_in(const TemporaryDirectory& directory) {
    return configuration_in(directory.path().string());
}

/// Below a configured directory.
inline std::string own_name() {
    return fmt::format("u{}", geteuid());
}

inline std::string entry_path(const std::string& directory, const KernelRequest& request) {
    return fmt::format("{}/{}/{}", directory, own_name(), layout::entry_path(make_key(request).name));
}

/// A compiler that counts.
struct Compiler {
    int calls = 0;
    CompileFunction function() {
        return [this]() -> Result<CompiledKernel> {
            ++calls;
            return CompiledKernel{sample_cubin(), 12.5};
        };
    }
};

inline CompileFunction no_compiler() {
    return []() -> Result<CompiledKernel> { return fail(ErrorCode::internal, "nothing should be compiled here"); };
}

/// Whether a cache with this configuration gives that kernel, whatever happens.
inline bool obtains(const CacheConfiguration& configuration, int number) {
    Compiler compiler;
    KernelCache cache(configuration);
    const auto kernel = cache.obtain(sample_request(number), compiler.function());
    return kernel && *kernel->cubin == sample_cubin();
}

/// Puts kernels 0 … count − 1 into a cache directory.
inline void fill(const CacheConfiguration& configuration, int count) {
    Compiler compiler;
    KernelCache cache(configuration);
    for (int i = 0; i < count; ++i) {
        const auto kernel = cache.obtain(sample_request(i), compiler.function());
        if (!kernel || !kernel->on_disk) throw std::runtime_error("the cache could not be filled");
    }
}

}  // namespace kiln::test
