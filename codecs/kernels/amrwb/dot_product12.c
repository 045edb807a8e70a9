/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Dot_product12: 1 + 2 * the sum of a[i] * b[i], wrapped at 32 bits,
 * normalised. Sums that wrap do not depend on their order: exact for all
 * inputs. Lengths that are not a multiple of 16 are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum { BLOCK = 16 };

AVX2 static int32_t dot_product_avx2(const int16_t a[], const int16_t b[],
				     int n)
{
	return dot_product(a, b, n);
}

int32_t voAWB_Dot_product12(int16_t a[], int16_t b[], int16_t n,
			    int16_t *exponent)
{
	int32_t sum;
	int norm;

	if (!cr_kernels_fast || n <= 0 || n % BLOCK)
		return stock_voAWB_Dot_product12(a, b, n, exponent);
	sum = add_wrapped(shift_left(dot_product_avx2(a, b, n), 1), 1);
	norm = wb_norm_l(sum);
	*exponent = (int16_t)(30 - norm);
	return shift_left(sum, norm);
}
