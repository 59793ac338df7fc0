// SPDX-License-Identifier: Apache-2.0
#include "support/run_catch.hpp"

int main(int argc, char** argv) {
    return kiln::test::run_catch(argc, argv);
}
