// SPDX-License-Identifier: Apache-2.0
// kiln plan: which kernel serves a spec on an arch, what else would have, and what limits each.
#include <memory>
#include <string>
#include <vector>

#include "kiln/kernel_json.hpp"
#include "kiln/program.hpp"
#include "kiln/spec_options.hpp"
#include "model/planner.hpp"
#include "model/spec_json.hpp"
#include "model/validation.hpp"

namespace kiln::tools {
namespace {

struct PlanOptions {
    SpecOptions spec;
    ArchOptions arch;
};

nlohmann::ordered_json plan_to_json(const Plan& plan) {
    return {{"family", plan.family->name()},
            {"tile", to_string(plan.candidate.tile)},
            {"predicted_us", plan.candidate.predicted_us},
            {"limiter", plan.candidate.limiter}};
}

void print(Program& program, const ModelSpec& spec, const Arch& arch, const std::vector<Plan>& plans) {
    const Shape tuned = tuning_shape(spec);
    const std::string note = plan_note(spec, plans.front());
    if (program.json) {
        nlohmann::ordered_json candidates = nlohmann::ordered_json::array();
        for (const Plan& plan : plans) candidates.push_back(plan_to_json(plan));
        program.out.write_json({{"arch", arch.name()},
                                {"spec", spec_to_json(spec)},
                                {"tuned_for", {{"batch", tuned.batch}, {"height", tuned.height}, {"width", tuned.width}}},
                                {"note", note},
                                {"choice", plan_to_json(plans.front())},
                                {"candidates", candidates}});
        return;
    }
    constexpr std::size_t most_rows = 20;
    program.out.write_line(fmt::format("{} on {}, tuned for {},{},{}{}", spec_sentence(spec), arch.name(), tuned.batch,
                                       tuned.height, tuned.width, spec.expected ? "" : " (no --shape was given)"));
    if (!note.empty()) program.out.write_line(note);
    std::vector<std::vector<std::string>> rows{{"", "family", "tile", "predicted", "limiter"}};
    for (std::size_t index = 0; index < std::min(plans.size(), most_rows); ++index) {
        const Plan& plan = plans[index];
        rows.push_back({index == 0 ? "→" : "", std::string(plan.family->name()), to_string(plan.candidate.tile),
                        fmt::format("{:.1f} us", plan.candidate.predicted_us), plan.candidate.limiter});
    }
    program.out.write(table_text(rows));
    if (plans.size() > most_rows)
        program.out.write_line(fmt::format("and {} slower ones; --json has all", plans.size() - most_rows));
}

ExitStatus run_plan(Program& program, const PlanOptions& options) {
    const ModelSpec spec = options.spec.spec();
    validate(spec);
    const Arch arch = options.arch.archs().front();
    const std::vector<Plan> plans = enumerate_plans(spec, arch);
    if (plans.empty()) value_or_throw(choose_plan(spec, arch));  // says why there is none
    print(program, spec, arch, plans);
    return ExitStatus::done;
}

}  // namespace

void add_plan(Program& program) {
    CLI::App& command = program.add_command(program.app, "plan", "which kernel serves a spec on an arch, and why");
    auto options = std::make_shared<PlanOptions>();
    options->spec.add_to(command);
    options->arch.add_to(command, false);
    command.callback([&program, options] { program.command = [&program, options] { return run_plan(program, *options); }; });
}

}  // namespace kiln::tools
