// SPDX-License-Identifier: Apache-2.0
// kiln cache prune: removes the kernels that are meant from the user's directory.
#include <memory>
#include <string>

#include "cache/upkeep/prune.hpp"
#include "kiln/cache_json.hpp"
#include "kiln/cache_places.hpp"
#include "kiln/cache_selection.hpp"
#include "kiln/program.hpp"

namespace kiln::tools {
namespace {

struct PruneArguments {
    SelectionOptions selection;
    std::string target;
    bool dry_run = false;
};

ExitStatus run_prune(Program& program, const PruneArguments& arguments) {
    if (!arguments.selection.given() && arguments.target.empty()) {
        throw wrong_usage("say which kernels to remove (see kiln cache prune --help); `kiln cache clear` removes all");
    }
    PruneOptions options{.selection = arguments.selection.selection(), .target_bytes = {}, .dry_run = arguments.dry_run};
    if (!arguments.target.empty()) options.target_bytes = parse_bytes("--to-size", arguments.target);
    nlohmann::ordered_json removed = nlohmann::ordered_json::array();
    const PruneResult result = value_or_throw(prune(cache_configuration(), options, [&](const ListedEntry& entry) {
        if (program.json) removed.push_back(entry_to_json(Origin::user, entry));
        if (!program.json)
            program.out.write_line(
                fmt::format("{}  {} bytes, last used {}", entry.key_name, entry.bytes, time_text(entry.used_s)));
    }));
    const std::string problem = what_stayed(result);
    if (program.json) {
        nlohmann::ordered_json document{{"dry_run", arguments.dry_run},
                                        {"entries", result.entries},
                                        {"bytes", result.bytes},
                                        {"removed", result.removed},
                                        {"removed_bytes", result.removed_bytes},
                                        {"kernels", removed}};
        if (!problem.empty()) document["error"] = {{"code", "bad_file"}, {"message", problem}};
        program.out.write_json(document);
    } else {
        program.out.write_line(fmt::format("{} {} of {} kernels, {} of {} bytes", arguments.dry_run ? "would remove" : "removed",
                                           result.removed, result.entries, result.removed_bytes, result.bytes));
    }
    if (problem.empty()) return ExitStatus::done;
    tell_error(problem);
    return ExitStatus::bad_input;
}

}  // namespace

void add_cache_prune(Program& program, CLI::App& group) {
    CLI::App& command = program.add_command(group, "prune", "remove kernels by arch, age, size, toolchain or format");
    auto arguments = std::make_shared<PruneArguments>();
    arguments->selection.add_to(command);
    command
        .add_option("--to-size", arguments->target,
                    "of those, what was used longest ago, until the directory is no larger than this")
        ->type_name("SIZE");
    command.add_flag("--dry-run", arguments->dry_run, "only say what would be removed");
    command.callback(
        [&program, arguments] { program.command = [&program, arguments] { return run_prune(program, *arguments); }; });
}

}  // namespace kiln::tools
