// SPDX-License-Identifier: Apache-2.0
// kiln cache stats: what the directories and layers hold.
#include <string>
#include <vector>

#include "cache/upkeep/directory_stats.hpp"
#include "kiln/cache_json.hpp"
#include "kiln/cache_places.hpp"
#include "kiln/program.hpp"

namespace kiln::tools {
namespace {

using nlohmann::ordered_json;

ordered_json amount_to_json(const Amount& amount) {
    return {{"entries", amount.entries}, {"bytes", amount.bytes}};
}

ordered_json amounts_to_json(const std::map<std::string, Amount>& amounts) {
    ordered_json json = ordered_json::object();
    for (const auto& [name, amount] : amounts) json[name] = amount_to_json(amount);
    return json;
}

ordered_json place_to_json(const PlaceStats& place) {
    ordered_json json{{"path", place.path},
                      {"origin", to_string(place.origin)},
                      {"problem", nullptr},
                      {"entries", place.all.entries},
                      {"bytes", place.all.bytes},
                      {"damaged", amount_to_json(place.damaged)},
                      {"other_versions", amount_to_json(place.other_versions)},
                      {"by_arch", amounts_to_json(place.by_arch)},
                      {"by_toolchain", amounts_to_json(place.by_toolchain)},
                      {"oldest_use", nullptr},
                      {"newest_use", nullptr}};
    if (!place.problem.empty()) json["problem"] = place.problem;
    if (place.all.entries > 0) {
        json["oldest_use"] = time_text(place.oldest_use_s);
        json["newest_use"] = time_text(place.newest_use_s);
    }
    return json;
}

std::string amounts_text(const std::map<std::string, Amount>& amounts) {
    std::string text;
    for (const auto& [name, amount] : amounts) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name.empty() ? "unknown" : name, amount.entries);
    }
    return text;
}

void print_text(Program& program, const PlaceStats& place, std::uint64_t maximum_bytes) {
    std::vector<std::vector<std::string>> rows{{std::string(to_string(place.origin)), place.path}};
    if (!place.problem.empty()) rows.push_back({"problem", place.problem});
    rows.push_back({"kernels", std::to_string(place.all.entries)});
    rows.push_back({"bytes", place.origin == Origin::user ? fmt::format("{} of at most {}", place.all.bytes, maximum_bytes)
                                                          : std::to_string(place.all.bytes)});
    if (place.damaged.entries > 0) rows.push_back({"damaged", std::to_string(place.damaged.entries)});
    if (place.other_versions.entries > 0) rows.push_back({"other versions", std::to_string(place.other_versions.entries)});
    if (!place.by_arch.empty()) rows.push_back({"archs", amounts_text(place.by_arch)});
    if (!place.by_toolchain.empty()) rows.push_back({"toolchains", amounts_text(place.by_toolchain)});
    if (place.all.entries > 0)
        rows.push_back({"used", fmt::format("{} to {}", time_text(place.oldest_use_s), time_text(place.newest_use_s))});
    program.out.write(table_text(rows));
}

ExitStatus run_stats(Program& program) {
    const CacheConfiguration configuration = cache_configuration();
    const std::vector<PlaceStats> places = directory_stats(configuration);
    if (program.json) {
        ordered_json document{{"maximum_bytes", configuration.maximum_bytes}, {"places", ordered_json::array()}};
        for (const PlaceStats& place : places) document["places"].push_back(place_to_json(place));
        program.out.write_json(document);
        return ExitStatus::done;
    }
    for (const PlaceStats& place : places) {
        if (&place != &places.front()) program.out.write("\n");
        print_text(program, place, configuration.maximum_bytes);
    }
    return ExitStatus::done;
}

}  // namespace

void add_cache_stats(Program& program, CLI::App& group) {
    CLI::App& command = program.add_command(group, "stats", "what the directories hold: how many, how large, for what");
    command.callback([&program] { program.command = [&program] { return run_stats(program); }; });
}

}  // namespace kiln::tools
