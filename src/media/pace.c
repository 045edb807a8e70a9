/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far apart the receiver's turns begin: from the load of its CPU to a gap.
 */
#include "media/pace.h"

#define PPM INT64_C(1000000)

cr_ns pace_gap(int64_t load_ppm)
{
	if (load_ppm <= PACE_FREE_PPM)
		return 0;
	if (load_ppm >= PACE_FULL_PPM)
		return PACE_GAP_MAX;
	return PACE_GAP_MAX * (load_ppm - PACE_FREE_PPM) /
	       (PACE_FULL_PPM - PACE_FREE_PPM);
}

void pace_look(struct pace *p, cr_ns now, cr_ns used)
{
	cr_ns passed = now - p->looked;

	if (p->looked && passed > 0) {
		int64_t load = (used - p->used) * PPM / passed;

		/* what lies further back counts for less, and nothing after a
		 * long silence */
		p->load = passed > 4 * PACE_LOOK ? load : (p->load + load) / 2;
		p->gap = pace_gap(p->load);
	}
	p->looked = now;
	p->used = used;
}
