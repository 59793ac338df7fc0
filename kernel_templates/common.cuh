// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every family shares. A template includes specialisation.cuh, arguments.cuh and this file, in this order.
#include "common_shared.cuh"
#include "common_sums.cuh"
#include "common_meeting.cuh"
#include "common_boxes.cuh"
