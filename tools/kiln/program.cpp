// SPDX-License-Identifier: Apache-2.0
#include "kiln/program.hpp"

namespace kiln::tools {

CLI::App& Program::add_command(CLI::App& parent, const std::string& name, const std::string& description) {
    CLI::App* added = parent.add_subcommand(name, description);
    added->footer("Exit status and environment: kiln --help");
    added->add_flag("--json", json, "print the facts as one JSON document, also when something goes wrong")->group("Output");
    added->add_flag("-v,--verbose", verbose, "log what is compiled and where hits come from, as KILN_LOG=info does")
        ->group("Output");
    return *added;
}

}  // namespace kiln::tools
