// SPDX-License-Identifier: Apache-2.0
#include "provenance.hpp"

#include <ctime>
#include <fstream>
#include <string>

#include "driver/driver.hpp"
#include "jit/nvrtc.hpp"

namespace kiln::bench {

namespace {

/// "580.159.04": the first word with a dot and a digit in front in what the kernel's module says of itself.
std::string driver_version() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string word;
    while (file >> word) {
        if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos) return word;
    }
    return {};
}

/// As tools/measure/facts.py writes it.
std::string now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::string text(32, '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
    return text;
}

}  // namespace

nlohmann::ordered_json provenance(const driver::Device& device) {
    const auto library = driver::open_library();
    const auto nvrtc = jit::describe_nvrtc();
    return {
        {"commit", commit},
        {"date", now()},
        {"device_name", device.name},
        {"driver", {{"cuda_version", library ? driver::version_text((*library)->version) : ""}, {"version", driver_version()}}},
        {"nvrtc", nvrtc ? nvrtc->version() : ""}};
}

}  // namespace kiln::bench
