// SPDX-License-Identifier: Apache-2.0
// The `kiln` program: reads the command line, runs one command, and turns whatever goes wrong into a sentence, JSON and a status.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <new>
#include <string_view>

#include <fmt/format.h>
#include <kiln/error.hpp>
#include <kiln/log.hpp>

#include "kiln/program.hpp"
#include "support/environment.hpp"

namespace kiln::tools {
namespace {

constexpr const char* footer = R"(Exit status:
  0  done
  1  internal fault
  2  wrong usage
  3  bad input: a file, a shape, a spec; also an output that cannot be written
  4  the machine lacks something: GPU, driver, NVRTC, an arch, memory; after `warm`, a kernel is not on disk
  5  the kernel did not compile
  6  a check failed

Environment:
  KILN_CACHE_DIR       where kernels are kept, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln
  KILN_CACHE           rw, ro or off
  KILN_CACHE_LAYERS    read-only directories that are searched first, colon separated
  KILN_CACHE_MAX_SIZE  such as 2G
  KILN_CACHE_TRUST     any: accept the named paths whatever their rights are
  KILN_STRICT          1: never compile for a model; a miss is an error
  KILN_TOOLCHAIN       any, or exact: only kernels that the installed NVRTC built
  KILN_LOG             trace, debug, info, warning, error or off
  KILN_CUDA_LIBRARY    the path of libcuda
  KILN_NVRTC_LIBRARY   the path of libnvrtc
  NO_COLOR             set: no colours on the terminal)";

/// What went wrong, as every way of saying it needs it.
struct Trouble {
    ExitStatus status = ExitStatus::internal_fault;
    std::string code;
    std::string message;
    std::string log;  ///< the compiler's
};

ExitStatus report(Program& program, const Trouble& trouble) {
    tell_error(trouble.message);
    if (!trouble.log.empty()) tell(trouble.log);
    if (program.json) {
        nlohmann::ordered_json error{{"code", trouble.code}, {"message", trouble.message}};
        if (!trouble.log.empty()) error["log"] = trouble.log;
        try {
            program.out.write_json({{"error", error}});
            program.out.flush();
        } catch (const Error& unwritable) {
            if (trouble.message != unwritable.what()) tell_error(unwritable.what());
        }
    }
    return trouble.status;
}

/// Calls what may throw anything.
template <typename Body>
ExitStatus guarded(Program& program, Body&& body) {
    try {
        return body();
    } catch (const CommandFailure& failure) {
        return report(program, {failure.status(), failure.code(), failure.what(), {}});
    } catch (const Error& error) {
        return report(program, {exit_status_of(error.code()), std::string(to_string(error.code())), error.what(), error.log()});
    } catch (const std::bad_alloc&) {
        return report(program, {ExitStatus::machine_lacks, "out_of_memory", "the host has no memory for this", {}});
    } catch (const std::exception& error) {
        return report(program, {ExitStatus::internal_fault, "internal", error.what(), {}});
    }
}

/// "run, warm, …": what may follow what was given, which is the program's name or a group's.
std::string command_names(const CLI::App& parent) {
    std::string names;
    for (const CLI::App* each : parent.get_subcommands([](const CLI::App*) { return true; })) {
        names += (names.empty() ? "" : ", ") + each->get_name();
    }
    return names;
}

/// An option with an empty value is a variable of a script that was not set: taken for no option, it would widen what is removed.
void refuse_empty_values(CLI::App& app) {
    const CLI::Validator not_empty(
        [](const std::string& value) { return value.empty() ? std::string("its value is empty") : std::string(); }, "");
    for (CLI::Option* option : app.get_options()) {
        if (option->get_type_size_max() > 0) option->check(not_empty);
    }
    for (CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) refuse_empty_values(*each);
}

ExitStatus parse_and_run(Program& program, int argc, char** argv) {
    refuse_empty_values(program.app);
    try {
        program.app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        program.out.write(program.app.help());
        program.out.flush();
        return ExitStatus::done;
    } catch (const CLI::CallForVersion&) {
        program.out.write_line(program.version);
        program.out.flush();
        return ExitStatus::done;
    } catch (const CLI::ParseError& error) {
        const auto chosen = program.app.get_subcommands();
        const std::string command = chosen.empty() ? std::string() : chosen[0]->get_name() + " ";
        throw wrong_usage(fmt::format("{} (see kiln {}--help)", error.what(), command));
    }
    if (!program.command) {
        const auto chosen = program.app.get_subcommands();
        const CLI::App& parent = chosen.empty() ? program.app : *chosen[0];
        throw wrong_usage(fmt::format("{} needs a command, one of {}", chosen.empty() ? "kiln" : "kiln " + parent.get_name(),
                                      command_names(parent)));
    }
    if (program.verbose && environment("KILN_LOG").empty()) set_log_level(LogLevel::info);
    const ExitStatus status = program.command();
    program.out.flush();
    return status;
}

/// A file that is opened later must not become standard output or error because that one was closed. What takes its place cannot
/// be written to, so that output is still missed.
void fill_closed_standard_streams() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) == -1) (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

}  // namespace

}  // namespace kiln::tools

// NOLINTNEXTLINE(bugprone-exception-escape): outside of `guarded` only memory can run out
int main(int argc, char** argv) {
    using namespace kiln::tools;
    fill_closed_standard_streams();
    (void)std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of write(2) like any other
    Program program;
    program.version = KILN_VERSION;
    // Known before the command line has been understood, because it may not be.
    program.json = std::any_of(argv + 1, argv + argc, [](std::string_view each) { return each == "--json"; });
    program.app.name("kiln");
    program.app.set_version_flag("--version", program.version, "print the version");
    program.app.footer(footer);
    return static_cast<int>(guarded(program, [&] {
        add_run(program);
        add_warm(program);
        add_plan(program);
        add_source(program);
        add_why(program);
        add_bench(program);
        add_cache(program);
        add_doctor(program);
        return parse_and_run(program, argc, argv);
    }));
}
