/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a real node agrees with its counters, and every frame's times
 * are in the order of its way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmocka_cr.h"
#include "observe/trace_file.h"
#include "node_fixture.h"
#include "scratch.h"

enum { CALLS = 3, FRAMES = 50, NB = 160 };

/* What a trace file says. */
struct seen {
	unsigned tasks, jobs, notes, done, lost;
	uint64_t frames[64]; /* set of seq, by call number modulo 64 */
};

static void see_job(struct seen *s, const struct cr_trace_job *j)
{
	uint64_t *frames = &s->frames[j->task % 64];

	s->jobs++;
	assert_int_equal(j->outcome, CR_OUT_DONE);
	/* Every frame once; a file is in order per worker, not per call. */
	assert_in_range(j->seq, 0, FRAMES - 1);
	assert_false(*frames >> j->seq & 1);
	*frames |= UINT64_C(1) << j->seq;
	s->done++;
	assert_int_equal(j->bytes_in, NB);
	assert_true(j->bytes_out > 0);
	assert_true(j->arrival > 0);
	assert_true(j->release >= j->arrival);
	assert_true(j->pick >= j->release);
	assert_true(j->start >= j->pick);
	assert_true(j->end >= j->start);
	assert_true(j->sent >= j->end);
	assert_true(j->codec_ns > 0);
	assert_true(j->codec_ns <= j->sent - j->start);
}

static void see_task(struct seen *s, const struct cr_trace_task *c)
{
	s->tasks++;
	assert_int_equal(c->ptime_us_div_250, 80);
	assert_string_equal(c->codec_in, "pcmu");
	assert_string_equal(c->codec_out, "amr");
	assert_string_equal(c->mode_out, "12.2");
}

static void see_file(struct seen *s, const char *path)
{
	union cr_trace_record rec;
	struct trace_reader *r = NULL;
	struct cr_err e = { "" };
	const char *scheduler;
	json_t *header;
	int rc;

	memset(s, 0, sizeof(*s));
	assert_int_equal(trace_reader_open(&r, path, &e), 0);
	header = json_loads(trace_reader_header(r), JSON_REJECT_DUPLICATES,
			    NULL);
	scheduler = json_string_value(json_object_get(header, "scheduler"));
	assert_non_null(scheduler);
	assert_string_equal(scheduler, "edf");
	json_decref(header);
	while ((rc = trace_reader_next(r, &rec, &e)) > 0) {
		if (rec.kind == CR_TRACE_JOB)
			see_job(s, &rec.job);
		else if (rec.kind == CR_TRACE_TASK)
			see_task(s, &rec.task);
		else
			s->notes++;
	}
	if (rc)
		fail_msg("%s", e.text);
	trace_reader_close(r);
}

/* One frame of every call at a time, so that nothing is dropped. */
static void send_frames(struct node_fixture *r,
			struct node_stream *const *calls)
{
	struct fixture_sender s[CALLS];
	uint8_t payload[NB], buf[2048];
	struct rtp_packet p;

	for (unsigned c = 0; c < CALLS; c++)
		s[c] = fixture_sender(r, calls[c], NB);
	for (unsigned i = 0; i < FRAMES; i++) {
		memset(payload, (int)i, sizeof(payload));
		for (unsigned c = 0; c < CALLS; c++)
			fixture_send(&s[c], payload, sizeof(payload));
		for (unsigned c = 0; c < CALLS; c++)
			assert_true(fixture_receive(r, buf, &p));
	}
}

static void trace_through(struct node_fixture *r, const char *path)
{
	struct node_stream *calls[CALLS];
	struct cr_err e = { "" };
	struct trace_totals totals;

	/* One call is there when the trace starts, the others come later. */
	calls[0] = fixture_call(r, "{'in': {'codec': 'pcmu'}, "
				   "'out': {'codec': 'amr', 'mode': '12.2'}}");
	if (node_trace_start(r->node, path, TRACE_OVER_ANY, &e))
		fail_msg("%s", e.text);
	for (unsigned c = 1; c < CALLS; c++)
		calls[c] = fixture_call(r, "{'in': {'codec': 'pcmu'}, 'out': "
					   "{'codec': 'amr', 'mode': '12.2'}}");
	send_frames(r, calls);
	for (unsigned c = 0; c < CALLS; c++) {
		fixture_end(r, calls[c]);
		assert_int_equal(r->last.done, FRAMES);
	}
	assert_int_equal(node_trace_stop(r->node, &totals), 0);
	assert_int_equal(totals.lost, 0);
}

static void the_trace_agrees_with_the_counters(void **state)
{
	const char *keep = getenv("CR_KEEP_TRACE"); /* to look at one */
	char path[SCRATCH_MAX];
	struct seen seen;
	struct node_fixture r;

	(void)scratch_file(path);
	fixture_open(&r, &(struct fixture_options){ .scheduler = "edf",
						    .workers = 2 });
	trace_through(&r, path);
	fixture_close(&r);

	see_file(&seen, path);
	assert_int_equal(seen.tasks, CALLS);
	assert_int_equal(seen.jobs, CALLS * FRAMES);
	assert_int_equal(seen.done, CALLS * FRAMES);
	assert_int_equal(seen.notes, 0);
	if (keep)
		assert_int_equal(rename(path, keep), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_trace_agrees_with_the_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
