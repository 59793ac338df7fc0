// SPDX-License-Identifier: Apache-2.0
// How accurate each family is at the logit, against double: the plans of the benchmark shapes and of a long reduction, on data of
// many kinds, beside a plain fp32 loop on the same data. Needs a GPU.
//
//     bench_accuracy --out accuracy.json [--data FOLDER]
//
// Each image is one window, one filter has weights and the others have none, and the activation is the identity: so y is a logit,
// made by the very kernel that the shape gets but for its activation. --data writes each data set (and no result) as .npy files,
// x [logits, in_channels, window, window] and w [1, in_channels, kernel, kernel], with an index.json, for other programs.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "driver/device.hpp"
#include "model/geometry.hpp"
#include "provenance.hpp"
#include "support/adversarial.hpp"
#include "support/benchmark_shapes.hpp"
#include "support/gpu.hpp"
#include "support/logit_error.hpp"
#include "support/parallel.hpp"
#include "tensor/npy.hpp"

namespace kiln::bench {
namespace {

using namespace kiln::test;
using Json = nlohmann::ordered_json;

struct NamedSpec {
    std::string name;
    ModelSpec spec;
};

/// The benchmark shapes, each planned for its own, and the longest reduction that the contract is measured at.
std::vector<NamedSpec> measured_specs() {
    std::vector<NamedSpec> specs;
    for (const BenchmarkShape& each : benchmark_shapes()) {
        specs.push_back({each.name, each.spec});
        specs.back().spec.expected = each.shape;
    }
    specs.push_back({"long", {.in_channels = 512, .out_channels = 64, .kernel_size = 7, .pool_kernel_size = 2}});
    specs.back().spec.expected = Shape{8, 28, 28};
    for (NamedSpec& each : specs) each.spec.activation = Activation::identity;
    return specs;
}

/// A data set: a case of one filter, what the definition says of it, and what a plain loop makes of it.
struct DataSet {
    std::string kind;
    RandomCase one_filter;
    ExactLogits exact;
    LogitError sequential;
};

DataSet make_data(const NamedSpec& named, std::string_view kind) {
    ModelSpec spec = named.spec;
    spec.out_channels = 1;
    const Size2 window = window_size(spec);
    const std::int64_t logits = reduction_length(spec) > 10'000 ? 256 : 512;
    RandomCase random = drawn_case(spec, {logits, window.height, window.width}, 77);
    random.bias.assign(1, 0.0F);  // the bound's own term for it would hide the rest
    make_kind(random, kind, 78);
    ExactLogits exact(random);
    const LogitError sequential = logit_error(exact, sequential_fp32_sums(random));
    return {std::string(kind), std::move(random), std::move(exact), sequential};
}

/// The same logits from a model of all filters.
RandomCase with_all_filters(const RandomCase& one_filter, const ModelSpec& spec) {
    RandomCase random = one_filter;
    random.spec = spec;
    const auto hot = static_cast<std::size_t>(spec.out_channels / 2), length = one_filter.weight.size();
    random.weight.assign(weight_length(spec), 0.0F);
    std::copy(one_filter.weight.begin(), one_filter.weight.end(),
              random.weight.begin() + static_cast<std::ptrdiff_t>(hot * length));
    random.bias.assign(static_cast<std::size_t>(spec.out_channels), 0.0F);
    return random;
}

void write_npy(const std::filesystem::path& path, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
    std::ofstream file(path, std::ios::binary);
    file << tools::npy_header(shape);
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

Json write_data(const std::filesystem::path& folder, const std::string& name, const DataSet& data) {
    const RandomCase& random = data.one_filter;
    const ModelSpec& spec = random.spec;
    const std::string stem = name + "." + data.kind;
    write_npy(folder / (stem + ".x.npy"), {random.shape.batch, spec.in_channels, random.shape.height, random.shape.width},
              random.input);
    write_npy(folder / (stem + ".w.npy"), {1, spec.in_channels, spec.kernel_size.height, spec.kernel_size.width}, random.weight);
    return {{"shape", name},
            {"data", data.kind},
            {"pool_kernel_size", spec.pool_kernel_size.height},
            {"x", stem + ".x.npy"},
            {"w", stem + ".w.npy"}};
}

Json error_to_json(const LogitError& error) {
    return {{"largest_units", error.largest_units}, {"rms_units", error.rms_units}, {"share_of_bound", error.largest_share}};
}

/// One plan over all data sets.
Json measure(const NamedSpec& named, const Plan& plan, Math math, const std::vector<DataSet>& sets) {
    ModelSpec spec = named.spec;
    spec.math = math;
    Json results = Json::object();
    for (const DataSet& data : sets) {
        const RandomCase random = with_all_filters(data.one_filter, spec);
        ExactLogits exact = data.exact;
        if (math == Math::tf32) {  // the bound allows for rounded operands
            for (std::size_t n = 0; n < exact.bounds.size(); ++n) exact.bounds[n] += 0x1p-10 * exact.magnitudes[n];
        }
        results[data.kind] = error_to_json(logit_error(exact, forward_once(random, plan)));
    }
    return {
        {"shape", named.name},           {"reduction", reduction_length(spec)},    {"math", math == Math::tf32 ? "tf32" : "fp32"},
        {"family", plan.family->name()}, {"tile", to_string(plan.candidate.tile)}, {"errors", results}};
}

void print_line(std::string_view name, std::string_view what, const Json& errors) {
    fmt::print("{:<9} {:<18}", name, what);
    for (const std::string_view kind : data_kinds) {
        const Json& error = errors[std::string(kind)];
        fmt::print(" {:>8.4g} ({:.2f})", error["largest_units"].get<double>(), error["share_of_bound"].get<double>());
    }
    fmt::print("\n");
    std::cout.flush();
}

/// Every family that tells tf32 from fp32, and every family.
std::vector<std::pair<Math, Plan>> plans_of(ModelSpec spec) {
    std::vector<std::pair<Math, Plan>> plans;
    for (const Math math : {Math::fp32, Math::tf32}) {
        spec.math = math;
        for (Plan& plan : best_plan_of_each_family(spec)) {
            if (math == Math::fp32 || plan.family->uses_tf32()) plans.emplace_back(math, std::move(plan));
        }
    }
    return plans;
}

int run(const std::string& out, const std::filesystem::path& folder) {
    const std::vector<NamedSpec> specs = measured_specs();
    std::vector<ModelSpec> all;
    for (const NamedSpec& each : specs) {
        for (const Math math : {Math::fp32, Math::tf32}) {
            all.push_back(each.spec);
            all.back().math = math;
        }
    }
    compile_ahead(all);
    if (!folder.empty()) std::filesystem::create_directories(folder);

    fmt::print("{:<28}", "largest error in u S (share)");
    for (const std::string_view kind : data_kinds) fmt::print(" {:>15}", kind);
    fmt::print("\n");
    Json rows = Json::array(), index = Json::array();
    bool all_within = true;
    for (const NamedSpec& named : specs) {
        std::vector<std::optional<DataSet>> made(data_kinds.size());
        parallel_for(made.size(), [&](std::size_t i) { made[i] = make_data(named, data_kinds[i]); });
        std::vector<DataSet> sets;
        Json sequential = Json::object();
        for (std::optional<DataSet>& each : made) {
            sequential[each->kind] = error_to_json(each->sequential);
            if (!folder.empty()) index.push_back(write_data(folder, named.name, *each));
            sets.push_back(std::move(*each));
        }
        rows.push_back({{"shape", named.name},
                        {"reduction", reduction_length(named.spec)},
                        {"math", "fp32"},
                        {"family", "sequential loop"},
                        {"tile", ""},
                        {"errors", sequential}});
        print_line(named.name, "loop", sequential);
        for (const auto& [math, plan] : plans_of(named.spec)) {
            rows.push_back(measure(named, plan, math, sets));
            const Json& errors = rows.back()["errors"];
            print_line(named.name, fmt::format("{} {}", plan.family->name(), math == Math::tf32 ? "tf32" : ""), errors);
            for (const Json& error : errors) all_within = all_within && error["share_of_bound"].get<double>() <= 1;
        }
    }
    if (!folder.empty()) std::ofstream(folder / "index.json") << index.dump(1) << '\n';
    if (!out.empty()) {
        Json document{{"kind", "accuracy"}};
        document.update(provenance(device_context().device()));
        document.update({{"within_the_contract", all_within}, {"rows", rows}});
        std::ofstream file(out);
        file << document.dump(1) << '\n';
        if (!file.flush()) throw std::runtime_error("cannot write " + out);
    }
    fmt::print("{}\n", all_within ? "all within the contract" : "FAILED: not all within the contract");
    return all_within ? 0 : 1;
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
    std::string out, data;
    CLI::App app{"measures the accuracy of every family at the logit"};
    app.add_option("--out", out, "a JSON file for all results");
    app.add_option("--data", data, "a folder for the data sets");
    CLI11_PARSE(app, argc, argv);
    try {
        if (const auto device = kiln::driver::device(0); !device) {
            fmt::print("SKIPPED: no GPU to measure on: {}\n", device.error().message);
            return 77;
        }
        return kiln::bench::run(out, data);
    } catch (const std::exception& error) {
        std::cerr << "bench_accuracy: " << error.what() << '\n';
        return 1;
    }
}
