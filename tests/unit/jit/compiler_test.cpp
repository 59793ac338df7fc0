// SPDX-License-Identifier: Apache-2.0
#include "jit/compiler.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "real_nvrtc.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"

using namespace kiln;
using kiln::test::real_nvrtc;
using kiln::test::run_case;
using kiln::test::small_kernel;

namespace {

/// A failure as `code: message | log`, between markers.
void print_outcome(const Result<jit::CompiledCubin>& compiled) {
    std::cout << '<';
    if (compiled) {
        std::cout << compiled->cubin.size() << " bytes";
    } else {
        std::cout << to_string(compiled.error().code) << ' ' << compiled.error().native_code << ": " << compiled.error().message
                  << " | " << compiled.error().log;
    }
    std::cout << ">\n";
}

/// What `compile for sm_120` prints with the fake NVRTC in this environment.
std::string outcome(std::map<std::string, std::string> environment) {
    environment.emplace("KILN_NVRTC_LIBRARY", FAKE_NVRTC_PATH);
    const auto result = run_case("compile for sm_120", environment);
    INFO(result.output);
    const auto begin = result.output.find('<');
    REQUIRE(begin != std::string::npos);
    return result.output.substr(begin + 1, result.output.rfind('>') - begin - 1);
}

}  // namespace

TEST_CASE("compile for sm_120", "[.]") {
    print_outcome(jit::compile(Arch::sm_120, small_kernel));
}

TEST_CASE("the same source gives the same bytes, and another one others") {
    const auto nvrtc = real_nvrtc();
    const Arch arch = nvrtc.supported_archs().front();
    const auto first = jit::compile(arch, small_kernel);
    const auto second = jit::compile(arch, small_kernel);
    const auto other = jit::compile(arch, std::string(small_kernel) + "__device__ int more;");
    REQUIRE((first && second && other));
    CHECK(first->cubin == second->cubin);
    CHECK(first->cubin != other->cubin);
    CHECK(first->log.empty());
    CHECK(first->compile_ms > 0);
    CHECK(first->nvrtc_version == nvrtc.version());
    CHECK(first->nvrtc_path == nvrtc.path);
}

TEST_CASE("a source that does not compile gives the whole log") {
    const auto nvrtc = real_nvrtc();
    const auto compiled =
        jit::compile(nvrtc.supported_archs().front(),
                     "__device__ int f() { const int unused = 1; return 2; }\nfirst mistake;\nvoid f() { second_mistake(); }\n");
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().code == ErrorCode::compile_failed);
    CHECK(compiled.error().native_code == NVRTC_ERROR_COMPILATION);
    CHECK(compiled.error().log.find("kiln_forward.cu(2): error") != std::string::npos);
    CHECK(compiled.error().log.find("second_mistake") != std::string::npos);
    INFO(compiled.error().message);
    CHECK(compiled.error().message.find("kiln_forward.cu(2): error") != std::string::npos);
}

TEST_CASE("a kernel cannot include a header") {
    const auto nvrtc = real_nvrtc();
    const auto compiled = jit::compile(nvrtc.supported_archs().front(), "#include <cuda_fp16.h>\n");
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().log.find("cuda_fp16.h") != std::string::npos);
}

TEST_CASE("threads compile at once, each with its own outcome") {
    const auto nvrtc = real_nvrtc();
    const Arch arch = nvrtc.supported_archs().front();
    std::vector<Result<jit::CompiledCubin>> outcomes(4, fail(ErrorCode::internal, "not run"));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        threads.emplace_back([&, i] {
            const std::string extra = i == 2 ? "mistake;" : "__device__ int number_" + std::to_string(i) + ";";
            outcomes[i] = jit::compile(arch, small_kernel + extra);
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(outcomes[0]);
    CHECK(outcomes[1]);
    CHECK_FALSE(outcomes[2]);
    CHECK(outcomes[3]);
}

TEST_CASE("an arch that this NVRTC does not know is refused, naming both and what it knows") {
    const std::string told = outcome({{"FAKE_NVRTC_VERSION", "12.0"}, {"FAKE_NVRTC_ARCHS", "50,75,87,90"}});
    CHECK(told.find("unsupported_arch") == 0);
    CHECK(told.find("NVRTC 12.0 (" FAKE_NVRTC_PATH ") cannot build for sm_120; of Kiln's archs it knows sm_75, sm_90a") !=
          std::string::npos);
}

TEST_CASE("each way in which NVRTC fails has its code") {
    CHECK(outcome({}).find(" bytes") != std::string::npos);
    const std::string refused = outcome({{"FAKE_NVRTC_RESULT", "6"}, {"FAKE_NVRTC_LOG", "line one\nline two"}});
    CHECK(refused.find("compile_failed 6: ") == 0);
    CHECK(refused.find("NVRTC_ERROR_COMPILATION: line one | line one\nline two") != std::string::npos);
    CHECK(outcome({{"FAKE_NVRTC_RESULT", "1"}}).find("out_of_memory 1: ") == 0);
    const std::string builtins = outcome({{"FAKE_NVRTC_RESULT", "7"}, {"FAKE_NVRTC_LOG", "failed to open libnvrtc-builtins"}});
    CHECK(builtins.find("no_nvrtc 7: ") == 0);
    CHECK(builtins.find("failed to open libnvrtc-builtins") != std::string::npos);
}

TEST_CASE("NVRTC's own cache is off and its header short where it can, and the key's options are passed") {
    const auto record = std::filesystem::temp_directory_path() / ("kiln_options_" + std::to_string(getpid()));
    const auto options = [&](const char* version) {
        std::filesystem::remove(record);
        static_cast<void>(outcome({{"FAKE_NVRTC_VERSION", version}, {"FAKE_NVRTC_RECORD", record.string()}}));
        std::ifstream file(record);
        std::string line;
        std::getline(file, line);
        return line.substr(line.find("--"));
    };
    const std::string common = "--gpu-architecture=sm_120 " + jit::compile_options();
    CHECK(options("12.3") == common);
    CHECK(options("12.4") == common + " --minimal");
    CHECK(options("12.8") == common + " --minimal");
    CHECK(options("12.9") == common + " --minimal --no-cache");
    CHECK(options("13.0") == common + " --minimal --no-cache");
    std::filesystem::remove(record);
}
