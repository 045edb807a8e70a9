/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP packets in and out (RFC 3550, 6). Everything is checked once, when a
 * compound packet is opened: a bad part refuses all of it (A.2), and reading
 * needs no checks.
 */
#include "rtp/rtcp.h"

#include <errno.h>
#include <string.h>

#include "rtp/rtp.h"

#define HEADER_BYTES 4u
#define SENDER_BYTES 20u
#define REPORT_BYTES 24u

#define FLAG_PADDING 0x20u
#define COUNT 0x1fu

/* The first source of all that have one; an SDES or BYE may have none. */
#define SSRC_BYTES 4u

/* Octets of the packet at @p, header included. */
static size_t rtcp_packet_bytes(const uint8_t *p)
{
	return HEADER_BYTES * (1u + rtp_get16(p + 2));
}

static size_t padding_bytes(const uint8_t *p, size_t bytes)
{
	return p[0] & FLAG_PADDING ? p[bytes - 1] : 0;
}

/* --- checking --- */

static int check_report(size_t n, unsigned count, size_t sender)
{
	if (n < sender)
		return RTCP_SENDER_OVERRUN;
	return n - sender < count * REPORT_BYTES ? RTCP_REPORT_OVERRUN : 0;
}

/* The end of the chunk at @at, or 0: beyond the @n bytes. */
static size_t chunk_end(const uint8_t *p, size_t n, size_t at)
{
	if (n - at < SSRC_BYTES)
		return 0;
	at += SSRC_BYTES;
	for (;;) {
		if (at >= n)
			return 0;
		if (!p[at]) /* zeros up to the next word */
			return (at | 3u) + 1;
		if (n - at < 2 || n - at - 2 < p[at + 1])
			return 0;
		at += 2u + p[at + 1];
	}
}

/* The packet at @p, @n bytes after its header. */
static int check_body(const uint8_t *p, size_t n)
{
	unsigned count = p[0] & COUNT;

	switch (p[1]) {
	case RTCP_SR:
		return check_report(n, count, SSRC_BYTES + SENDER_BYTES);
	case RTCP_RR:
		return check_report(n, count, SSRC_BYTES);
	case RTCP_SDES: {
		size_t at = 0;

		for (unsigned i = 0; i < count; i++) {
			at = chunk_end(p + HEADER_BYTES, n, at);
			if (!at || at > n)
				return RTCP_SDES_OVERRUN;
		}
		return RTCP_OK;
	}
	case RTCP_BYE: {
		size_t sources = count * SSRC_BYTES;

		if (n < sources)
			return RTCP_BYE_OVERRUN;
		if (n > sources && n - sources - 1 < p[HEADER_BYTES + sources])
			return RTCP_BYE_OVERRUN;
		return RTCP_OK;
	}
	default:
		return RTCP_OK;
	}
}

/* The first packet of @n bytes at @p; its length into *@bytes. */
static int check_packet(const uint8_t *p, size_t n, size_t *bytes)
{
	size_t length, padding;

	if (n < HEADER_BYTES)
		return RTCP_TOO_SHORT;
	if (p[0] >> 6 != 2)
		return RTCP_BAD_VERSION;
	if (p[1] < 192 || p[1] > 223)
		return RTCP_BAD_TYPE;
	length = rtcp_packet_bytes(p);
	if (length > n)
		return RTCP_LENGTH_OVERRUN;
	padding = padding_bytes(p, length);
	if (p[0] & FLAG_PADDING && (length < n || !padding || padding % 4 ||
				    padding > length - HEADER_BYTES))
		return RTCP_BAD_PADDING;
	*bytes = length;
	return check_body(p, length - HEADER_BYTES - padding);
}

int rtcp_open(struct rtcp_reader *r, const uint8_t *p, size_t n)
{
	size_t at = 0;

	do {
		size_t bytes = 0;
		int reason = check_packet(p + at, n - at, &bytes);

		if (reason)
			return reason;
		at += bytes;
	} while (at < n);
	*r = (struct rtcp_reader){ .at = p, .left = n };
	return RTCP_OK;
}

/* --- reading --- */

static struct rtcp_sender read_sender_info(const uint8_t *p)
{
	return (struct rtcp_sender){
		.ntp = (uint64_t)rtp_get32(p) << 32 | rtp_get32(p + 4),
		.rtp_ts = rtp_get32(p + 8),
		.packets = rtp_get32(p + 12),
		.octets = rtp_get32(p + 16),
	};
}

bool rtcp_next(struct rtcp_reader *r, struct rtcp_packet *out)
{
	const uint8_t *p = r->at;
	size_t bytes, skip = 0;

	if (!r->left)
		return false;
	bytes = rtcp_packet_bytes(p);
	*out = (struct rtcp_packet){ .type = p[1], .count = p[0] & COUNT };
	if (out->type == RTCP_SR || out->type == RTCP_RR) {
		out->ssrc = rtp_get32(p + HEADER_BYTES);
		skip = SSRC_BYTES;
	}
	if (out->type == RTCP_SR) {
		out->sender = read_sender_info(p + HEADER_BYTES + SSRC_BYTES);
		skip += SENDER_BYTES;
	}
	out->body = p + HEADER_BYTES + skip;
	out->body_bytes = bytes - HEADER_BYTES - skip - padding_bytes(p, bytes);
	r->at += bytes;
	r->left -= bytes;
	return true;
}

