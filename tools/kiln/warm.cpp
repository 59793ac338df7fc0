// SPDX-License-Identifier: Apache-2.0
// kiln warm: fills the cache for specs × archs, on any machine.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <kiln/warm.hpp>

#include "kiln/interrupt.hpp"
#include "kiln/kernel_json.hpp"
#include "kiln/program.hpp"
#include "kiln/progress.hpp"
#include "kiln/spec_options.hpp"
#include "kiln/specs_file.hpp"
#include "model/validation.hpp"

namespace kiln::tools {
namespace {

struct WarmArguments {
    SpecOptions spec;
    ArchOptions arch;
    std::string specs_file;
    int jobs = 0;
    bool dry_run = false;
};

std::vector<ModelSpec> specs_of(const WarmArguments& arguments) {
    if (arguments.specs_file.empty()) {
        const ModelSpec spec = arguments.spec.spec();
        validate(spec);
        return {spec};
    }
    if (arguments.spec.given()) throw wrong_usage("--specs and the options of one model exclude each other");
    return read_specs(arguments.specs_file);
}

/// How the whole ends, by the first kernel that is missing. A kernel is missing also where it was compiled and could not be kept.
struct Outcome {
    ExitStatus status = ExitStatus::done;
    std::string code;
    std::string message;
};

Outcome outcome_of(const std::vector<WarmReport>& reports, bool interrupted) {
    const auto missing = [](const WarmReport& report) { return report.error || report.stopped; };
    const auto count = std::count_if(reports.begin(), reports.end(), missing);
    if (count == 0) return {};
    const auto failed =
        std::find_if(reports.begin(), reports.end(), [](const WarmReport& report) { return report.error.has_value(); });
    const std::string begin = fmt::format("{} of {} kernels are not on disk", count, reports.size());
    if (failed == reports.end())
        return {ExitStatus::machine_lacks, interrupted ? "interrupted" : "stopped", begin + ": interrupted"};
    const Error& error = *failed->error;
    const bool compiled = error.code() != ErrorCode::compile_failed;
    const bool fault = exit_status_of(error.code()) == ExitStatus::internal_fault;
    const ExitStatus status = fault      ? ExitStatus::internal_fault
                              : compiled ? ExitStatus::machine_lacks
                                         : ExitStatus::compile_failed;
    return {status, std::string(to_string(error.code())),
            fmt::format("{}; the first is {} for {}: {}", begin, spec_sentence(failed->spec), failed->arch.name(), error.what())};
}

std::string origin_text(const WarmReport& report, bool dry_run) {
    if (report.stopped) return "interrupted";
    if (report.error) return "failed";
    if (report.kernel.origin != Origin::compiled) return fmt::format("hit ({})", to_string(report.kernel.origin));
    return dry_run ? "miss" : fmt::format("compiled, {:.0f} ms", report.kernel.compile_ms);
}

void print_text(Program& program, const std::vector<WarmReport>& reports, bool dry_run) {
    std::vector<std::vector<std::string>> rows{{"key", "arch", "family", "state", "registers", "spilled", "cubin", "model"}};
    for (const WarmReport& report : reports) {
        const KernelReport& kernel = report.kernel;
        const auto known = [](std::int64_t value) { return value == 0 ? std::string("-") : std::to_string(value); };
        rows.push_back({kernel.key.empty() ? "-" : kernel.key, report.arch.name(), kernel.family.empty() ? "-" : kernel.family,
                        origin_text(report, dry_run), known(kernel.registers), std::to_string(kernel.spilled_bytes),
                        known(kernel.cubin_bytes), spec_sentence(report.spec)});
    }
    program.out.write(table_text(rows));
}

void print_logs(const std::vector<WarmReport>& reports) {
    for (const WarmReport& report : reports) {
        if (report.error && !report.error->log().empty()) {
            tell(fmt::format("{} for {}:\n{}", spec_sentence(report.spec), report.arch.name(), report.error->log()));
        }
    }
}

ExitStatus run_warm(Program& program, const WarmArguments& arguments) {
    const std::vector<ModelSpec> specs = specs_of(arguments);
    const std::vector<Arch> archs = arguments.arch.archs();
    std::vector<WarmReport> reports;
    bool interrupted = false;
    {
        const Interrupt interrupt;
        ProgressBar bar;
        WarmOptions options{.jobs = arguments.jobs, .dry_run = arguments.dry_run};
        options.stop = interrupt.token();
        options.progress = [&](const WarmReport& report, std::size_t done, std::size_t total) {
            bar.show(done, total, fmt::format("{} for {}", spec_sentence(report.spec), report.arch.name()));
        };
        reports = warm(specs, archs, options);
        interrupted = interrupt.requested();
    }
    const Outcome outcome = outcome_of(reports, interrupted);
    if (program.json) {
        nlohmann::ordered_json document{{"kernels", nlohmann::ordered_json::array()}};
        for (const WarmReport& report : reports) document["kernels"].push_back(warm_to_json(report));
        if (arguments.dry_run) document["dry_run"] = true;
        if (outcome.status != ExitStatus::done) document["error"] = {{"code", outcome.code}, {"message", outcome.message}};
        program.out.write_json(document);
    } else {
        print_text(program, reports, arguments.dry_run);
    }
    print_logs(reports);
    if (outcome.status != ExitStatus::done) tell_error(outcome.message);
    return outcome.status;
}

}  // namespace

void add_warm(Program& program) {
    CLI::App& command = program.add_command(program.app, "warm", "fill the cache ahead of time, without a GPU");
    auto arguments = std::make_shared<WarmArguments>();
    arguments->spec.add_to(command, false);
    command
        .add_option("--specs", arguments->specs_file,
                    "a JSON array of objects with the fields of ModelSpec, instead of one model's options")
        ->type_name("FILE");
    arguments->arch.add_to(command, true);
    command.add_option("--jobs", arguments->jobs, "kernels compiled at once; 0 is one per core")
        ->type_name("N")
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
    command.add_flag("--dry-run", arguments->dry_run, "only look: say what would hit and what would be compiled");
    command.callback(
        [&program, arguments] { program.command = [&program, arguments] { return run_warm(program, *arguments); }; });
}

}  // namespace kiln::tools
