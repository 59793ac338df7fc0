// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc_search.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "jit/linker_directories.hpp"
#include "support/environment.hpp"

namespace kiln::jit {
namespace {

namespace fs = std::filesystem;

#if defined(__aarch64__)
constexpr std::string_view machine_directory = "targets/sbsa-linux/lib";
#else
constexpr std::string_view machine_directory = "targets/x86_64-linux/lib";
#endif

/// The entries of a directory whose name begins so, sorted by name; none where it cannot be read.
std::vector<fs::path> entries(const fs::path& directory, std::string_view beginning) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (auto each = fs::directory_iterator(directory, ignored); each != fs::directory_iterator(); each.increment(ignored)) {
        if (each->path().filename().string().starts_with(beginning)) found.push_back(each->path());
        if (ignored) break;
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// The numbers in "cuda-13.0" or "libnvrtc.so.12" after the beginning; none where there is anything else.
std::vector<int> version_after(std::string_view name, std::string_view beginning) {
    std::vector<int> numbers;
    if (!name.starts_with(beginning)) return {};
    const char* rest = name.data() + beginning.size();
    const char* const end = name.data() + name.size();
    while (rest != end) {
        int number = 0;
        const auto [next, error] = std::from_chars(rest, end, number);
        if (error != std::errc{} || (next != end && (*next != '.' || next + 1 == end))) return {};
        numbers.push_back(number);
        rest = next == end ? end : next + 1;
    }
    return numbers;
}

std::vector<fs::path> newest_first(const fs::path& directory, std::string_view beginning, int oldest_major) {
    std::vector<std::pair<std::vector<int>, fs::path>> versions;
    for (const fs::path& each : entries(directory, beginning)) {
        auto version = version_after(each.filename().string(), beginning);
        if (!version.empty() && version.front() >= oldest_major) versions.emplace_back(std::move(version), each);
    }
    std::sort(versions.begin(), versions.end(), std::greater<>());
    std::vector<fs::path> sorted;
    sorted.reserve(versions.size());
    for (auto& [version, path] : versions) sorted.push_back(std::move(path));
    return sorted;
}

/// A list of files in which each file stands once, whatever it is called.
class Files {
public:
    void add_directory(const fs::path& directory) {
        if (!directory.is_absolute()) return;  // the working directory may be anyone's
        for (const fs::path& each : newest_first(directory, "libnvrtc.so.", 12)) add(each);
        add(directory / "libnvrtc.so");
    }
    [[nodiscard]] std::vector<fs::path> take() { return std::move(files_); }

private:
    void add(const fs::path& file) {
        std::error_code error;
        const fs::path real = fs::canonical(file, error);
        if (!error && fs::is_regular_file(real, error) && known_.insert(real).second) files_.push_back(file);
    }
    std::vector<fs::path> files_;
    std::set<fs::path> known_;
};

void add_prefix(Files& files, const fs::path& prefix) {
    files.add_directory(prefix / "lib");
    for (const fs::path& python : entries(prefix / "lib", "python3")) {
        for (const char* packages : {"site-packages", "dist-packages"}) {
            const fs::path nvidia = python / packages / "nvidia";
            for (const fs::path& toolkit : newest_first(nvidia, "cu", 12)) files.add_directory(toolkit / "lib");
            files.add_directory(nvidia / "cuda_nvrtc/lib");
        }
    }
}

}  // namespace

SearchPlaces search_places() {
    SearchPlaces places;
    places.library = environment("KILN_NVRTC_LIBRARY");
    places.linker_directories = linker_directories();
    const auto add_named = [](std::vector<fs::path>& list, const char* variable, std::string_view below = "") {
        if (const std::string value = environment(variable); !value.empty()) list.push_back(fs::path(value) / below);
    };
    add_named(places.toolkits, "CUDA_PATH");
    add_named(places.toolkits, "CUDA_HOME");
    places.toolkits.emplace_back("/usr/local/cuda");
    for (fs::path& each : newest_first("/usr/local", "cuda-", 12)) places.toolkits.push_back(std::move(each));
    places.toolkits.emplace_back("/opt/cuda");
    add_named(places.prefixes, "VIRTUAL_ENV");
    add_named(places.prefixes, "CONDA_PREFIX");
    add_named(places.prefixes, "HOME", ".local");
    places.prefixes.emplace_back("/usr/local");
    places.prefixes.emplace_back("/usr");
    return places;
}

std::vector<fs::path> nvrtc_files(const SearchPlaces& places) {
    if (!places.library.empty()) return {places.library};
    Files files;
    for (const fs::path& each : places.linker_directories) files.add_directory(each);
    for (const fs::path& each : places.toolkits) {
        files.add_directory(each / "lib64");
        files.add_directory(each / machine_directory);
        files.add_directory(each / "lib");
    }
    for (const fs::path& each : places.prefixes) add_prefix(files, each);
    return files.take();
}

fs::path builtins_beside(const fs::path& nvrtc, int major, int minor) {
    std::error_code error;
    const fs::path real = fs::canonical(nvrtc, error);
    for (const fs::path& file : {nvrtc, real}) {
        const fs::path beside = file.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
        if (fs::is_regular_file(beside, error)) return beside;
    }
    return {};
}

}  // namespace kiln::jit
