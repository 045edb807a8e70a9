/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-load's options.
 */
#include "load_options.h"

#include "base/cli.h"
#include "bench.h"
#include "cr/time.h"

static struct load_options opt = {
	.calls = 100,
	.ptime = 20 * CR_MS,
	.tick = 50 * CR_US,
	.warm = CR_SEC,
	.seconds = 5 * CR_SEC,
	.linger = 500 * CR_MS,
	.rate = 8000,
	.out_clock = 8000,
	.seed = 1,
	.cpu = -1,
	.at = "127.0.0.1",
	.codec = "pcmu",
};

static const char *const layouts[] = { "own", "shared", NULL };
static const char *const phases[] = { "even", "random", NULL };
static const char *const expects[] = { "any", "same", "pcma", NULL };

/* clang-format off */
#define ROW(k, n, h, m, ...)                                                   \
	{ .kind = k, .name = n, .help = h, m, __VA_ARGS__ }
#define TIME_ROW(n, h, m, least, most)                                         \
	ROW(CLI_TIME, n, h, .number = m, .min = least, .max = most)
/* clang-format on */

static const struct cli_opt rows[] = {
	ROW(CLI_INT, "calls", "Calls.", .number = &opt.calls, .min = 1,
	    .max = 50000),
	ROW(CLI_ENUM, "layout",
	    "own: each call sends from and receives at a port of its own; "
	    "shared: all use one.",
	    .number = &opt.layout, .names = layouts),
	ROW(CLI_STRING, "at", "Address that they have.", .text = &opt.at),
	ROW(CLI_ENUM, "phases",
	    "When the calls begin within a frame: evenly spaced, or at random.",
	    .number = &opt.phases, .names = phases),
	TIME_ROW("ptime", "Speech in a packet.", &opt.ptime, 5 * CR_MS,
		 60 * CR_MS),
	TIME_ROW("every",
		 "Time between a call's packets; 0: what one has of speech.",
		 &opt.every, 0, 60 * CR_SEC),
	TIME_ROW("tick", "Packets due in this time are sent at one go.",
		 &opt.tick, 10 * CR_US, 10 * CR_MS),
	TIME_ROW("warm", "How long to send before anything counts.", &opt.warm,
		 0, 3600 * CR_SEC),
	TIME_ROW("seconds", "How long to measure.", &opt.seconds, CR_MS,
		 3600 * CR_SEC),
	TIME_ROW("linger", "How long to wait for the last answers.",
		 &opt.linger, 0, 60 * CR_SEC),
	ROW(CLI_STRING, "codec", "What is said: pcmu, pcma or l16.",
	    .text = &opt.codec),
	ROW(CLI_INT, "rate", "Its sampling rate, Hz.", .number = &opt.rate,
	    .min = 8000, .max = 16000),
	ROW(CLI_INT, "out-clock", "RTP clock rate of what comes back, Hz.",
	    .number = &opt.out_clock, .min = 8000, .max = 48000),
	ROW(CLI_ENUM, "expect",
	    "What has to come back: any payload, the same, or the same speech "
	    "in PCMA.",
	    .number = &opt.expect, .names = expects),
	BENCH_ROW_SEED(&opt.seed),
	BENCH_ROW_CPU(&opt.cpu),
	ROW(CLI_INT, "watch", "Process whose CPU time to measure.",
	    .number = &opt.watch, .min = 0, .max = INT32_MAX, .arg = "PID",
	    .dflt = ""),
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
	.examples = examples,
};

const struct load_options *load_options(int argc, char **argv)
{
	(void)cli_parse_or_exit(&cli, argc, argv);
	if (!opt.every)
		opt.every = opt.ptime;
	return &opt;
}
