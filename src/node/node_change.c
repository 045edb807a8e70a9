/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that change while they run, their codecs among it.
 *
 * What control asks for (call.change) is admitted anew, or refused and nothing
 * has changed. What is more is reckoned by the costs of today: that frames have
 * turned out dearer since the call began is not what is asked for, and a change
 * that asks for no more is done, beyond the capacity or not.
 *
 * What the peer asks for is not for us to refuse: a CMR is obeyed by the worker
 * that reads it (RFC 4867, 4.3.1). Once a second the books follow: the call is
 * entered under the cost of its new mode and admitted by that, if need be
 * beyond the capacity. Then new calls find no room, the call counts it
 * (cmr_over), and the log says so. In the same round they follow relays that
 * have taken the packets of a transcoder: from then on that costs nothing.
 *
 * A stream whose codecs change may become a relay by that, or cease to be one:
 *
 *   made: codecs, types, transcoders
 *   -> admitted: both streams -> taken, from the next packet on
 *
 * What can fail comes before what takes effect. A relay that needs codecs gets
 * a transcoder, which it keeps: if the parties speak the same again, that
 * sleeps. The receiver changes the mode (media/rtp_stream.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/call_check.h"
#include "node/node_impl.h"
#include "observe/log.h"

static const char *mode_name(const struct stream_cfg *cfg)
{
	const struct codec_use *out = &cfg->media.out;

	return out->codec->modes[out->cfg.mode].name;
}

static void trace_change(const struct node_stream *st)
{
	const struct stream_cfg *cfg = node_stream_settings(st);
	union cr_trace_record r = {
		.note = { .kind = CR_TRACE_NOTE,
			  .code = CR_NOTE_CHANGED,
			  .worker = 0xffff,
			  .count = cfg->id,
			  .at = clock_now() },
	};

	(void)snprintf(r.note.text, sizeof(r.note.text),
		       "class=%s deadline_us=%" PRId64
		       " mode=%s weight=%" PRIu32 " nice=%d",
		       call_class_names[cfg->terms.cls],
		       cfg->terms.deadline / CR_US, mode_name(cfg),
		       cfg->terms.weight, cfg->terms.nice);
	trace_put(trace_ring(st->node->trace, node_ring_control(st->node)), &r);
}

static void forget_cost(struct node_stream *st)
{
	if (!st->cost)
		return;
	st->cost->streams--;
	costs_release(st->node->costs, st->cost);
	st->cost = NULL;
}

/** The engine goes by @to already: let the call and the book follow. */
static void node_stream_take(struct node_stream *st,
			     const struct stream_cfg *to,
			     struct cost_entry *cost)
{
	node_learn(st->node); /* what it took so far belongs to the old entry */
	cost->streams++;
	costs_hold(st->node->costs, cost);
	forget_cost(st);
	st->cost = cost;
	transcoder_set_terms(node_stream_transcoder(st), to);
	trace_change(st);
}

/* The book's entry for @to, which is settled by it. 0, or as node_cost_of(). */
static int settle_cost(struct node *n, struct stream_cfg *to,
		       struct cost_entry **cost, struct cr_err *e)
{
	int err = node_cost_of(n, to, cost, e);

	if (!err)
		stream_settle(to, &(*cost)->cost);
	return err;
}

/* The call as it is, at what it costs by the book today. */
static struct stream_cfg cfg_today(const struct node_stream *st)
{
	struct stream_cfg cfg = *node_stream_settings(st);

	stream_settle(&cfg, &st->cost->cost);
	return cfg;
}

/* Admit @st as @to, whose cost is in the book. */
static int admit_change(struct node_stream *st, const struct stream_cfg *to,
			struct cr_err *e)
{
	struct node *n = st->node;
	const struct cost_entry *book = st->cost;
	const struct stream_cfg was = cfg_today(st);
	/* beyond what it took, or what the book counts for it */
	int64_t more = node_load_of(to) -
		       cr_ns_max(node_load_of(&was),
				 book->cost.mean * CR_PPM / book->period);
	unsigned flags = core_asks_for_more(&was.declared, &to->declared)
				 ? 0
				 : CORE_CHANGE_FORCE;
	struct cr_verdict v = { 0 };
	int err = node_admit_measured(n, more, &v);

	if (!err)
		err = live_change(n->live, &node_stream_transcoder(st)->lt,
				  &to->declared, flags, &v);
	return err < 0 ? node_refuse(n, err, &v, e) : 0;
}

int node_stream_change(struct node_stream *st, const struct stream_cfg *want,
		       bool set_mode, struct cr_err *e)
{
	struct transcoder *c = node_stream_transcoder(st);
	struct pipeline_output *output = NULL;
	struct stream_cfg to = *want;
	struct cost_entry *cost;
	int err;

	if (node_stream_wants_relay(st))
		return cr_fail(e, -EINVAL,
			       "stream %" PRIu32 " is relayed: it has no terms "
			       "and no codec",
			       st->id);
	err = settle_cost(st->node, &to, &cost, e);
	if (!err && !codec_use_same(&node_stream_settings(st)->media.out,
				    &to.media.out, SAME_OUTPUT))
		err = pipeline_output_new(&output, &to.media.out, true, e);
	if (err)
		return err;
	err = admit_change(st, &to, e);
	if (err) {
		pipeline_output_free(output);
		return err;
	}
	node_stream_take(st, &to, cost);
	if (output)
		pipeline_change(c->pipeline, output);
	if (set_mode)
		pipeline_set_mode(c->pipeline, to.media.out.cfg.mode);
	return 0;
}

/* --- calls that turned out cheaper --- */

/* For one call that has no room: all workers wait for each change. */
enum { LOOKS = 4096, CHANGES = 16 };

/* It is in the scheduler's books with what its codecs cost when it came: when
 * they had just been measured, or beside a busy neighbour. Is that more than an
 * eighth too much? Then as it is today: into *@to. */
static bool is_cheaper(const struct node_stream *st, struct stream_cfg *to)
{
	if (st->call->ending || st->changing || node_stream_wants_relay(st) ||
	    !st->cost)
		return false;
	*to = cfg_today(st);
	return node_load_of(to) * 8 <
	       node_load_of(node_stream_settings(st)) * 7;
}

/* The load that @st gives back, ppm of a CPU; negative: nobody does. */
static int64_t give_back_load(struct node_stream *st,
			      const struct stream_cfg *to)
{
	struct transcoder *c = node_stream_transcoder(st);
	int64_t was = node_load_of(node_stream_settings(st));
	struct cr_verdict v;

	if (live_change(st->node->live, &c->lt, &to->declared,
			CORE_CHANGE_FORCE, &v) < 0)
		return -1;
	transcoder_set_terms(c, to);
	return was - node_load_of(to);
}

bool node_give_back(struct node *n, int64_t wanted)
{
	unsigned looks = n->nstreams < LOOKS ? n->nstreams : LOOKS, changes = 0;
	int64_t given = 0;
	struct stream_cfg to;

	if (n->gave_nothing)
		return false;
	for (; looks && changes < CHANGES && given < wanted; looks--) {
		struct node_stream *st = node_stream_after(n, n->gave_back);
		int64_t one;

		if (!st) /* round again */
			st = RB_MIN(node_stream_tree, &n->streams);
		n->gave_back = st->id;
		if (!is_cheaper(st, &to))
			continue;
		one = give_back_load(st, &to);
		if (one < 0)
			break;
		given += one;
		changes++;
	}
	n->gave_nothing = given <= 0;
	return given > 0;
}

/* --- codec mode requests --- */

static void follow_cost(struct node_stream *st, unsigned mode)
{
	struct stream_cfg to = *node_stream_settings(st);
	const struct cr_cost *was = &node_stream_settings(st)->declared.cost;
	struct cost_entry *cost;
	struct cr_verdict v;
	int rc = 0;

	to.media.out.cfg.mode = mode;
	if (settle_cost(st->node, &to, &cost, NULL)) {
		node_cost_ask(st->node, &to);
		return; /* at the next look */
	}
	/* what a contract declares holds in every mode */
	if (to.declared.cost.mean != was->mean ||
	    to.declared.cost.p99 != was->p99 ||
	    to.declared.cost.variance_ns2 != was->variance_ns2)
		rc = live_change(st->node->live,
				 &node_stream_transcoder(st)->lt, &to.declared,
				 CORE_CHANGE_FORCE, &v);
	if (rc == -EINVAL) /* the scheduler keeps it as it was */
		to.declared.cost = *was;
	else if (rc < 0)
		return;
	if (rc > 0) {
		st->cmr_over++;
		log_event(LOG_WARN, "cmr-over-capacity",
			  LOG_INT("stream", to.id),
			  LOG_WORD("mode", mode_name(&to)),
			  LOG_REAL("need", (double)v.need_ppm / 1e6, 4),
			  LOG_REAL("free", (double)v.free_ppm / 1e6, 4),
			  LOG_STR("rule", v.rule ? v.rule : "load"));
	}
	node_stream_take(st, &to, cost);
}

/* --- relays that have taken over --- */

/* Nothing: a task that sleeps. */
static const struct cr_cost sleeping = { .mean = 1, .p99 = 1 };

/* Let the transcoder of @st sleep. From now on it gets no packets: they would
 * cost CPU time that was given back. Where a scheduler keeps it as it was,
 * its share stays taken. */
static void rest_transcoder(struct node_stream *st)
{
	struct transcoder *c = node_stream_transcoder(st);
	struct stream_cfg to = *node_stream_settings(st);
	struct core_terms *t = &to.declared;
	struct cr_verdict v;

	/* The receiver may be in a packet that it gives to the transcoder: that
	 * has its cost until the next round, when the word has been heard. */
	if (stream_wanted(st->stream) == STREAM_RELAY_SOME) {
		stream_want(st->stream, STREAM_RELAY);
		return;
	}
	if (!stream_relays(st->stream)) { /* its party has turned meanwhile */
		stream_want(st->stream, STREAM_RELAY_SOME);
		return;
	}
	t->cost = sleeping;
	if (t->contract.largest)
		t->contract.largest = sleeping.p99;
	forget_cost(st);
	if (live_change(st->node->live, &c->lt, t, CORE_CHANGE_FORCE, &v) >= 0)
		transcoder_set_terms(c, &to);
}

void node_follow(struct node *n)
{
	struct node_stream *st;
	unsigned mode;

	RB_FOREACH (st, node_stream_tree, &n->streams) {
		if (st->call->ending)
			continue;
		if (node_stream_wants_relay(st)) {
			if (st->cost && !st->needs_codec &&
			    (stream_relays(st->stream) ||
			     stream_wanted(st->stream) == STREAM_RELAY))
				rest_transcoder(st);
			continue;
		}
		mode = pipeline_mode(node_stream_transcoder(st)->pipeline);
		if (mode != node_stream_settings(st)->media.out.cfg.mode)
			follow_cost(st, mode);
	}
}

/* One of two. */
struct recode {
	struct node_stream *st;
	struct stream_cfg *to;
	const struct stream_codecs *lent; /* of *to, by who asks */
	struct cost_entry *cost;	  /* NULL: it needs no codec */
	struct transcoder *fresh;	  /* that it has not had; or NULL */
	bool coded;	 /* its transcoder has a part in the change: */
	unsigned inputs; /* so many codecs came in before */
	struct stream_codecs *codecs; /* the transcoder's, then; NULL: one */
	struct transcoder_aux aux;
	struct pipeline_output *output; /* NULL: as it is */
	struct stream_types *types;	/* the stream's, then */
};

/* The transcoder that it is to have. */
static struct transcoder *recoded_transcoder(const struct recode *r)
{
	return r->fresh ? r->fresh : node_stream_transcoder(r->st);
}

struct node_recode {
	struct recode one[2];
	bool relays;
};

struct stream_codecs *node_codecs_copy(const struct stream_codecs *from)
{
	struct stream_codecs *to = from ? malloc(sizeof(*to)) : NULL;

	if (to)
		*to = *from;
	return to;
}

static void give_up_recode(struct recode *r)
{
	r->to->codecs = r->lent;
	free(r->codecs);
	if (r->coded && !r->fresh)
		pipeline_forget_inputs(node_stream_transcoder(r->st)->pipeline,
				       r->inputs);
	transcoder_aux_drop(&r->aux);
	pipeline_output_free(r->output);
	transcoder_free(r->fresh);
	free(r->types);
}

/* --- making --- */

/* All that may come; of a relay also what came so far. */
static struct stream_codecs expected_codecs(const struct recode *r)
{
	const struct stream_codecs one = { .n = 1, .one = { r->to->media.in } };
	struct stream_codecs all = r->codecs ? *r->codecs : one;
	const struct codec_use *before = &node_stream_settings(r->st)->media.in;

	if (!r->fresh || all.n == STREAM_CODECS_MAX ||
	    !before->codec->decoder_open)
		return all;
	for (unsigned i = 0; i < all.n; i++)
		if (all.one[i].pt == before->pt)
			return all;
	all.one[all.n++] = *before;
	return all;
}

/* Make the transcoder and what it needs of the change, but for types. */
static int make_recoded_transcoder(struct recode *r, struct cr_err *e)
{
	const struct codec_use *out = &r->to->media.out;
	struct transcoder *c;
	int err = 0;

	r->codecs = node_codecs_copy(r->to->codecs);
	if (r->to->codecs && !r->codecs)
		return cr_fail(e, -ENOMEM, "out of memory for codecs");
	r->to->codecs = r->codecs;
	if (!node_stream_transcoder(r->st))
		err = node_make_transcoder(r->st, r->to, &r->fresh, e);
	if (err)
		return err;
	c = recoded_transcoder(r);
	r->coded = true;
	r->inputs = pipeline_inputs(c->pipeline);
	err = transcoder_aux_make(&r->aux, c, r->to, e);
	if (!err && !r->fresh &&
	    !codec_use_same(&node_stream_settings(r->st)->media.out, out,
			    SAME_OUTPUT))
		err = pipeline_output_new(&r->output, out, true, e);
	return err;
}

static int make_recode(struct recode *r, bool relays, struct cr_err *e)
{
	bool needed = node_stream_needs_transcoder(r->to, relays);
	struct node *n = r->st->node;
	struct stream_codecs all;
	struct stream_change by = { .to = r->to, .relays = relays };
	int err = needed ? node_cost_of(n, r->to, &r->cost, e) : 0;

	if (needed && !err) {
		costs_hold(n->costs, r->cost);
		stream_settle(r->to, &r->cost->cost);
	}
	/* a call that has no codec of it stays as it is */
	if (!err && (needed || (node_stream_transcoder(r->st) &&
				r->to->media.in.codec->decoder_open)))
		err = make_recoded_transcoder(r, e);
	if (err)
		return err;
	by.transcoder = recoded_transcoder(r);
	if (r->coded) {
		all = expected_codecs(r);
		by.codecs = &all;
	}
	return stream_types_new(&r->types, r->st->stream, &by, e);
}

/* --- admission --- */

/* The terms that it was admitted by; a relay never was. */
static const struct core_terms *admitted_terms(const struct recode *r)
{
	static const struct core_terms nothing;

	return r->fresh ? &nothing : &node_stream_settings(r->st)->declared;
}

static int admit_recode(struct recode *r, unsigned flags, struct cr_verdict *v)
{
	struct live *live = r->st->node->live;

	if (!r->cost)
		return 0;
	return r->fresh ? live_add(live, &r->fresh->lt, v)
			: live_change(live, &recoded_transcoder(r)->lt,
				      &r->to->declared, flags, v);
}

/* It has been admitted, and is not to be: the other one has not, say. */
static void take_back_recode(struct recode *r)
{
	struct node *n = r->st->node;
	struct cr_verdict v;

	if (!r->cost)
		return;
	if (!r->fresh) {
		(void)live_change(n->live, &recoded_transcoder(r)->lt,
				  admitted_terms(r), CORE_CHANGE_FORCE, &v);
		return;
	}
	node_drop_transcoder(n, r->fresh);
	r->fresh = NULL;
	r->coded = false;
}

static int64_t recode_beyond(const struct recode *r)
{
	const struct core_terms *was;

	if (!r->cost)
		return 0;
	was = admitted_terms(r);
	return node_load_of(r->to) -
	       (was->period ? was->cost.mean * CR_PPM / was->period : 0);
}

/* Both or neither. */
static int admit_both(struct recode r[2], struct cr_err *e)
{
	struct node *n = r[0].st->node;
	int64_t more = recode_beyond(&r[0]) + recode_beyond(&r[1]);
	unsigned flags = more > 0 ? 0 : CORE_CHANGE_FORCE;
	struct cr_verdict v = { 0 };
	int err = more > 0 ? node_admit_measured(n, more, &v) : 0;

	if (!err)
		err = admit_recode(&r[0], flags, &v);
	if (err < 0)
		return node_refuse(n, err, &v, e);
	err = admit_recode(&r[1], flags, &v);
	if (err >= 0)
		return 0;
	take_back_recode(&r[0]);
	return node_refuse(n, err, &v, e);
}

/* --- taking --- */

/* Its transcoder goes by the new codecs. */
static void take_recoded_codecs(struct recode *r)
{
	struct transcoder *c = recoded_transcoder(r);
	struct node_stream *st = r->st;

	free(st->codecs);
	st->codecs = r->codecs;
	st->recoded = true;
	if (r->fresh)
		node_set_transcoder(st, c, r->to, r->cost);
	else if (r->cost)
		node_stream_take(st, r->to, r->cost);
	else
		transcoder_set_terms(c, r->to);
	transcoder_set_aux(c, r->to, &r->aux);
	if (r->output)
		pipeline_change(c->pipeline, r->output);
}

/* Let the stream relay from now on, or transcode. */
static void take_recode(struct recode *r, bool relays)
{
	struct node_stream *st = r->st;
	struct stream *s = st->stream;
	bool did = node_stream_wants_relay(st);

	if (!r->cost)
		r->to->declared = s->cfg.declared;
	if (r->coded) {
		take_recoded_codecs(r);
	} else {
		r->to->codecs = st->codecs; /* not those that were lent */
		stream_set_cfg(s, r->to);
	}
	st->needs_codec = relays && r->cost;
	if (relays) {
		s->cfg.ssrc_in = 0;  /* whatever the party chooses */
		if (!did || r->cost) /* its transcoder is awake */
			stream_want(s, STREAM_RELAY_SOME);
	} else {
		s->cfg.ssrc_in = stream_transcoder(s)->ssrc_in;
		stream_want(s, STREAM_TRANSCODE);
	}
	stream_set_types(s, r->types, r->to->media.in.pt);
	st->node->nrelays += relays;
	st->node->nrelays -= did;
}

/* It has been taken or given up. */
static void free_recode(struct node_recode *r)
{
	for (unsigned i = 0; i < 2; i++) {
		r->one[i].st->changing = false;
		if (r->one[i].cost)
			costs_release(r->one[i].st->node->costs,
				      r->one[i].cost);
	}
	free(r);
}

int node_recode_prepare(struct node_recode **out,
			struct node_stream *const st[2],
			struct stream_cfg to[2], bool relays, struct cr_err *e)
{
	struct node_recode *r;
	struct cost_entry *cost;
	int err = 0;

	/* one that has to wait for costs has made nothing */
	for (unsigned i = 0; i < 2 && !err; i++)
		if (node_stream_needs_transcoder(&to[i], relays))
			err = node_cost_of(st[0]->node, &to[i], &cost, e);
	if (err)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory for a change");
	r->relays = relays;
	for (unsigned i = 0; i < 2; i++) {
		r->one[i].st = st[i];
		st[i]->changing = true;
		r->one[i].to = &to[i];
		r->one[i].lent = to[i].codecs;
	}
	for (unsigned i = 0; i < 2 && !err; i++)
		err = make_recode(&r->one[i], relays, e);
	if (!err)
		err = admit_both(r->one, e);
	if (!err) {
		*out = r;
		return 0;
	}
	for (unsigned i = 0; i < 2; i++)
		give_up_recode(&r->one[i]);
	free_recode(r);
	return err;
}

void node_recode_commit(struct node_recode *r)
{
	struct node_stream *a = r->one[0].st, *b = r->one[1].st;

	for (unsigned i = 0; i < 2; i++)
		take_recode(&r->one[i], r->relays);
	if (node_stream_transcoder(a) && node_stream_transcoder(b))
		node_join_pair(a, b);
	free_recode(r);
}

void node_recode_cancel(struct node_recode *r)
{
	for (unsigned i = 0; i < 2; i++) {
		take_back_recode(&r->one[i]);
		give_up_recode(&r->one[i]);
	}
	free_recode(r);
}
