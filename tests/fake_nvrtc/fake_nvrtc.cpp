// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <nvrtc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/cubin_builder.hpp"

/// "Compiles" any source to a cubin without code (support/cubin_builder.hpp), at once. The environment says how it behaves, read
/// at each call:
///
///     FAKE_NVRTC_VERSION=13.0
///     FAKE_NVRTC_ARCHS=75,80,86,89,90,100,120    those it knows
///     FAKE_NVRTC_LOG=text                        a compile's log
///     FAKE_NVRTC_RESULT=0                        a compile's nvrtcResult
///     FAKE_NVRTC_DELAY_MS=0                      how long a compile takes
///     FAKE_NVRTC_RECORD=file                     gets a line for each compile: process, arch, all options
#define FAKE_NVRTC_EXPORT extern "C" __attribute__((visibility("default")))

struct _nvrtcProgram {  // NOLINT(bugprone-reserved-identifier): NVRTC's name
    std::string source;
    std::string log;
    std::vector<std::byte> cubin;
};

namespace {

std::string setting(const char* variable, const char* otherwise) {
    const char* value = std::getenv(variable);
    return value == nullptr ? otherwise : value;
}

std::vector<int> known_archs() {
    std::vector<int> archs;
    std::istringstream list(setting("FAKE_NVRTC_ARCHS", "75,80,86,89,90,100,120"));
    for (std::string each; std::getline(list, each, ',');) archs.push_back(std::stoi(each));
    return archs;
}

/// One write, so that lines of several processes do not mix.
void record(const std::string& arch, int count, const char* const* options) {
    const std::string path = setting("FAKE_NVRTC_RECORD", "");
    if (path.empty()) return;
    std::string line = std::to_string(getpid()) + ' ' + arch;
    for (int i = 0; i < count; ++i) line += std::string(" ") + options[i];
    line += '\n';
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, line.data(), line.size()) < 0) std::abort();
    close(file);
}

kiln::test::CubinFacts facts_of(const std::string& arch, const std::string& source) {
    kiln::test::CubinFacts facts;
    facts.arch_number = std::atoi(arch.c_str() + 3);
    if (arch.back() != 'a') facts.arch_suffix.clear();
    const std::size_t hash = std::hash<std::string>()(source);
    std::memcpy(facts.code.data(), &hash, sizeof hash);  // another source, another cubin
    return facts;
}

}  // namespace

FAKE_NVRTC_EXPORT const char* nvrtcGetErrorString(nvrtcResult result) {
    switch (result) {
        case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
        case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
        case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
        case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
        default: return "another NVRTC error";
    }
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) {
    return std::sscanf(setting("FAKE_NVRTC_VERSION", "13.0").c_str(), "%d.%d", major, minor) == 2 ? NVRTC_SUCCESS
                                                                                                  : NVRTC_ERROR_INTERNAL_ERROR;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
    *count = static_cast<int>(known_archs().size());
    return NVRTC_SUCCESS;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcGetSupportedArchs(int* archs) {
    const auto known = known_archs();
    std::memcpy(archs, known.data(), known.size() * sizeof(int));
    return NVRTC_SUCCESS;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int headers,
                                                 const char* const*, const char* const*) {
    if (headers != 0) return NVRTC_ERROR_INVALID_INPUT;
    *program = new _nvrtcProgram{source, {}, {}};
    return NVRTC_SUCCESS;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
    delete *program;
    *program = nullptr;
    return NVRTC_SUCCESS;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
    std::string arch;
    const std::string option = "--gpu-architecture=";
    for (int i = 0; i < count; ++i) {
        if (std::strncmp(options[i], option.c_str(), option.size()) == 0) arch = options[i] + option.size();
    }
    record(arch, count, options);
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(setting("FAKE_NVRTC_DELAY_MS", "0"))));
    program->log = setting("FAKE_NVRTC_LOG", "");
    const auto result = static_cast<nvrtcResult>(std::stoi(setting("FAKE_NVRTC_RESULT", "0")));
    if (result == NVRTC_SUCCESS) program->cubin = kiln::test::build_cubin(facts_of(arch, program->source));
    return result;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) {
    *bytes = program->cubin.size();
    return NVRTC_SUCCESS;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
    std::memcpy(cubin, program->cubin.data(), program->cubin.size());
    return NVRTC_SUCCESS;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
    *bytes = program->log.size() + 1;
    return NVRTC_SUCCESS;
}

FAKE_NVRTC_EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
    std::memcpy(log, program->log.c_str(), program->log.size() + 1);
    return NVRTC_SUCCESS;
}
