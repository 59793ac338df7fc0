// SPDX-License-Identifier: Apache-2.0
// `kiln cache` and `kiln why`: looking into a cache, and keeping it.
#include <filesystem>
#include <stdexcept>

#include "program.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tensor_files.hpp"

using namespace kiln::test;

namespace {

/// A cache with two kernels, made once: compiling takes longer than all else here.
class WarmCache {
public:
    WarmCache() { std::filesystem::copy(original(), folder_.path(), std::filesystem::copy_options::recursive); }

    [[nodiscard]] std::string path() const { return folder_ / "cache"; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return folder_ / name; }
    [[nodiscard]] ProgramResult run(const std::vector<std::string>& arguments) const { return Program(path()).run(arguments); }
    [[nodiscard]] ProgramResult cache(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "cache");
        arguments.push_back("--json");
        return run(arguments);
    }
    [[nodiscard]] std::size_t count() const { return cache({"list"}).field("entries").size(); }

    static std::vector<std::string> spec(const std::string& command, const std::string& out_channels, const std::string& arch) {
        return {command, "--in-channels", "2", "--out-channels", out_channels, "--kernel",
                "3",     "--pool",        "2", "--arch",         arch,         "--json"};
    }

private:
    static const std::filesystem::path& original() {
        static const TemporaryDirectory folder;
        static const ProgramResult made = Program(folder / "cache").run(spec("warm", "3", "sm_90a,sm_80"));
        if (made.status != 0) throw std::runtime_error(made.err);
        return folder.path();
    }

    TemporaryDirectory folder_;
};

/// Changes one byte of the entry's file.
void damage(const std::string& path, std::size_t place) {
    std::string bytes = read_file(path);
    bytes.at(place) = static_cast<char>(bytes.at(place) ^ 1);
    write_file(path, bytes);
}

}  // namespace

TEST_CASE("stats say what the directory holds") {
    const WarmCache cache;
    const auto user = cache.cache({"stats"}).field("places").back();
    CHECK(user["origin"] == "user");
    CHECK(user["entries"] == 2);
    CHECK(user["by_arch"]["sm_90a"]["entries"] == 1);
    CHECK(user["by_arch"]["sm_80"]["entries"] == 1);
    CHECK(user["problem"].is_null());
    std::uint64_t bytes = 0;
    const auto entries = cache.cache({"list"}).field("entries");
    for (const auto& entry : entries) {
        bytes += entry["bytes"].get<std::uint64_t>();
        CHECK_FALSE(entry["toolchain"].get<std::string>().empty());
        CHECK(entry["origin"] == "user");
    }
    CHECK(user["bytes"] == bytes);
    CHECK(contains(cache.run({"cache", "stats"}).out, "kernels     2"));

    const TemporaryDirectory empty;
    const auto none = Program(empty / "cache").run({"cache", "stats", "--json"});
    CHECK(none.status == 0);
    CHECK(none.field("places")[0]["entries"] == 0);
}

TEST_CASE("verify finds damage anywhere in an entry, with status 6, and mends it when asked") {
    const WarmCache cache;
    CHECK(cache.cache({"verify"}).status == 0);
    const auto entries = cache.cache({"list"}).field("entries");
    const std::string path = entries[0]["path"];
    damage(path, std::filesystem::file_size(path) - 100);  // in the source, which the head says nothing about

    const auto found = cache.cache({"verify"});
    CHECK(found.status == 6);
    CHECK(found.field("error")["code"] == "check_failed");
    REQUIRE(found.field("problems").size() == 1);
    CHECK(found.field("problems")[0]["key"] == entries[0]["key"]);
    CHECK(contains(cache.run({"cache", "verify"}).err, "--repair"));

    const auto mended = cache.cache({"verify", "--repair"});
    CHECK(mended.status == 0);
    CHECK(mended.field("repaired") == 1);
    CHECK(cache.cache({"verify"}).status == 0);
    CHECK(cache.count() == 1);
}

TEST_CASE("prune removes what is meant, and says so first when asked") {
    const WarmCache cache;
    CHECK(cache.cache({"prune"}).status == 2);
    const auto dry = cache.cache({"prune", "--arch", "sm_80", "--dry-run"});
    CHECK(dry.status == 0);
    CHECK(dry.field("removed") == 1);
    CHECK(cache.count() == 2);
    CHECK(cache.cache({"prune", "--unused-for", "30d"}).field("removed") == 0);
    CHECK(cache.cache({"prune", "--larger-than", "1G"}).field("removed") == 0);
    CHECK(cache.cache({"prune", "--toolchain", "1.2"}).field("removed") == 0);
    const auto arch = cache.cache({"prune", "--arch", "sm_80"});
    CHECK(arch.field("removed") == 1);
    CHECK(arch.field("kernels")[0]["arch"] == "sm_80");
    CHECK(cache.cache({"list"}).field("entries")[0]["arch"] == "sm_90a");
    CHECK(cache.cache({"prune", "--to-size", "0"}).field("removed") == 1);
    CHECK(cache.count() == 0);
    CHECK(cache.cache({"prune", "--unused-for", "soon"}).status == 2);
    CHECK(cache.cache({"prune", "--larger-than", "much"}).status == 2);
}

