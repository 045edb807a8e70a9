/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far apart the receiver's turns begin: from the load of its CPU to a gap.
 */
#include "media/pace.h"

#define PPM INT64_C(1000000)

/* Straight lines between these. */
static const struct {
	int64_t load; /* ppm */
	cr_ns gap;
} points[] = {
	{ 50000, 0 },
	{ 300000, 330 * CR_US },
	{ 750000, 330 * CR_US },
	{ 950000, PACE_GAP_MAX },
};
enum { POINTS = sizeof(points) / sizeof(points[0]) };

cr_ns pace_gap(int64_t load_ppm)
{
	unsigned i = 0;

	while (i < POINTS && points[i].load <= load_ppm)
		i++;
	if (i == 0)
		return 0;
	if (i == POINTS)
		return points[POINTS - 1].gap;
	return points[i - 1].gap +
	       (points[i].gap - points[i - 1].gap) *
		       (load_ppm - points[i - 1].load) /
		       (points[i].load - points[i - 1].load);
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
