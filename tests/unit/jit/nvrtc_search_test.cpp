// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc_search.hpp"

#include <unistd.h>

#include <fstream>

#include "support/catch.hpp"
#include "support/child_process.hpp"

using namespace kiln;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files_in(const jit::SearchPlaces& places) {
    std::vector<fs::path> files;
    jit::search_nvrtc(places, [&](const fs::path& file) {
        files.push_back(file);
        return false;
    });
    return files;
}

/// A folder that is gone after the test.
class Folder {
public:
    Folder() : path_(fs::temp_directory_path() / ("kiln_search_" + std::to_string(getpid()))) {
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { fs::remove_all(path_); }

    fs::path file(const fs::path& name) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << "library";
        return path_ / name;
    }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

}  // namespace

TEST_CASE("the named library is the only choice, even if it is not there") {
    const Folder folder;
    folder.file("linker/libnvrtc.so.13");
    jit::SearchPlaces places;
    places.library = "/nonexistent/libnvrtc.so";
    places.linker_directories = {folder.path() / "linker"};
    CHECK(files_in(places) == std::vector<fs::path>{"/nonexistent/libnvrtc.so"});
}

TEST_CASE("the linker's directories come first, then toolkits, then wheels, the newest version of each first") {
    const Folder folder;
    jit::SearchPlaces places;
    places.linker_directories = {folder.path() / "linker"};
    places.toolkits = {folder.path() / "cuda"};
    places.prefixes = {folder.path() / "venv"};
    const std::vector<fs::path> expected{
        folder.file("linker/libnvrtc.so.13"),
        folder.file("linker/libnvrtc.so.12"),
        folder.file("linker/libnvrtc.so"),
        folder.file("cuda/lib64/libnvrtc.so.13"),
        folder.file("cuda/targets/x86_64-linux/lib/libnvrtc.so.12"),
        folder.file("venv/lib/libnvrtc.so.12"),
        folder.file("venv/lib/python3.11/site-packages/nvidia/cu14/lib/libnvrtc.so.14"),
        folder.file("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"),
        folder.file("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
        folder.file("venv/lib/python3.12/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
    };
    folder.file("linker/libnvrtc.so.11.2");
    folder.file("linker/libnvrtc.so.12x");
    folder.file("linker/libnvrtc-builtins.so.13.0");
    folder.file("linker/libnvrtc.alt.so.13");
    CHECK(files_in(places) == expected);
}

TEST_CASE("the search ends where a file is taken") {
    const Folder folder;
    jit::SearchPlaces places;
    places.linker_directories = {folder.path() / "first", folder.path() / "second"};
    folder.file("first/libnvrtc.so.13");
    folder.file("first/libnvrtc.so.12");
    folder.file("second/libnvrtc.so.12");
    int shown = 0;
    jit::search_nvrtc(places, [&](const fs::path&) { return ++shown == 2; });
    CHECK(shown == 2);
}

TEST_CASE("a file that has several names is tried once") {
    const Folder folder;
    const fs::path real = folder.file("toolkit/libnvrtc.so.13.0.88");
    fs::create_directories(folder.path() / "linker");
    fs::create_symlink(real, folder.path() / "linker/libnvrtc.so.13");
    fs::create_symlink(folder.path() / "linker/libnvrtc.so.13", folder.path() / "linker/libnvrtc.so");
    fs::create_symlink("/nonexistent", folder.path() / "linker/libnvrtc.so.12");
    jit::SearchPlaces places;
    places.linker_directories = {folder.path() / "linker", folder.path() / "linker", folder.path() / "toolkit"};
    CHECK(files_in(places) == std::vector<fs::path>{folder.path() / "linker/libnvrtc.so.13"});
}

TEST_CASE("a directory that depends on where the program was started is not searched") {
    const Folder folder;
    folder.file("libnvrtc.so.13");
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    jit::SearchPlaces places;
    places.linker_directories = {"", "."};
    CHECK(files_in(places).empty());
    fs::current_path(before);
}

TEST_CASE("look around", "[.]") {
    const auto places = jit::search_places();
    CHECK(places.library == "/named/libnvrtc.so");
    REQUIRE(places.toolkits.size() >= 4);
    CHECK(places.toolkits[0] == "/path/");
    CHECK(places.toolkits[1] == "/home/");
    CHECK(places.toolkits[2] == "/usr/local/cuda");
    CHECK(places.prefixes == std::vector<fs::path>{"/venv/", "/conda/", "/user/.local", "/usr/local", "/usr"});
    CHECK(std::find(places.linker_directories.begin(), places.linker_directories.end(), "/preferred") !=
          places.linker_directories.end());
}

TEST_CASE("the environment and the system name the places") {
    const auto result = kiln::test::run_case("look around", {{"KILN_NVRTC_LIBRARY", "/named/libnvrtc.so"},
                                                             {"CUDA_PATH", "/path"},
                                                             {"CUDA_HOME", "/home"},
                                                             {"VIRTUAL_ENV", "/venv"},
                                                             {"CONDA_PREFIX", "/conda"},
                                                             {"HOME", "/user"},
                                                             {"LD_LIBRARY_PATH", "/preferred"}});
    INFO(result.output);
    CHECK(result.status == 0);
}

TEST_CASE("NVRTC's builtins are found beside it, through links too") {
    const Folder folder;
    const fs::path nvrtc = folder.file("lib/libnvrtc.so.13");
    CHECK(jit::builtins_beside(nvrtc, 13, 0).empty());
    const fs::path builtins = folder.file("lib/libnvrtc-builtins.so.13.0");
    CHECK(jit::builtins_beside(nvrtc, 13, 0) == builtins);
    CHECK(jit::builtins_beside(nvrtc, 13, 1).empty());
    fs::create_symlink(nvrtc, folder.path() / "libnvrtc.so");
    CHECK(jit::builtins_beside(folder.path() / "libnvrtc.so", 13, 0) == fs::canonical(builtins));
}
