/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Copy: y[i] = x[i], from the first to the last. Where y begins inside
 * of x, samples already copied are copied again: that, and lengths below 2,
 * where the library's loop does not end, are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"

void voAWB_Copy(const int16_t x[], int16_t y[], int16_t n)
{
	if (!cr_kernels_fast || n < 2 || overtakes(y, x, n)) {
		stock_voAWB_Copy(x, y, n);
		return;
	}
	memmove(y, x, (size_t)n * sizeof(*y));
}
