/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and shares.
 */
#include "feeder/session.h"

#include "run/run.h"

void talk_judge(struct talk *t, unsigned i)
{
	static const char *const names[] = {
#define NAME(name, ...) #name,
		CALL_COUNTERS(NAME)
#undef NAME
	};
	const struct feeder_call *c = t->side[i];
	const struct campaign_flow *f = c->flow;
	uint64_t counts[CALL_NCOUNTERS];

	for (unsigned k = 0; k < CALL_NCOUNTERS; k++)
		counts[k] = (uint64_t)json_integer_value(
			json_object_get(c->counts, names[k]));
	balance_judge(
		&(struct balance_side){
			.phone = c->phone,
			.heard = c->heard,
			.daemon = counts,
			.reported = c->counts != NULL,
			.drops = t->side[!i]->phone->drops,
			.clock_out = c->match->cfg.out_clock,
			/* lengths are the same, and no codec keeps silence
			 * to itself */
			.one_to_one = !t->relay &&
				      f->ptime == call_out_frame(f) &&
				      !f->in.cfg.dtx && !f->out.cfg.dtx,
			.relay = t->relay,
		},
		&t->balance[i]);
}

static void add_frames(struct tally *t, const struct match *m)
{
	t->sent += counter_read(&m->sent);
	t->withheld += counter_read(&m->withheld);
	t->copies += counter_read(&m->copies);
	t->missed += counter_read(&m->missed);
	t->received += counter_read(&m->received);
	t->late += counter_read(&m->late);
	t->duplicates += counter_read(&m->duplicates);
	t->reordered += counter_read(&m->reordered);
	t->unmatched += counter_read(&m->unmatched);
	t->octets_sent += counter_read(&m->octets_sent);
	t->octets_received += counter_read(&m->octets_received);
	t->lost += match_lost(m);
	/* with DTX, silence is not expected: what came and what is missing */
	t->expected += m->cfg.dtx ? counter_read(&m->received) + match_lost(m)
				  : match_expected(m);
	histogram_merge(&t->delay, &m->delay);
	histogram_merge(&t->jitter, &m->jitter);
}

void tally_call(struct tally *t, const struct feeder_call *c)
{
	t->planned++;
	t->refused += c->state == CALL_REFUSED;
	t->admitted += c->match != NULL;
	if (c->match)
		add_frames(t, c->match);
	if (c->heard) {
		const struct balance *b =
			&c->talk->balance[c->flow->party.side];

		t->duplicates += c->heard->count.repeated;
		t->reordered += c->heard->count.overtaken;
		t->unmatched +=
			c->heard->count.restarts + c->heard->count.foreign;
		t->digits_sent += b->digits_sent;
		t->digits_right += b->digits_right;
		t->faults += b->count;
	}
}

void tally_merge(struct tally *to, const struct tally *from)
{
#define ADD(name, help) to->name += from->name;
	TALLY_COUNTS(ADD)
#undef ADD
	histogram_merge(&to->delay, &from->delay);
	histogram_merge(&to->jitter, &from->jitter);
}

int64_t tally_metric(const struct tally *t, enum campaign_metric m)
{
	const struct run_counts c = {
		.lost = { t->lost, t->expected },
		.late = { t->late, t->received },
		.missed = { t->lost + t->late, t->expected },
		.admitted = { t->admitted, t->planned },
		.digits = { t->digits_right, t->digits_sent },
		.delay = &t->delay,
		.jitter = &t->jitter,
	};

	return run_metric(&c, m);
}

json_t *tally_json(const struct tally *t)
{
	json_t *o = json_object();

#define PUT(name, help) run_put_int(o, #name, (int64_t)t->name);
	TALLY_COUNTS(PUT)
#undef PUT
	run_put(o, "loss",
		json_real((double)tally_metric(t, METRIC_LOSS) / 1e6));
	run_put(o, "late_share",
		json_real((double)tally_metric(t, METRIC_LATE) / 1e6));
	run_put(o, "delay", run_histogram_json(&t->delay));
	run_put(o, "jitter", run_histogram_json(&t->jitter));
	return o;
}
