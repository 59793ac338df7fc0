// SPDX-License-Identifier: Apache-2.0
#include "jit/linker_directories.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "support/catch.hpp"

using namespace kiln;
namespace fs = std::filesystem;

TEST_CASE("the linker's configuration is read with its includes") {
    const fs::path folder = fs::temp_directory_path() / ("kiln_ld_so_conf_" + std::to_string(getpid()));
    fs::create_directories(folder / "more.d");
    std::ofstream(folder / "ld.so.conf") << "# a comment\n/first\n\n  include more.d/*.conf\n\t/last # why\ninclude ld.so.conf\n";
    std::ofstream(folder / "more.d/a.conf") << "/a";
    std::ofstream(folder / "more.d/b.conf") << "/b\n";
    const auto directories = jit::directories_of_configuration(folder / "ld.so.conf");
    REQUIRE(directories.size() >= 4);
    CHECK(std::vector<fs::path>(directories.begin(), directories.begin() + 4) ==
          std::vector<fs::path>{"/first", "/a", "/b", "/last"});
    CHECK(directories.size() < 100);  // a file that includes itself ends
    fs::remove_all(folder);
    CHECK(jit::directories_of_configuration(folder / "ld.so.conf").empty());
}

TEST_CASE("the linker's own directories hold the C library") {
    const auto directories = jit::linker_directories();
    CHECK(
        std::any_of(directories.begin(), directories.end(), [](const fs::path& each) { return fs::exists(each / "libc.so.6"); }));
}
