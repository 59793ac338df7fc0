// SPDX-License-Identifier: Apache-2.0
// Whether the planner chooses well: measures candidates of every family for the benchmark shapes and for random specs, checks
// them against each other, and says how the choice compares with the best. Needs a GPU, but for --compile-only and --replay.
//
//     bench_candidates --out candidates.json [--specs 30] [--best 6] [--others 4]
//     bench_candidates --from specs.json --best 1        what the planner chooses for these, told their shapes and not
//     bench_candidates --compile-only sm_90a             fills the cache for a run on another machine
//     bench_candidates --replay candidates.json          what today's cost models would have chosen among what was measured
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cache/kernel_cache.hpp"
#include "candidate_specs.hpp"
#include "driver/arch_table.hpp"
#include "driver/device.hpp"
#include "jit/nvrtc.hpp"
#include "model/loaded_kernel.hpp"
#include "model/spec_json.hpp"
#include "support/parallel.hpp"
#include "timed_plan.hpp"

namespace kiln::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
    std::string out, from, compile_only, replay, only;
    int specs = 30;
    std::uint32_t seed = 1;
    std::size_t best = 0, others = 0;  ///< candidates of each family: best predicted, and some of the rest; 0: all
    std::size_t rounds = 5;
};

std::string name_of(const Plan& plan) {
    return fmt::format("{} {}", plan.family->name(), to_string(plan.candidate.tile));
}

/// The candidates that are measured: of each family the best predicted, and others spread evenly over the rest; of families that
/// are far behind only the best.
std::vector<Plan> chosen_candidates(const std::vector<Plan>& all, const Arguments& arguments) {
    if (arguments.best == 0) return all;
    constexpr double far_behind = 2;
    std::map<const Family*, std::size_t> sizes, seen;
    std::set<const Family*> behind;
    for (const Plan& plan : all) {
        if (++sizes[plan.family] > 1) continue;
        if (plan.candidate.predicted_us > far_behind * all.front().candidate.predicted_us) behind.insert(plan.family);
    }
    std::vector<Plan> chosen;
    for (const Plan& plan : all) {
        const std::size_t index = seen[plan.family]++;
        if (index > 0 && behind.count(plan.family) > 0) continue;
        const std::size_t rest = sizes[plan.family] - std::min(sizes[plan.family], arguments.best);
        const bool is_other = index >= arguments.best && arguments.others > 0 &&
                              (index - arguments.best) % std::max<std::size_t>(1, rest / arguments.others) == 0;
        if (index < arguments.best || is_other) chosen.push_back(plan);
    }
    return chosen;
}

/// A spec with what is measured for it.
struct Job {
    CandidateSpec candidate;
    std::size_t legal = 0;
    std::vector<Plan> plans{};               ///< the first is the planner's choice
    std::optional<Plan> without_expected{};  ///< the planner's choice where it is not told the shape
    std::map<std::string, std::string> errors{};
};

/// [{"name": …, …a spec with what is expected}, …]
std::vector<CandidateSpec> specs_of_file(const std::string& path) {
    std::vector<CandidateSpec> specs;
    for (Json each : Json::parse(std::ifstream(path))) {
        const std::string name = each.at("name");
        each.erase("name");
        specs.push_back({.name = name, .spec = value_or_throw(spec_from_json(each))});
    }
    return specs;
}

std::vector<Job> make_jobs(const Arguments& arguments, const Arch& arch) {
    std::vector<Job> jobs;
    for (CandidateSpec& candidate :
         arguments.from.empty() ? candidate_specs(arguments.specs, arguments.seed) : specs_of_file(arguments.from)) {
        if (!arguments.only.empty() && candidate.name != arguments.only) continue;
        Job job{.candidate = std::move(candidate)};
        const std::vector<Plan> all = enumerate_plans(job.candidate.spec, arch);
        job.legal = all.size();
        job.plans = chosen_candidates(all, arguments);
        ModelSpec untold = job.candidate.spec;
        untold.expected.reset();
        job.without_expected = value_or_throw(choose_plan(untold, arch));
        jobs.push_back(std::move(job));
    }
    return jobs;
}

