/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frame to give up when there is more to do than time: so early that no
 * frame waits long, and of each call what its listener misses least. By age
 * alone (core_config.max_age) every call loses what happens to be old.
 *
 * The rule is asked about a frame that a policy has picked, before it is run.
 * There are no steps: the longer frames have waited lately, the more is given
 * up.
 *
 *     wait      0 ...... S ...... 1.3 S ...... 1.6 S ...... 2 S
 *     pauses    kept       0 -> 100 %   100 %        100 %
 *     speech    kept       kept         kept         0 -> 100 %
 *     pattern   kept       0 ---------------------------> 100 %
 *
 * Of pauses, and of speech, the quietest go first. The first frame of a pause
 * stays: what is missing behind it is concealed by it, not by the end of a
 * word.
 *
 * S is the set point, a call's packet time or deadline unless a time is given.
 * The wait is the frame's own or, if that is longer, the one which three of
 * four frames of its class and run queue have at most: a policy may let one
 * call wait and not the next, or give the place of a frame that was shed to the
 * next one of its call (fifo), and yet all are to give their pauses before
 * anybody's speech. So the wait comes to rest where what is left can be done: a
 * little above S with some load too much, and seldom above 2 S as long as the
 * calls have enough to lose. Nothing has to be wound up or down, and two things
 * hold by themselves: where no frame waits as long as S, none is given up; and
 * when that is so again, it is within S as if the rule had never been asked.
 *
 * How loud a frame is (cr_job.importance) is compared with its own call's last
 * ten seconds: a quiet talker is not silenced. What is SHED_PAUSE_DB or more
 * below the loudest sixteenth of these, or so far below what that was in the
 * minutes before, is a pause: nobody listens to it. Frames that nobody could
 * rate are never given up by importance; they may get too old.
 *
 * Frames that must not go (cr_may_give_up()) stay under every rule. Frames
 * that must be kept are not speech, and break no row. No more than a few frames
 * go in a row. And a call that has lost more of its speech lately than others
 * of its run queue, however that came, loses less.
 *
 * Pure, whole numbers; time is an argument. Thread rule: a call's state and
 * that of its run queue belong to who holds the run queue's lock.
 */
#ifndef ENGINE_SHED_H
#define ENGINE_SHED_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/sched.h"

enum shed_kind {
	SHED_AGE,     /**< none: frames only get too old            */
	SHED_PATTERN, /**< evenly spaced, whatever they hold        */
	SHED_QUIET    /**< pauses, then the quietest of the speech  */
};

/** Their names, as options have them; ends with NULL. */
extern const char *const shed_names[];

/** Bounds of a set point that is given. */
#define SHED_WAIT_MIN CR_MS
#define SHED_WAIT_MAX (60 * CR_SEC)

struct shed_rule {
	enum shed_kind kind;
	cr_ns wait; /**< the set point; 0: the longer of the task's period and
			 relative deadline, of best effort its period       */
};

/** Most frames given up in a row: so few that concealment carries, and in a
 * pause so many that one in eight is heard, as often as a codec with DTX
 * describes the noise (3GPP TS 26.093). */
#define SHED_ROW_SPEECH 2u
#define SHED_ROW_PAUSE 7u

/** Loudness is counted in bins of 3 dB. */
#define SHED_BINS 32u
#define SHED_BIN_STEPS 4u
#define SHED_PAUSE_BINS 8u
#define SHED_PAUSE_DB (3u * SHED_PAUSE_BINS)

/** 1, in shares. */
#define SHED_ONE 65536u

/** Of a run queue. Zero, then shed_*() only. */
struct shed_queue {
	uint32_t lost; /**< share of its calls' speech, lately */
	struct {
		cr_ns at;      /**< of the last report                    */
		uint32_t wait; /**< that three of four have at most, in
				    parts of S: SHED_ONE is S             */
	} late[CR_NCLASSES];
};

/** Of a call. Zero, then shed_*() only. */
struct shed_call {
	uint16_t seen[SHED_BINS]; /**< counts, fading                    */
	uint32_t sum;		  /**< of seen[]                         */
	uint32_t lost;		  /**< share of its speech               */
	uint32_t due;		  /**< to be given up, of SHED_ONE       */
	uint64_t next;		  /**< frame that should follow          */
	uint16_t since;		  /**< frames since loud was looked at   */
	uint16_t held;		  /**< and since it changed              */
	uint8_t loud;		  /**< bin of its loudest; 0: not known  */
	uint8_t row;		  /**< frames given up in a row          */
	uint8_t before;		  /**< that, before the one asked about  */
	bool begun;
	bool pause; /**< the frame looked at last is one that nobody misses */
};

/** The wait at which frames of @t begin to be given up. */
cr_ns shed_set_point(const struct shed_rule *r, const struct cr_task *t);

/** The verdict on a frame. */
enum shed_verdict {
	SHED_KEEP,
	SHED_PAUSE, /**< given up: nobody listens to it */
	SHED_SPEECH /**< given up: it will be missed    */
};

/**
 * The frame that is the job of @t, and has waited so long since it could have
 * been run, is to be run @now. Each frame that is not too old is asked about
 * once, in order. @q may be NULL: there are no others to compare with.
 */
enum shed_verdict shed_ask(const struct shed_rule *r, struct shed_queue *q,
			   struct shed_call *c, const struct cr_task *t,
			   cr_ns waited, cr_ns now);

/** Its frame @job is not run for another reason: it is too old, or the policy
 * has given it up, maybe when it was half done and had been asked about. It
 * counts in the row, too: the next one stays. As shed_ask(). */
void shed_lost(const struct shed_rule *r, struct shed_queue *q,
	       struct shed_call *c, const struct cr_job *job);

#endif
