/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libvo-amrwbenc that we replace, with the library's own
 * under the name stock_S. The prototypes are the library's: 3GPP TS 26.173
 * describes what each computes, its file here how.
 */
#ifndef CODECS_KERNELS_AMRWB_H
#define CODECS_KERNELS_AMRWB_H

#include <stdint.h>

#endif
