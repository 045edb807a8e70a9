/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What conversation.start asks for a party. The feeder's parties have no RTCP.
 */
#include "feeder/session_control.h"
#include "rtp/jitter.h"

int talk_events_of(const struct feeder_call *c)
{
	const struct campaign_party *own = &c->flow->party;
	const struct campaign_party *other = &talk_other(c)->flow->party;

	if (own->dtmf.digits[0])
		return (int)own->dtmf.pt;
	return other->dtmf.digits[0] ? (int)other->dtmf.pt : 0;
}

int talk_noise_of(const struct feeder_call *c)
{
	const struct campaign_flow *own = c->flow;
	const struct campaign_flow *other = talk_other(c)->flow;

	if (own->party.cn.given)
		return (int)own->party.cn.pt;
	if (!other->party.cn.given || own->in.codec->dtx ||
	    cr_codec_clock(own->in.codec, own->in.cfg.sample_rate) !=
		    cr_codec_clock(other->in.codec, other->in.cfg.sample_rate))
		return 0;
	return (int)other->party.cn.pt;
}

/* What the daemon is to do about the network between it and the party. */
static void put_reception(json_t *o, const struct campaign_flow *f)
{
	static const char *const fills[] = { NULL, "never", "signalled",
					     "always" };
	static const char *const buffers[] = { "off", "fixed", "adaptive" };
	const struct campaign_buffer *b = &f->buffer;

	if (f->party.conceal)
		(void)json_object_set_new(o, "loss", json_string("conceal"));
	if (f->party.fill)
		(void)json_object_set_new(o, "fill",
					  json_string(fills[f->party.fill]));
	if (b->kind == JITTER_OFF)
		return;
	(void)json_object_set_new(o, "jitter", json_string(buffers[b->kind]));
	(void)json_object_set_new(o, "jitter_max_ms",
				  json_real((double)b->most / CR_MS));
	if (b->kind == JITTER_ADAPTIVE)
		(void)json_object_set_new(o, "jitter_min_ms",
					  json_real((double)b->least / CR_MS));
}

json_t *talk_party_json(const struct feeder_call *c, const char *address)
{
	static const char *const learns[] = { "strict", "immediate",
					      "delayed" };
	const struct campaign_party *p = &c->flow->party;
	json_t *o = session_endpoint_json(&c->flow->in);

	if (p->address == ADDRESS_KNOWN)
		(void)json_object_set_new(o, "address", json_string(address));
	if (talk_events_of(c))
		(void)json_object_set_new(o, "events",
					  json_integer(talk_events_of(c)));
	if (talk_noise_of(c))
		(void)json_object_set_new(o, "noise",
					  json_integer(talk_noise_of(c)));
	put_reception(o, c->flow);
	(void)json_object_set_new(o, "rtcp", json_string("off"));
	if (p->learn != CAMPAIGN_LEARN_AUTO)
		(void)json_object_set_new(o, "learn",
					  json_string(learns[p->learn - 1]));
	return o;
}
