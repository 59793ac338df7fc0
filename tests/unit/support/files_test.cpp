// SPDX-License-Identifier: Apache-2.0
#include "support/files.hpp"

#include <set>

#include "support/atomic_file.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace kiln;
using test::TemporaryDirectory;

namespace {

FileDescriptor open_directory(const TemporaryDirectory& directory) {
    auto opened = open_at(AT_FDCWD, directory.path(), O_RDONLY | O_DIRECTORY);
    REQUIRE(opened);
    return std::move(*opened);
}

std::set<std::string> names_in(int directory) {
    std::set<std::string> names;
    REQUIRE(for_each_name(directory, [&](const std::string& name) { names.insert(name); }));
    return names;
}

std::string content(int directory, const std::string& name) {
    const auto file = open_at(directory, name, O_RDONLY);
    REQUIRE(file);
    std::string text(100, '\0');
    const auto count = read_at(file->get(), std::as_writable_bytes(std::span(text)), 0);
    REQUIRE(count);
    text.resize(*count);
    return text;
}

}  // namespace

TEST_CASE("an atomic file appears when it is committed, whole") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    auto file = AtomicFile::create(directory.get());
    REQUIRE(file);
    REQUIRE(file->write(as_bytes("first ")));
    REQUIRE(file->write(as_bytes("second")));
    const auto before = names_in(directory.get());
    REQUIRE(before.size() == 1);
    CHECK(AtomicFile::is_temporary_name(*before.begin()));
    REQUIRE(file->commit("name"));
    CHECK(names_in(directory.get()) == std::set<std::string>{"name"});
    CHECK(content(directory.get(), "name") == "first second");
}

TEST_CASE("an atomic file that is not committed leaves nothing, and not what it would have replaced") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    {
        auto file = AtomicFile::create(directory.get());
        REQUIRE((file && file->write(as_bytes("old")) && file->commit("name")));
    }
    {
        auto file = AtomicFile::create(directory.get());
        REQUIRE((file && file->write(as_bytes("new"))));
    }
    CHECK(names_in(directory.get()) == std::set<std::string>{"name"});
    CHECK(content(directory.get(), "name") == "old");
}

TEST_CASE("a commit that fails removes the temporary") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    REQUIRE(make_directory_at(directory.get(), "name", 0755));
    {
        auto file = AtomicFile::create(directory.get());
        REQUIRE(file);
        CHECK_FALSE(file->commit("name"));
    }
    CHECK(names_in(directory.get()) == std::set<std::string>{"name"});
}

TEST_CASE("only names that an atomic file makes are temporaries") {
    CHECK(AtomicFile::is_temporary_name("tmp.0123456789abcdef"));
    CHECK_FALSE(AtomicFile::is_temporary_name("tmp.0123456789abcde"));
    CHECK_FALSE(AtomicFile::is_temporary_name("tmp.0123456789abcdeg"));
    CHECK_FALSE(AtomicFile::is_temporary_name("tmp.0123456789abcdef0"));
    CHECK_FALSE(AtomicFile::is_temporary_name("temporary"));
    CHECK_FALSE(AtomicFile::is_temporary_name(""));
}

TEST_CASE("directories are made with their parents, and may be there already") {
    const TemporaryDirectory temporary;
    const std::string deep = temporary / "a/b//c/";
    REQUIRE(make_directories(deep, 0755));
    REQUIRE(make_directories(deep, 0755));
    CHECK(status_at(AT_FDCWD, temporary / "a/b/c"));
}

TEST_CASE("a file in the way of a directory is an error, not a loop") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    REQUIRE(open_at(directory.get(), "file", O_WRONLY | O_CREAT, 0644));
    const auto made = make_directories(temporary / "file/below", 0755);
    REQUIRE_FALSE(made);
    CHECK(is(made.error(), std::errc::not_a_directory));
}

TEST_CASE("reading stops where the file does") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    auto file = AtomicFile::create(directory.get());
    REQUIRE((file && file->write(as_bytes("0123456789")) && file->commit("digits")));
    const auto opened = open_at(directory.get(), "digits", O_RDONLY);
    REQUIRE(opened);
    std::string text(8, '?');
    CHECK(*read_at(opened->get(), std::as_writable_bytes(std::span(text)), 5) == 5);
    CHECK(text == "56789???");
    CHECK(*read_at(opened->get(), std::as_writable_bytes(std::span(text)), 20) == 0);
}

TEST_CASE("a write to a full device says so") {
    const auto full = open_at(AT_FDCWD, "/dev/full", O_WRONLY);
    REQUIRE(full);
    const auto written = write_all(full->get(), as_bytes("x"));
    REQUIRE_FALSE(written);
    CHECK(is(written.error(), std::errc::no_space_on_device));
}
