// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc_search.hpp"

#include <algorithm>
#include <charconv>
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

constexpr int newest_major = 19;  // CUDA has had one a year or two; 13 is the newest today

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

/// The numbers in "cuda-13.0" or "cu13" after the beginning; none where there is anything else.
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

/// The folders of CUDA 12 and later, such as "cuda-13.0".
std::vector<fs::path> newest_first(const fs::path& directory, std::string_view beginning) {
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

/// Walks through places, and shows each file once, whatever it is called, until one is taken.
class Search {
public:
    explicit Search(const std::function<bool(const fs::path&)>& take) : take_(&take) {}
    [[nodiscard]] bool is_done() const { return is_done_; }

    /// Asks for names instead of listing: a system directory has thousands.
    void look_in(const fs::path& directory) {
        if (!directory.is_absolute()) return;  // the working directory may be anyone's
        for (int major = newest_major; major >= oldest_major; --major) show(directory / fmt::format("libnvrtc.so.{}", major));
        show(directory / "libnvrtc.so");
    }

    void look_in_prefix(const fs::path& prefix) {
        look_in(prefix / "lib");
        if (is_done_) return;
        for (const fs::path& python : entries(prefix / "lib", "python3")) {
            for (const char* packages : {"site-packages", "dist-packages"}) {
                const fs::path nvidia = python / packages / "nvidia";
                for (const fs::path& toolkit : newest_first(nvidia, "cu")) look_in(toolkit / "lib");
                look_in(nvidia / "cuda_nvrtc/lib");
            }
        }
    }

private:
    void show(const fs::path& file) {
        std::error_code error;
        if (is_done_) return;
        const fs::path real = fs::canonical(file, error);
        if (!error && fs::is_regular_file(real, error) && known_.insert(real).second) is_done_ = (*take_)(file);
    }
    const std::function<bool(const fs::path&)>* take_;
    std::set<fs::path> known_;
    bool is_done_ = false;
};

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
    for (fs::path& each : newest_first("/usr/local", "cuda-")) places.toolkits.push_back(std::move(each));
    places.toolkits.emplace_back("/opt/cuda");
    add_named(places.prefixes, "VIRTUAL_ENV");
    add_named(places.prefixes, "CONDA_PREFIX");
    add_named(places.prefixes, "HOME", ".local");
    places.prefixes.emplace_back("/usr/local");
    places.prefixes.emplace_back("/usr");
    return places;
}

void search_nvrtc(const SearchPlaces& places, const std::function<bool(const fs::path&)>& take) {
    if (!places.library.empty()) {
        take(places.library);
        return;
    }
    Search search(take);
    for (const fs::path& each : places.linker_directories) search.look_in(each);
    for (const fs::path& each : places.toolkits) {
        search.look_in(each / "lib64");
        search.look_in(each / machine_directory);
        search.look_in(each / "lib");
    }
    for (const fs::path& each : places.prefixes) {
        if (!search.is_done()) search.look_in_prefix(each);
    }
}

fs::path builtins_beside(const fs::path& nvrtc, int major, int minor) {
    std::error_code error;
    const fs::path real = fs::canonical(nvrtc, error);
    for (const fs::path& file : {nvrtc, real}) {
        fs::path beside = file.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
        if (fs::is_regular_file(beside, error)) return beside;
    }
    return {};
}

}  // namespace kiln::jit
