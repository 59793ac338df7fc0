// SPDX-License-Identifier: Apache-2.0
#include "cache/byte_lock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

using namespace kiln;
using test::run_forked;
using test::TemporaryDirectory;

namespace {

FileDescriptor open_directory(const TemporaryDirectory& directory) {
    auto opened = open_at(AT_FDCWD, directory.path(), O_RDONLY | O_DIRECTORY);
    REQUIRE(opened);
    return std::move(*opened);
}

bool is_free(int directory, std::uint64_t byte) {
    const auto lock = ByteLock::try_acquire(directory, byte);
    return lock && lock->has_value();
}

bool another_process_finds_it_free(int directory, std::uint64_t byte) {
    return run_forked([&] { return is_free(directory, byte) ? 0 : 1; }).status == 0;
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

constexpr std::uint64_t last_byte = (std::uint64_t{1} << 63) - 2;

}  // namespace

TEST_CASE("a byte is held against other processes and against threads of this one") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    for (const std::uint64_t byte : {std::uint64_t{0}, std::uint64_t{1} << 62, last_byte}) {
        CAPTURE(byte);
        {
            const auto lock = ByteLock::try_acquire(directory.get(), byte);
            REQUIRE((lock && *lock));
            CHECK_FALSE(is_free(directory.get(), byte));
            CHECK_FALSE(another_process_finds_it_free(directory.get(), byte));
            CHECK(is_free(directory.get(), byte ^ 1));
            CHECK(another_process_finds_it_free(directory.get(), byte ^ 1));
            // Letting go of another byte, and having failed to get this one, has not given it up.
            CHECK_FALSE(another_process_finds_it_free(directory.get(), byte));
        }
        CHECK(is_free(directory.get(), byte));
        CHECK(another_process_finds_it_free(directory.get(), byte));
    }
    CHECK(std::filesystem::file_size(temporary / "lock") == 0);
}

TEST_CASE("the file is open only while something is held") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    const std::size_t before = open_descriptors();
    {
        const auto first = ByteLock::try_acquire(directory.get(), 1);
        const auto second = ByteLock::try_acquire(directory.get(), 2);
        CHECK(open_descriptors() == before + 1);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("a holder that dies gives its byte up, also while a child that it forked lives on") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    int held[2];
    int alive[2];
    REQUIRE((pipe(held) == 0 && pipe(alive) == 0));
    const pid_t holder = fork();
    if (holder == 0) {
        const auto lock = ByteLock::try_acquire(directory.get(), 5);
        if (fork() == 0) {
            close(alive[1]);
            char end;
            (void)!read(alive[0], &end, 1);  // lives until the test ends
            _exit(0);
        }
        (void)!write(held[1], lock && *lock ? "y" : "n", 1);
        pause();
        _exit(0);
    }
    char answer = 0;
    REQUIRE(read(held[0], &answer, 1) == 1);
    CHECK(answer == 'y');
    CHECK_FALSE(is_free(directory.get(), 5));
    REQUIRE(kill(holder, SIGKILL) == 0);
    REQUIRE(waitpid(holder, nullptr, 0) == holder);
    CHECK(is_free(directory.get(), 5));
    for (const int each : {held[0], held[1], alive[0], alive[1]}) close(each);
}

TEST_CASE("a forked child does not hold, and cannot give up, what its parent holds") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    auto lock = ByteLock::try_acquire(directory.get(), 5);
    REQUIRE((lock && *lock));
    const auto child = run_forked([&] {
        if (is_free(directory.get(), 5)) return 1;
        lock->reset();
        return is_free(directory.get(), 5) ? 2 : 0;
    });
    CHECK(child.status == 0);
    CHECK_FALSE(another_process_finds_it_free(directory.get(), 5));
}

TEST_CASE("a lock file that was removed does not let go of the one that is held") {
    const TemporaryDirectory temporary;
    const FileDescriptor directory = open_directory(temporary);
    const auto lock = ByteLock::try_acquire(directory.get(), 5);
    std::filesystem::remove(temporary / "lock");
    CHECK(is_free(directory.get(), 5));  // a new file: others may work again, which costs a compile and no more
}

TEST_CASE("a directory without a lock file that can be made is an error, not a wait") {
    const TemporaryDirectory temporary;
    std::filesystem::create_directory(temporary / "lock");
    const FileDescriptor directory = open_directory(temporary);
    CHECK_FALSE(ByteLock::try_acquire(directory.get(), 5));
    CHECK_FALSE(ByteLock::try_acquire(-1, 5));
}
