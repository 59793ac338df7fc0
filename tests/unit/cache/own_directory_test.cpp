// SPDX-License-Identifier: Apache-2.0
#include "cache/own_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cache/trust.hpp"
#include "support/catch.hpp"
#include "support/sample_kernel.hpp"
#include "support/skip.hpp"
#include "support/temporary_directory.hpp"

using namespace kiln;
using test::configuration_in;
using test::own_name;
using test::TemporaryDirectory;

namespace {

class Umask {
public:
    explicit Umask(mode_t mask) : before_(umask(mask)) {}
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;
    ~Umask() { umask(before_); }

private:
    mode_t before_;
};

mode_t mode_of(const std::string& path) {
    struct stat facts {};
    REQUIRE(stat(path.c_str(), &facts) == 0);
    return facts.st_mode & 07777;
}

struct stat facts_of(uid_t owner, mode_t mode) {
    struct stat facts {};
    facts.st_uid = owner;
    facts.st_mode = mode;
    return facts;
}

}  // namespace

TEST_CASE("a directory that is not there is absent, not at fault, and looking does not make it") {
    const TemporaryDirectory temporary;
    const OwnDirectory own(configuration_in(temporary / "a/b"));
    const auto opened = own.open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error().reason == MissReason::absent);
    CHECK_FALSE(std::filesystem::exists(temporary / "a"));
}

TEST_CASE("a directory is made with its parents, for all to read and the owner to write") {
    const TemporaryDirectory temporary;
    {
        const Umask umask(0);
        const OwnDirectory own(configuration_in(temporary / "a/b"));
        REQUIRE(own.make());
        CHECK(own.path() == (temporary / ("a/b/" + own_name())).string());
        CHECK(mode_of(own.path()) == 0755);
        CHECK(own.open());
    }
    const Umask umask(077);
    const OwnDirectory strict(configuration_in(temporary / "c"));
    REQUIRE(strict.make());
    CHECK(mode_of(strict.path()) == 0700);
}

TEST_CASE("whatever the rights of the named directory, the own one inside is used") {
    for (const mode_t mode : {0777U, 02770U, 0775U, 01777U}) {
        CAPTURE(mode);
        const TemporaryDirectory temporary;
        REQUIRE(chmod(temporary.path().c_str(), mode) == 0);
        const OwnDirectory own(configuration_in(temporary.path()));
        REQUIRE(own.make());
        CHECK((mode_of(own.path()) & 022) == 0);
        CHECK(own.open());
    }
}

TEST_CASE("the named directory may be reached through links") {
    const TemporaryDirectory temporary;
    std::filesystem::create_directory(temporary / "real");
    std::filesystem::create_directory_symlink("real", temporary / "link");
    CHECK(OwnDirectory(configuration_in(temporary / "link")).make());
    CHECK(std::filesystem::exists(temporary / ("real/" + own_name())));
}

TEST_CASE("an own directory that is a link or a file is refused") {
    const TemporaryDirectory temporary;
    std::filesystem::create_directory(temporary / "elsewhere");
    std::filesystem::create_directory_symlink("elsewhere", temporary / own_name());
    const auto link = OwnDirectory(configuration_in(temporary.path())).make();
    REQUIRE_FALSE(link);
    CHECK(link.error().reason == MissReason::untrusted);
    CHECK(link.error().what.find(own_name()) != std::string::npos);

    std::filesystem::remove(temporary / own_name());
    std::ofstream(temporary / own_name()) << "file";
    CHECK(OwnDirectory(configuration_in(temporary.path())).make().error().reason == MissReason::untrusted);
}

TEST_CASE("an own directory that others can write to is refused, unless every named path is accepted") {
    for (const mode_t mode : {0775U, 0757U, 0777U, 02770U}) {
        CAPTURE(mode);
        const TemporaryDirectory temporary;
        std::filesystem::create_directory(temporary / own_name());
        REQUIRE(chmod((temporary / own_name()).c_str(), mode) == 0);
        CacheConfiguration configuration = configuration_in(temporary.path());
        const auto refused = OwnDirectory(configuration).open();
        REQUIRE_FALSE(refused);
        CHECK(refused.error().reason == MissReason::untrusted);
        CHECK(refused.error().what.find("chmod go-w " + (temporary / own_name()).string()) != std::string::npos);

        configuration.trust_named_paths = true;
        CHECK(OwnDirectory(configuration).open());
        configuration.directory_is_named = false;
        CHECK_FALSE(OwnDirectory(configuration).open());
    }
}

TEST_CASE("an own directory of another owner is refused") {
    if (geteuid() != 0) test::skip("giving a directory to another user needs root");
    const TemporaryDirectory temporary;
    std::filesystem::create_directory(temporary / own_name());
    REQUIRE(chown((temporary / own_name()).c_str(), 12345, 12345) == 0);
    const auto refused = OwnDirectory(configuration_in(temporary.path())).make();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().reason == MissReason::untrusted);
    CHECK(refused.error().what.find("12345") != std::string::npos);
}

TEST_CASE("who could have written a layer decides whether it is believed") {
    const uid_t me = geteuid();
    const uid_t other = me + 1;
    CHECK(trust::objection_to_layer(facts_of(me, 0755), false, "/layer").empty());
    CHECK(trust::objection_to_layer(facts_of(0, 0755), false, "/layer").empty());
    CHECK_FALSE(trust::objection_to_layer(facts_of(other, 0755), false, "/layer").empty());
    CHECK(trust::objection_to_layer(facts_of(other, 0755), true, "/layer").empty());
    for (const mode_t mode : {0775U, 0757U, 0777U}) {
        CHECK_FALSE(trust::objection_to_layer(facts_of(me, mode), false, "/layer").empty());
        CHECK(trust::objection_to_layer(facts_of(me, mode), true, "/layer").find("KILN_CACHE_TRUST=any") != std::string::npos);
    }
}
