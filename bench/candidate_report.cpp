// SPDX-License-Identifier: Apache-2.0
#include "candidate_report.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "candidate_jobs.hpp"
#include "model/spec_json.hpp"

namespace kiln::bench {

namespace {

using Json = nlohmann::ordered_json;

double over_best(const Json& result, const char* role) {
    return result[role].is_null() ? 0 : result[role]["over_best"].get<double>();
}

/// How far a family's predictions for an earlier run's candidates are off.
struct Deviation {
    int count = 0;
    double squares = 0;  ///< of logarithms of predicted over measured

    [[nodiscard]] double rms() const { return std::sqrt(squares / std::max(1, count)); }
};

/// An earlier run's measured times of one spec, by kernel.
std::map<std::string, double> times_of(const Json& result) {
    std::map<std::string, double> times;
    for (const Json& candidate : result["candidates"]) {
        if (!candidate.contains("measured_us")) continue;
        times[candidate["family"].get<std::string>() + " " + candidate["tile"].get<std::string>()] = candidate["measured_us"];
    }
    return times;
}

/// The best plan that was measured; nullptr if none was.
const Plan* first_measured(const std::vector<Plan>& plans, const std::map<std::string, double>& times) {
    for (const Plan& plan : plans) {
        if (times.count(name_of(plan)) > 0) return &plan;
    }
    return nullptr;
}

}  // namespace

void print_line(const Json& result) {
    const auto told = [&](const char* role) {
        return result[role].is_null() ? std::string("failed") : fmt::format("{:.1f}", result[role]["us"].get<double>());
    };
    fmt::print("{:<13} {:>3}/{:<3} best {:>7} chosen {:>7} ({:.2f}) untold {:.2f} simt {:.2f}{}  {} | {}\n",
               result["name"].get<std::string>(), result["measured"].get<int>(), result["legal"].get<int>(), told("best"),
               told("chosen"), over_best(result, "chosen"), over_best(result, "without_expected"), over_best(result, "simt"),
               result["all_agree"].get<bool>() ? "" : "  DISAGREE", result["chosen"].value("kernel", ""),
               result["best"].value("kernel", ""));
    std::cout.flush();
}

Json summary(const Json& results) {
    int within_tenth = 0, untold_within_quarter = 0, benchmark_shapes = 0, slower_than_simt = 0, disagreeing = 0;
    for (const Json& each : results) {
        const double chosen = over_best(each, "chosen"), simt = over_best(each, "simt");
        within_tenth += chosen > 0 && chosen <= 1.1 ? 1 : 0;
        slower_than_simt += simt > 0 && chosen > 1.03 * simt ? 1 : 0;
        disagreeing += each["all_agree"].get<bool>() ? 0 : 1;
        if (!each["is_benchmark_shape"].get<bool>() || each["chosen"].is_null()) continue;
        ++benchmark_shapes;
        untold_within_quarter += over_best(each, "without_expected") <= 1.25 * chosen ? 1 : 0;
    }
    return {{"specs", results.size()},
            {"chosen_within_10_percent_of_best", within_tenth},
            {"benchmark_shapes", benchmark_shapes},
            {"without_expected_within_25_percent_of_chosen", untold_within_quarter},
            {"slower_than_simt_alone", slower_than_simt},
            {"specs_whose_candidates_disagree_or_fail", disagreeing}};
}

void replay(const std::string& path) {
    const Json run = Json::parse(std::ifstream(path));
    const Arch arch = Arch::parse(run["arch"].get<std::string>());
    int within_tenth = 0, unmeasured = 0;
    std::map<std::string, Deviation> deviations;
    for (const Json& each : run["specs"]) {
        const std::map<std::string, double> times = times_of(each);
        const double best = each["best"]["us"];
        std::string families;
        std::set<const Family*> seen;
        ModelSpec spec = value_or_throw(spec_from_json(each["spec"]));
        const std::vector<Plan> told = enumerate_plans(spec, arch);
        for (const Plan& plan : told) {
            const auto found = times.find(name_of(plan));
            if (found == times.end()) continue;
            Deviation& deviation = deviations[std::string(plan.family->name())];
            ++deviation.count;
            deviation.squares += std::pow(std::log(plan.candidate.predicted_us / found->second), 2);
            if (!seen.insert(plan.family).second) continue;
            families += fmt::format("  {} {:.1f}/{:.1f}", plan.family->name(), plan.candidate.predicted_us, found->second);
        }
        spec.expected.reset();
        const std::vector<Plan> untold = enumerate_plans(spec, arch);
        const auto ratio = [&](const std::vector<Plan>& plans) {
            const Plan* plan = first_measured(plans, times);
            return plan == nullptr ? 0 : times.at(name_of(*plan)) / best;
        };
        const auto mark = [&](const std::vector<Plan>& plans) { return times.count(name_of(plans.front())) > 0 ? ' ' : '*'; };
        within_tenth += ratio(told) > 0 && ratio(told) <= 1.1 ? 1 : 0;
        unmeasured += mark(told) == '*' ? 1 : 0;
        fmt::print("{:<13} best {:>7.1f} chosen {:.2f}{} untold {:.2f}{} predicted/measured:{}\n",
                   each["name"].get<std::string>(), best, ratio(told), mark(told), ratio(untold), mark(untold), families);
    }
    fmt::print("{} of {} within 10 % of the best; * in {} a choice that was not measured was passed over\n", within_tenth,
               run["specs"].size(), unmeasured);
    for (const auto& [family, deviation] : deviations) {
        fmt::print("{}: {} predictions, off by {:.2f} (root mean square)\n", family, deviation.count, deviation.rms());
    }
}

}  // namespace kiln::bench
