// SPDX-License-Identifier: Apache-2.0
#pragma once

// The finishing warp: a unit's sums per place become sums per image, which meet those of the image's other units.
namespace kiln {

/// Adds up the places of each image that a unit has. Where it has many, groups of lanes take one each.
__device__ __forceinline__ void add_images(const ForwardArguments& arguments, const Layout& layout, const Unit& unit,
                                           const Share& share, int filter_tile, const float* place_sums) {
    const Index area = static_cast<Index>(arguments.pooled_height) * row_places(arguments);
    const Index first_place = unit.tile * layout.places;
    const int images = static_cast<int>(divide(first_place + unit.count - 1, area) - unit.image) + 1;
    int lanes = 32;
    while (lanes > 1 && lanes * images > 32) lanes /= 2;

    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int first = 0; first < images; first += 32 / lanes) {
        const bool active = first + lane / lanes < images;
        const Index image = unit.image + (active ? first + lane / lanes : 0);
        const Index start = image * area, end = start + area;
        const int from = start > first_place ? static_cast<int>(start - first_place) : 0;
        const int to = end - first_place < unit.count ? static_cast<int>(end - first_place) : unit.count;
        double sum = 0;
        for (int place = from + lane % lanes; place < to; place += lanes) sum += place_sums[place];
        sum = lane_group_sum(sum, lanes);
        const Contributors contributors{divide(start, layout.places), divide(end - 1, layout.places),
                                        static_cast<Index>(filter_tiles) * share.splits};
        const Index split = static_cast<Index>(filter_tile) * share.splits + share.rank;
        meet(arguments, image, sum, contributors, unit.tile, split, active, lanes);
    }
}

/// The finishing warp's life.
__device__ __forceinline__ void finish_images(const ForwardArguments& arguments, const unsigned char* shared) {
    const Layout layout(arguments);
    const Share& share = Share::in(shared);
    const Barriers barriers(shared);
    Turn<2> turn;
    Turn<unit_places> unit_turn;
    griddepcontrol_wait();  // y and what it is summed from may be in use by the kernel in front
    for (Index index = share.first; index < share.units; index += share.step) {
        mbarrier_wait_parity(barriers.sums_full + 8 * turn.index, turn.parity);
        add_images(arguments, layout, reinterpret_cast<const Unit*>(shared + units_at)[unit_turn.index], share,
                   Share::filter_tile(index), reinterpret_cast<const float*>(shared + sums_at) + turn.index * tile_places);
        mbarrier_arrive(barriers.sums_empty + 8 * turn.index);
        turn.advance();
        unit_turn.advance();
    }
}

}  // namespace kiln
