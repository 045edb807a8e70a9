/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the latest times while the writer goes on: copy, then throw away
 * what may have been replaced meanwhile.
 */
#include "media/recent.h"

#include <string.h>

unsigned recent_take(const struct recent *r, unsigned *seen, uint32_t *out)
{
	/* counts wrap: only differences mean anything */
	unsigned end = atomic_load_explicit(&r->count, memory_order_acquire);
	unsigned n = end - *seen < RECENT_TIMES ? end - *seen : RECENT_TIMES;
	unsigned now, lost;

	for (unsigned i = 0; i < n; i++)
		out[i] = atomic_load_explicit(
			&r->ns[(end - n + i) % RECENT_TIMES],
			memory_order_acquire);
	*seen = end;
	now = atomic_load_explicit(&r->count, memory_order_acquire) - end + n;
	/* the writer may be at work on the one after those it has counted */
	lost = now >= RECENT_TIMES ? now - RECENT_TIMES + 1 : 0;
	if (lost >= n)
		return 0;
	memmove(out, out + lost, (n - lost) * sizeof(*out));
	return n - lost;
}
