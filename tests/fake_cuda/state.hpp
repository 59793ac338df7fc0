// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "driver/cuda.hpp"
#include "fake_cuda.hpp"

#define FAKE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

struct CUctx_st {
    int device = 0;
    int holds = 0;
};
struct CUstream_st {
    CUcontext context = nullptr;
    bool is_capturing = false;
    std::vector<fake_cuda::Launch> captured;
};
struct CUevent_st {
    double recorded_ms = -1;
};
struct CUgraph_st {
    std::vector<fake_cuda::Launch> launches;
};
struct CUgraphExec_st {
    std::vector<fake_cuda::Launch> launches;
};

namespace fake_cuda {

struct Rule {
    std::string call;
    std::optional<long> nth;  ///< counts down; none: every one
    CUresult result = CUDA_SUCCESS;
};

struct Settings {
    int devices = 1;
    int major = 9;
    int minor = 0;
    int version = 13000;

    [[nodiscard]] int capability() const { return major * 10 + minor; }
    /// The opt-in limit per block: CUDA's programming guide, technical specifications per compute capability.
    [[nodiscard]] int shared_bytes_per_block() const;
};

/// Everything that the fake knows. One lock for all of it: speed is not the point.
struct State {
    std::mutex mutex;
    Settings settings;
    std::vector<Rule> rules;
    Counters counters;
    bool is_initialised = false;
    pid_t initialised_by = 0;
    std::vector<CUctx_st> contexts{16};  ///< the primary ones, by device
    std::map<CUdeviceptr, std::size_t> memory;
    std::set<CUstream> streams;
    std::vector<Launch> launches;
    void (*kernel)(const Launch&) = nullptr;
    bool is_default_stream_busy = false;  ///< as long as nobody has waited for it

    [[nodiscard]] bool is_any_stream_capturing() const;
    /// Whether `[address, address + bytes)` lies in one allocation.
    [[nodiscard]] bool is_allocated(CUdeviceptr address, std::size_t bytes) const;
};
State& state();

enum class Needs {
    nothing,  ///< callable at any time
    init,
    context,     ///< a current one
    no_capture,  ///< a current one, and no stream that is capturing
};

/// The beginning of every entry point: holds the lock, counts, applies the rules and checks what the call needs.
class Call {
public:
    Call(const char* name, Needs needs);
    [[nodiscard]] CUresult refusal() const { return refusal_; }

private:
    [[nodiscard]] CUresult check(const char* name, Needs needs);
    std::unique_lock<std::mutex> lock_;
    CUresult refusal_;
};

/// The stack of current contexts of a thread. Plain bytes: a static object of the user may call after the thread's own are
/// destroyed.
class ContextStack {
public:
    [[nodiscard]] bool empty() const { return depth_ == 0; }
    [[nodiscard]] CUcontext back() const { return contexts_.at(depth_ - 1); }
    void push_back(CUcontext context) { contexts_.at(depth_++) = context; }
    void pop_back() { --depth_; }

private:
    std::array<CUcontext, 64> contexts_;
    std::size_t depth_;
};
static_assert(std::is_trivially_destructible_v<ContextStack>);

/// This thread's.
ContextStack& current_contexts();

/// Settings from the environment.
Settings read_settings();
std::vector<Rule> parse_rules(const std::string& text);

/// Executes launches, now. The lock is held.
void execute(const std::vector<Launch>& launches, CUstream stream);

}  // namespace fake_cuda

#define FAKE_CUDA_BEGIN(name, needs)                            \
    const fake_cuda::Call call(#name, fake_cuda::Needs::needs); \
    if (call.refusal() != CUDA_SUCCESS) return call.refusal()
