/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a campaign file, each once: from these lists come the libcyaml
 * schema, the structs it loads into (all texts) and the option tables that
 * check and convert the values. Private to src/campaign.
 *
 * ROW(member, key, kind, min, max, default, names, help) is a value that an
 * option table can express; TEXT(member, key, help) one that code checks.
 */
#ifndef CAMPAIGN_KEYS_H
#define CAMPAIGN_KEYS_H

#define KEYS_DAY (86400 * CR_SEC)

#define TOP_KEYS(ROW, TEXT)                                                    \
	ROW(seed, "seed", CR_OPT_INT, 0, INT64_MAX, 1, NULL,                   \
	    "of every random choice")                                          \
	ROW(duration, "duration", CR_OPT_TIME, CR_MS, 30 * KEYS_DAY, 0, NULL,  \
	    "length of the campaign")

#define PLATFORM_KEYS(ROW, TEXT)                                               \
	ROW(cpus, "cpus", CR_OPT_INT, 1, CR_MAX_CPUS, 1, NULL,                 \
	    "workers of the daemon, processors of the simulator")              \
	TEXT(run_queues, "run-queues", "global, partitioned, or a number")     \
	ROW(preempt, "preempt", CR_OPT_ENUM, 0, 2, 0, key_preempts,            \
	    "simulator: when a job can be interrupted")                        \
	ROW(quantum, "quantum", CR_OPT_TIME, CR_US, 10 * CR_SEC, CR_MS, NULL,  \
	    "simulator: grid of preempt: quantum")

#define OVERHEAD_KEYS(ROW, TEXT)                                               \
	ROW(decision, "decision", CR_OPT_TIME, 0, CR_SEC, 0, NULL,             \
	    "one choice of the scheduler")                                     \
	ROW(context, "context", CR_OPT_TIME, 0, CR_SEC, 0, NULL,               \
	    "a CPU goes over to another call")                                 \
	ROW(migration, "migration", CR_OPT_TIME, 0, CR_SEC, 0, NULL,           \
	    "a call comes from another CPU")                                   \
	ROW(release, "release", CR_OPT_TIME, 0, CR_SEC, 0, NULL,               \
	    "a job becomes ready")                                             \
	ROW(lock, "lock", CR_OPT_TIME, 0, CR_SEC, 0, NULL,                     \
	    "a choice holds the run queue's lock, others wait")

#define DAEMON_KEYS(ROW, TEXT)                                                 \
	ROW(admission, "admission", CR_OPT_BOOL, 0, 1, 1, NULL,                \
	    "refuse calls beyond the policy's bound")                          \
	ROW(max_age, "max-age", CR_OPT_TIME, CR_MS, CR_NEVER, CR_NEVER, NULL,  \
	    "shed frames older than this")                                     \
	ROW(convert_floor, "convert-floor", CR_OPT_INT, 0, 1000, 0, NULL,      \
	    "frames a second that each conversion gets even when calls want "  \
	    "the CPU")

#define CONVERSIONS_KEYS(ROW, TEXT)                                            \
	ROW(count, "count", CR_OPT_INT, 1, 10000, 0, NULL, "files")            \
	ROW(length, "length", CR_OPT_TIME, CR_SEC, 3600 * CR_SEC, 60 * CR_SEC, \
	    NULL, "speech in each file")                                       \
	ROW(at, "at", CR_OPT_TIME, 0, 30 * KEYS_DAY, 0, NULL,                  \
	    "all are submitted then, from the campaign's begin")

#define FLOW_KEYS(ROW, TEXT)                                                   \
	TEXT(name, "name", "of the flow, unique")                              \
	ROW(count, "count", CR_OPT_INT, 1, 1000000, 0, NULL, "calls")          \
	ROW(load_ppm, "load", CR_OPT_PPM, 1000, 100000000, 0, NULL,            \
	    "in place of count: share of the capacity calibrated here")        \
	TEXT(like, "like",                                                     \
	     "in place of count: as many calls as that flow above, with "      \
	     "which it shares its load")                                       \
	ROW(ptime, "ptime", CR_OPT_TIME, CR_MS, 120 * CR_MS, 0, NULL,          \
	    "speech in one packet (the input codec's frame)")                  \
	ROW(cls, "class", CR_OPT_ENUM, 0, 2, 1, key_classes, "service class")  \
	ROW(deadline, "deadline", CR_OPT_TIME, CR_US, 10 * CR_SEC, 0, NULL,    \
	    "from arrival to answer (ptime, period)")                          \
	ROW(period, "period", CR_OPT_TIME, CR_US, 3600 * CR_SEC, 0, NULL,      \
	    "synthetic flows: between two jobs")                               \
	ROW(share_ppm, "share", CR_OPT_PPM, 1, 100 * 1000000, 0, NULL,         \
	    "synthetic flows: constant cost as a share of the period")         \
	TEXT(drift, "drift",                                                   \
	     "each caller's clock is so much fast: 50ppm, -100ppm..100ppm")    \
	ROW(nice, "nice", CR_OPT_INT, -20, 19, 0, NULL, "niceness of a call")  \
	ROW(weight, "weight", CR_OPT_INT, 1, 100000, 1024, NULL,               \
	    "share of a call; 1024 is neutral")                                \
	ROW(ring, "ring", CR_OPT_INT, 1, 1000000, 0, NULL,                     \
	    "simulator: jobs that may wait; the oldest is dropped")