/* A number of 24 bits with a sign. */
static int32_t get24(const uint8_t *p)
{
	int32_t v = p[0] << 16 | p[1] << 8 | p[2];

	return v < 0x800000 ? v : v - 0x1000000;
}

struct rtcp_report rtcp_report_at(const struct rtcp_packet *p, unsigned i)
{
	const uint8_t *b = p->body + i * REPORT_BYTES;

	return (struct rtcp_report){
		.ssrc = rtp_get32(b),
		.fraction = b[4],
		.lost = get24(b + 5),
		.highest = rtp_get32(b + 8),
		.jitter = rtp_get32(b + 12),
		.lsr = rtp_get32(b + 16),
		.dlsr = rtp_get32(b + 20),
	};
}

uint32_t rtcp_bye_at(const struct rtcp_packet *p, unsigned i)
{
	return rtp_get32(p->body + i * SSRC_BYTES);
}

/* --- writing --- */

/* Room for a packet with @body octets after the header, which is written;
 * NULL: there is none. @body is a number of words. */
static uint8_t *packet(struct rtcp_writer *w, enum rtcp_type type,
		       unsigned count, size_t body)
{
	uint8_t *p = w->buf + w->bytes;

	if (w->size - w->bytes < HEADER_BYTES + body)
		return NULL;
	p[0] = (uint8_t)(2u << 6 | count);
	p[1] = (uint8_t)type;
	rtp_put16(p + 2, (uint16_t)(body / 4));
	w->bytes += HEADER_BYTES + body;
	return p + HEADER_BYTES;
}

static void write_report(uint8_t *p, const struct rtcp_report *r)
{
	int32_t lost = r->lost;

	if (lost > 0x7fffff)
		lost = 0x7fffff;
	if (lost < -0x800000)
		lost = -0x800000;
	rtp_put32(p, r->ssrc);
	rtp_put32(p + 4,
		  ((uint32_t)lost & 0xffffff) | (uint32_t)r->fraction << 24);
	rtp_put32(p + 8, r->highest);
	rtp_put32(p + 12, r->jitter);
	rtp_put32(p + 16, r->lsr);
	rtp_put32(p + 20, r->dlsr);
}

int rtcp_put_report(struct rtcp_writer *w, uint32_t ssrc,
		    const struct rtcp_sender *sender,
		    const struct rtcp_report *report, unsigned n)
{
	size_t body = SSRC_BYTES + (sender ? SENDER_BYTES : 0) +
		      (size_t)n * REPORT_BYTES;
	uint8_t *p;

	if (n > RTCP_COUNT_MAX)
		return -EINVAL;
	p = packet(w, sender ? RTCP_SR : RTCP_RR, n, body);
	if (!p)
		return -ENOSPC;
	rtp_put32(p, ssrc);
	p += SSRC_BYTES;
	if (sender) {
		rtp_put32(p, (uint32_t)(sender->ntp >> 32));
		rtp_put32(p + 4, (uint32_t)sender->ntp);
		rtp_put32(p + 8, sender->rtp_ts);
		rtp_put32(p + 12, sender->packets);
		rtp_put32(p + 16, sender->octets);
		p += SENDER_BYTES;
	}
	for (unsigned i = 0; i < n; i++)
		write_report(p + (size_t)i * REPORT_BYTES, &report[i]);
	return 0;
}

/* Octets of @text; more than RTCP_TEXT_BYTES: it is too long. */
static size_t text_bytes(const char *text)
{
	size_t n = 0;

	while (n <= RTCP_TEXT_BYTES && text[n])
		n++;
	return n;
}

int rtcp_put_cname(struct rtcp_writer *w, uint32_t ssrc, const char *cname)
{
	size_t n = text_bytes(cname);
	/* at least one zero ends the items */
	size_t body = (SSRC_BYTES + 2 + n) / 4 * 4 + 4;
	uint8_t *p;

	if (n > RTCP_TEXT_BYTES)
		return -EINVAL;
	p = packet(w, RTCP_SDES, 1, body);
	if (!p)
		return -ENOSPC;
	memset(p, 0, body);
	rtp_put32(p, ssrc);
	p[4] = RTCP_CNAME;
	p[5] = (uint8_t)n;
	memcpy(p + 6, cname, n);
	return 0;
}

int rtcp_put_bye(struct rtcp_writer *w, uint32_t ssrc, const char *reason)
{
	size_t n = reason ? text_bytes(reason) : 0;
	size_t body = SSRC_BYTES + (n ? (1 + n + 3) / 4 * 4 : 0);
	uint8_t *p;

	if (n > RTCP_TEXT_BYTES)
		return -EINVAL;
	p = packet(w, RTCP_BYE, 1, body);
	if (!p)
		return -ENOSPC;
	memset(p, 0, body);
	rtp_put32(p, ssrc);
	if (n) {
		p[4] = (uint8_t)n;
		memcpy(p + 5, reason, n);
	}
	return 0;
}
