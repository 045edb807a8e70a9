/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a slot of state memory: what is read of it was written with a
 * checksum that fits, and is within its bounds; and what is written over it is
 * read again.
 *
 * Input: pairs of an offset (two octets, times 8) and eight octets to put
 * there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "media/state_memory.h"

/* All of it is there, whatever was left; and what comes next. */
static void read_recent(struct state_stream *s)
{
	static const uint8_t payload[STATE_PAYLOAD_MAX] = { 7 };
	const uint8_t *p;
	size_t bytes;

	for (unsigned ago = 0; ago < STATE_RECENT; ago++) {
		p = state_recent_payload(&s->recent, ago, true, &bytes);
		CR_ASSERT(!p ||
			  (p >= s->recent.data &&
			   p + bytes <= s->recent.data + STATE_PAYLOAD_MAX));
	}
	state_begin_frame(s, payload, 160, true);
	p = state_recent_payload(&s->recent, 0, true, &bytes);
	CR_ASSERT(p && bytes == 160 && *p == 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct state_slot slot;
static struct rtcp_sent no_packets;

/* Whatever is in @r reports within bounds, or is refused. */
static void resume_rtcp(struct state_rtcp *r)
{
	static const struct rtcp_session_config cfg = { .ssrc = 1,
							.cname = "c",
							.rate_in = 8000,
							.rate_out = 48000,
							.interval = CR_SEC,
							.sent = &no_packets };
	static const struct rtp_packet p = { .ssrc = 3, .seq = 9, .ts = 7 };
	uint8_t report[RTCP_BUILD_BYTES];

	if (rtcp_session_resume(&r->session, &cfg, CR_SEC))
		return;
	(void)rtcp_heard_rtp(&r->session, &p, true, CR_SEC);
	(void)rtcp_build(&r->session, report, 10 * CR_SEC, CR_SEC);
	CR_ASSERT(rtcp_bye(&r->session, report, 10 * CR_SEC, CR_SEC, NULL) <=
		  sizeof(report));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct state_sent sent = { .seq = 1, .at = 1 };
	static const struct state_heard heard = { .ssrc = 1 };
	static char text[STATE_TEXT_MAX + 1];
	struct state_heard h;
	struct state_sent s;

	memset((void *)&slot, 0, sizeof(slot));
	for (; size >= 10; data += 10, size -= 10) {
		size_t at = (size_t)(data[0] << 8 | data[1]) * 8;

		if (at + 8 <= sizeof(slot))
			memcpy((unsigned char *)&slot + at, data + 2, 8);
	}
	if (state_get_text(&slot, text))
		CR_ASSERT(strnlen(text, sizeof(text)) <= STATE_TEXT_MAX);
	for (unsigned i = 0; i < 2; i++) {
		(void)state_get_sent(&slot.stream[i], &s);
		(void)state_get_heard(&slot.stream[i], &h);
		read_recent(&slot.stream[i]);
	}
	state_slot_end(&slot);
	CR_ASSERT(!state_get_text(&slot, text));
	CR_ASSERT(!state_put_text(&slot, "{}", 2));
	CR_ASSERT(state_get_text(&slot, text) && !strcmp(text, "{}"));
	memset((void *)&slot.stream[0], 0, sizeof(slot.stream[0]));
	state_put_sent(&slot.stream[0], &sent);
	state_put_heard(&slot.stream[0], &heard);
	CR_ASSERT(state_get_sent(&slot.stream[0], &s) && s.seq == 1);
	CR_ASSERT(state_get_heard(&slot.stream[0], &h) && h.ssrc == 1);
	resume_rtcp(&slot.stream[1].rtcp);
	return 0;
}
