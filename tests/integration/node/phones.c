/* SPDX-License-Identifier: Apache-2.0 */
#include "phones.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "talkers.h"

void phone_open(struct phone *p, uint8_t pt)
{
	struct port_pairs_config cfg = { .bytes = 1 << 16 };
	struct cr_err e = { "" };

	assert_int_equal(address_parse("127.0.0.1:0", &cfg.local), 0);
	assert_int_equal(port_pairs_new(&p->ports, &cfg, &e), 0);
	assert_int_equal(port_pair_open(p->ports, true, &p->at, &e), 0);
	p->next = (struct rtp_packet){ .pt = pt, .ssrc = PARTY_SSRC };
}

void phone_close(struct phone *p)
{
	port_pair_close(p->ports, &p->at);
	port_pairs_free(p->ports);
}

void phones_open(struct phones *t, const char *rtcp, const char *codec)
{
	char json[200], text[NODE_ADDRESS_MAX] = "";

	memset(t, 0, sizeof(*t));
	fixture_open(&t->rig, &(struct fixture_options){ .workers = 1 });
	t->rig.node->cfg.rtcp_interval = 100 * CR_MS;
	phone_open(&t->phone[0], 0);
	phone_open(&t->phone[1], strcmp(codec, "pcmu") ? 8 : 0);
	if (rtcp)
		(void)snprintf(text, sizeof(text), "'rtcp': '%s',", rtcp);
	(void)snprintf(
		json, sizeof(json),
		A_AND_B("{'codec': 'pcmu', %s 'address': '127.0.0.1:%u'}",
			"{'codec': '%s'}", ""),
		text, t->phone[0].at.port, codec);
	t->c = talk_start(&t->rig, json);
	for (unsigned i = 0; i < 2; i++) {
		node_stream_address(node_call_stream(t->c, i), text,
				    sizeof(text));
		assert_int_equal(address_parse(text, &t->phone[i].endpoint), 0);
	}
}

void phones_close(struct phones *t)
{
	phone_close(&t->phone[0]);
	phone_close(&t->phone[1]);
	fixture_close(&t->rig);
}

void phones_send(struct phones *t, int fd, const void *data, size_t n,
		 struct sockaddr_storage to, bool rtcp_port)
{
	if (rtcp_port)
		address_set_port(&to, address_port(&to) + 1);
	assert_int_equal(
		sendto(fd, data, n, 0, (void *)&to, address_length(&to)), n);
	t->sent++;
}

void phones_say(struct phones *t, unsigned i, unsigned n)
{
	struct phone *p = &t->phone[i];
	uint8_t packet[RTP_HEADER_BYTES + OCTETS] = { 0 };

	for (unsigned k = 0; k < n; k++) {
		(void)rtp_build(packet, &p->next);
		if (k % 4 != 3)
			phones_send(t, p->at.rtp, packet, sizeof(packet),
				    p->endpoint, false);
		p->next.seq++;
		p->next.ts += OCTETS;
	}
}

struct endpoint_rtcp_info phones_rtcp(const struct phones *t, unsigned i)
{
	struct node_endpoint_info info;

	node_call_party(t->c, i, &info);
	assert_non_null(info.rtcp.is);
	return *info.rtcp.is;
}

uint32_t phones_ssrc_to(const struct phones *t, unsigned i)
{
	return node_stream_settings(node_call_stream(t->c, !i))->ssrc_out;
}
