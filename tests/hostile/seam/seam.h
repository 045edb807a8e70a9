/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a test and the program under its seam share: a file of this layout,
 * which both map. CR_SEAM names it. rounds/seam.py has the same layout.
 */
#ifndef TESTS_HOSTILE_SEAM_SEAM_H
#define TESTS_HOSTILE_SEAM_SEAM_H

#include <stdatomic.h>
#include <stdint.h>

/** What may fail. The order is the layout's. */
enum seam_kind {
	SEAM_MEMORY,
	SEAM_THREAD,
	SEAM_DESCRIPTOR,
	SEAM_SEND,
	SEAM_RECEIVE,
	SEAM_WRITE,
	SEAM_MAP,
	SEAM_RING, /**< io_uring_enter(), where liburing calls it */
	SEAM_FILE, /**< files: read, looked at, synced, cut, linked, renamed,
		    * deleted */
	SEAM_SET,  /**< sockets bound, connected, listening, with options;
		    * what epoll watches; rights of threads */
	SEAM_WAIT, /**< waiting is interrupted */
	SEAM_KINDS
};

struct seam {
	/** bit 1 << kind: these are counted; 0: nothing fails */
	_Atomic uint64_t armed;
	/** how many of them may still succeed */
	_Atomic int64_t left;
	/** how many fail then */
	_Atomic int64_t fail;
	/** how many have failed */
	_Atomic uint64_t failed;
	/** CLOCK_REALTIME is so much ahead, ns */
	_Atomic int64_t ahead;
	/** calls of each kind while armed */
	_Atomic uint64_t calls[SEAM_KINDS];
	/** who called what failed last: its address in the object below */
	_Atomic uint64_t caller;
	char object[128];
};

#endif
