/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half as much again as a worker can do, of calls that speak and pause by
 * turns: pauses are given up, speech is heard, the output's numbers tell which
 * was which, and all is counted.
 *
 * The worker's frames are the clock: the next one is sent when it has done two
 * thirds of those so far, however slow the machine.
 */
#include "cmocka_cr.h"

#include <sched.h>
#include <string.h>

#include "observe/trace_read.h"
#include "rig.h"
#include "scratch.h"

#define NB 160u
#define CALLS 30u
#define ROUNDS 72u
#define TURN 12u /* frames of a spurt, and of a pause */

/* What has come out of a call. */
struct heard {
	unsigned packets, missing, jumps;
	uint16_t seq;
	uint32_t ts;
};

struct crowd {
	struct rig rig;
	struct node_call *call[CALLS];
	struct rig_sender sender[CALLS];
	struct heard heard[CALLS];
	unsigned sent;
	char trace[SCRATCH_MAX];
};

static unsigned long long get(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static unsigned long long fate(const struct node_call *nc)
{
	const struct call_counters *n = &nc->call->count;

	return get(&n->done) + get(&n->shed) + get(&n->stale) +
	       get(&n->overwritten);
}

static void open_crowd(struct crowd *c, struct shed_rule rule)
{
	struct cr_err e = { "" };

	memset(c, 0, sizeof(*c));
	rig_open(&c->rig, &(struct rig_options){ .workers = 1,
						 .ring_frames = 8,
						 .max_age = CORE_AGE_AUTO,
						 .shed = rule,
						 .scheduler = "fifo" });
	for (unsigned i = 0; i < CALLS; i++) {
		c->call[i] = rig_call(
			&c->rig, "{'in': {'codec': 'pcmu'}, "
				 "'out': {'codec': 'spin', 'spin': '0.7ms'}}");
		c->sender[i] = rig_sender(&c->rig, c->call[i], NB);
	}
	if (node_trace_start(c->rig.node, scratch_file(c->trace), true, &e))
		fail_msg("%s", e.text);
}

static void hear(struct heard *h, const struct rtp_packet *p)
{
	if (h->packets++) {
		unsigned before = (uint16_t)(p->seq - h->seq - 1);

		h->missing += before;
		h->jumps += p->ts - h->ts > NB * (before + 1);
	}
	h->seq = p->seq;
	h->ts = p->ts;
}

static void look(struct crowd *c)
{
	uint8_t buf[2048];
	struct rtp_packet p;
	ssize_t n;

	while ((n = recv(c->rig.fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		unsigned i = 0;

		assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
		while (c->call[i]->call->cfg.ssrc_out != p.ssrc)
			assert_true(++i < CALLS);
		hear(&c->heard[i], &p);
	}
}

static bool may_follow(struct crowd *c)
{
	unsigned long long came = 0, done = 0, all = 0;

	look(c);
	for (unsigned i = 0; i < CALLS; i++) {
		came += get(&c->call[i]->call->count.packets_in);
		done += get(&c->call[i]->call->count.done);
		all += fate(c->call[i]);
	}
	return came == c->sent && (3 * done >= 2 * c->sent || all == c->sent);
}

/* Half of the calls speak while the others pause. */
static void overload(struct crowd *c)
{
	uint8_t silence[NB], speech[NB];

	memset(silence, 0xff, sizeof(silence));
	memset(speech, 0x90, sizeof(speech));
	for (unsigned k = 0; k < ROUNDS * CALLS; k++) {
		unsigned i = k % CALLS, turn = k / CALLS / TURN + i;

		while (!may_follow(c))
			(void)sched_yield();
		rig_send(&c->sender[i], turn % 2 ? silence : speech, NB);
		c->sent++;
	}
}

/* Every packet has come in and met its fate, and what was sent is here. */
static bool settled(void *arg)
{
	struct crowd *c = arg;
	bool all = true;

	look(c);
	for (unsigned i = 0; i < CALLS; i++)
		all &= fate(c->call[i]) == ROUNDS &&
		       get(&c->call[i]->call->count.packets_out) ==
			       c->heard[i].packets;
	return all;
}

struct shed_frames {
	unsigned all, nothing, longest;
};

/* What the trace says of frames that were shed. */
static struct shed_frames read_trace(const char *path)
{
	static uint8_t gone[CALLS][ROUNDS];
	struct shed_frames f = { 0 };
	union cr_trace_record rec;
	struct trace_reader *r = NULL;
	struct cr_err e = { "" };

	memset(gone, 0, sizeof(gone));
	if (trace_reader_open(&r, path, &e))
		fail_msg("%s", e.text);
	while (trace_reader_next(r, &rec, &e) > 0) {
		const struct cr_trace_job *j = &rec.job;

		if (rec.kind != CR_TRACE_JOB || j->outcome != CR_OUT_SHED)
			continue;
		f.all++;
		f.nothing += j->importance == CR_IMPORTANCE_NOTHING;
		assert_int_not_equal(j->importance, CR_IMPORTANCE_UNKNOWN);
		gone[(j->call - 1) % CALLS][j->seq] = 1;
	}
	trace_reader_close(r);
	for (unsigned i = 0; i < CALLS; i++)
		for (unsigned k = 0, row = 0; k < ROUNDS; k++) {
			row = gone[i][k] ? row + 1 : 0;
			f.longest = row > f.longest ? row : f.longest;
		}
	return f;
}

static void close_crowd(struct crowd *c, struct shed_frames *f)
{
	struct trace_totals totals;

	assert_true(rig_wait(&c->rig, settled, c));
	assert_int_equal(node_trace_stop(c->rig.node, &totals), 0);
	*f = read_trace(c->trace);
}

static void pauses_go_before_speech(void **state)
{
	const struct shed_rule rule = { .kind = SHED_QUIET };
	unsigned long long shed = 0, pauses = 0, other = 0, jumps = 0;
	struct node_stats stats;
	struct shed_frames f;
	struct crowd c;

	(void)state;
	open_crowd(&c, rule);
	overload(&c);
	close_crowd(&c, &f);
	for (unsigned i = 0; i < CALLS; i++) {
		const struct call_counters *n = &c.call[i]->call->count;

		shed += get(&n->shed);
		pauses += get(&n->pauses);
		other += get(&n->stale) + get(&n->overwritten);
		jumps += c.heard[i].jumps;
		assert_int_equal(c.heard[i].packets, get(&n->done));
		/* what is no pause, and only that, shows in the numbers */
		assert_int_equal(c.heard[i].missing, get(&n->missing));
		assert_true(get(&n->missing) <=
			    get(&n->shed) - get(&n->pauses) + get(&n->stale) +
				    get(&n->overwritten));
	}
	print_message("%llu shed, %llu of them pauses, %llu lost otherwise\n",
		      shed, pauses, other);
	node_stats(c.rig.node, &stats);
	assert_int_equal(stats.totals.shed, shed);
	assert_int_equal(stats.totals.pauses, pauses);
	assert_int_equal(stats.lost, shed + other);
	assert_int_equal(f.all, shed);
	assert_int_equal(f.nothing, pauses);
	assert_true(pauses > 100 && jumps > 0);
	assert_true(shed - pauses < pauses / 2);
	assert_in_range(f.longest, 1, SHED_ROW_PAUSE);
	rig_close(&c.rig);
}

/* Nobody waits for a minute. */
static void none_goes_that_has_not_waited(void **state)
{
	const struct shed_rule rule = { .kind = SHED_QUIET,
					.wait = SHED_WAIT_MAX };
	struct shed_frames f;
	struct crowd c;

	(void)state;
	open_crowd(&c, rule);
	overload(&c);
	close_crowd(&c, &f);
	assert_int_equal(f.all, 0);
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(get(&c.call[i]->call->count.shed), 0);
	rig_close(&c.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_go_before_speech),
		cmocka_unit_test(none_goes_that_has_not_waited),
	};

	return cmocka_run_group_tests_name("shed", tests, NULL, NULL);
}
