/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-load's options.
 */
#include "load_options.h"

#include "base/cli.h"
#include "bench.h"
#include "cr/time.h"

static struct load_options opt;

static const char *const layouts[] = { "own", "shared", NULL };
static const char *const phases[] = { "even", "random", NULL };
static const char *const expects[] = { "any", "same", "pcma", NULL };

/* clang-format off */
#define TIME_ROW(n, h, m, d, least, most)                                         \
	OPT(FIELD_TIME, n, NULL, h, AT(m), .dflt = d, .min = least, .max = most)
/* clang-format on */

#define AT(m) FIELD_IN(struct load_options, m)

static const struct field rows[] = {
	OPT(FIELD_INT, "calls", NULL, "Calls.", AT(calls), .dflt = 100,
	    .min = 1, .max = 50000),
	OPT(FIELD_CHOICE, "layout", NULL,
	    "own: each call sends from and receives at a port of its own; "
	    "shared: all use one.",
	    AT(layout), .names = layouts),
	OPT(FIELD_TEXT, "at", NULL, "Address that they have.", AT(at),
	    .without = "127.0.0.1"),
	OPT(FIELD_CHOICE, "phases", NULL,
	    "When the calls begin within a frame: evenly spaced, or at random.",
	    AT(phases), .names = phases),
	TIME_ROW("ptime", "Speech in a packet.", ptime, 20 * CR_MS, 5 * CR_MS,
		 60 * CR_MS),
	TIME_ROW("every",
		 "Time between a call's packets; 0: what one has of speech.",
		 every, 0, 0, 60 * CR_SEC),
	TIME_ROW("tick", "Packets due in this time are sent at one go.", tick,
		 50 * CR_US, 10 * CR_US, 10 * CR_MS),
	TIME_ROW("warm", "How long to send before anything counts.", warm,
		 CR_SEC, 0, 3600 * CR_SEC),
	TIME_ROW("seconds", "How long to measure.", seconds, 5 * CR_SEC, CR_MS,
		 3600 * CR_SEC),
	TIME_ROW("linger", "How long to wait for the last answers.", linger,
		 500 * CR_MS, 0, 60 * CR_SEC),
	OPT(FIELD_TEXT, "codec", NULL, "What is said: pcmu, pcma or l16.",
	    AT(codec), .without = "pcmu"),
	OPT(FIELD_INT, "rate", NULL, "Its sampling rate, Hz.", AT(rate),
	    .dflt = 8000, .min = 8000, .max = 16000),
	OPT(FIELD_INT, "out-clock", NULL,
	    "RTP clock rate of what comes back, Hz.", AT(out_clock),
	    .dflt = 8000, .min = 8000, .max = 48000),
	OPT(FIELD_CHOICE, "expect", NULL,
	    "What has to come back: any payload, the same, or the same speech "
	    "in PCMA.",
	    AT(expect), .names = expects),
	BENCH_ROW_SEED(AT(seed)),
	BENCH_ROW_CPU(AT(cpu)),
	OPT(FIELD_INT, "watch", "PID", "Process whose CPU time to measure.",
	    AT(watch), .min = 0, .max = INT32_MAX, .without = ""),
	{ .name = NULL },
};

static const struct cli_line examples[] = {
	{ "bench-load --calls 600 --watch PID <targets",
	  "a target a line: ADDR:PORT SSRC PT [BASE]" },
	{ NULL, NULL },
};

static const struct cli cli = {
	.program = "bench-load",
	.synopsis = "[OPTION]...",
	.summary = "send calls as the world does, and time the answers",
	.text = "Prints \"ready\" and the addresses of the calls, then reads a "
		"target a line for each call: where it sends to, the SSRC "
		"and the payload type of its packets, and the RTP timestamp of "
		"the answer to its first packet, whose own is 8000. Without "
		"the "
		"last, sequence numbers tell what an answer is to, and the "
		"first answer is taken for that to the first packet.\n"
		"When all is over, it prints one JSON object. Times are from "
		"just before a packet is sent until the kernel has the "
		"answer. When it was late by more than half a millisecond and "
		"a tick, for it had lost its CPU, all that is still to be sent "
		"comes later by as much (held_ns): no callers would send that "
		"at one go.",
	.opts = rows,
	.vars = &opt,
	.examples = examples,
};

const struct load_options *load_options(int argc, char **argv)
{
	(void)cli_parse_or_exit(&cli, argc, argv);
	if (!opt.every)
		opt.every = opt.ptime;
	return &opt;
}
