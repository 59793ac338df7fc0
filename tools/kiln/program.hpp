// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "kiln/exit_status.hpp"
#include "kiln/output.hpp"

namespace kiln::tools {

/// What the commands share. A command's options are read first; what it then does is kept in `command` until all are known to be
/// right.
struct Program {
    CLI::App app{"kiln: CUDA kernels for Conv2d → AvgPool2d → activation → sum, specialised, compiled and cached"};
    Output out;
    std::string version;
    bool json = false;
    bool verbose = false;
    std::function<ExitStatus()> command;

    /// A command, below `app` or below another one, with the options that all have.
    CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description);
};

// Each in a file of its name.
void add_run(Program& program);
void add_warm(Program& program);
void add_plan(Program& program);
void add_source(Program& program);
void add_why(Program& program);
void add_bench(Program& program);
void add_doctor(Program& program);
void add_cache(Program& program);
void add_cache_list(Program& program, CLI::App& group);
void add_cache_show(Program& program, CLI::App& group);
void add_cache_stats(Program& program, CLI::App& group);
void add_cache_verify(Program& program, CLI::App& group);
void add_cache_prune(Program& program, CLI::App& group);
void add_cache_export(Program& program, CLI::App& group);
void add_cache_import(Program& program, CLI::App& group);

}  // namespace kiln::tools