#define COST_KEYS(ROW, TEXT)                                                   \
	ROW(kind, "model", CR_OPT_ENUM, 0, 6, 0, key_costs, "cost model")      \
	ROW(mean, "mean", CR_OPT_TIME, 1, 1000 * CR_SEC, 0, NULL,              \
	    "CPU time of a job")                                               \
	ROW(sd, "sd", CR_OPT_TIME, 0, 1000 * CR_SEC, 0, NULL,                  \
	    "standard deviation")                                              \
	ROW(min, "min", CR_OPT_TIME, 1, 1000 * CR_SEC, 1, NULL,                \
	    "smaller costs are set to this")                                   \
	ROW(max, "max", CR_OPT_TIME, 1, CAMPAIGN_COST_MAX, CAMPAIGN_COST_MAX,  \
	    NULL, "larger costs are set to this; declared as the worst case")  \
	TEXT(file, "file", "histogram or trace")

#define ARRIVAL_KEYS(ROW, TEXT)                                                \
	ROW(kind, "model", CR_OPT_ENUM, 0, 9, 0, key_arrivals,                 \
	    "arrival model")                                                   \
	ROW(jitter, "jitter", CR_OPT_TIME, 0, 1000 * CR_SEC, 0, NULL,          \
	    "jittered: delay, uniform from 0 to this; order is kept")          \
	ROW(burst, "burst", CR_OPT_INT, 1, 100000, 0, NULL,                    \
	    "bursty: jobs in a burst")                                         \
	ROW(spacing, "spacing", CR_OPT_TIME, 0, 1000 * CR_SEC, 0, NULL,        \
	    "bursty: between jobs of a burst")                                 \
	TEXT(rate, "rate",                                                     \
	     "tspec: jobs per second, 50/s (one per period); "                 \
	     "envelope: share of the CPU, 48%")                                \
	TEXT(peak, "peak", "tspec, envelope: the most at any time (no bound)") \
	ROW(bucket, "bucket", CR_OPT_INT, 1, 1000000, 1, NULL,                 \
	    "tspec: jobs beyond the rate")                                     \
	ROW(depth, "depth", CR_OPT_TIME, 1, 1000 * CR_SEC, 0, NULL,            \
	    "envelope: work beyond the rate")                                  \
	TEXT(on, "on", "envelope: a burst lasts, 50ms..100ms (no pauses)")     \
	TEXT(off, "off", "envelope: a pause lasts, 10ms..20ms")                \
	TEXT(file, "file", "trace")

#define LEG_KEYS(ROW, TEXT)                                                    \
	TEXT(codec, "codec", "name; codec-runner --codecs lists them")         \
	TEXT(mode, "mode", "bit rate of the codec: 12.2")                      \
	ROW(rate, "rate", CR_OPT_INT, 8000, 48000, 0, NULL,                    \
	    "Hz; codecs with a free rate")                                     \
	ROW(octet_align, "octet-align", CR_OPT_BOOL, 0, 1, 0, NULL,            \
	    "AMR, AMR-WB: octet-aligned payloads (RFC 4867)")                  \
	ROW(dtx, "dtx", CR_OPT_BOOL, 0, 1, 0, NULL,                            \
	    "AMR, AMR-WB: discontinuous transmission")                         \
	ROW(spin, "spin", CR_OPT_TIME, CR_US, CR_SEC, 0, NULL,                 \
	    "codec spin: CPU time of a frame")

#define RELEASE_KEYS(ROW, TEXT)                                                \
	ROW(kind, "model", CR_OPT_ENUM, 0, 3, 0, key_releases,                 \
	    "release model")                                                   \
	ROW(x, "x", CR_OPT_INT, 1, RELEASE_MAX_X, 0, NULL,                     \
	    "rate: jobs in every y")                                           \
	ROW(y, "y", CR_OPT_TIME, CR_US, 10 * CR_SEC, 0, NULL,                  \
	    "rate: time in which x jobs come")                                 \
	ROW(burst, "burst", CR_OPT_INT, 1, 1000, 0, NULL,                      \
	    "lbap: jobs that may come ahead of time")

