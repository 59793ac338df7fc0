// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kiln::test {

/// Catch2's command line: 0 if all is well, else 1. (Catch2 2.13 exits with the number of failures, which a status of eight bits
/// can turn into success.)
int run_catch(int argc, char** argv);

}  // namespace kiln::test
