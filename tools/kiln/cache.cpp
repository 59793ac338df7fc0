// SPDX-License-Identifier: Apache-2.0
// kiln cache: the group of commands that look into the cache and keep it, and the smallest two.
#include "cache/upkeep/places.hpp"
#include "cache/upkeep/prune.hpp"
#include "kiln/cache_places.hpp"
#include "kiln/program.hpp"

namespace kiln::tools {
namespace {

ExitStatus run_path(Program& program) {
    const CacheConfiguration configuration = cache_configuration();
    const std::string path = own_directory_path(configuration);
    if (program.json) {
        program.out.write_json({{"path", path}, {"directory", configuration.directory}, {"layers", configuration.layers}});
    } else {
        program.out.write_line(path);
    }
    return ExitStatus::done;
}

ExitStatus run_clear(Program& program) {
    const PruneResult result = value_or_throw(clear(cache_configuration()));
    const std::string problem = what_stayed(result);
    if (program.json) {
        nlohmann::ordered_json document{{"removed", result.removed}, {"removed_bytes", result.removed_bytes}};
        if (!problem.empty()) document["error"] = {{"code", "bad_file"}, {"message", problem}};
        program.out.write_json(document);
    } else {
        program.out.write_line(fmt::format("removed {} kernels, {} bytes", result.removed, result.removed_bytes));
    }
    if (problem.empty()) return ExitStatus::done;
    tell_error(problem);
    return ExitStatus::bad_input;
}

}  // namespace

void add_cache(Program& program) {
    CLI::App* group = program.app.add_subcommand("cache", "look into the cache of compiled kernels, and keep it");
    group->footer("Exit status and environment: kiln --help");
    add_cache_list(program, *group);
    add_cache_show(program, *group);
    CLI::App& path = program.add_command(*group, "path", "where this user's kernels are kept");
    path.callback([&program] { program.command = [&program] { return run_path(program); }; });
    add_cache_stats(program, *group);
    add_cache_verify(program, *group);
    add_cache_prune(program, *group);
    CLI::App& clear = program.add_command(*group, "clear", "remove every kernel of the user's directory");
    clear.callback([&program] { program.command = [&program] { return run_clear(program); }; });
    add_cache_export(program, *group);
    add_cache_import(program, *group);
}

}  // namespace kiln::tools