#define CONTRACT_KEYS(ROW, TEXT)                                               \
	TEXT(rate, "rate", "jobs per second, 40/s (one per ptime)")            \
	ROW(burst, "burst", CR_OPT_INT, 0, 1000, 0, NULL,                      \
	    "jobs beyond the rate")                                            \
	TEXT(peak, "peak", "jobs per second at any time, 500/s (no bound)")    \
	ROW(mean, "mean", CR_OPT_TIME, 1, 1000 * CR_SEC, 0, NULL,              \
	    "declared CPU time of a job (measured)")                           \
	ROW(p99, "p99", CR_OPT_TIME, 1, 1000 * CR_SEC, 0, NULL,                \
	    "declared 99th percentile of it (measured)")                       \
	ROW(worst, "worst", CR_OPT_TIME, 1, 1000 * CR_SEC, 0, NULL,            \
	    "declared worst case of it (p99)")

#define START_KEYS(ROW, TEXT)                                                  \
	ROW(at, "at", CR_OPT_TIME, 0, 30 * KEYS_DAY, 0, NULL,                  \
	    "the first call, from the campaign's begin")                       \
	ROW(spread, "spread", CR_OPT_TIME, 0, 30 * KEYS_DAY, 0, NULL,          \
	    "calls begin over this time, evenly or by poisson")                \
	TEXT(poisson, "poisson",                                               \
	     "at random: mean calls per second, 5/s, or share of what keeps "  \
	     "count calls up, 90%; a ramp of them: 20%..110%..20%")

#define HOLD_KEYS(ROW, TEXT)                                                   \
	ROW(exponential, "model", CR_OPT_ENUM, 0, 1, 0, key_holds,             \
	    "distribution of holding times")                                   \
	ROW(mean, "mean", CR_OPT_TIME, CR_MS, 30 * KEYS_DAY, CR_NEVER, NULL,   \
	    "holding time (to the end)")

#define NETWORK_KEYS(ROW, TEXT)                                                \
	ROW(jitter, "jitter", CR_OPT_TIME, 0, CR_SEC, 0, NULL,                 \
	    "delay, uniform from 0 to this; order is kept")                    \
	ROW(loss, "loss", CR_OPT_PPM, 0, 990000, 0, NULL, "share lost")        \
	ROW(burst, "burst", CR_OPT_INT, 1, 1000, 1, NULL,                      \
	    "mean number lost in a row")                                       \
	ROW(reorder, "reorder", CR_OPT_PPM, 0, 500000, 0, NULL,                \
	    "share that comes behind its successor")                           \
	ROW(duplicate, "duplicate", CR_OPT_PPM, 0, 1000000, 0, NULL,           \
	    "share that comes twice")

#define TALK_KEYS(ROW, TEXT)                                                   \
	ROW(spurt, "spurt", CR_OPT_TIME, CR_MS, 600 * CR_SEC, 0, NULL,         \
	    "mean talk spurt")                                                 \
	ROW(pause, "pause", CR_OPT_TIME, CR_MS, 600 * CR_SEC, 0, NULL,         \
	    "mean pause; nothing is sent in it")

#define EXPECT_KEYS(ROW, TEXT)                                                 \
	TEXT(loss, "loss", "sent frames that never came back: <= 0.1%")        \
	TEXT(late, "late", "received frames behind the deadline: <= 1%")       \
	TEXT(missed, "missed", "due frames late or never done: <= 0%")         \
	TEXT(admitted, "admitted", "calls accepted: >= 100%")                  \
	TEXT(mean_delay, "mean-delay", "send to receive: <= 5ms")              \
	TEXT(p50_delay, "p50-delay", "send to receive: <= 5ms")                \
	TEXT(p99_delay, "p99-delay", "send to receive: <= 20ms")               \
	TEXT(p999_delay, "p99.9-delay", "send to receive: <= 40ms")            \
	TEXT(max_delay, "max-delay", "send to receive: <= 100ms")              \
	TEXT(p99_jitter, "p99-jitter", "inter-arrival jitter: <= 10ms")

#define CONVERSIONS_EXPECT_KEYS(ROW, TEXT)                                     \
	TEXT(finished, "finished", "conversions done: >= 100%")                \
	TEXT(mean_turnaround, "mean-turnaround",                               \
	     "submission to end, of those done: <= 10s")                       \
	TEXT(max_turnaround, "max-turnaround", "the longest of them: <= 20s")

#endif
