/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel back-end's socket: made, tuned, encapsulated. Moves no data.
 */
#define _GNU_SOURCE /* SO_SNDBUFFORCE */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/sctp_kernel.h"

static int set(const struct kernel *k, int option, const void *value,
	       size_t size)
{
	return setsockopt(k->fd, IPPROTO_SCTP, option, value, (socklen_t)size);
}

static int set_timing(const struct kernel *k)
{
	const struct silence *silence = &k->silence;
	const struct sctp_rtoinfo rto = { .srto_initial = TIMING_RTO_INITIAL_MS,
					  .srto_max = TIMING_RTO_MAX_MS,
					  .srto_min = TIMING_RTO_MIN_MS };
	const struct sctp_assocparams assoc = {
		.sasoc_asocmaxrxt = silence->retransmissions
	};
	const struct sctp_initmsg init = {
		.sinit_num_ostreams = TRANSPORT_STREAMS,
		.sinit_max_instreams = TRANSPORT_STREAMS,
		.sinit_max_attempts = TIMING_INIT_TRIES,
		.sinit_max_init_timeo = TIMING_RTO_INITIAL_MS,
	};
	struct sctp_paddrparams path = {
		.spp_hbinterval = silence->heartbeat_ms,
		.spp_pathmaxrxt = silence->retransmissions,
		.spp_flags = SPP_HB_ENABLE,
	};

	path.spp_address.ss_family = (sa_family_t)k->family;
	return set(k, SCTP_RTOINFO, &rto, sizeof(rto)) ||
	       set(k, SCTP_ASSOCINFO, &assoc, sizeof(assoc)) ||
	       set(k, SCTP_INITMSG, &init, sizeof(init)) ||
	       set(k, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path));
}

static int set_options(const struct kernel *k)
{
	const int on = 1, buffer = (int)TRANSPORT_MESSAGE_MAX;
	/* A message longer than the receive window would wait for its own end
	 * for ever unless it may be handed over in parts. */
	const uint32_t part = 32 << 10;
	const struct linger kill = { .l_onoff = 1, .l_linger = 0 };
	const struct sctp_event_subscribe events = {
		.sctp_association_event = 1,
		.sctp_sender_dry_event = 1,
	};

	/* Beyond net.core.wmem_max only for the privileged; the rest get what
	 * there is, and message_max tells. */
	if (setsockopt(k->fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer,
		       sizeof(buffer)))
		(void)setsockopt(k->fd, SOL_SOCKET, SO_SNDBUF, &buffer,
				 sizeof(buffer));
	(void)setsockopt(k->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (setsockopt(k->fd, SOL_SOCKET, SO_LINGER, &kill, sizeof(kill)) ||
	    (k->family == AF_INET6 &&
	     setsockopt(k->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))))
		return -1;
	return set(k, SCTP_NODELAY, &on, sizeof(on)) ||
	       set(k, SCTP_RECVRCVINFO, &on, sizeof(on)) ||
	       set(k, SCTP_FRAGMENT_INTERLEAVE, &on, sizeof(on)) ||
	       set(k, SCTP_PARTIAL_DELIVERY_POINT, &part, sizeof(part)) ||
	       set(k, SCTP_EVENTS, &events, sizeof(events)) || set_timing(k);
}

static int learn_message_max(struct kernel *k)
{
	int granted = 0;
	socklen_t size = sizeof(granted);

	if (getsockopt(k->fd, SOL_SOCKET, SO_SNDBUF, &granted, &size))
		return -1;
	k->message_max = (size_t)granted < TRANSPORT_MESSAGE_MAX
				 ? (size_t)granted
				 : TRANSPORT_MESSAGE_MAX;
	return 0;
}

int kernel_socket(struct kernel *k, int family, struct cr_err *e)
{
	int rc;

	if (k->fd >= 0 && k->family == family)
		return 0;
	if (k->fd >= 0)
		(void)close(k->fd);
	k->family = family;
	k->fd = socket(family, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
		       IPPROTO_SCTP);
	if (k->fd < 0) {
		rc = -errno;
		return cr_fail(e, rc, "no SCTP in this kernel: %s",
			       strerror(errno));
	}
	if (set_options(k) || learn_message_max(k)) {
		rc = -errno;
		return cr_fail(e, rc, "SCTP socket options: %s",
			       strerror(errno));
	}
	return 0;
}

/* The UDP port at which this host's kernel takes SCTP; 0: at none. */
static unsigned host_udp_port(void)
{
	FILE *f = fopen("/proc/sys/net/sctp/udp_port", "re");
	unsigned port = 0;

	if (!f)
		return 0;
	/* The kernel's number fits: NOLINTNEXTLINE(cert-err34-c) */
	if (fscanf(f, "%u", &port) != 1)
		port = 0;
	(void)fclose(f);
	return port;
}

int kernel_encapsulate(struct kernel *k, uint16_t udp_port, struct cr_err *e)
{
	struct sctp_udpencaps encaps = { .sue_port = htons(udp_port) };

	if (!udp_port || !host_udp_port())
		return 0;
	encaps.sue_address.ss_family = (sa_family_t)k->family;
	if (set(k, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps)))
		return cr_fail(e, -errno, "SCTP over UDP port %u: %s",
			       (unsigned)udp_port, strerror(errno));
	return 0;
}
