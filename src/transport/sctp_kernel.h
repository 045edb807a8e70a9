/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel back-end's state, shared by sctp_kernel.c (calls),
 * sctp_kernel_socket.c (options) and sctp_kernel_events.c (notifications).
 * Includes <netinet/sctp.h>: nothing that sees <usrsctp.h> may include this.
 */
#ifndef TRANSPORT_SCTP_KERNEL_H
#define TRANSPORT_SCTP_KERNEL_H

#include <netinet/sctp.h>
#include <sys/queue.h>

#include "transport/ops.h"

enum {
	KERNEL_BUCKETS = 256,
	KERNEL_BUDGET = 1 << 20, /**< bytes on the way to one peer */
};

struct kernel_assoc {
	sctp_assoc_t id;
	size_t under_way; /**< bytes given to the kernel since it was dry */
	uint64_t packets; /**< that came, at the last look                */
	cr_ns heard;	  /**< k->awake.now when there were more         */
	LIST_ENTRY(kernel_assoc) chain;
};

LIST_HEAD(kernel_chain, kernel_assoc);

struct kernel {
	struct transport t; /**< first */
	struct transport_config cfg;
	struct address local; /**< once bound */
	int family;
	int fd;
	size_t message_max; /**< of the send buffer that was granted */
	struct event *readable, *retry, *look;
	struct silence silence;
	struct awake awake;
	bool looking; /**< time to look for silent peers */

	bool refused;	 /**< a send got -EAGAIN: say ROOM     */
	bool connecting; /**< neither UP nor CANT_START so far */
	bool delivering; /**< in the event callback            */
	bool closed;	 /**< closed there: freed afterwards   */

	struct kernel_chain assocs[KERNEL_BUCKETS];
	_Alignas(16) unsigned char buffer[65536];
};

/** Make k->fd a socket of @family with all options set; keeps the one there
 * is when it fits. Returns 0 or -errno with @e. */
int kernel_socket(struct kernel *k, int family, struct cr_err *e);

/** Send by UDP to @udp_port if this host takes SCTP in UDP. Returns 0 or
 * -errno with @e. */
int kernel_encapsulate(struct kernel *k, uint16_t udp_port, struct cr_err *e);

struct kernel_assoc *kernel_find(struct kernel *k, sctp_assoc_t id);

/** Hand everything the socket holds to the owner. May free @k. */
void kernel_deliver(struct kernel *k);

/** Forget all associations, silently. */
void kernel_free_assocs(struct kernel *k);

/** How often to look for silent peers. */
cr_ns kernel_look_every(const struct kernel *k);

#endif
