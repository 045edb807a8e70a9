/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call, whoever is called: what it needs on our side, and its states. The
 * asking is the peer's (session_impl.h).
 */
#include "feeder/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "feeder/dump.h"

static unsigned endpoint_clock(const struct campaign_endpoint *endpoint)
{
	return cr_codec_clock(endpoint->codec, endpoint->cfg.sample_rate);
}

/* Speech in one packet of the daemon's: PCM comes in our ptime. */
cr_ns session_out_frame(const struct campaign_flow *f)
{
	return f->out.codec->any_length
		       ? f->ptime
		       : cr_codec_frame_ns(f->out.codec, &f->out.cfg);
}

struct match_cfg session_match_cfg(const struct campaign_flow *f)
{
	const unsigned clock = endpoint_clock(&f->out);

	return (struct match_cfg){
		.in_frame = f->ptime,
		.out_clock = clock,
		.out_units = (unsigned)(session_out_frame(f) * clock / CR_SEC),
		.deadline = f->terms.deadline,
		.dtx = f->out.cfg.dtx,
	};
}

int session_make_parts(struct session *s, struct feeder_call *c,
		       const struct match_cfg *m)
{
	c->match = calloc(1, sizeof(*c->match));
	if (!c->match)
		return -ENOMEM;
	match_init(c->match, m);
	if (s->cfg.times)
		c->match->times = times_new(c->plan->frames);
	if (s->cfg.times && !c->match->times)
		return -ENOMEM;
	source_voice_init(&c->voice, s->sources[c->plan->flow], c->plan->seed);
	plan_stream_init(&c->stream, &s->plan, c->plan);
	c->stream.silent = source_silent;
	c->stream.silent_arg = &c->voice;
	c->playout = s->cfg.playout ? s->cfg.playout : CR_NEVER;
	if (s->speakers)
		c->speakers = speakers_limit(s->speakers, c->plan->flow);
	if (!s->cfg.dump ||
	    (s->cfg.dump_calls && c->plan->index >= s->cfg.dump_calls))
		return 0;
	c->dump = dump_new(
		&c->flow->out,
		(unsigned)(session_out_frame(c->flow) *
			   (c->flow->out.cfg.sample_rate
				    ? c->flow->out.cfg.sample_rate
				    : c->flow->out.codec->sample_rate) /
			   CR_SEC));
	return c->dump ? 0 : -ENOMEM;
}

void session_let_run(struct session *s, struct feeder_call *c)
{
	c->state = CALL_ACTIVE;
	s->active++;
	pacer_add(s->pacer, c);
}

void session_call_admitted(struct session *s, struct feeder_call *c,
			   const struct match_cfg *m)
{
	struct cr_err e = { "" };
	int rc = session_make_parts(s, c, m);

	c->by_port = m->learn;
	if (!rc && !c->by_port)
		rc = receiver_add(s->receiver, c);
	if (rc) {
		session_fail(s, rc, "call %lld: %s", (long long)c->id,
			     strerror(-rc));
		return;
	}
	rc = ports_listen(&s->ports, &c->port, receiver_tag(c), &e);
	if (rc) {
		session_fail(s, rc, "call %lld: %.400s", (long long)c->id,
			     e.text);
		return;
	}
	c->fd = c->caller.fd < 0 ? ports_fd(&s->ports, &c->port) : c->caller.fd;
	session_let_run(s, c);
}

void session_call_refused(struct session *s, struct feeder_call *c,
			  const char *why)
{
	c->state = CALL_REFUSED;
	ports_take_back(&s->ports, &c->port);
	ports_take_back(&s->ports, &c->caller);
	s->open--;
	s->refused++;
	if (!s->refusal[0])
		(void)snprintf(s->refusal, sizeof(s->refusal), "%.250s", why);
}

void session_call_start(struct session *s, struct feeder_call *c)
{
	struct random r = random_fork(c->plan->seed, 4);
	const struct campaign_endpoint *in = &c->flow->in;
	struct cr_err e = { "" };
	char address[PORT_TEXT];
	int rc = ports_give(&s->ports, &c->port, address, &e);

	if (rc) {
		session_fail(s, rc, "call %zu: %.400s", s->next_start, e.text);
		return;
	}

	/* RFC 3550, 5.1: random first values, here from the seed */
	c->ts_first = (uint32_t)random_next(&r);
	c->seq_first = (uint16_t)random_next(&r);
	c->ssrc = (uint32_t)random_next(&r);
	c->ts_units = (uint32_t)(c->flow->ptime * endpoint_clock(in) / CR_SEC);
	c->state = CALL_STARTING;
	s->open++;
	s->peer->start(s, c, address);
}

void session_call_stop(struct session *s, struct feeder_call *c)
{
	c->state = CALL_STOPPING;
	s->peer->stop(s, c);
}

void session_call_over(struct session *s, struct feeder_call *c)
{
	c->state = CALL_ENDED;
	ports_take_back(&s->ports, &c->port);
	ports_take_back(&s->ports, &c->caller);
	s->open--;
	s->active--;
}
