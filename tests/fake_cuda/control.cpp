// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "state.hpp"

namespace fake_cuda {
namespace {

int number_from(const char* variable, int otherwise) {
    const char* value = std::getenv(variable);
    return value == nullptr || *value == '\0' ? otherwise : std::atoi(value);
}

/// Writes the counters at the end of a process that asked for it.
struct Report {
    ~Report() {
        const char* path = std::getenv("FAKE_CUDA_COUNTERS");
        if (path == nullptr) return;
        std::FILE* file = std::fopen(path, "w");
        if (file == nullptr) return;
        const Counters all = counters();
        const auto line = [&](const char* name, long value) { std::fprintf(file, "%s %ld\n", name, value); };
        line("calls", all.calls);
        line("calls_after_fork", all.calls_after_fork);
        line("contexts_retained", all.contexts_retained);
        line("contexts_released", all.contexts_released);
        line("libraries_loaded", all.libraries_loaded);
        line("libraries_unloaded", all.libraries_unloaded);
        line("allocations", all.allocations);
        line("frees", all.frees);
        line("launches", all.launches);
        line("copies", all.copies);
        std::fclose(file);
    }
} report;

}  // namespace

Settings read_settings() {
    Settings settings;
    settings.devices = number_from("FAKE_CUDA_DEVICES", settings.devices);
    settings.version = number_from("FAKE_CUDA_VERSION", settings.version);
    if (const char* capability = std::getenv("FAKE_CUDA_CAPABILITY")) {
        std::sscanf(capability, "%d.%d", &settings.major, &settings.minor);
    }
    return settings;
}

std::vector<Rule> parse_rules(const std::string& text) {
    std::vector<Rule> rules;
    std::istringstream all(text);
    for (std::string each; std::getline(all, each, ',');) {
        Rule rule;
        const auto equals = each.find('=');
        if (equals == std::string::npos) continue;
        rule.result = static_cast<CUresult>(std::stoi(each.substr(equals + 1)));
        rule.call = each.substr(0, equals);
        if (const auto hash = rule.call.find('#'); hash != std::string::npos) {
            rule.nth = std::stol(rule.call.substr(hash + 1));
            rule.call.resize(hash);
        }
        rules.push_back(rule);
    }
    return rules;
}

void reset() {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    const long bytes_in_use = all.counters.bytes_in_use;
    all.settings = read_settings();
    const char* rules = std::getenv("FAKE_CUDA_FAIL");
    all.rules = parse_rules(rules == nullptr ? "" : rules);
    all.counters = Counters{};
    all.counters.bytes_in_use = bytes_in_use;
    all.launches.clear();
    all.kernel = nullptr;
    all.is_default_stream_busy = false;
}

void fail(const std::string& rules) {
    const std::lock_guard lock(state().mutex);
    state().rules = parse_rules(rules);
}

Counters counters() {
    const std::lock_guard lock(state().mutex);
    return state().counters;
}

std::vector<Launch> launches() {
    const std::lock_guard lock(state().mutex);
    return state().launches;
}

void on_launch(void (*kernel)(const Launch&)) {
    const std::lock_guard lock(state().mutex);
    state().kernel = kernel;
}

}  // namespace fake_cuda
