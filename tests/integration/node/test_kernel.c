/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real node under the kernel's schedulers: a thread per stream, and the same
 * frames, counters and trace as under ours. Those that need a privilege are
 * left out where it is not there; SCHED_OTHER never is.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_cr.h"
#include "observe/trace_file.h"
#include "node_fixture.h"
#include "engine/scheduler.h"
#include "scratch.h"

enum { CALLS = 12, FRAMES = 10, ROUNDS = 5, NB = 160 };

static bool allowed(const char *scheduler)
{
	const struct sched_param usual = { 0 }, some = { .sched_priority = 1 };

	if (!strcmp(scheduler, "kernel:other"))
		return true;
	/* root may be refused, too: where its control group has no real time */
	if (sched_setscheduler(0, SCHED_FIFO, &some))
		return false;
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
	return true;
}

/* A frame of each call, and what comes back, in whatever order. */
static void one_round(struct node_fixture *r, struct fixture_sender *s,
		      unsigned *back)
{
	static const uint8_t silence[NB];
	uint8_t buf[2048];
	struct rtp_packet p;

	for (unsigned c = 0; c < CALLS; c++)
		fixture_send(&s[c], silence, sizeof(silence));
	for (unsigned c = 0; c < CALLS; c++) {
		assert_true(fixture_receive(r, buf, &p));
		for (unsigned k = 0; k < CALLS; k++)
			back[k] += p.ssrc == s[k].next.ssrc + 1;
	}
}

static struct node_stream *start(struct node_fixture *r, unsigned c)
{
	char json[300];

	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'ssrc': %u, 'out': {'codec': "
		       "'%s', 'ssrc': %u}}",
		       1000 + 10 * c, c % 2 ? "amr" : "pcma", 1001 + 10 * c);
	return fixture_call(r, json);
}

static unsigned count_jobs(const char *path)
{
	struct trace_reader *reader;
	union cr_trace_record record;
	struct cr_err e = { "" };
	unsigned jobs = 0;

	if (trace_reader_open(&reader, path, &e))
		fail_msg("%s", e.text);
	while (trace_reader_next(reader, &record, &e) > 0)
		if (record.kind == CR_TRACE_JOB) {
			assert_int_equal(record.job.outcome, CR_OUT_DONE);
			assert_true(record.job.worker < 1);
			assert_true(record.job.away >= 0);
			jobs++;
		}
	trace_reader_close(reader);
	return jobs;
}

static void play(const char *scheduler)
{
	struct node_stream *st[CALLS];
	struct fixture_sender s[CALLS];
	unsigned back[CALLS] = { 0 };
	char path[SCRATCH_MAX];
	struct cr_err e = { "" };
	struct trace_totals totals;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .scheduler = scheduler,
						    .workers = 1,
						    .ring_frames = 64 });
	if (node_trace_start(r.node, scratch_file(path), TRACE_OVER_ANY, &e))
		fail_msg("%s", e.text);
	for (unsigned c = 0; c < CALLS; c++) {
		st[c] = start(&r, c);
		s[c] = fixture_sender(&r, st[c], NB);
	}
	for (unsigned i = 0; i < FRAMES; i++)
		one_round(&r, s, back);
	for (unsigned c = 0; c < CALLS; c++) {
		assert_int_equal(back[c], FRAMES);
		fixture_end(&r, st[c]);
		assert_int_equal(r.last.done, FRAMES);
		assert_int_equal(r.last.packets_out, FRAMES);
	}
	assert_int_equal(node_trace_stop(r.node, &totals), 0);
	assert_int_equal(totals.lost, 0);
	assert_int_equal(count_jobs(path), CALLS * FRAMES);
	fixture_close(&r);
}

static void every_frame_comes_back(void **state)
{
	for (unsigned i = 0; kernel_scheds[i]; i++)
		if (allowed(kernel_scheds[i]->name))
			play(kernel_scheds[i]->name);
}

/* Calls that come and go while others speak: no thread is left behind. */
static void calls_come_and_go(void **state)
{
	struct node_stream *st[CALLS];
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .scheduler = "kernel:other",
						    .workers = 1 });
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned c = 0; c < CALLS; c++)
			st[c] = start(&r, c);
		for (unsigned c = 0; c < CALLS; c++)
			fixture_end(&r, st[c]);
	}
	assert_int_equal(r.ended, ROUNDS * CALLS);
	fixture_close(&r);
}

/* There are no workers: each call has a thread. */
static void the_places_name_no_workers(void **state)
{
	static const char *const roles[] = { "receiver", "streams", "control" };
	const struct node_place_info *p;
	struct node_fixture r;
	unsigned n = 0;

	fixture_open(&r, &(struct fixture_options){ .scheduler = "kernel:other",
						    .receivers = 1,
						    .workers = 2 });
	for (; (p = node_place(r.node, n)); n++) {
		assert_true(n < 3);
		assert_string_equal(p->role, roles[n]);
		assert_int_equal(p->threads, n != 1);
		assert_int_equal(p->run_queue, -1);
	}
	assert_int_equal(n, 3);
	fixture_close(&r);
}

static void it_cannot_be_left_for_ours(void **state)
{
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .scheduler = "kernel:other",
						    .workers = 1 });
	assert_int_equal(node_scheduler_set(r.node, "edf", &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "only by a new start"));
	assert_int_equal(node_scheduler_tune(r.node, "a=1", &e), -EINVAL);
	fixture_close(&r);
	fixture_open(&r, &(struct fixture_options){ .scheduler = "edf",
						    .workers = 1 });
	assert_int_equal(node_scheduler_set(r.node, "kernel:other", &e),
			 -ENOTSUP);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_comes_back),
		cmocka_unit_test(calls_come_and_go),
		cmocka_unit_test(the_places_name_no_workers),
		cmocka_unit_test(it_cannot_be_left_for_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