/// Compiles all candidates into the cache, on every core.
void compile(std::vector<Job>& jobs, const Arch& arch) {
    struct Task {
        Job* job;
        const Plan* plan;
        std::string error;
    };
    std::vector<Task> tasks;
    for (Job& job : jobs) {
        for (const Plan& plan : job.plans) tasks.push_back({&job, &plan, {}});
        tasks.push_back({&job, &*job.without_expected, {}});
    }
    const auto cache = value_or_throw(KernelCache::open({}, jit::nvrtc_build_id));
    parallel_for(tasks.size(), [&](std::size_t index) {
        Task& task = tasks[index];
        const SpecialisedKernel kernel = value_or_throw(specialise(task.job->candidate.spec, arch, *task.plan));
        if (const auto got = cache->obtain(kernel.request, compiler_of(kernel)); !got) task.error = got.error().message;
    });
    for (const Task& task : tasks) {
        if (!task.error.empty()) task.job->errors[name_of(*task.plan)] = task.error;
    }
}

/// One candidate's results.
struct Measured {
    std::string name;
    Json json;
    double us = 0;  ///< 0: it could not be measured
};

/// Whether two kernels' sums agree: for sigmoid and logits of deviation 2, a kernel that forgets to pool is off by 1e-4 to 1e-3.
bool agree(const std::vector<float>& a, const std::vector<float>& b, const ModelSpec& spec) {
    const bool is_identity = spec.activation == Activation::identity;  // sums of values of both signs, which cancel
    double scale = 0;
    for (const float value : a) scale = std::max(scale, std::abs(static_cast<double>(value)));
    const double tolerance = (spec.math == Math::tf32 ? 2e-3 : 2e-5) * (is_identity ? 10 : 1);
    for (std::size_t n = 0; n < a.size(); ++n) {
        const double size = is_identity ? scale : std::abs(static_cast<double>(a[n]));
        if (!(std::abs(static_cast<double>(a[n]) - b[n]) <= tolerance * size)) return false;
    }
    return true;
}

Json plan_to_json(const Plan& plan) {
    return {{"family", plan.family->name()},
            {"tile", to_string(plan.candidate.tile)},
            {"predicted_us", plan.candidate.predicted_us},
            {"limiter", plan.candidate.limiter}};
}

/// Times one spec's candidates, then those that matter once more, side by side.
class SpecRun {
public:
    SpecRun(const driver::Context& context, const Job& job, std::size_t rounds)
        : job_(job), rounds_(rounds), data_(context, job.candidate) {}

    Json run() {
        measure_all();
        measure_finalists();
        return result();
    }

private:
    void measure(const Plan& plan) {
        Measured& measured = measured_.emplace_back(Measured{name_of(plan), plan_to_json(plan)});
        Json& json = measured.json;
        try {
            if (const auto error = job_.errors.find(measured.name); error != job_.errors.end())
                throw std::runtime_error(error->second);
            TimedPlan timed(data_, plan);
            const KernelReport report = timed.report();
            timed.run();
            timed.run();
            const bool is_slow = best_us_ > 0 && timed.median_us() > 2 * best_us_;
            while (timed.rounds() < (is_slow ? 2 : rounds_)) timed.run();
            measured.us = timed.median_us();
            if (best_us_ == 0 || measured.us < best_us_) best_us_ = measured.us;
            if (sums_.empty()) sums_ = timed.sums();
            json["measured_us"] = measured.us;
            json["registers"] = report.registers;
            json["spilled_bytes"] = report.spilled_bytes;
            json["agrees"] = agree(sums_, timed.sums(), job_.candidate.spec);
        } catch (const std::exception& error) {
            json["error"] = error.what();
        }
    }

    void measure_all() {
        for (const Plan& plan : job_.plans) measure(plan);
        const std::string untold = name_of(*job_.without_expected);
        if (std::none_of(measured_.begin(), measured_.end(), [&](const Measured& each) { return each.name == untold; })) {
            measure(*job_.without_expected);
        }
    }

    /// The choices and the three fastest, interleaved: only such times compare.
    void measure_finalists() {
        std::vector<const Measured*> fastest;
        for (const Measured& each : measured_) {
            if (each.us > 0) fastest.push_back(&each);
        }
        std::sort(fastest.begin(), fastest.end(), [](const Measured* a, const Measured* b) { return a->us < b->us; });
        std::set<std::string> names{name_of(job_.plans.front()), name_of(*job_.without_expected)};
        if (const Plan* simt = first_of("simt")) names.insert(name_of(*simt));
        for (std::size_t index = 0; index < std::min<std::size_t>(3, fastest.size()); ++index) names.insert(fastest[index]->name);

        std::vector<std::pair<Measured*, TimedPlan>> finalists;
        const auto add = [&](const Plan& plan) {
            const auto found =
                std::find_if(measured_.begin(), measured_.end(), [&](const Measured& m) { return m.name == name_of(plan); });
            if (names.erase(name_of(plan)) > 0 && found->us > 0) finalists.emplace_back(&*found, TimedPlan(data_, plan));
        };
        for (const Plan& plan : job_.plans) add(plan);
        add(*job_.without_expected);
        for (std::size_t round = 0; round < 2 * rounds_; ++round) {
            for (auto& [measured, timed] : finalists) timed.run();
        }
        for (auto& [measured, timed] : finalists) measured->us = measured->json["measured_us"] = timed.median_us();
    }

