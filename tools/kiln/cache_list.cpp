// SPDX-License-Identifier: Apache-2.0
// kiln cache list: the kernels that are kept, by the heads of their entries.
#include <string>
#include <vector>

#include "cache/key.hpp"
#include "kiln/cache_json.hpp"
#include "kiln/cache_places.hpp"
#include "kiln/kernel_json.hpp"
#include "kiln/program.hpp"
#include "model/spec_json.hpp"

namespace kiln::tools {
namespace {

/// Written entry by entry: a cache may hold many.
ExitStatus print_json(Program& program, const CachePlaces& places) {
    program.out.write("{\"entries\": [");
    const char* separator = "\n";
    try {
        places.list([&](const Layer& place, const ListedEntry& entry) {
            program.out.write(separator);
            program.out.write_json_line(entry_to_json(place.origin(), entry));
            separator = ",\n";
        });
    } catch (const Error& error) {
        // The document has begun, so it is finished, with what can be told.
        program.out.write("\n], \"error\": ");
        program.out.write_json_line({{"code", to_string(error.code())}, {"message", error.what()}});
        program.out.write_line("}");
        tell_error(error.what());
        return exit_status_of(error.code());
    }
    program.out.write_line("\n]}");
    return ExitStatus::done;
}

std::string model_text(const ListedEntry& entry) {
    if (!entry.head) return "unusable: " + entry.head.error().what;
    const auto spec = spec_from_json_text(entry.head->facts.spec_json);
    return spec ? spec_sentence(*spec) : entry.head->facts.spec_json;
}

void print_text(Program& program, const CachePlaces& places) {
    std::vector<std::vector<std::string>> rows{{"key", "arch", "family", "bytes", "toolchain", "place", "model"}};
    places.list([&](const Layer& place, const ListedEntry& entry) {
        const auto fields = entry.head ? parse_key_head(entry.head->key_head) : std::nullopt;
        rows.push_back({entry.key_name, fields ? std::string(fields->arch) : "-", fields ? std::string(fields->family) : "-",
                        std::to_string(entry.bytes), entry.head ? entry.head->facts.toolchain : "-",
                        std::string(to_string(place.origin())), model_text(entry)});
    });
    if (rows.size() == 1) return tell("the cache holds no kernels");
    program.out.write(table_text(rows));
}

}  // namespace

void add_cache_list(Program& program, CLI::App& group) {
    CLI::App& command = program.add_command(group, "list", "the kernels that are kept");
    command.callback([&program] {
        program.command = [&program] {
            const CachePlaces places(cache_configuration());
            if (program.json) return print_json(program, places);
            print_text(program, places);
            return ExitStatus::done;
        };
    });
}

}  // namespace kiln::tools
