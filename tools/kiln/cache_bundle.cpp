// SPDX-License-Identifier: Apache-2.0
// kiln cache export and import: kernels in one file, to carry to another machine or to name in KILN_CACHE_LAYERS.
#include <memory>
#include <string>

#include "cache/upkeep/export.hpp"
#include "cache/upkeep/import.hpp"
#include "kiln/cache_places.hpp"
#include "kiln/cache_selection.hpp"
#include "kiln/program.hpp"

namespace kiln::tools {
namespace {

struct ExportArguments {
    SelectionOptions selection;
    std::string file;
};

ExitStatus run_export(Program& program, const ExportArguments& arguments) {
    const ExportResult result =
        value_or_throw(export_bundle(cache_configuration(), arguments.selection.selection(), arguments.file));
    if (program.json) {
        program.out.write_json(
            {{"path", arguments.file}, {"entries", result.entries}, {"bytes", result.file_bytes}, {"skipped", result.skipped}});
    } else {
        program.out.write_line(fmt::format("{}: {} kernels, {} bytes", arguments.file, result.entries, result.file_bytes));
    }
    if (result.skipped > 0)
        tell(fmt::format("left out {} entries that are damaged or of another version of Kiln", result.skipped));
    return ExitStatus::done;
}

ExitStatus run_import(Program& program, const std::string& file) {
    const ImportResult result = value_or_throw(import_bundle(cache_configuration(), file));
    const std::string message = fmt::format("{} entries of {} failed a check and were not taken in", result.refused.size(), file);
    if (program.json) {
        nlohmann::ordered_json refused = nlohmann::ordered_json::array();
        for (const auto& each : result.refused) refused.push_back({{"key", each.key_name}, {"message", each.why}});
        nlohmann::ordered_json document{
            {"imported", result.imported}, {"already_there", result.already_there}, {"refused", refused}};
        if (!result.refused.empty()) document["error"] = {{"code", "bad_file"}, {"message", message}};
        program.out.write_json(document);
    } else {
        program.out.write_line(fmt::format("imported {} kernels, {} were there already", result.imported, result.already_there));
    }
    if (result.refused.empty()) return ExitStatus::done;
    for (const auto& each : result.refused) tell(fmt::format("refused {}: {}", each.key_name, each.why));
    tell_error(message);
    return ExitStatus::bad_input;
}

}  // namespace

void add_cache_export(Program& program, CLI::App& group) {
    CLI::App& command = program.add_command(group, "export", "write kernels into one bundle file");
    auto arguments = std::make_shared<ExportArguments>();
    command.add_option("file", arguments->file, "the bundle to write")->required()->type_name("FILE");
    arguments->selection.add_to(command);
    command.callback(
        [&program, arguments] { program.command = [&program, arguments] { return run_export(program, *arguments); }; });
}

void add_cache_import(Program& program, CLI::App& group) {
    CLI::App& command =
        program.add_command(group, "import", "take the kernels of a bundle in; a kernel is code, so trust its author");
    auto file = std::make_shared<std::string>();
    command.add_option("file", *file, "the bundle to read")->required()->type_name("FILE");
    command.callback([&program, file] { program.command = [&program, file] { return run_import(program, *file); }; });
}

}  // namespace kiln::tools
