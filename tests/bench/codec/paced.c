/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue in front of a core.
 */
#include "paced.h"

#include <stdbool.h>

static bool carries(const uint32_t *took, size_t n, unsigned calls,
		    cr_ns period, cr_ns bound)
{
	cr_ns free_at = 0;
	size_t late = 0;

	for (size_t i = 0; i < n; i++) {
		cr_ns comes = (cr_ns)i * period / (cr_ns)calls;

		free_at = cr_ns_max(free_at, comes) + (cr_ns)took[i];
		late += free_at - comes > bound;
	}
	return late <= n / 100;
}

unsigned paced_calls(const uint32_t *took, size_t n, cr_ns period, cr_ns bound)
{
	unsigned low = 0, high = 1;

	/* delays only grow with the number of calls */
	while (high < 1u << 24 && carries(took, n, high, period, bound))
		high *= 2;
	while (high - low > 1) {
		unsigned calls = low + (high - low) / 2;

		if (carries(took, n, calls, period, bound))
			low = calls;
		else
			high = calls;
	}
	return low;
}
