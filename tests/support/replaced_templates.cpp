// SPDX-License-Identifier: Apache-2.0
// A test binary that is linked with this takes kernel templates from the folder that KILN_TEST_TEMPLATES names, so that
// tools/mutation-check can run it over broken kernels without building anything. The linker's --wrap puts it in front of
// `embedded_templates()` in those binaries alone: the library itself has no such door.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "jit/embedded_templates.hpp"

namespace kiln::test {

using Templates = std::vector<EmbeddedTemplate>;

const Templates& templates_as_built() asm("__real__ZN4kiln18embedded_templatesEv");
const Templates& templates_in_use() asm("__wrap__ZN4kiln18embedded_templatesEv");

namespace {

/// A folder in which none is replaced would let every mutation survive unseen.
Templates replaced(const std::filesystem::path& folder) {
    bool is_any_replaced = false;
    Templates templates = templates_as_built();
    for (EmbeddedTemplate& each : templates) {
        std::ifstream file(folder / (std::string(each.name) + ".cu"), std::ios::binary);
        if (!file) continue;
        each.text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        is_any_replaced = true;
    }
    if (!is_any_replaced) {
        std::cerr << folder << " replaces no template\n";
        std::abort();
    }
    return templates;
}

}  // namespace

const Templates& templates_in_use() {
    const char* folder = std::getenv("KILN_TEST_TEMPLATES");
    if (folder == nullptr) return templates_as_built();
    static const Templates templates = replaced(folder);
    return templates;
}

}  // namespace kiln::test
