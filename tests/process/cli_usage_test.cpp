// SPDX-License-Identifier: Apache-2.0
// The command line itself: help, wrong usage, JSON errors, and what happens to output that cannot be written.
#include <filesystem>

#include "program.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace kiln::test;

namespace {

const std::vector<std::string> spec{"--in-channels", "2", "--out-channels", "3", "--kernel", "3", "--pool", "2"};

std::vector<std::string> command(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{name};
    arguments.insert(arguments.end(), spec.begin(), spec.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

}  // namespace

TEST_CASE("help goes to standard output and names every command, status and variable") {
    const TemporaryDirectory folder;
    const auto result = Program(folder / "cache").run({"--help"});
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    for (const char* word : {"run", "warm", "bench", "plan", "source", "why", "cache", "doctor", "Exit status", "KILN_CACHE_DIR",
                             "KILN_CACHE_LAYERS", "KILN_STRICT", "KILN_NVRTC_LIBRARY", "NO_COLOR"}) {
        INFO(word);
        CHECK(contains(result.out, word));
    }
    const auto run = Program(folder / "cache").run({"run", "--help"});
    CHECK(run.status == 0);
    for (const char* word : {"--in-channels", "--pool", "--no-bias", "--weights", "--device", "--check", "--json"}) {
        INFO(word);
        CHECK(contains(run.out, word));
    }
    CHECK(Program(folder / "cache").run({"--version"}).out.size() > 1);
}

TEST_CASE("wrong usage is status 2, with a sentence on standard error and nothing on standard output") {
    const TemporaryDirectory folder;
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{}, "kiln needs a command, one of run, warm"},
        {{"bake"}, "bake"},
        {{"plan"}, "--in-channels"},
        {command("plan"), "--arch"},
        {command("plan", {"--arch", "sm_90a", "--colour"}), "--colour"},
        {command("plan", {"--arch", "sm_90a", "--activation", "relu"}), "relu"},
        {command("plan", {"--arch", "sm_90a", "--stride", "2y2"}), "--stride is '2y2'; it must be a size"},
        {command("plan", {"--arch", "sm_90a", "--shape", "1,2"}), "--shape is '1,2'; it must be N,H,W"},
        {command("plan", {"--arch", "sm_90"}), "sm_90a"},
        {command("plan", {"--arch", "compute_80"}), "sm_80"},
        {command("warm", {"--arch", "sm_80,volta"}), "volta"},
        {command("warm", {"--arch", ",", "--jobs", "2"}), "arch '' is not one"},
        {command("warm", {"--arch", "sm_80,", "--jobs", "2"}), "arch '' is not one"},
        {command("plan", {"--arch", "sm_80,sm_86"}), "sm_80,sm_86"},
        {command("plan", {"--arch", "sm_80", "--arch", "sm_86"}), "--arch"},
        {command("warm", {"--arch", "sm_80", "--specs", "x.json"}), "exclude each other"},
        {{"warm", "--arch", "sm_80"}, "--in-channels is required"},
        {command("warm", {"--arch", "sm_80", "--jobs", "-1"}), "--jobs"},
        {command("run", {"--weights", "x.npy", "--device", "gpu"}), "--device is 'gpu'; it must be auto, cpu or cuda:N"},
        {command("run", {"--weights", "x.npy", "--device", "cuda:-1"}), "--device"},
        {command("run"), "--weights"},
        {command("bench"), "--shape is required"},
        {{"bench", "--shape", "1,8,8"}, "--in-channels is required"},
        {command("bench", {"--specs", "x.json"}), "exclude each other"},
        {command("bench", {"--shape", "1,8,8", "--device", "-1"}), "Value -1 not in range"},
        {{"cache"}, "kiln cache needs a command, one of list, show, path"},
        {{"cache", "show"}, "key"},
    };
    for (const auto& [arguments, word] : cases) {
        const auto result = Program(folder / "cache").run(arguments);
        INFO(result.err);
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        CHECK(contains(result.err, "kiln: error: "));
        CHECK(contains(result.err, word));
    }
}

TEST_CASE("with --json a failure is a document on standard output too") {
    const TemporaryDirectory folder;
    const auto usage = Program(folder / "cache").run({"plan", "--json"});
    CHECK(usage.status == 2);
    CHECK(usage.json()["error"]["code"] == "wrong_usage");
    CHECK(contains(usage.err, usage.json()["error"]["message"]));

    const auto arch = Program(folder / "cache").run(command("plan", {"--arch", "sm_90", "--json"}));
    CHECK(arch.status == 2);
    CHECK(arch.json()["error"]["code"] == "unsupported_arch");

    const auto input = Program(folder / "cache").run(command("plan", {"--arch", "sm_90a", "--padding", "-1", "--json"}));
    CHECK(input.status == 3);
    CHECK(input.json()["error"]["code"] == "invalid_argument");
}

