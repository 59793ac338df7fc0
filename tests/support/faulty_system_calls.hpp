// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// System calls in the place of `kiln::sys` that are counted, and of which one can be made to go wrong.
///
/// Only test binaries that ask for FAULTY_SYSTEM_CALLS contain them. Until `arm` is called, and after `disarm`, every call goes
/// through. Counts calls of all threads.
namespace kiln::test::faults {

struct Fault {
    enum class Kind {
        none,   ///< only count
        error,  ///< the call does nothing and fails with `error_number`
        cut,    ///< a read or write transfers one byte less than it was asked for, if that is at least one
        kill,   ///< the process dies instead of making the call
        stop,   ///< the process stops (SIGSTOP) before it makes the call
    };
    Kind kind = Kind::none;
    int at = -1;  ///< the number of the call, from 0; −1 means every one of `only`
    int error_number = 0;
    std::string only = {};  ///< with `at` = −1: the name of a call
};

void arm(const Fault& fault);

/// How many calls were made since `arm`.
int disarm();

/// Their names, in order.
[[nodiscard]] std::vector<std::string> names_of_calls();

/// Reads a fault from KILN_TEST_FAULT ("error:12:28", "kill:3", "stop:7", "every:set_lock:37") and arms it, for child processes.
void arm_from_environment();

}  // namespace kiln::test::faults