    [[nodiscard]] const Plan* first_of(std::string_view family) const {
        const auto found =
            std::find_if(job_.plans.begin(), job_.plans.end(), [&](const Plan& plan) { return plan.family->name() == family; });
        return found == job_.plans.end() ? nullptr : &*found;
    }

    [[nodiscard]] const Measured* find(const Plan* plan) const {
        if (plan == nullptr) return nullptr;
        const auto found =
            std::find_if(measured_.begin(), measured_.end(), [&](const Measured& each) { return each.name == name_of(*plan); });
        return found->us > 0 ? &*found : nullptr;
    }

    [[nodiscard]] Json result() const {
        const Measured* best = nullptr;
        bool all_agree = true;
        Json candidates = Json::array();
        for (const Measured& each : measured_) {
            if (each.us > 0 && (best == nullptr || each.us < best->us)) best = &each;
            all_agree = all_agree && each.json.value("agrees", false);
            candidates.push_back(each.json);
        }
        Json result{{"name", job_.candidate.name},
                    {"spec", spec_to_json(job_.candidate.spec)},
                    {"legal", job_.legal},
                    {"measured", measured_.size()},
                    {"all_agree", all_agree}};
        const auto tell = [&](const char* role, const Measured* measured) {
            result[role] = nullptr;
            if (measured == nullptr || best == nullptr) return;
            result[role] = {{"kernel", measured->name}, {"us", measured->us}, {"over_best", measured->us / best->us}};
        };
        tell("best", best);
        tell("chosen", find(&job_.plans.front()));
        tell("without_expected", find(&*job_.without_expected));
        tell("simt", find(first_of("simt")));
        result["candidates"] = candidates;
        return result;
    }

    const Job& job_;
    std::size_t rounds_;
    BenchData data_;
    std::vector<Measured> measured_;
    std::vector<float> sums_;
    double best_us_ = 0;
};

double over_best(const Json& result, const char* role) {
    return result[role].is_null() ? 0 : result[role]["over_best"].get<double>();
}

void print_line(const Json& result) {
    const auto told = [&](const char* role) {
        return result[role].is_null() ? std::string("failed") : fmt::format("{:.1f}", result[role]["us"].get<double>());
    };
    fmt::print("{:<10} {:>3}/{:<3} best {:>7} chosen {:>7} ({:.2f}) untold {:.2f} simt {:.2f}{}  {} | {}\n",
               result["name"].get<std::string>(), result["measured"].get<int>(), result["legal"].get<int>(), told("best"),
               told("chosen"), over_best(result, "chosen"), over_best(result, "without_expected"), over_best(result, "simt"),
               result["all_agree"].get<bool>() ? "" : "  DISAGREE", result["chosen"].value("kernel", ""),
               result["best"].value("kernel", ""));
    std::cout.flush();
}

