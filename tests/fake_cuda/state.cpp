// SPDX-License-Identifier: Apache-2.0
#include "state.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace fake_cuda {

State& state() {
    static State* const the_state = [] {
        auto* made = new State;  // never destroyed: calls may come after main
        made->settings = read_settings();
        const char* rules = std::getenv("FAKE_CUDA_FAIL");
        made->rules = parse_rules(rules == nullptr ? "" : rules);
        return made;
    }();
    return *the_state;
}

bool State::is_any_stream_capturing() const {
    return std::any_of(streams.begin(), streams.end(), [](CUstream each) { return each->is_capturing; });
}

bool State::is_allocated(CUdeviceptr address, std::size_t bytes) const {
    auto after = memory.upper_bound(address);
    if (after == memory.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    const std::size_t offset = address - begin;
    return offset <= size && bytes <= size - offset;
}

ContextStack& current_contexts() {
    static thread_local ContextStack contexts{};
    return contexts;
}

Call::Call(const char* name, Needs needs) : lock_(state().mutex), refusal_(check(name, needs)) {}

CUresult Call::check(const char* name, Needs needs) {
    State& all = state();
    ++all.counters.calls;
    for (Rule& rule : all.rules) {
        if (rule.call != "*" && rule.call != name) continue;
        if (!rule.nth || --*rule.nth == 0) return rule.result;
    }
    if (needs == Needs::nothing) return CUDA_SUCCESS;
    if (all.initialised_by != 0 && all.initialised_by != getpid()) {
        ++all.counters.calls_after_fork;
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!all.is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (needs == Needs::init) return CUDA_SUCCESS;
    const auto& contexts = current_contexts();
    if (contexts.empty() || contexts.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (contexts.back()->holds == 0) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (needs == Needs::no_capture && all.is_any_stream_capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return CUDA_SUCCESS;
}

}  // namespace fake_cuda
