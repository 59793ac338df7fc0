// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "process/numbered_kernel.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/skip.hpp"

// File systems that are full, read-only, or have more to say about rights than three digits.

using namespace kiln;
using test::Compiler;
using test::configuration_in;
using test::fill;
using test::obtains;
using test::own_name;
using test::run_forked;
using test::sample_cubin;
using test::sample_request;
using test::TemporaryDirectory;

namespace {

/// Runs `body` in a child whose mounts are its own; it returns 0 if all is well.
int with_own_mounts(const std::function<int()>& body) {
    const auto child = run_forked([&] {
        if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
        return body();
    });
    if (child.status == 77) test::skip("mounting needs root");
    UNSCOPED_INFO(child.output);
    return child.status;
}

/// A list that gives one more user every right, in the kernel's form.
std::string access_list(std::uint32_t user, std::uint16_t mask) {
    struct Entry {
        std::uint16_t tag;
        std::uint16_t permissions;
        std::uint32_t id;
    };
    const std::uint32_t version = 2;
    const std::uint32_t none = 0xffffffff;
    const Entry entries[]{{0x01, 7, none}, {0x02, 7, user}, {0x04, 5, none}, {0x10, mask, none}, {0x20, 5, none}};
    std::string list(reinterpret_cast<const char*>(&version), sizeof version);
    list.append(reinterpret_cast<const char*>(entries), sizeof entries);
    return list;
}

}  // namespace

TEST_CASE("a file system of 64 KiB serves until it is full, and models work on") {
    const TemporaryDirectory temporary;
    const int outcome = with_own_mounts([&] {
        if (mount("tmpfs", temporary.path().c_str(), "tmpfs", 0, "size=64k") != 0) return 77;
        for (int i = 0; i < 40; ++i) {
            if (!obtains(configuration_in(temporary), i)) return 1;
        }
        // Full by now, and what got in is good.
        return obtains(configuration_in(temporary), 0) ? 0 : 2;
    });
    CHECK(outcome == 0);
}

TEST_CASE("a file system of 64 KiB with a maximum that fits never fills up") {
    const TemporaryDirectory temporary;
    const int outcome = with_own_mounts([&] {
        if (mount("tmpfs", temporary.path().c_str(), "tmpfs", 0, "size=64k") != 0) return 77;
        CacheConfiguration configuration = configuration_in(temporary);
        configuration.maximum_bytes = 12'000;  // entries of 2 KB take a page each
        Compiler compiler;
        KernelCache cache(configuration);
        for (int i = 0; i < 40; ++i) {
            const auto kernel = cache.obtain(sample_request(i), compiler.function());
            if (!kernel) return 1;
            if (!kernel->on_disk) return 2;
        }
        return 0;
    });
    CHECK(outcome == 0);
}

TEST_CASE("a read-only file system serves hits, and models work on without locks") {
    const TemporaryDirectory temporary;
    fill(configuration_in(temporary), 1);
    const int outcome = with_own_mounts([&] {
        const char* path = temporary.path().c_str();
        if (mount(path, path, nullptr, MS_BIND, nullptr) != 0) return 77;
        if (mount(nullptr, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 77;
        KernelCache cache(configuration_in(temporary));
        const auto hit = cache.obtain(sample_request(0), test::no_compiler());
        if (!hit || hit->origin != Origin::user) return 1;
        Compiler compiler;
        const auto compiled = cache.obtain(sample_request(1), compiler.function());
        if (!compiled || compiled->on_disk || compiled->publish_error.find("Read-only") == std::string::npos) return 2;
        return 0;
    });
    CHECK(outcome == 0);
}

TEST_CASE("a layer of another owner is believed on a read-only mount") {
    const TemporaryDirectory temporary;
    fill(configuration_in((temporary / "source").string()), 1);
    if (geteuid() != 0) test::skip("giving files to another user needs root");
    const auto layer = temporary / "source" / own_name();
    for (const auto& each : std::filesystem::recursive_directory_iterator(layer)) {
        REQUIRE(lchown(each.path().c_str(), 12345, 12345) == 0);
    }
    REQUIRE(lchown(layer.c_str(), 12345, 12345) == 0);
    const int outcome = with_own_mounts([&] {
        CacheConfiguration configuration = configuration_in((temporary / "user").string());
        configuration.layers = {layer};
        const auto origin = [&] {
            KernelCache cache(configuration);
            return cache.look(sample_request(0)).origin;
        };
        if (origin()) return 1;
        if (mount(layer.c_str(), layer.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
        if (mount(nullptr, layer.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 77;
        return origin() == Origin::layer ? 0 : 2;
    });
    CHECK(outcome == 0);
}

TEST_CASE("an access list that lets somebody else write is seen, one that is inherited harmless") {
    const TemporaryDirectory temporary;
    const std::string inherited = access_list(12345, 7);
    if (setxattr(temporary.path().c_str(), "system.posix_acl_default", inherited.data(), inherited.size(), 0) != 0) {
        test::skip("this file system has no access lists");
    }
    // The list is passed on to what is made inside, with a mask that takes the right to write away.
    REQUIRE(obtains(configuration_in(temporary), 0));
    KernelCache cache(configuration_in(temporary));
    CHECK(cache.look(sample_request(0)).origin == Origin::user);

    const std::string writable = access_list(12345, 7);
    const auto own = temporary / own_name();
    REQUIRE(setxattr(own.c_str(), "system.posix_acl_access", writable.data(), writable.size(), 0) == 0);
    KernelCache after(configuration_in(temporary));
    CHECK_FALSE(after.look(sample_request(0)).origin);
    CHECK(obtains(configuration_in(temporary), 0));
}
