/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of a call in SDP (RFC 8866) to a peer of the NG protocol: a
 * party that receives one codec, and what the peer makes of it.
 *
 * Pure but for memory.
 */
#ifndef FEEDER_PEER_SDP_H
#define FEEDER_PEER_SDP_H

#include <stddef.h>
#include <sys/socket.h>

#include "campaign/campaign.h"
#include "cr/error.h"

/** Room for any description of ours. */
#define PEER_SDP_BYTES 1024u

/** Can calls of @f be described at all? 0, or -ENOTSUP with @e, which names the
 * flow and what cannot. */
int peer_sdp_check(const struct campaign_flow *f, struct cr_err *e);

/** The payload type under which @endpoint is offered. */
unsigned peer_sdp_pt(const struct campaign_endpoint *endpoint);

/** Who speaks and hears @endpoint as payload type @pt, in packets of @ptime, at
 * @address ("127.0.0.1:40100"): into @text. 0, or -EINVAL: no address, or no
 * room. */
int peer_sdp_write(char text[PEER_SDP_BYTES],
		   const struct campaign_endpoint *endpoint, unsigned pt,
		   cr_ns ptime, const char *address);

/** @endpoint as the list "transcode" of NG has it, into @text:
 * "AMR/8000/1/12200//mode-set--7;octet-align--1". */
void peer_sdp_codec(char *text, size_t size,
		    const struct campaign_endpoint *endpoint);

/** Where the peer, whose description is @text, listens, and the payload type of
 * @endpoint there. 0 with *@at and *@pt, or -EPROTO with @e: it is no SDP, has
 * no line of audio, or not that codec first. */
int peer_sdp_read(const char *text, const struct campaign_endpoint *endpoint,
		  struct sockaddr_storage *at, unsigned *pt, struct cr_err *e);

#endif
