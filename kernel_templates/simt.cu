// SPDX-License-Identifier: Apache-2.0
#include "specialisation.cuh"
#include "arguments.cuh"
#include "common.cuh"