TEST_CASE("a script's empty variable, or an arch that no GPU would ask for, is wrong usage and removes nothing") {
    const WarmCache cache;
    CHECK(cache.cache({"prune", "--arch", "sm_80", "--unused-for", ""}).status == 2);
    CHECK(cache.cache({"prune", "--arch", ""}).status == 2);
    CHECK(cache.cache({"prune", "--to-size", ""}).status == 2);
    CHECK(cache.cache({"prune", "--arch", "sm_90"}).status == 2);
    CHECK(cache.cache({"export", cache / "x.bundle", "--arch", "sm_90"}).status == 2);
    CHECK(cache.cache({"export", cache / "x.bundle", "--arch", "sm_120"}).status == 3);
    CHECK_FALSE(std::filesystem::exists(cache / "x.bundle"));
    CHECK(cache.count() == 2);
}

TEST_CASE("a list that ends early is one document all the same") {
    const TemporaryDirectory folder;
    write_file(folder / "file", "not a directory");
    const auto listed = Program(folder / "file").run({"cache", "list", "--json"});
    CHECK(listed.status == 3);
    CHECK(listed.json()["error"]["code"] == "bad_file");
    CHECK(listed.json()["entries"].empty());
}

TEST_CASE("clear removes every kernel and nothing else") {
    const WarmCache cache;
    const std::string other = cache.path() + "/notes.txt";
    write_file(other, "not ours");
    CHECK(cache.cache({"clear"}).field("removed") == 2);
    CHECK(cache.count() == 0);
    CHECK(read_file(other) == "not ours");
}

TEST_CASE("an exported bundle serves as a layer, and fills another cache") {
    const WarmCache cache;
    const std::string bundle = cache / "kernels.bundle";
    CHECK(cache.cache({"export", bundle}).field("entries") == 2);
    const std::string bytes = read_file(bundle);
    CHECK(cache.cache({"export", cache / "again.bundle"}).status == 0);
    CHECK(read_file(cache / "again.bundle") == bytes);
    CHECK(cache.cache({"export", cache / "one.bundle", "--arch", "sm_80"}).field("entries") == 1);

    const TemporaryDirectory elsewhere;
    const auto layered = Program(elsewhere / "cache").set("KILN_CACHE_LAYERS", bundle);
    CHECK(layered.run(WarmCache::spec("why", "3", "sm_90a")).field("origin") == "bundle");
    const auto listed = layered.run({"cache", "list", "--json"}).field("entries");
    REQUIRE(listed.size() == 2);
    CHECK(listed[0]["origin"] == "bundle");
    CHECK(layered.run({"cache", "show", listed[0]["key"].get<std::string>(), "--json"}).field("origin") == "bundle");

    const Program plain(elsewhere / "cache");
    const auto imported = plain.run({"cache", "import", bundle, "--json"});
    CHECK(imported.status == 0);
    CHECK(imported.field("imported") == 2);
    CHECK(plain.run({"cache", "import", bundle, "--json"}).field("already_there") == 2);
    CHECK(plain.run(WarmCache::spec("warm", "3", "sm_90a")).field("kernels")[0]["origin"] == "user");

    write_file(cache / "cut.bundle", bytes.substr(0, bytes.size() / 2));
    const auto cut = plain.run({"cache", "import", cache / "cut.bundle", "--json"});
    CHECK(cut.status == 3);
    CHECK(plain.run({"cache", "import", "/nowhere/x.bundle"}).status == 3);
    CHECK(cache.cache({"export", "/nowhere/x.bundle"}).status == 3);
}

TEST_CASE("why names the nearest entry and what differs") {
    const WarmCache cache;
    CHECK(cache.run(WarmCache::spec("why", "3", "sm_90a")).field("hit") == true);
    const auto arch = cache.run(WarmCache::spec("why", "3", "sm_86"));
    CHECK(arch.status == 0);
    CHECK(arch.field("hit") == false);
    bool names_arch = false;
    const auto differences = arch.field("nearest")["differences"];
    for (const auto& each : differences) names_arch |= each["field"] == "arch" && each["wanted"] == "sm_86";
    CHECK(names_arch);
    const TemporaryDirectory empty;
    CHECK(Program(empty / "cache").run(WarmCache::spec("why", "3", "sm_90a")).field("nearest").is_null());
    auto words = WarmCache::spec("why", "3", "sm_90a");
    words.pop_back();  // --json
    CHECK(contains(Program(empty / "cache").run(words).out, "would be compiled"));
    CHECK(contains(Program(empty / "cache").set("KILN_STRICT", "1").run(words).out, "which strict mode forbids"));
}
