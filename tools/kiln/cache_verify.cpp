// SPDX-License-Identifier: Apache-2.0
// kiln cache verify: reads every entry whole, and removes what is damaged where it is asked to.
#include <memory>
#include <string>

#include "cache/upkeep/verify.hpp"
#include "kiln/cache_places.hpp"
#include "kiln/program.hpp"

namespace kiln::tools {
namespace {

ExitStatus run_verify(Program& program, bool repair) {
    nlohmann::ordered_json problems = nlohmann::ordered_json::array();
    const VerifyResult result = value_or_throw(verify_cache(cache_configuration(), repair, [&](const VerifyProblem& problem) {
        problems.push_back(
            {{"path", problem.path}, {"key", problem.key_name}, {"message", problem.what}, {"repaired", problem.repaired}});
        if (!program.json)
            program.out.write_line(fmt::format("{}: {}{}", problem.path, problem.what, problem.repaired ? " (removed)" : ""));
    }));
    const std::uint64_t left = result.problems - result.repaired;
    const std::string message = fmt::format(
        "{} problems, among {} entries{}", left, result.entries,
        repair ? "" : "; --repair removes damaged entries of the user's directory, and they are compiled again when needed");
    if (program.json) {
        nlohmann::ordered_json document{{"entries", result.entries},
                                        {"bytes", result.bytes},
                                        {"other_versions", result.other_versions},
                                        {"problems", problems},
                                        {"repaired", result.repaired}};
        if (left > 0) document["error"] = {{"code", "check_failed"}, {"message", message}};
        program.out.write_json(document);
    } else {
        program.out.write_line(fmt::format("{} entries, {} bytes, {} problems, {} repaired", result.entries, result.bytes,
                                           result.problems, result.repaired));
    }
    if (left == 0) return ExitStatus::done;
    tell_error(message);
    return ExitStatus::check_failed;
}

}  // namespace

void add_cache_verify(Program& program, CLI::App& group) {
    CLI::App& command = program.add_command(group, "verify", "read every entry whole; status 6 where one is damaged");
    auto repair = std::make_shared<bool>(false);
    command.add_flag("--repair", *repair, "remove what is damaged from the user's directory");
    command.callback([&program, repair] { program.command = [&program, repair] { return run_verify(program, *repair); }; });
}

}  // namespace kiln::tools
