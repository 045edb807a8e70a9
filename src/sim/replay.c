/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a trace for replay: collect jobs, number calls, sort.
 */
#include "sim/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/trace_read.h"

static int by_arrival(const void *a, const void *b)
{
	const struct replay_job *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int by_call(const void *a, const void *b)
{
	const struct replay_job *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return by_arrival(a, b);
}

static int add_job(struct replay *r, size_t *room,
		   const struct cr_trace_job *job)
{
	struct replay_job *grown;

	if (r->njobs == *room) {
		*room = *room ? 2 * *room : 1024;
		grown = realloc(r->job, *room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		r->job = grown;
	}
	r->job[r->njobs++] = (struct replay_job){
		.at = job->arrival,
		.cost = job->codec_ns,
		.call = job->call,
		.seq = job->seq,
	};
	return 0;
}

static int read_jobs(struct replay *r, struct trace_reader *t, struct cr_err *e)
{
	union cr_trace_record record;
	size_t room = 0;
	int rc;

	while ((rc = trace_reader_next(t, &record, e)) > 0) {
		if (record.kind != CR_TRACE_JOB)
			continue;
		if (add_job(r, &room, &record.job))
			return cr_fail(e, -ENOMEM, "out of memory");
	}
	return rc;
}

struct numbering {
	uint32_t call;
	size_t order;
};

static int by_id(const void *a, const void *b)
{
	const struct numbering *x = a, *y = b;

	return (x->call > y->call) - (x->call < y->call);
}

/* Jobs are by call: number the calls by their first arrivals instead. */
static int number_calls(struct replay *r)
{
	struct replay_job *heads = malloc(r->njobs * sizeof(*heads));
	struct numbering *n = malloc(r->njobs * sizeof(*n));
	size_t calls = 0;

	for (size_t i = 0; heads && i < r->njobs; i++)
		if (!i || r->job[i].call != r->job[i - 1].call)
			heads[calls++] = r->job[i];
	if (heads && n) {
		qsort(heads, calls, sizeof(*heads), by_arrival);
		for (size_t i = 0; i < calls; i++)
			n[i] = (struct numbering){ heads[i].call, i };
		qsort(n, calls, sizeof(*n), by_id);
		for (size_t i = 0, k = 0; i < r->njobs; i++) {
			while (n[k].call != r->job[i].call)
				k++;
			r->job[i].call = (uint32_t)n[k].order;
		}
		r->ncalls = calls;
	}
	free(heads);
	free(n);
	return r->ncalls ? 0 : -ENOMEM;
}

static int find_firsts(struct replay *r)
{
	r->first = malloc((r->ncalls + 1) * sizeof(*r->first));
	if (!r->first)
		return -ENOMEM;
	for (size_t i = 0, calls = 0; i < r->njobs; i++)
		if (!i || r->job[i].call != r->job[i - 1].call)
			r->first[calls++] = i;
	r->first[r->ncalls] = r->njobs;
	return 0;
}

static int arrange(struct replay *r)
{
	cr_ns first = CR_NEVER;

	for (size_t i = 0; i < r->njobs; i++)
		first = cr_ns_min(first, r->job[i].at);
	for (size_t i = 0; i < r->njobs; i++)
		r->job[i].at -= first;
	qsort(r->job, r->njobs, sizeof(*r->job), by_call);
	if (number_calls(r))
		return -ENOMEM;
	qsort(r->job, r->njobs, sizeof(*r->job), by_call);
	return find_firsts(r);
}

int replay_open(struct replay *r, const char *path, struct cr_err *e)
{
	struct trace_reader *t;
	int rc = trace_reader_open(&t, path, e);

	*r = (struct replay){ 0 };
	if (rc)
		return rc;
	rc = read_jobs(r, t, e);
	trace_reader_close(t);
	if (!rc && !r->njobs)
		rc = cr_fail(e, -ENODATA, "%s: no job in this trace", path);
	else if (!rc && arrange(r))
		rc = cr_fail(e, -ENOMEM, "out of memory");
	if (rc)
		replay_close(r);
	return rc;
}

void replay_close(struct replay *r)
{
	free(r->job);
	free(r->first);
	*r = (struct replay){ 0 };
}
