/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a workload. Sums are whole numbers: whatever the number of
 * parts and threads, they come to the same. Records are kept part by part while
 * time goes on and then written in the order of parts, which is that of run
 * queues.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/receivers.h"
#include "sim/workload.h"

static unsigned flow_count(const struct workload *w)
{
	return w->plan->campaign->flow_count;
}

int workload_open(struct workload *w, struct sim *sim)
{
	unsigned n = sim_parts(sim);

	w->sim = sim;
	w->part = aligned_alloc(alignof(struct workload_part),
				n * sizeof(*w->part));
	if (!w->part)
		return -ENOMEM;
	memset(w->part, 0, n * sizeof(*w->part));
	for (unsigned i = 0; i < n; i++) {
		w->part[i].w = w;
		w->part[i].stats =
			calloc(flow_count(w), sizeof(struct flow_stats));
		if (!w->part[i].stats)
			return -ENOMEM;
	}
	return 0;
}

void workload_close(struct workload *w)
{
	for (unsigned i = 0; w->part && i < sim_parts(w->sim); i++) {
		free(w->part[i].stats);
		free(w->part[i].record);
	}
	free(w->part);
	w->part = NULL;
}

static int make_room(struct workload_part *p)
{
	size_t room = p->room ? 2 * p->room : 256;
	union cr_trace_record *record;

	if (p->records < p->room)
		return 0;
	record = realloc(p->record, room * sizeof(*record));
	if (!record)
		return -ENOMEM;
	p->record = record;
	p->room = room;
	return 0;
}

void workload_trace(struct workload_part *p, const union cr_trace_record *r)
{
	if (!p->w->running)
		trace_file_put(p->w->trace, r);
	else if (make_room(p))
		p->failed = true;
	else
		p->record[p->records++] = *r;
}

static void write_records(const struct workload *w, struct workload_part *p)
{
	for (size_t i = 0; i < p->records; i++)
		trace_file_put(w->trace, &p->record[i]);
	p->records = 0;
}

int workload_run(struct workload *w, cr_ns until)
{
	bool failed = false;
	unsigned n = sim_parts(w->sim);

	if (w->receivers && receivers_run(w->receivers, w->sim, until))
		return -ENOMEM;
	w->running = n > 1; /* a single part has the file to itself */
	sim_run(w->sim, until);
	w->running = false;
	for (unsigned i = 0; i < n; i++) {
		write_records(w, &w->part[i]);
		failed |= w->part[i].failed;
	}
	return failed ? -ENOMEM : 0;
}

uint64_t workload_jobs(const struct workload *w)
{
	uint64_t jobs = 0;

	for (unsigned i = 0; i < sim_parts(w->sim); i++)
		jobs += w->part[i].jobs;
	return jobs;
}

void workload_sum(const struct workload *w, unsigned flow,
		  struct flow_stats *to)
{
	for (unsigned i = 0; i < sim_parts(w->sim); i++)
		flow_stats_merge(to, &w->part[i].stats[flow]);
}