/// What is asked of the planner, over all specs.
Json summary(const Json& results) {
    int within_tenth = 0, untold_within_quarter = 0, benchmark_shapes = 0, slower_than_simt = 0, disagreeing = 0;
    for (const Json& each : results) {
        const double chosen = over_best(each, "chosen"), simt = over_best(each, "simt");
        within_tenth += chosen > 0 && chosen <= 1.1 ? 1 : 0;
        slower_than_simt += simt > 0 && chosen > 1.03 * simt ? 1 : 0;
        disagreeing += each["all_agree"].get<bool>() ? 0 : 1;
        if (each["name"].get<std::string>().starts_with("random_") || each["chosen"].is_null()) continue;
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

void write(const std::string& path, const driver::Context& context, const Arch& arch, const Json& results) {
    if (path.empty()) return;
    std::ofstream file(path);
    file << Json{{"device_name", context.device().name}, {"arch", arch.name()}, {"summary", summary(results)}, {"specs", results}}
                .dump(1)
         << '\n';
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int measure(const Arguments& arguments) {
    const driver::Context context = value_or_throw(driver::Context::retain(0));
    const Arch arch = value_or_throw(driver::arch_of(context.device()));
    std::vector<Job> jobs = make_jobs(arguments, arch);
    compile(jobs, arch);
    fmt::print("compiled\n");
    Json results = Json::array();
    for (const Job& job : jobs) {
        results.push_back(SpecRun(context, job, arguments.rounds).run());
        print_line(results.back());
        write(arguments.out, context, arch, results);  // what is there when somebody's patience ends
    }
    const Json told = summary(results);
    fmt::print("{}\n", told.dump());
    return told["specs_whose_candidates_disagree_or_fail"] == 0 ? 0 : 1;
}

/// What the cost models of this build make of an earlier run.
int replay(const std::string& path) {
    const Json run = Json::parse(std::ifstream(path));
    const Arch arch = Arch::parse(run["arch"].get<std::string>());
    int within_tenth = 0, unmeasured = 0;
    for (const Json& each : run["specs"]) {
        std::map<std::string, double> times;
        for (const Json& candidate : each["candidates"]) {
            if (!candidate.contains("measured_us")) continue;
            times[candidate["family"].get<std::string>() + " " + candidate["tile"].get<std::string>()] = candidate["measured_us"];
        }
        const double best = each["best"]["us"];
        std::string families;
        std::set<const Family*> seen;
        const Plan* choice = nullptr;
        const std::vector<Plan> plans = enumerate_plans(value_or_throw(spec_from_json(each["spec"])), arch);
        for (const Plan& plan : plans) {
            const auto found = times.find(name_of(plan));
            if (found == times.end()) continue;
            if (choice == nullptr) choice = &plan;
            if (!seen.insert(plan.family).second) continue;
            families += fmt::format("  {} {:.1f}/{:.1f}", plan.family->name(), plan.candidate.predicted_us, found->second);
        }
        const bool is_measured = choice == &plans.front();
        const double ratio = choice == nullptr ? 0 : times[name_of(*choice)] / best;
        within_tenth += ratio > 0 && ratio <= 1.1 ? 1 : 0;
        unmeasured += is_measured ? 0 : 1;
        fmt::print("{:<10} best {:>7.1f} chosen {:.2f}{} predicted/measured:{}\n", each["name"].get<std::string>(), best, ratio,
                   is_measured ? " " : "*", families);
    }
    fmt::print("{} of {} within 10 % of the best; * in {} a choice that was not measured was passed over\n", within_tenth,
               run["specs"].size(), unmeasured);
    return 0;
}

int run(const Arguments& arguments) {
    if (!arguments.replay.empty()) return replay(arguments.replay);
    if (!arguments.compile_only.empty()) {
        const Arch arch = Arch::parse(arguments.compile_only);
        std::vector<Job> jobs = make_jobs(arguments, arch);
        std::size_t count = 0;
        for (const Job& job : jobs) count += job.plans.size() + 1;
        fmt::print("{} kernels of {} specs\n", count, jobs.size());
        std::cout.flush();
        compile(jobs, arch);
        for (const Job& job : jobs) {
            for (const auto& [name, error] : job.errors) fmt::print("{}: {}: {}\n", job.candidate.name, name, error);
        }
        return 0;
    }
    if (const auto device = driver::device(0); !device) {
        fmt::print("SKIPPED: no GPU to measure on: {}\n", device.error().message);
        return 77;
    }
    return measure(arguments);
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
    kiln::bench::Arguments arguments;
    CLI::App app{"measures the planner's candidates"};
    app.add_option("--out", arguments.out, "a JSON file for all results");
    app.add_option("--specs", arguments.specs, "random specs beside the benchmark shapes");
    app.add_option("--from", arguments.from, "a JSON file of specs instead of both: [{\"name\": …, …spec with \"expected\"}, …]");
    app.add_option("--seed", arguments.seed, "of the random specs");
    app.add_option("--best", arguments.best, "of each family only so many best predicted; 0: all candidates");
    app.add_option("--others", arguments.others, "and so many of the rest");
    app.add_option("--rounds", arguments.rounds, "of each candidate's graph");
    app.add_option("--only", arguments.only, "one spec by its name");
    app.add_option("--compile-only", arguments.compile_only, "compile the candidates for this arch, without a GPU");
    app.add_option("--replay", arguments.replay, "a file of --out");
    CLI11_PARSE(app, argc, argv);
    try {
        return kiln::bench::run(arguments);
    } catch (const std::exception& error) {
        std::cerr << "bench_candidates: " << error.what() << '\n';
        return 1;
    }
}