TEST_CASE("an error is coloured on a terminal, unless NO_COLOR is set") {
    const TemporaryDirectory folder;
    CHECK(contains(Program(folder / "cache").error_on_terminal().run({"bake"}).err, "\x1b[1;31merror:\x1b[0m"));
    CHECK_FALSE(contains(Program(folder / "cache").error_on_terminal().set("NO_COLOR", "1").run({"bake"}).err, "\x1b["));
    CHECK_FALSE(contains(Program(folder / "cache").run({"bake"}).err, "\x1b["));
}

TEST_CASE("output that cannot be written is an error, not silence") {
    const TemporaryDirectory folder;
    const auto full = Program(folder / "cache").output_to("/dev/full").run(command("plan", {"--arch", "sm_80"}));
    CHECK(full.status == 3);
    CHECK(contains(full.err, "standard output cannot be written: No space left on device"));

    const auto nobody = Program(folder / "cache").output_to_nobody().run(command("plan", {"--arch", "sm_80"}));
    CHECK(nobody.status == 3);
    CHECK(contains(nobody.err, "standard output cannot be written: Broken pipe"));

    CHECK(Program(folder / "cache").output_to("/dev/full").run({"--help"}).status == 3);
    CHECK(Program(folder / "cache").output_to("/dev/full").run({"plan", "--json"}).status == 2);  // the first trouble counts
}

TEST_CASE("a spec that no kernel can have is status 3 and names the field, its value and what is allowed") {
    const TemporaryDirectory folder;
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"--in-channels", "0", "--out-channels", "3", "--kernel", "3", "--pool", "2"}, "in_channels is 0; it must be from 1"},
        {{"--in-channels", "-8", "--out-channels", "3", "--kernel", "3", "--pool", "2"}, "in_channels is -8; it must be from 1"},
        {{"--in-channels", "8", "--out-channels", "9000000000", "--kernel", "3", "--pool", "2"}, "out_channels is 9000000000; "},
        {{"--in-channels", "8", "--out-channels", "99999999999999999999", "--kernel", "3", "--pool", "2"},
         "out_channels is 99999999999999999999; it must be an integer of 64 bits"},
        {{"--in-channels", "8", "--out-channels", "3", "--kernel", "3x0", "--pool", "2"},
         "kernel_size is 3x0; each side must be from 1"},
        {{"--in-channels", "8", "--out-channels", "3", "--kernel", "3", "--pool", "9", "--shape", "1,8,8"},
         "pool_kernel_size is 9x9; for an input of 8x8 it must be at most 6x6"},
        {{"--in-channels", "8", "--out-channels", "3", "--kernel", "3", "--pool", "2", "--shape", "1,-8,8"}, "height is -8; "},
    };
    for (const auto& [sizes, message] : cases) {
        std::vector<std::string> arguments{"plan", "--arch", "sm_80"};
        arguments.insert(arguments.end(), sizes.begin(), sizes.end());
        const auto result = Program(folder / "cache").run(arguments);
        INFO(result.err);
        CHECK(result.status == 3);
        CHECK(contains(result.err, message));
    }
}

TEST_CASE("a plan explains the choice, and the source is what is compiled") {
    const TemporaryDirectory folder;
    const auto plan = Program(folder / "cache").run(command("plan", {"--arch", "sm_90a", "--json"}));
    CHECK(plan.status == 0);
    const auto document = plan.json();
    CHECK(document["arch"] == "sm_90a");
    CHECK(document["choice"] == document["candidates"][0]);
    CHECK(document["choice"]["predicted_us"] > 0);
    CHECK(document["spec"]["kernel_size"] == 3);

    const auto source = Program(folder / "cache").run(command("source", {"--arch", "sm_90a"}));
    CHECK(source.status == 0);
    CHECK(contains(source.out, "constexpr long long in_channels = 2;"));
    CHECK(contains(source.out, "kiln_forward"));
    const auto json = Program(folder / "cache").run(command("source", {"--arch", "sm_90a", "--json"}));
    CHECK(json.json()["source"] == source.out);
    CHECK(json.json()["family"] == document["choice"]["family"]);
}
