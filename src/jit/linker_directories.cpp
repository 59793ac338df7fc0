// SPDX-License-Identifier: Apache-2.0
#include "jit/linker_directories.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>

namespace kiln::jit {
namespace {

namespace fs = std::filesystem;

constexpr int deepest_include = 8;  // a file may include itself

void read_configuration(const fs::path& file, int depth, std::vector<fs::path>& directories) {
    if (depth > deepest_include) return;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        line.resize(std::min(line.find('#'), line.size()));
        const auto begin = line.find_first_not_of(" \t");
        if (begin == std::string::npos) continue;
        line = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
        if (!line.starts_with("include ") && !line.starts_with("include\t")) {
            directories.emplace_back(line);
            continue;
        }
        fs::path pattern = line.substr(line.find_first_not_of(" \t", sizeof "include"));
        if (pattern.is_relative()) pattern = file.parent_path() / pattern;
        glob_t found{};
        if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
            for (std::size_t i = 0; i < found.gl_pathc; ++i) read_configuration(found.gl_pathv[i], depth + 1, directories);
        }
        globfree(&found);
    }
}

struct Close {
    void operator()(void* handle) const noexcept { dlclose(handle); }
};

/// The program or the shared library that holds this function.
std::unique_ptr<void, Close> own_object() {
    Dl_info info{};
    void* extra = nullptr;
    const auto* here = reinterpret_cast<const void*>(&own_object);
    if (dladdr1(here, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr) return nullptr;
    const char* name = static_cast<const link_map*>(extra)->l_name;
    return std::unique_ptr<void, Close>(*name == '\0' ? dlopen(nullptr, RTLD_LAZY) : dlopen(name, RTLD_LAZY | RTLD_NOLOAD));
}

/// LD_LIBRARY_PATH, the run path, and the system's own directories.
std::vector<fs::path> searched_for_own_object() {
    const auto handle = own_object();
    Dl_serinfo head{};
    if (!handle || dlinfo(handle.get(), RTLD_DI_SERINFOSIZE, &head) != 0) return {};
    // The structure ends in an array whose length only the linker knows.
    const std::unique_ptr<std::byte[]> memory(new std::byte[head.dls_size]);
    auto* all = reinterpret_cast<Dl_serinfo*>(memory.get());
    all->dls_size = head.dls_size;
    all->dls_cnt = head.dls_cnt;
    if (dlinfo(handle.get(), RTLD_DI_SERINFO, all) != 0) return {};
    std::vector<fs::path> directories;
    for (unsigned i = 0; i < all->dls_cnt; ++i) directories.emplace_back(all->dls_serpath[i].dls_name);
    return directories;
}

}  // namespace

std::vector<fs::path> directories_of_configuration(const fs::path& file) {
    std::vector<fs::path> directories;
    read_configuration(file, 0, directories);
    return directories;
}

std::vector<fs::path> linker_directories() {
    std::vector<fs::path> directories = searched_for_own_object();
    for (fs::path& each : directories_of_configuration("/etc/ld.so.conf")) directories.push_back(std::move(each));
    return directories;
}

}  // namespace kiln::jit
