// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/cuda.hpp"

/// Every entry point of libcuda that Kiln, its tests and its benchmarks call: our name, the symbol, its type.
///
/// The symbol and the number in the type say which version of the entry point: the newest that CUDA 12.0 has. All of them are in
/// every later driver.
#define KILN_CUDA_ENTRY_POINTS(X)                                                                       \
    X(init, "cuInit", PFN_cuInit_v2000)                                                                 \
    X(driver_get_version, "cuDriverGetVersion", PFN_cuDriverGetVersion_v2020)                           \
    X(get_error_name, "cuGetErrorName", PFN_cuGetErrorName_v6000)                                       \
    X(get_error_string, "cuGetErrorString", PFN_cuGetErrorString_v6000)                                 \
    /* devices and contexts */                                                                          \
    X(device_get_count, "cuDeviceGetCount", PFN_cuDeviceGetCount_v2000)                                 \
    X(device_get, "cuDeviceGet", PFN_cuDeviceGet_v2000)                                                 \
    X(device_get_attribute, "cuDeviceGetAttribute", PFN_cuDeviceGetAttribute_v2000)                     \
    X(device_get_name, "cuDeviceGetName", PFN_cuDeviceGetName_v2000)                                    \
    X(device_get_uuid, "cuDeviceGetUuid_v2", PFN_cuDeviceGetUuid_v11040)                                \
    X(device_total_mem, "cuDeviceTotalMem_v2", PFN_cuDeviceTotalMem_v3020)                              \
    X(device_primary_ctx_retain, "cuDevicePrimaryCtxRetain", PFN_cuDevicePrimaryCtxRetain_v7000)        \
    X(device_primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", PFN_cuDevicePrimaryCtxRelease_v11000) \
    X(ctx_push_current, "cuCtxPushCurrent_v2", PFN_cuCtxPushCurrent_v4000)                              \
    X(ctx_pop_current, "cuCtxPopCurrent_v2", PFN_cuCtxPopCurrent_v4000)                                 \
    X(ctx_get_current, "cuCtxGetCurrent", PFN_cuCtxGetCurrent_v4000)                                    \
    X(ctx_set_current, "cuCtxSetCurrent", PFN_cuCtxSetCurrent_v4000)                                    \
    X(ctx_synchronize, "cuCtxSynchronize", PFN_cuCtxSynchronize_v2000)                                  \
    /* code */                                                                                          \
    X(library_load_data, "cuLibraryLoadData", PFN_cuLibraryLoadData_v12000)                             \
    X(library_unload, "cuLibraryUnload", PFN_cuLibraryUnload_v12000)                                    \
    X(library_get_kernel, "cuLibraryGetKernel", PFN_cuLibraryGetKernel_v12000)                          \
    X(kernel_get_function, "cuKernelGetFunction", PFN_cuKernelGetFunction_v12000)                       \
    X(kernel_get_attribute, "cuKernelGetAttribute", PFN_cuKernelGetAttribute_v12000)                    \
    X(kernel_set_attribute, "cuKernelSetAttribute", PFN_cuKernelSetAttribute_v12000)                    \
    X(func_get_attribute, "cuFuncGetAttribute", PFN_cuFuncGetAttribute_v2020)                           \
    X(func_set_attribute, "cuFuncSetAttribute", PFN_cuFuncSetAttribute_v9000)                           \
    X(occupancy_max_active_blocks_per_multiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",    \
      PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050)                                            \
    X(launch_kernel, "cuLaunchKernel", PFN_cuLaunchKernel_v4000)                                        \
    X(launch_kernel_ex, "cuLaunchKernelEx", PFN_cuLaunchKernelEx_v11060)                                \
    X(tensor_map_encode_tiled, "cuTensorMapEncodeTiled", PFN_cuTensorMapEncodeTiled_v12000)             \
    /* memory */                                                                                        \
    X(mem_get_info, "cuMemGetInfo_v2", PFN_cuMemGetInfo_v3020)                                          \
    X(mem_alloc, "cuMemAlloc_v2", PFN_cuMemAlloc_v3020)                                                 \
    X(mem_free, "cuMemFree_v2", PFN_cuMemFree_v3020)                                                    \
    X(mem_alloc_async, "cuMemAllocAsync", PFN_cuMemAllocAsync_v11020)                                   \
    X(mem_free_async, "cuMemFreeAsync", PFN_cuMemFreeAsync_v11020)                                      \
    X(mem_host_alloc, "cuMemHostAlloc", PFN_cuMemHostAlloc_v2020)                                       \
    X(mem_free_host, "cuMemFreeHost", PFN_cuMemFreeHost_v2000)                                          \
    X(memcpy_htod, "cuMemcpyHtoD_v2", PFN_cuMemcpyHtoD_v3020)                                           \
    X(memcpy_dtoh, "cuMemcpyDtoH_v2", PFN_cuMemcpyDtoH_v3020)                                           \
    X(memcpy_htod_async, "cuMemcpyHtoDAsync_v2", PFN_cuMemcpyHtoDAsync_v3020)                           \
    X(memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2", PFN_cuMemcpyDtoHAsync_v3020)                           \
    X(memset_d8, "cuMemsetD8_v2", PFN_cuMemsetD8_v3020)                                                 \
    X(memset_d32, "cuMemsetD32_v2", PFN_cuMemsetD32_v3020)                                              \
    X(memset_d8_async, "cuMemsetD8Async", PFN_cuMemsetD8Async_v3020)                                    \
    X(memset_d32_async, "cuMemsetD32Async", PFN_cuMemsetD32Async_v3020)                                 \
    /* streams, events, graphs */                                                                       \
    X(stream_create, "cuStreamCreate", PFN_cuStreamCreate_v2000)                                        \
    X(stream_destroy, "cuStreamDestroy_v2", PFN_cuStreamDestroy_v4000)                                  \
    X(stream_synchronize, "cuStreamSynchronize", PFN_cuStreamSynchronize_v2000)                         \
    X(stream_wait_event, "cuStreamWaitEvent", PFN_cuStreamWaitEvent_v3020)                              \
    X(stream_begin_capture, "cuStreamBeginCapture_v2", PFN_cuStreamBeginCapture_v10010)                 \
    X(stream_end_capture, "cuStreamEndCapture", PFN_cuStreamEndCapture_v10000)                          \
    X(stream_is_capturing, "cuStreamIsCapturing", PFN_cuStreamIsCapturing_v10000)                       \
    X(event_create, "cuEventCreate", PFN_cuEventCreate_v2000)                                           \
    X(event_destroy, "cuEventDestroy_v2", PFN_cuEventDestroy_v4000)                                     \
    X(event_record, "cuEventRecord", PFN_cuEventRecord_v2000)                                           \
    X(event_synchronize, "cuEventSynchronize", PFN_cuEventSynchronize_v2000)                            \
    X(event_elapsed_time, "cuEventElapsedTime", PFN_cuEventElapsedTime_v2000)                           \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", PFN_cuGraphInstantiateWithFlags_v11040)         \
    X(graph_launch, "cuGraphLaunch", PFN_cuGraphLaunch_v10000)                                          \
    X(graph_destroy, "cuGraphDestroy", PFN_cuGraphDestroy_v10000)                                       \
    X(graph_exec_destroy, "cuGraphExecDestroy", PFN_cuGraphExecDestroy_v10000)

namespace kiln::driver {

/// The driver's functions, as found in one libcuda.
struct EntryPoints {
#define KILN_DECLARE(name, symbol, type) type name = nullptr;
    KILN_CUDA_ENTRY_POINTS(KILN_DECLARE)
#undef KILN_DECLARE
};

}  // namespace kiln::driver
