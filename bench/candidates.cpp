// SPDX-License-Identifier: Apache-2.0
// Whether the planner chooses well: measures candidates of every family for the benchmark shapes, in both maths, and for random
// specs, checks them against each other, and says how the choice compares with the best. Needs a GPU, but for --compile-only and
// --replay.
//
//     bench_candidates --out candidates.json [--specs 30] [--seeds 1,2] [--best 3 --others 1 --untold 3]
//     bench_candidates --from specs.json --best 1        what the planner chooses for these, told their shapes and not
//     bench_candidates --compile-only sm_90a             fills the cache for a run on another machine
//     bench_candidates --replay candidates.json          what today's cost models would have chosen among what was measured
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "candidate_jobs.hpp"
#include "candidate_report.hpp"
#include "candidate_run.hpp"
#include "driver/arch_table.hpp"
#include "driver/device.hpp"
#include "model/spec_json.hpp"
#include "provenance.hpp"

namespace kiln::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
    std::string out, from, compile_only, replay;
    std::vector<std::string> only;
    int specs = 30;
    std::vector<std::uint32_t> seeds{1};
    Selection selection;
    std::size_t rounds = 5;
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

std::vector<CandidateSpec> specs_of(const Arguments& arguments) {
    if (!arguments.from.empty()) return specs_of_file(arguments.from);
    std::vector<CandidateSpec> specs = benchmark_candidates();
    for (const std::uint32_t seed : arguments.seeds) {
        for (CandidateSpec& each : random_candidates(arguments.specs, seed)) specs.push_back(std::move(each));
    }
    return specs;
}

std::vector<Job> make_jobs(const Arguments& arguments, const Arch& arch) {
    std::vector<Job> jobs;
    const std::vector<std::string>& only = arguments.only;
    for (CandidateSpec& each : specs_of(arguments)) {
        if (!only.empty() && std::find(only.begin(), only.end(), each.name) == only.end()) continue;
        jobs.push_back(make_job(std::move(each), arguments.selection, arch));
    }
    return jobs;
}

/// Whole or not at all: a run that is cut off keeps what it had measured.
void write(const std::string& path, const driver::Device& device, const Arch& arch, const Json& results) {
    if (path.empty()) return;
    Json document{{"kind", "candidates"}};
    document.update(provenance(device));
    document.update({{"arch", arch.name()}, {"summary", summary(results)}, {"specs", results}});
    const std::string part = path + ".part";
    std::ofstream file(part);
    file << document.dump(1) << '\n';
    file.close();
    if (!file) throw std::runtime_error("cannot write " + part);
    std::filesystem::rename(part, path);
}

int measure(const Arguments& arguments) {
    const driver::Context context = value_or_throw(driver::Context::retain(0));
    const Arch arch = value_or_throw(driver::arch_of(context.device()));
    std::vector<Job> jobs = make_jobs(arguments, arch);
    constexpr std::size_t jobs_at_once = 8;  // enough kernels for every core, and the first times are there soon
    Json results = Json::array();
    for (std::size_t first = 0; first < jobs.size(); first += jobs_at_once) {
        const std::span<Job> some = std::span(jobs).subspan(first, std::min(jobs_at_once, jobs.size() - first));
        compile(some, arch);
        for (const Job& job : some) {
            results.push_back(measure_job(context, job, arguments.rounds));
            print_line(results.back());
            write(arguments.out, context.device(), arch, results);
        }
    }
    const Json told = summary(results);
    fmt::print("{}\n", told.dump());
    return told["specs_whose_candidates_disagree_or_fail"] == 0 ? 0 : 1;
}

int compile_only(const Arguments& arguments) {
    const Arch arch = Arch::parse(arguments.compile_only);
    std::vector<Job> jobs = make_jobs(arguments, arch);
    std::size_t count = 0;
    for (const Job& job : jobs) count += job.plans().size();
    fmt::print("{} kernels of {} specs\n", count, jobs.size());
    std::cout.flush();
    compile(jobs, arch);
    for (const Job& job : jobs) {
        for (const auto& [name, error] : job.errors) fmt::print("{}: {}: {}\n", job.candidate.name, name, error);
    }
    return 0;
}

int run(const Arguments& arguments) {
    if (!arguments.replay.empty()) {
        replay(arguments.replay);
        return 0;
    }
    if (!arguments.compile_only.empty()) return compile_only(arguments);
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
    app.add_option("--specs", arguments.specs, "random specs of each seed, beside the benchmark shapes");
    app.add_option("--seeds", arguments.seeds, "of the random specs: 1,2,…")->delimiter(',');
    app.add_option("--from", arguments.from, "a JSON file of specs instead of both: [{\"name\": …, …spec with \"expected\"}, …]");
    app.add_option("--best", arguments.selection.best, "of each family only so many best predicted; 0: all candidates");
    app.add_option("--others", arguments.selection.others, "and so many of the rest");
    app.add_option("--untold", arguments.selection.untold, "so many best where the shape is not told");
    app.add_option("--rounds", arguments.rounds, "of each candidate's graph");
    app.add_option("--only", arguments.only, "specs by their names: mid,pw,…")->delimiter(',');
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
