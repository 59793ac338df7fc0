// SPDX-License-Identifier: Apache-2.0
#include "support/dynamic_library.hpp"

#include "support/catch.hpp"
#include "support/elf_build_id.hpp"

using namespace kiln;

TEST_CASE("a library is opened, tells its file, and its functions are found") {
    auto library = DynamicLibrary::open("libm.so.6");
    REQUIRE(library);
    CHECK(library->path().find("libm.so.6") != std::string::npos);
    double (*cosine)(double) = nullptr;
    REQUIRE(library->resolve("cos", cosine));
    CHECK(cosine(0.0) == 1.0);
    CHECK_FALSE(library->resolve("no_such_function", cosine));
    CHECK(cosine == nullptr);
}

TEST_CASE("a library that is not there is an error with the linker's words") {
    const auto library = DynamicLibrary::open("/nonexistent/lib.so");
    REQUIRE_FALSE(library);
    CHECK(library.error().find("/nonexistent/lib.so") != std::string::npos);
    CHECK_FALSE(DynamicLibrary::open_copy("/nonexistent/lib.so"));
}

TEST_CASE("a copy of a library is another library") {
    auto original = DynamicLibrary::open("libm.so.6");
    REQUIRE(original);
    auto copy = DynamicLibrary::open_copy(original->path());
    REQUIRE(copy);
    using Function = double (*)(double);
    const auto first = original->function<Function>("cbrt");
    const auto second = copy->function<Function>("cbrt");
    REQUIRE(first != nullptr);
    REQUIRE(second != nullptr);
    CHECK(reinterpret_cast<void*>(first) != reinterpret_cast<void*>(second));
}

TEST_CASE("a library's build-id is read from its file") {
    auto library = DynamicLibrary::open("libm.so.6");
    REQUIRE(library);
    const auto id = elf_build_id(library->path());
    REQUIRE(id);
    CHECK(id->size() == 40);
    CHECK(id->find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(elf_build_id("/nonexistent").error().code == ErrorCode::bad_file);
    CHECK(elf_build_id("/etc/passwd").error().code == ErrorCode::bad_file);
    CHECK(elf_build_id("/").error().code == ErrorCode::bad_file);
}
