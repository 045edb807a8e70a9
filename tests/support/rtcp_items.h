/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what RTCP packets say beside reports: items of an SDES, and the
 * reason of a BYE. The node itself needs neither. rtcp_open() has checked that
 * they are inside their packet.
 */
#ifndef SUPPORT_RTCP_ITEMS_H
#define SUPPORT_RTCP_ITEMS_H

#include "rtp/rtcp.h"
#include "rtp/rtp.h"

enum { RTCP_SSRC_BYTES = 4 };

/** Items of an SDES packet, or the reason of a BYE; no zero at its end. */
struct rtcp_text {
	uint32_t ssrc; /**< SDES: whose                                     */
	uint8_t item;  /**< SDES: RTCP_CNAME or another                     */
	uint8_t bytes;
	const uint8_t *text;
};

/** Where the reading of an SDES packet is; zero is its beginning. */
struct rtcp_items {
	size_t at;
	unsigned chunk;
	uint32_t ssrc; /**< of the chunk                                    */
	bool inside;
};

/** The next item of @p, an SDES, into *@out; false: there was none. */
static inline bool rtcp_item_next(const struct rtcp_packet *p,
				  struct rtcp_items *it, struct rtcp_text *out)
{
	const uint8_t *b = p->body;

	while (it->chunk < p->count) {
		size_t item = it->at + (it->inside ? 0 : RTCP_SSRC_BYTES);

		if (!it->inside)
			it->ssrc = rtp_get32(b + it->at);
		it->inside = b[item] != 0;
		if (it->inside) {
			*out = (struct rtcp_text){ .ssrc = it->ssrc,
						   .item = b[item],
						   .bytes = b[item + 1],
						   .text = b + item + 2 };
			it->at = item + 2u + out->bytes;
			return true;
		}
		it->at = (item | 3u) + 1;
		it->chunk++;
	}
	return false;
}

/** Why @p, a BYE, was sent; false: it does not say. */
static inline bool rtcp_bye_reason(const struct rtcp_packet *p,
				   struct rtcp_text *out)
{
	size_t at = p->count * RTCP_SSRC_BYTES;

	if (at >= p->body_bytes || !p->body[at])
		return false;
	*out = (struct rtcp_text){ .bytes = p->body[at],
				   .text = p->body + at + 1 };
	return true;
}

#endif
