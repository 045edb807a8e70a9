/* SPDX-License-Identifier: Apache-2.0 */
#include "said.h"

#include <poll.h>
#include <sys/socket.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "patience.h"
#include "rtcp_items.h"
#include "rtp/rtp.h"

static void read_said(struct said *s, const uint8_t *data, size_t n)
{
	struct rtcp_reader r;
	struct rtcp_packet p;
	struct rtcp_items items = { 0 };
	struct rtcp_text item;

	assert_int_equal(rtcp_open(&r, data, n), 0);
	while (rtcp_next(&r, &p)) {
		if (p.type == RTCP_SR || p.type == RTCP_RR) {
			s->is_sr = p.type == RTCP_SR;
			s->ssrc = p.ssrc;
			s->sender = p.sender;
			s->reports = p.count;
			if (p.count)
				s->report = rtcp_report_at(&p, 0);
		}
		while (p.type == RTCP_SDES && rtcp_item_next(&p, &items, &item))
			s->cnames += item.item == RTCP_CNAME &&
				     item.bytes == 16 && item.ssrc == s->ssrc;
		if (p.type == RTCP_BYE && rtcp_bye_at(&p, 0) == s->ssrc)
			s->byes++;
	}
}

struct said said_next(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct said s = { 0 };
	socklen_t len = sizeof(s.from);
	uint8_t data[2048];
	ssize_t n;

	do {
		assert_int_equal(poll(&p, 1, PATIENCE_S * 1000), 1);
		n = recvfrom(fd, data, sizeof(data), 0, (void *)&s.from, &len);
		assert_true(n > 0);
	} while (!rtp_is_rtcp(data, (size_t)n));
	read_said(&s, data, (size_t)n);
	return s;
}

unsigned said_port(int fd)
{
	struct said s = said_next(fd);

	return address_port(&s.from);
}

struct said said_full(int fd)
{
	struct said s;

	do
		s = said_next(fd);
	while (!s.reports || !s.is_sr);
	return s;
}
