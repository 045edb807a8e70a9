/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residu of AMR-NB gives what the library's gives.
 */
#include "codecs/kernels/amrnb.h"

#define RESIDU Residu
#define STOCK_RESIDU stock_Residu

enum {
	TRIES = 1000000,
	ORDER = 10,
	SUBFRAME = 40,
	LONGEST = 160,
};

#include "unit/codecs/kernels/residu.h"
