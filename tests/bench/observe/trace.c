/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace record costs its producer, in ns: with tracing off, into the
 * ring, and into a full ring. Fails when records go missing, never by time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "observe/trace_writer.h"
#include "scratch.h"

enum { RECORDS = 1 << 20, OFF_ROUNDS = 100000000 };

static double put_many(struct trace_ring *ring, unsigned n)
{
	union cr_trace_record r;
	cr_ns start;

	memset(&r, 0, sizeof(r));
	r.kind = CR_TRACE_JOB;
	start = clock_now();
	for (unsigned i = 0; i < n; i++) {
		r.job.seq = i;
		trace_put(ring, &r);
	}
	return (double)(clock_now() - start) / n;
}

/* Puts @n records into a ring of @size; returns 0 when all are accounted. */
static int measure(const char *what, const char *path, unsigned size,
		   unsigned n)
{
	struct trace_totals totals;
	struct trace *t = NULL;
	struct cr_err e = { "" };
	double ns;

	if (trace_open(&t, 1, size))
		return 1;
	trace_set_over(t, TRACE_OVER_ANY);
	if (trace_start(t, path, "{}", &e)) {
		(void)fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	ns = put_many(trace_ring(t, 0), n);
	(void)trace_stop(t, &totals);
	printf("%-24s %6.2f ns (%" PRIu64 " written, %" PRIu64 " lost)\n", what,
	       ns, totals.written - totals.notes, totals.lost);
	trace_close(t);
	return totals.written - totals.notes + totals.lost != n;
}

int main(void)
{
	char path[SCRATCH_MAX];
	int failed;
	struct trace *t = NULL;

	if (trace_open(&t, 1, 2))
		return 1;
	printf("%-24s %6.2f ns\n", "tracing off",
	       put_many(trace_ring(t, 0), OFF_ROUNDS));
	trace_close(t);
	(void)scratch_file(path);
	failed = measure("into the ring", path, RECORDS, RECORDS);
	failed |= measure("ring full", path, 64, RECORDS);
	return failed;
}
