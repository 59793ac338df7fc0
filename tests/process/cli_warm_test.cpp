// SPDX-License-Identifier: Apache-2.0
// `kiln warm` and the commands that look at what it leaves behind. Needs NVRTC, as building for an arch does; no GPU and no
// driver.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "program.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tensor_files.hpp"

using namespace kiln::test;

namespace {

std::vector<std::string> json_command(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{name, "--in-channels", "2", "--out-channels", "3", "--kernel",
                                       "3",  "--pool",        "2", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

std::size_t count_entries(const std::string& cache) {
    std::size_t count = 0;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator each(cache, error), end; !error && each != end; each.increment(error)) {
        count += each->path().extension() == ".kiln" ? 1 : 0;
    }
    return count;
}

std::size_t count_lines(const std::string& path) {
    std::ifstream file(path);
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

}  // namespace

TEST_CASE("a warm fills the cache, the next one hits, and the cache can be looked into") {
    const TemporaryDirectory folder;
    const std::string cache = folder / "cache";
    const Program program(cache);

    const auto dry = program.run(json_command("warm", {"--arch", "sm_90a", "--dry-run"}));
    CHECK(dry.status == 0);
    CHECK(dry.json()["kernels"][0]["on_disk"] == false);
    CHECK(count_entries(cache) == 0);
    const auto miss = program.run(json_command("why", {"--arch", "sm_90a"}));
    CHECK(miss.json()["hit"] == false);
    CHECK_FALSE(miss.json()["miss_reason"].get<std::string>().empty());

    const auto cold = program.run(json_command("warm", {"--arch", "sm_90a,sm_80", "--jobs", "2"}));
    INFO(cold.err);
    REQUIRE(cold.status == 0);
    REQUIRE(cold.json()["kernels"].size() == 2);
    for (const auto& kernel : cold.field("kernels")) {
        CHECK(kernel["origin"] == "compiled");
        CHECK(kernel["error"].is_null());
        CHECK(kernel["compile_ms"] > 0);
        CHECK(kernel["registers"] > 0);
        CHECK(kernel["spilled_bytes"] == 0);
        CHECK(kernel["cubin_bytes"] > 0);
        CHECK(kernel["key"].get<std::string>().size() == 32);
    }
    CHECK(count_entries(cache) == 2);

    const auto warm = program.run(json_command("warm", {"--arch", "sm_90a,sm_80"}));
    CHECK(warm.status == 0);
    for (const auto& kernel : warm.field("kernels")) {
        CHECK(kernel["origin"] == "user");
        CHECK(kernel["compile_ms"] == 0);
        CHECK(kernel["registers"] > 0);
    }
    const std::string key = warm.json()["kernels"][0]["key"];
    CHECK(key == cold.json()["kernels"][0]["key"]);
    CHECK(key == dry.json()["kernels"][0]["key"]);
    CHECK(program.run(json_command("why", {"--arch", "sm_90a"})).json()["origin"] == "user");

    SECTION("list") {
        const auto list = program.run({"cache", "list", "--json"});
        CHECK(list.status == 0);
        REQUIRE(list.json()["entries"].size() == 2);
        for (const auto& entry : list.field("entries")) {
            CHECK(std::filesystem::file_size(entry["path"].get<std::string>()) == entry["bytes"]);
            CHECK(entry["spec"]["out_channels"] == 3);
            CHECK(entry["arch"] == (entry["key"] == key ? "sm_90a" : "sm_80"));
        }
        CHECK(contains(program.run({"cache", "list"}).out, key));
        const auto path = program.run({"cache", "path"});
        CHECK(path.out == cache + "/u" + std::to_string(geteuid()) + "\n");
    }
    SECTION("show") {
        const auto show = program.run({"cache", "show", key.substr(0, 12), "--json", "--cubin", folder / "k.cubin"});
        CHECK(show.status == 0);
        CHECK(show.json()["key"] == key);
        CHECK(show.json()["arch"] == "sm_90a");
        const std::string path = show.json()["path"];
        CHECK(contains(path, key));
        CHECK(std::filesystem::is_regular_file(path));
        const std::string cubin = read_file(folder / "k.cubin");
        CHECK(cubin.substr(0, 4) ==
              "\x7f"
              "ELF");
        CHECK(show.json()["cubin_bytes"] == cubin.size());
        CHECK(show.json()["source"] == program.run(json_command("source", {"--arch", "sm_90a"})).json()["source"]);
        const auto none = program.run({"cache", "show", "zz"});
        CHECK(none.status == 3);
        CHECK(contains(none.err, "begins with 'zz'"));
        CHECK(show.json()["registers"] == warm.json()["kernels"][0]["registers"]);
        CHECK(program.run({"cache", "show", ""}).status == 2);
    }
    SECTION("a damaged entry is told, and mended by the next warm") {
        const std::string path = program.run({"cache", "list", "--json"}).json()["entries"][0]["path"];
        std::string bytes = read_file(path);
        bytes[100] = static_cast<char>(bytes[100] ^ 1);
        write_file(path, bytes);
        const auto list = program.run({"cache", "list", "--json"}).json();
        CHECK(list["entries"].size() == 2);
        CHECK(list["entries"][0].contains("fault"));
        const std::string damaged = list["entries"][0]["key"];
        const auto refused = program.run({"cache", "show", damaged});
        CHECK(refused.status == 3);
        CHECK(contains(refused.err, path + " cannot be used"));
        CHECK(program.run(json_command("warm", {"--arch", "sm_90a,sm_80"})).status == 0);
        CHECK(program.run({"cache", "show", damaged}).status == 0);
    }
    SECTION("a hit needs no NVRTC") {
        Program without = program;
        without.set("KILN_NVRTC_LIBRARY", "/nowhere/libnvrtc.so");
        CHECK(without.run(json_command("warm", {"--arch", "sm_90a"})).status == 0);
        const auto missing = without.run(json_command("warm", {"--arch", "sm_90a,sm_120"}));
        CHECK(missing.status == 4);
        CHECK(missing.json()["kernels"][0]["error"].is_null());
        CHECK(missing.json()["kernels"][1]["error"]["code"] == "no_nvrtc");
        CHECK(missing.json()["kernels"][1]["origin"].is_null());
        CHECK(missing.json()["error"]["code"] == "no_nvrtc");
        CHECK(contains(missing.err, "/nowhere/libnvrtc.so"));
    }
}

TEST_CASE("specs come from a file") {
    const TemporaryDirectory folder;
    const Program program(folder / "cache");
    const std::string one = R"({"in_channels": 1, "out_channels": 2, "kernel_size": 1, "pool_kernel_size": 1)";
    const auto warm = [&](const std::string& text) {
        write_file(folder / "specs.json", text);
        return program.run({"warm", "--specs", folder / "specs.json", "--arch", "sm_80", "--json", "--dry-run"});
    };
    const auto good = warm("[" + one + "}, " + one + R"(, "kernel_size": [1, 2], "bias": false})" + "]");
    CHECK(good.status == 3);  // a field twice
    const auto two = warm("[" + one + "}, " + one + R"(, "bias": false}])");
    CHECK(two.status == 0);
    CHECK(two.json()["kernels"].size() == 2);
    CHECK(two.json()["kernels"][1]["spec"]["bias"] == false);

    const std::vector<std::pair<std::string, std::string>> cases{
        {"[", "is not valid JSON"},
        {one + "}", "an array of specs is allowed"},
        {"[]", "specs.json: has no spec; at least one is needed"},
        {"[" + one + R"(, "stride": "2"}])", "specs.json: spec 0 has field 'stride' = \"2\"; allowed is"},
        {"[" + one + "}, " + one + R"(, "stride": 0}])", "specs.json: spec 1: stride is 0x0; each side must be from 1"},
        {"[" + one + R"(, "kernel": 3}])", "has an unknown field \"kernel\""},
    };
    for (const auto& [text, message] : cases) {
        const auto result = warm(text);
        INFO(result.err);
        CHECK(result.status == 3);
        CHECK(contains(result.err, message));
    }
    CHECK(program.run({"warm", "--specs", "/nowhere/specs.json", "--arch", "sm_80"}).status == 3);
}

TEST_CASE("a warm that cannot keep its kernels is status 4, where a model would run") {
    const TemporaryDirectory folder;
    write_file(folder / "file", "");
    const auto result = Program(folder / "file").run(json_command("warm", {"--arch", "sm_80"}));
    CHECK(result.status == 4);
    CHECK(result.json()["kernels"][0]["on_disk"] == false);
    CHECK_FALSE(result.json()["kernels"][0]["error"].is_null());
    CHECK(contains(result.json()["error"]["message"], "not on disk"));

    const auto read_only = Program(folder / "cache").set("KILN_CACHE", "ro").run(json_command("warm", {"--arch", "sm_80"}));
    CHECK(read_only.status == 4);
    const auto homeless = Program("").unset("KILN_CACHE_DIR").unset("HOME").run(json_command("warm", {"--arch", "sm_80"}));
    CHECK(homeless.status == 4);
    CHECK(contains(homeless.err, "KILN_CACHE_DIR"));
    CHECK(Program("").unset("KILN_CACHE_DIR").unset("HOME").run({"cache", "path"}).status == 4);
}

TEST_CASE("a setting that says nothing is status 3 and names the variable") {
    const TemporaryDirectory folder;
    const auto result = Program(folder / "cache").set("KILN_CACHE", "maybe").run(json_command("warm", {"--arch", "sm_80"}));
    CHECK(result.status == 3);
    CHECK(contains(result.err, "KILN_CACHE is 'maybe'; allowed are"));
}

TEST_CASE("a warm on a terminal shows how far it is, and elsewhere does not") {
    const TemporaryDirectory folder;
    const auto shown = Program(folder / "cache").error_on_terminal().run(json_command("warm", {"--arch", "sm_80"}));
    CHECK(shown.status == 0);
    CHECK(contains(shown.err, "1/1"));
    CHECK(contains(shown.err, "█"));
    const auto hidden = Program(folder / "cache").run(json_command("warm", {"--arch", "sm_80"}));
    CHECK(hidden.err.empty());
    CHECK(contains(Program(folder / "cache").run(json_command("warm", {"--arch", "sm_86", "-v"})).err, "compil"));
}

TEST_CASE("an interrupted warm keeps what it has, says what is missing, and is taken up again") {
    const TemporaryDirectory folder;
    const std::string cache = folder / "cache";
    std::string specs;
    constexpr std::size_t count = 40;
    for (std::size_t each = 0; each < count; ++each) {
        specs += each == 0 ? "[" : ",";
        specs += R"({"in_channels": 8, "kernel_size": 3, "pool_kernel_size": 2, "out_channels": )";
        specs += std::to_string(each + 1);
        specs += "}";
    }
    write_file(folder / "specs.json", specs + "]");
    Program program(cache);
    program.when_started([&](pid_t process) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (count_entries(cache) == 0 && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        kill(process, SIGINT);
    });
    const auto result = program.run({"warm", "--specs", folder / "specs.json", "--arch", "sm_80", "--jobs", "1", "--json"});
    INFO(result.err);
    CHECK(result.status == 4);
    const auto document = result.json();
    CHECK(document["error"]["code"] == "interrupted");
    REQUIRE(document["kernels"].size() == count);
    std::size_t kept = 0;
    for (const auto& kernel : document["kernels"]) {
        kept += kernel["on_disk"] == true ? 1 : 0;
        if (kernel["on_disk"] == false) CHECK(kernel["error"]["code"] == "interrupted");
    }
    CHECK(kept >= 1);
    CHECK(kept < count);
    CHECK(count_entries(cache) == kept);

    const auto dry = Program(cache).run({"warm", "--specs", folder / "specs.json", "--arch", "sm_80", "--dry-run", "--json"});
    std::size_t hits = 0;
    for (const auto& kernel : dry.field("kernels")) hits += kernel["origin"] == "user" ? 1 : 0;
    CHECK(hits == kept);
}

TEST_CASE("a fleet's warm of 200 specs for 5 archs, interrupted and taken up, compiles each kernel once, on all cores") {
    const TemporaryDirectory folder;
    const std::string cache = folder / "cache";
    nlohmann::json specs = nlohmann::json::array();
    for (int each = 1; each <= 200; ++each) {
        specs.push_back({{"in_channels", 8}, {"out_channels", each}, {"kernel_size", 3}, {"pool_kernel_size", 2}});
    }
    write_file(folder / "specs.json", specs.dump());
    const std::vector<std::string> warm{"warm",  "--specs", folder / "specs.json", "--arch", "sm_75,sm_80,sm_86,sm_90a,sm_120",
                                        "--json"};
    const std::string record = folder / "compiles";
    Program program(cache);
    program.set("KILN_NVRTC_LIBRARY", FAKE_NVRTC_PATH).set("FAKE_NVRTC_RECORD", record).set("FAKE_NVRTC_DELAY_MS", "5");
    Program interrupted = program;
    interrupted.when_started([&](pid_t process) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (count_lines(record) < 100 && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        kill(process, SIGINT);
    });
    const auto first = interrupted.run(warm);
    INFO(first.err);
    CHECK(first.status == 4);
    const std::size_t kept = count_entries(cache);
    CHECK(kept >= 100 - std::max(1U, std::thread::hardware_concurrency()));
    CHECK(kept < 1000);
    CHECK(count_lines(record) == kept);  // what was being compiled was finished and kept

    const auto second = program.run(warm);
    CHECK(second.status == 0);
    std::size_t hits = 0, compiled = 0;
    for (const auto& kernel : second.field("kernels")) {
        hits += kernel["origin"] == "user" ? 1 : 0;
        compiled += kernel["origin"] == "compiled" ? 1 : 0;
    }
    CHECK(hits == kept);
    CHECK(compiled == 1000 - kept);
    CHECK(count_entries(cache) == 1000);
    CHECK(count_lines(record) == 1000);
}

TEST_CASE("the doctor says what was found and what to do about the rest") {
    const TemporaryDirectory folder;
    const auto none = Program(folder / "cache").run({"doctor", "--json"});
    CHECK(none.status == 0);
    CHECK(none.json()["driver"].is_null());
    CHECK(none.json()["nvrtc"]["archs"].size() >= 5);
    CHECK(none.json()["cache"]["state"] == "absent");
    CHECK(none.json()["problems"][0]["topic"] == "driver");
    CHECK(contains(Program(folder / "cache").run({"doctor"}).out, "install NVIDIA's driver"));

    const auto fake = Program(folder / "cache").with_fake_gpu().run({"doctor", "--json"});
    CHECK(fake.json()["gpus"][0]["arch"] == "sm_90a");
    CHECK(fake.json()["problems"].empty());

    const auto poor = Program(folder / "cache")
                          .set("KILN_NVRTC_LIBRARY", "/nowhere/libnvrtc.so")
                          .set("KILN_CACHE_LAYERS", "/nowhere/layer")
                          .run({"doctor"});
    CHECK(poor.status == 0);
    CHECK(contains(poor.out, "/nowhere/libnvrtc.so"));
    CHECK(contains(poor.out, "/nowhere/layer cannot be reached"));
}

TEST_CASE("the doctor misses no directory where strict mode has layers") {
    const TemporaryDirectory folder;
    const auto topics = [&](Program program) {
        std::vector<std::string> all;
        const auto document =
            program.unset("KILN_CACHE_DIR").unset("XDG_CACHE_HOME").set("HOME", "/").run({"doctor", "--json"}).json();
        for (const auto& problem : document["problems"]) all.push_back(problem["topic"]);
        return all;
    };
    const Program bare = Program(folder / "cache").with_fake_gpu();
    CHECK(topics(bare) == std::vector<std::string>{"cache"});
    CHECK(topics(Program(bare).set("KILN_STRICT", "1")) == std::vector<std::string>{"cache"});
    CHECK(topics(Program(bare).set("KILN_STRICT", "1").set("KILN_CACHE_LAYERS", folder.path())).empty());
}
