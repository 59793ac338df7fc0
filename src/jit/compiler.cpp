// SPDX-License-Identifier: Apache-2.0
#include "jit/compiler.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <span>
#include <vector>

#include "jit/nvrtc.hpp"
#include "support/log.hpp"

namespace kiln::jit {
namespace {

constexpr std::array<const char*, 1> semantic_options{"--std=c++17"};

/// One program of NVRTC's.
class Program {
public:
    explicit Program(const NvrtcEntryPoints& nvrtc) noexcept : nvrtc_(&nvrtc) {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (handle_ != nullptr) nvrtc_->destroy_program(&handle_);
    }

    [[nodiscard]] nvrtcResult create(const std::string& source) {
        return nvrtc_->create_program(&handle_, source.c_str(), "kiln_forward.cu", 0, nullptr, nullptr);
    }
    [[nodiscard]] nvrtcResult compile(std::span<const std::string> options) {
        std::vector<const char*> pointers;
        for (const std::string& each : options) pointers.push_back(each.c_str());
        return nvrtc_->compile_program(handle_, static_cast<int>(pointers.size()), pointers.data());
    }
    [[nodiscard]] std::string log() const {
        std::size_t size = 0;
        if (nvrtc_->get_program_log_size(handle_, &size) != NVRTC_SUCCESS || size <= 1) return {};
        std::string text(size, '\0');
        if (nvrtc_->get_program_log(handle_, text.data()) != NVRTC_SUCCESS) return {};
        text.pop_back();  // its zero byte
        return text;
    }
    [[nodiscard]] nvrtcResult take_cubin(Bytes& cubin) const {
        std::size_t size = 0;
        const nvrtcResult result = nvrtc_->get_cubin_size(handle_, &size);
        if (result != NVRTC_SUCCESS) return result;
        cubin.resize(size);
        return nvrtc_->get_cubin(handle_, reinterpret_cast<char*>(cubin.data()));
    }

private:
    const NvrtcEntryPoints* nvrtc_;
    nvrtcProgram handle_ = nullptr;
};

std::vector<std::string> options_for(const Nvrtc& nvrtc, const Arch& arch) {
    std::vector<std::string> options{"--gpu-architecture=" + arch.name()};
    options.insert(options.end(), semantic_options.begin(), semantic_options.end());
    const auto is_at_least_12 = [&](int minor) { return nvrtc.major > 12 || (nvrtc.major == 12 && nvrtc.minor >= minor); };
    // Without what kernels do not use, textures and the runtime library, its own header takes less long; known from 12.4 on.
    if (is_at_least_12(4)) options.emplace_back("--minimal");
    // NVRTC keeps a cache of its own from 12.9 on, and only then knows the option that turns it off.
    if (is_at_least_12(9)) options.emplace_back("--no-cache");
    return options;
}

tl::unexpected<Failure> fail_arch(const Nvrtc& nvrtc, const Arch& arch) {
    std::string known;
    for (const Arch& each : nvrtc.supported_archs()) known += (known.empty() ? "" : ", ") + each.name();
    return fail(ErrorCode::unsupported_arch, "NVRTC {} ({}) cannot build for {}; of Kiln's archs it knows {}", nvrtc.version(),
                nvrtc.path, arch.name(), known.empty() ? "none" : known);
}

/// The line of a log that a message repeats: the first with an error, warnings may stand before it.
std::string_view first_mistake(std::string_view log) {
    for (std::string_view rest = log; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        if (line.find("error") != std::string_view::npos) return line;
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    return log.substr(0, log.find('\n'));
}

tl::unexpected<Failure> fail_compile(const Nvrtc& nvrtc, const Arch& arch, nvrtcResult result, std::string log) {
    ErrorCode code = ErrorCode::compile_failed;
    if (result == NVRTC_ERROR_OUT_OF_MEMORY) code = ErrorCode::out_of_memory;
    // Its library of device code is missing; the log says which file.
    if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) code = ErrorCode::no_nvrtc;
    const std::string_view mistake = first_mistake(log);
    auto failure = fail(code, "NVRTC {} ({}) did not compile the kernel for {}: {}{}{}", nvrtc.version(), nvrtc.path, arch.name(),
                        nvrtc.functions.get_error_string(result), mistake.empty() ? "" : ": ", mistake);
    failure.value().native_code = static_cast<int>(result);
    failure.value().log = std::move(log);
    return failure;
}

}  // namespace

std::string compile_options() {
    std::string text;
    for (const char* each : semantic_options) {
        if (!text.empty()) text += ' ';
        text += each;
    }
    return text;
}

Result<CompiledCubin> compile(const Arch& arch, std::string_view source) {
    const auto begin = std::chrono::steady_clock::now();
    const NvrtcInUse in_use;
    auto library = in_use.library();
    if (!library) return pass_on(library);
    const Nvrtc& nvrtc = **library;
    if (!nvrtc.supports(arch)) return fail_arch(nvrtc, arch);

    Program program(nvrtc.functions);
    nvrtcResult result = program.create(std::string(source));
    if (result != NVRTC_SUCCESS) return fail_compile(nvrtc, arch, result, {});
    result = program.compile(options_for(nvrtc, arch));
    CompiledCubin compiled;
    compiled.log = program.log();
    if (result == NVRTC_SUCCESS) result = program.take_cubin(compiled.cubin);
    if (result != NVRTC_SUCCESS) return fail_compile(nvrtc, arch, result, std::move(compiled.log));

    compiled.nvrtc_version = nvrtc.version();
    compiled.nvrtc_path = nvrtc.path;
    compiled.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (!compiled.log.empty()) log::debug("NVRTC's log:\n{}", compiled.log);
    return compiled;
}

}  // namespace kiln::jit
