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

#include "observe/trace_file.h"
#include "node_fixture.h"
#include "scratch.h"

#define NB 160u
#define CALLS 30u
#define ROUNDS 72u
#define TURN 12u /* frames of a spurt, and of a pause */

/* What has come out of a call. */
struct heard {
	unsigned packets;
	struct packet {
		uint16_t seq;
		uint32_t ts;
		bool marker;
		size_t bytes;
		uint8_t payload[2 * NB];
	} packet[ROUNDS];
};

/* What became of a call's frames. */
struct fates {
	unsigned outcome[ROUNDS];
	uint8_t importance[ROUNDS];
	unsigned of[CR_NOUTCOMES], nothing;
};

struct crowd {
	struct node_fixture rig;
	struct node_stream *call[CALLS];
	struct fixture_sender sender[CALLS];
	struct heard heard[CALLS];
	struct fates fates[CALLS];
	unsigned sent;
	char trace[SCRATCH_MAX];
};

static unsigned long long get(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static unsigned long long fate(const struct node_stream *st)
{
	const struct stream_counters *n = &st->stream->account->count;

	return get(&n->done) + get(&n->shed) + get(&n->expired) +
	       get(&n->overwritten);
}

static void open_crowd(struct crowd *c, struct shed_rule rule)
{
	struct cr_err e = { "" };

	memset(c, 0, sizeof(*c));
	fixture_open(&c->rig,
		     &(struct fixture_options){ .workers = 1,
						.ring_frames = 8,
						.max_age = CORE_AGE_AUTO,
						.shed = rule,
						.scheduler = "fifo" });
	for (unsigned i = 0; i < CALLS; i++) {
		c->call[i] = fixture_call(
			&c->rig, "{'in': {'codec': 'pcmu'}, "
				 "'out': {'codec': 'spin', 'spin': '0.7ms'}}");
		c->sender[i] = fixture_sender(&c->rig, c->call[i], NB);
	}
	if (node_trace_start(c->rig.node, scratch_file(c->trace),
			     TRACE_OVER_ANY, &e))
		fail_msg("%s", e.text);
}

static void hear(struct heard *h, const struct rtp_packet *p)
{
	struct packet *to = &h->packet[h->packets++];

	assert_true(h->packets <= ROUNDS);
	assert_true(p->payload_bytes <= sizeof(to->payload));
	*to = (struct packet){ .seq = p->seq,
			       .ts = p->ts,
			       .marker = p->marker,
			       .bytes = p->payload_bytes };
	memcpy(to->payload, p->payload, p->payload_bytes);
}

static void look(struct crowd *c)
{
	uint8_t buf[2048];
	struct rtp_packet p;
	ssize_t n;

	while ((n = recv(c->rig.fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		unsigned i = 0;

		assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
		while (c->call[i]->stream->cfg.ssrc_out != p.ssrc)
			assert_true(++i < CALLS);
		hear(&c->heard[i], &p);
	}
}

static bool may_follow(struct crowd *c)
{
	unsigned long long came = 0, done = 0, all = 0;

	look(c);
	for (unsigned i = 0; i < CALLS; i++) {
		came += get(&c->call[i]->stream->account->count.packets_in);
		done += get(&c->call[i]->stream->account->count.done);
		all += fate(c->call[i]);
	}
	return came == c->sent && (3 * done >= 2 * c->sent || all == c->sent);
}

/* Frame @k of call @i: half of the calls speak while the others pause. All that
 * is spoken is loud (G.711's uppermost segment), and no two frames that follow
 * each other are alike. */
static uint8_t code_of(unsigned i, unsigned k)
{
	return (k / TURN + i) % 2 ? 0xff : (uint8_t)(0x80 + (7 * k + i) % 16);
}

/* And what that is as L16. */
static int sample_of(unsigned i, unsigned k)
{
	unsigned code = code_of(i, k) ^ 0xffu;

	return code ? 4 * (int)(((2 * (code & 15) + 33) << 7) - 33) : 0;
}

static void overload(struct crowd *c)
{
	uint8_t payload[NB];

	for (unsigned n = 0; n < ROUNDS * CALLS; n++) {
		unsigned i = n % CALLS;

		while (!may_follow(c))
			(void)sched_yield();
		memset(payload, code_of(i, n / CALLS), sizeof(payload));
		fixture_send(&c->sender[i], payload, NB);
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
		       get(&c->call[i]->stream->account->count.packets_out) ==
			       c->heard[i].packets;
	return all;
}

static void note(struct crowd *c, const struct cr_trace_job *j)
{
	unsigned i = 0;

	while (node_stream_settings(c->call[i])->id != j->task)
		assert_true(++i < CALLS);
	assert_true(j->seq < ROUNDS);
	assert_int_equal(c->fates[i].outcome[j->seq], CR_NOUTCOMES);
	c->fates[i].outcome[j->seq] = j->outcome;
	c->fates[i].importance[j->seq] = j->importance;
	c->fates[i].of[j->outcome]++;
	c->fates[i].nothing += j->outcome == CR_OUT_SHED &&
			       j->importance == CR_IMPORTANCE_NOTHING;
}

/* Each frame has one fate, and the importance of what was sent. */
static void read_trace(struct crowd *c)
{
	union cr_trace_record rec;
	struct trace_reader *r = NULL;
	struct cr_err e = { "" };

	for (unsigned i = 0; i < CALLS; i++)
		for (unsigned k = 0; k < ROUNDS; k++)
			c->fates[i].outcome[k] = CR_NOUTCOMES;
	if (trace_reader_open(&r, c->trace, &e))
		fail_msg("%s", e.text);
	while (trace_reader_next(r, &rec, &e) > 0)
		if (rec.kind == CR_TRACE_JOB)
			note(c, &rec.job);
	trace_reader_close(r);
	for (unsigned i = 0; i < CALLS; i++)
		for (unsigned k = 0; k < ROUNDS; k++) {
			const struct fates *f = &c->fates[i];

			assert_int_not_equal(f->outcome[k], CR_NOUTCOMES);
			if (code_of(i, k) == 0xff)
				assert_int_equal(f->importance[k],
						 CR_IMPORTANCE_NOTHING);
			else
				assert_true(f->importance[k] >
					    CR_IMPORTANCE_LOUDEST - 16);
		}
}

static void close_crowd(struct crowd *c)
{
	struct trace_totals totals;

	assert_true(fixture_wait(&c->rig, settled, c));
	assert_int_equal(node_trace_stop(c->rig.node, &totals), 0);
	read_trace(c);
}

/* The packet of frame @k is as it was sent. */
static void assert_content(const struct packet *p, unsigned i, unsigned k)
{
	assert_int_equal(p->bytes, 2 * NB);
	for (unsigned s = 0; s < NB; s++)
		assert_int_equal((int16_t)(uint16_t)(p->payload[2 * s] << 8 |
						     p->payload[2 * s + 1]),
				 sample_of(i, k));
}

/* Of call @i, every packet that its frames' fates lead to, and no other: those
 * done, in order, at their time; numbers that go on where pauses were shed, and
 * then a marker; numbers left out for all else that was lost. Returns how many
 * were. */
static unsigned assert_heard(const struct crowd *c, unsigned i)
{
	const struct stream_cfg *cfg = node_stream_settings(c->call[i]);
	const struct fates *f = &c->fates[i];
	unsigned n = 0, missing = 0, gap = 0;
	bool rested = false;

	for (unsigned k = 0; k < ROUNDS; k++) {
		const struct packet *p = &c->heard[i].packet[n];

		if (f->outcome[k] == CR_OUT_SHED &&
		    f->importance[k] == CR_IMPORTANCE_NOTHING)
			rested = true;
		else if (f->outcome[k] != CR_OUT_DONE)
			gap++;
		if (f->outcome[k] != CR_OUT_DONE)
			continue;
		missing += n ? gap : 0; /* before the first, nobody knows */
		assert_int_equal(p->seq,
				 (uint16_t)(cfg->seq_out + n + missing));
		assert_int_equal(p->ts, (uint32_t)(cfg->ts_out + k * NB));
		assert_int_equal(p->marker, rested);
		assert_content(p, i, k);
		rested = false;
		gap = 0;
		n++;
	}
	assert_int_equal(c->heard[i].packets, n);
	return missing;
}

static void assert_counts(const struct crowd *c, unsigned i, unsigned missing)
{
	const struct stream_counters *n = &c->call[i]->stream->account->count;
	const struct fates *f = &c->fates[i];

	assert_int_equal(get(&n->done), f->of[CR_OUT_DONE]);
	assert_int_equal(get(&n->shed), f->of[CR_OUT_SHED]);
	assert_int_equal(get(&n->pauses), f->nothing);
	assert_int_equal(get(&n->given_up), 0);
	assert_int_equal(get(&n->expired), f->of[CR_OUT_EXPIRED]);
	assert_int_equal(get(&n->overwritten), f->of[CR_OUT_OVERWRITTEN]);
	assert_int_equal(get(&n->missing), missing);
}

static unsigned longest_row(const struct fates *f)
{
	unsigned longest = 0;

	for (unsigned k = 0, row = 0; k < ROUNDS; k++) {
		row = f->outcome[k] == CR_OUT_SHED ? row + 1 : 0;
		longest = row > longest ? row : longest;
	}
	return longest;
}

static void pauses_go_before_speech(void **state)
{
	const struct shed_rule rule = { .kind = SHED_QUIET };
	unsigned shed = 0, pauses = 0, other = 0, longest = 0;
	struct node_stats stats;
	static struct crowd c;

	open_crowd(&c, rule);
	overload(&c);
	close_crowd(&c);
	for (unsigned i = 0; i < CALLS; i++) {
		const struct fates *f = &c.fates[i];

		assert_counts(&c, i, assert_heard(&c, i));
		shed += f->of[CR_OUT_SHED];
		pauses += f->nothing;
		other += f->of[CR_OUT_EXPIRED] + f->of[CR_OUT_OVERWRITTEN];
		if (longest_row(f) > longest)
			longest = longest_row(f);
	}
	print_message("%u shed, %u of them pauses, %u lost otherwise\n", shed,
		      pauses, other);
	node_stats(c.rig.node, &stats);
	assert_int_equal(stats.totals.shed, shed);
	assert_int_equal(stats.totals.pauses, pauses);
	assert_int_equal(stats.totals.given_up, 0);
	assert_int_equal(stats.lost, shed + other);
	/* some hundreds, but where the machine is too busy to send in time */
	assert_true(pauses > 0);
	assert_true(shed - pauses <= pauses / 2);
	assert_in_range(longest, 1, SHED_ROW_PAUSE);
	fixture_close(&c.rig);
}

/* Nobody waits for a minute. */
static void none_goes_that_has_not_waited(void **state)
{
	const struct shed_rule rule = { .kind = SHED_QUIET,
					.wait = SHED_WAIT_MAX };
	static struct crowd c;

	open_crowd(&c, rule);
	overload(&c);
	close_crowd(&c);
	for (unsigned i = 0; i < CALLS; i++) {
		assert_counts(&c, i, assert_heard(&c, i));
		assert_int_equal(c.fates[i].of[CR_OUT_SHED], 0);
	}
	fixture_close(&c.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_go_before_speech),
		cmocka_unit_test(none_goes_that_has_not_waited),
	};

	return cmocka_run_group_tests_name("shed", tests, NULL, NULL);
}
