/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a trace for replay: collect jobs, number calls, sort.
 */
#include "sim/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/trace_file.h"

static int compare_arrivals(const void *a, const void *b)
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
	return compare_arrivals(a, b);
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
		.call = job->task,
		.seq = job->seq,
		.release = job->release,
		.pick = job->pick,
		.end = job->end,
		.sent = job->sent,
		.deadline = job->deadline,
		.codec = job->codec_ns,
		.charged = job->charged_before,
		.rtp_ts = job->rtp_ts,
		.buffered = job->buffered_ns,
		.worker = job->worker,
		.outcome = job->outcome,
		.importance = job->importance,
	};
	return 0;
}

static int read_jobs(struct replay *r, struct trace_reader *t,
		     const struct replay_listener *l, struct cr_err *e)
{
	union cr_trace_record record;
	size_t room = 0;
	int rc = l ? l->header(l->arg, trace_reader_header(t), e) : 0;

	if (rc)
		return rc;
	while ((rc = trace_reader_next(t, &record, e)) > 0) {
		rc = 0;
		if (record.kind != CR_TRACE_JOB)
			rc = l ? l->other(l->arg, &record, e) : 0;
		else if (add_job(r, &room, &record.job))
			rc = cr_fail(e, -ENOMEM, "out of memory");
		if (rc)
			return rc;
	}
	return rc;
}

struct numbering {
	uint32_t call;
	size_t order;
};

static int compare_ids(const void *a, const void *b)
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
	r->id = malloc(r->njobs * sizeof(*r->id));
	if (heads && n && r->id) {
		qsort(heads, calls, sizeof(*heads), compare_arrivals);
		for (size_t i = 0; i < calls; i++)
			n[i] = (struct numbering){ r->id[i] = heads[i].call,
						   i };
		qsort(n, calls, sizeof(*n), compare_ids);
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
	free(r->first);
	r->first = malloc((r->ncalls + 1) * sizeof(*r->first));
	if (!r->first)
		return -ENOMEM;
	for (size_t i = 0, calls = 0; i < r->njobs; i++)
		if (!i || r->job[i].call != r->job[i - 1].call)
			r->first[calls++] = i;
	r->first[r->ncalls] = r->njobs;
	return 0;
}

/* Shift a stamp; one of 0 in a trace never happened. */
static void shift_stamp(cr_ns *t, cr_ns by)
{
	*t = *t ? *t - by : CR_NEVER;
}

static int arrange_jobs(struct replay *r)
{
	r->begin = CR_NEVER;
	for (size_t i = 0; i < r->njobs; i++)
		r->begin = cr_ns_min(r->begin, r->job[i].at);
	for (size_t i = 0; i < r->njobs; i++) {
		struct replay_job *j = &r->job[i];

		j->at -= r->begin;
		shift_stamp(&j->release, r->begin);
		shift_stamp(&j->pick, r->begin);
		shift_stamp(&j->end, r->begin);
		shift_stamp(&j->sent, r->begin);
		if (j->deadline != CR_NEVER)
			shift_stamp(&j->deadline, r->begin);
	}
	qsort(r->job, r->njobs, sizeof(*r->job), by_call);
	if (number_calls(r))
		return -ENOMEM;
	qsort(r->job, r->njobs, sizeof(*r->job), by_call);
	return find_firsts(r);
}

int replay_renumber(struct replay *r, const uint32_t *number)
{
	uint32_t *id = malloc(r->ncalls * sizeof(*id));

	if (!id)
		return -ENOMEM;
	for (size_t i = 0; i < r->ncalls; i++)
		id[number[i]] = r->id[i];
	free(r->id);
	r->id = id;
	for (size_t i = 0; i < r->njobs; i++)
		r->job[i].call = number[r->job[i].call];
	qsort(r->job, r->njobs, sizeof(*r->job), by_call);
	return find_firsts(r);
}

int replay_open(struct replay *r, const char *path, struct cr_err *e)
{
	return replay_read(r, path, NULL, e);
}

int replay_read(struct replay *r, const char *path,
		const struct replay_listener *l, struct cr_err *e)
{
	struct trace_reader *t;
	int rc = trace_reader_open(&t, path, e);

	*r = (struct replay){ 0 };
	if (rc)
		return rc;
	rc = read_jobs(r, t, l, e);
	trace_reader_close(t);
	if (!rc && !r->njobs)
		rc = cr_fail(e, -ENODATA, "%s: no job in this trace", path);
	else if (!rc && arrange_jobs(r))
		rc = cr_fail(e, -ENOMEM, "out of memory");
	if (rc)
		replay_close(r);
	return rc;
}

void replay_close(struct replay *r)
{
	if (!r->borrowed) {
		free(r->job);
		free(r->first);
		free(r->id);
	}
	*r = (struct replay){ 0 };
}

/* The first that is not over for @worker at @at; those of a worker may overlap,
 * but none is within another. */
static size_t first_stolen(const struct replayed *r, unsigned worker, cr_ns at)
{
	size_t low = 0, high = r->nstolen;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct replay_stolen *s = &r->stolen[middle];

		if (s->worker < worker || (s->worker == worker && s->to <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

cr_ns replay_stolen(const struct replayed *r, unsigned worker, cr_ns at,
		    cr_ns cost)
{
	cr_ns end = at + cost;

	for (size_t i = first_stolen(r, worker, at); i < r->nstolen; i++) {
		const struct replay_stolen *s = &r->stolen[i];

		if (s->worker != worker || s->from >= end)
			break;
		end += s->to - cr_ns_max(s->from, at);
	}
	return end - at - cost;
}
