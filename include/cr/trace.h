/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The per-job trace: one fixed-size record for every frame, live or simulated.
 *
 * A trace file is a struct cr_trace_header, then header.json_bytes of a JSON
 * object (program, version, machine, scheduler, options and more), then records
 * until the end of the file; all little-endian. The JSON is padded with spaces
 * to a multiple of 8. Records may be shorter in old files: what they lack is 0.
 * Every task is described by a record of kind CR_TRACE_TASK before its jobs.
 * codec-report reads this; so may you.
 */
#ifndef CR_TRACE_H
#define CR_TRACE_H

#include <stdint.h>

#include "cr/time.h"

#define CR_TRACE_MAGIC "CRTRACE1"

struct cr_trace_header {
	char magic[8];	       /**< CR_TRACE_MAGIC                           */
	uint32_t record_bytes; /**< sizeof(union cr_trace_record)            */
	uint32_t json_bytes;   /**< of the JSON that follows                 */
	int64_t realtime_offset; /**< CLOCK_REALTIME - CLOCK_MONOTONIC, ns;
				     0 in the simulator                      */
};

enum cr_trace_kind {
	CR_TRACE_JOB = 1,  /**< a frame's life                              */
	CR_TRACE_TASK = 2, /**< a stream or a conversion begins             */
	CR_TRACE_NOTE = 3  /**< something else has happened                 */
};

/** How a job ended. */
enum cr_outcome {
	CR_OUT_DONE,	    /**< transcoded and sent (or nothing to send)     */
	CR_OUT_OVERWRITTEN, /**< dropped as oldest of a full ring           */
	CR_OUT_EXPIRED,	    /**< too old when picked (max_age)          */
	CR_OUT_CONCEALED,   /**< too old: concealed or sent as NO_DATA        */
	CR_OUT_CANCELLED,   /**< task ended before the frame was done         */
	CR_OUT_BAD,	    /**< payload could not be parsed                  */
	CR_OUT_SEND_FAILED, /**< transcoded, but the socket refused it       */
	CR_OUT_UNRECEIVED,  /**< simulator: too many waited to be received   */
	CR_OUT_UNBUFFERED,  /**< simulator: too late for its jitter buffer, or
				dropped there                               */
	CR_OUT_SHED	    /**< given up for others before it was too old: by
				--shed, or by the scheduler                 */
};

#define CR_NOUTCOMES 10u

/** More is not known, cr_trace_job.charged_before. */
#define CR_TRACE_CHARGE_MAX 0xffffffu

/** A task; written once, when it starts. Strings end in NUL. */
struct cr_trace_task {
	uint8_t kind;		   /**< CR_TRACE_TASK */
	uint8_t cls;		   /**< enum cr_class */
	uint16_t ptime_us_div_250; /**< frame duration in units of 250 us */
	uint32_t task;		   /**< id of the stream or conversion */
	int64_t start;		   /**< ns                             */
	int64_t rel_deadline;	   /**< ns                             */
	char codec_in[16], mode_in[8];
	char codec_out[16], mode_out[8];
	uint32_t weight;
	int8_t nice;
	uint8_t reserved[3];
	int64_t cost_mean, cost_p99; /**< declared to schedulers, ns; 0 in older
					files                              */
};

/** One job. Times in ns, 0 where the job never came so far. */
struct cr_trace_job {
	uint8_t kind;	 /**< CR_TRACE_JOB                             */
	uint8_t outcome; /**< enum cr_outcome                       */
	uint16_t worker; /**< engine CPU number; 0xffff: none       */
	uint32_t task;
	uint32_t seq; /**< frame of the task, from 0             */
	uint16_t bytes_in, bytes_out; /**< payload lengths          */
	int64_t arrival, release, pick, start, end, sent, deadline;
	uint32_t rtp_ts;   /**< of the input packet                   */
	uint32_t codec_ns; /**< inside decode and encode            */
	int64_t away; /**< from pick to end, but off the CPU: preempted by the
			   simulator, or by the kernel         */
	uint32_t buffered_ns; /**< in a jitter buffer, before @arrival: then
				the frame was played, and its deadline
				counts from there                   */
	/** As cr/sched.h has it; 0: not rated. The first of four bytes. */
	uint32_t importance : 8;
	/** The service, ns, that the scheduler was told of the turn which
	 * @worker had before this one: a turn's own is known when its record
	 * has left. 0: not known, as of the first turn and in the simulator. */
	uint32_t charged_before : 24;
};

/** Subject of a note. */
enum cr_trace_note_code {
	CR_NOTE_LOST = 0,     /**< records; count: how many                 */
	CR_NOTE_SWITCHED = 1, /**< to the scheduler in text                 */
	CR_NOTE_CHANGED = 3,  /**< the terms of task @count to those in text */
	CR_NOTE_FAULT = 4     /**< the scheduler broke its contract, as text
				 says; who goes on: CR_NOTE_SWITCHED        */
};

struct cr_trace_note {
	uint8_t kind; /**< CR_TRACE_NOTE           */
	uint8_t code; /**< enum cr_trace_note_code */
	uint16_t worker;
	uint32_t count;
	int64_t at; /**< ns                      */
	char text[80];
};

union cr_trace_record {
	uint8_t kind;
	struct cr_trace_job job;
	struct cr_trace_task task;
	struct cr_trace_note note;
};

_Static_assert(sizeof(union cr_trace_record) == 96, "trace format");
_Static_assert(sizeof(struct cr_trace_job) == 96, "trace format");
_Static_assert(sizeof(struct cr_trace_task) == 96, "trace format");
_Static_assert(sizeof(struct cr_trace_note) == 96, "trace format");

#endif
