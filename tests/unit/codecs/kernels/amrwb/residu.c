/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Residu of AMR-WB gives what the library's gives.
 */
#include "codecs/kernels/amrwb.h"

#define RESIDU voAWB_Residu
#define STOCK_RESIDU stock_voAWB_Residu

enum {
	TRIES = 500000,
	ORDER = 16,
	SUBFRAME = 64,
	LONGEST = 160,
};

#include "unit/codecs/kernels/residu.h"
