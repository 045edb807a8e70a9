/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTP headers and source statistics (RFC 3550). Payloads are payload.c's; who
 * may send is the call's business.
 */
#include "rtp/rtp.h"

/* RFC 3550 A.1 suggests 3000 and 100; the second is the width of our window
 * here, so that whatever is accepted as reordered is known to be no duplicate.
 */
#define MAX_DROPOUT 3000u
#define WINDOW 64u

#define FLAG_PADDING 0x20u
#define FLAG_EXTENSION 0x10u
#define CSRC_COUNT 0x0fu

int rtp_parse(const uint8_t *p, size_t n, struct rtp_packet *out)
{
	size_t at, padding = 0;

	if (n < RTP_HEADER_BYTES)
		return RTP_TOO_SHORT;
	if (p[0] >> 6 != 2)
		return RTP_BAD_VERSION;
	if (rtp_is_rtcp(p, n))
		return RTP_IS_RTCP;
	at = RTP_HEADER_BYTES + 4u * (p[0] & CSRC_COUNT);
	if (at > n)
		return RTP_CSRC_OVERRUN;
	if (p[0] & FLAG_EXTENSION) {
		if (n - at < 4)
			return RTP_EXTENSION_OVERRUN;
		at += 4 + 4u * (size_t)rtp_get16(p + at + 2);
		if (at > n)
			return RTP_EXTENSION_OVERRUN;
	}
	if (p[0] & FLAG_PADDING) {
		padding = p[n - 1];
		if (!padding || padding > n - at)
			return RTP_BAD_PADDING;
	}
	*out = (struct rtp_packet){
		.pt = p[1] & 0x7f,
		.marker = p[1] >> 7,
		.seq = rtp_get16(p + 2),
		.ts = rtp_get32(p + 4),
		.ssrc = rtp_get32(p + 8),
		.payload = p + at,
		.payload_bytes = n - at - padding,
	};
	return RTP_OK;
}

size_t rtp_build(uint8_t *buf, const struct rtp_packet *h)
{
	buf[0] = 2u << 6;
	buf[1] = (uint8_t)((h->marker ? 0x80u : 0u) | (h->pt & 0x7fu));
	rtp_put16(buf + 2, h->seq);
	rtp_put32(buf + 4, h->ts);
	rtp_put32(buf + 8, h->ssrc);
	return RTP_HEADER_BYTES;
}

/* A run of numbers begins at the extended number @ext. */
static void begin_sequence(struct rtp_source *s, uint64_t ext)
{
	s->ext = ext;
	s->base = ext;
	s->window = 1;
	s->restart = 0;
	s->started = true;
	s->received++;
}

static enum rtp_arrival behind(struct rtp_source *s, unsigned by)
{
	uint64_t bit = UINT64_C(1) << by;

	if (s->window & bit) {
		s->duplicates++;
		return RTP_DUPLICATE;
	}
	s->window |= bit;
	/* Sent before the first packet that reached us. */
	if (s->ext - by < s->base)
		s->base = s->ext - by;
	s->reordered++;
	s->received++;
	return RTP_REORDERED;
}

bool rtp_source_has_passed(const struct rtp_source *s, uint16_t seq)
{
	return s->started && (uint16_t)((uint16_t)s->ext - seq) < WINDOW;
}

enum rtp_arrival rtp_source_update(struct rtp_source *s, uint16_t seq)
{
	uint16_t delta = (uint16_t)(seq - (uint16_t)s->ext);
	uint16_t back = (uint16_t)-delta;

	if (!s->started) {
		/* One cycle up: numbers before the first one stay positive. */
		begin_sequence(s, UINT64_C(1) << 16 | seq);
		return RTP_NEW;
	}
	if (delta && delta < MAX_DROPOUT) {
		s->ext += delta;
		s->window = delta < WINDOW ? s->window << delta | 1 : 1;
		s->restart = 0;
		s->received++;
		return RTP_NEW;
	}
	if (back < WINDOW)
		return behind(s, back);
	if (s->restart != 1u + seq) {
		s->restart = 1u + (uint16_t)(seq + 1u);
		s->out_of_range++;
		return RTP_OUT_OF_RANGE;
	}
	s->past += s->ext - s->base + 1;
	begin_sequence(s, ((s->ext >> 16) + 1) << 16 | seq);
	return RTP_RESTART;
}

void rtp_source_again(struct rtp_source *s)
{
	if (s->started)
		s->past += s->ext - s->base + 1;
	s->started = false;
	s->restart = 0;
}

uint64_t rtp_source_lost(const struct rtp_source *s)
{
	if (!s->started)
		return s->past - s->received;
	return s->past + (s->ext - s->base + 1) - s->received;
}
