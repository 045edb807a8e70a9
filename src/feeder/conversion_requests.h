/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of a campaign, as the daemon does them:
 *
 *   convert.start {in, out, mode, dtx} -> {conversion, ...}, all at one time
 *   convert.ended {conversion, state, frames, age_s, why}, a notification, of
 *   each
 *   convert.cancel {conversion}, of those that have not ended by the campaign's
 *   end
 *
 *   PLANNED -> ASKED -> RUNNING -> DONE | FAILED | UNFINISHED
 *      |          \-> REFUSED          (UNFINISHED: cancelled)
 *      \-> UNFINISHED
 *
 * Thread rule: the event base's thread.
 */
#ifndef FEEDER_CONVERSION_REQUESTS_H
#define FEEDER_CONVERSION_REQUESTS_H

#include <jansson.h>

#include "campaign/campaign.h"
#include "cr/error.h"
#include "feeder/source.h"
#include "rpc/client.h"

struct conversions;

struct conversions_config {
	const char *spool; /**< the daemon's spool folder, as seen from here */
	const struct campaign *campaign;
	uint64_t seed;
	source_progress *progress; /**< of making the files; or NULL */
	/** Something is wrong with the daemon or the folder: -errno, and why.
	 */
	void (*failed)(void *arg, int err, const char *why);
	void *arg;
};

/** Make the WAV files that the conversions read, in the spool folder: recorded
 * speech, so long as the campaign says, every file's its own. 0; or -errno with
 * @e, and nothing is left behind. */
int conversions_open(struct conversions **v,
		     const struct conversions_config *cfg, struct cr_err *e);

/** Ask for all of them through @rpc, which must outlive @v or be closed
 * before. @now: monotonic. */
void conversions_submit(struct conversions *v, struct rpc_client *rpc,
			cr_ns now);

/** The daemon has said that @ended (params of convert.ended) is over. */
void conversions_ended(struct conversions *v, const json_t *ended, cr_ns now);

/** Give up those that are not over, now or as soon as they have an answer. */
void conversions_cancel(struct conversions *v);

/** Are all over? */
bool conversions_over(const struct conversions *v);

/** Sums of all conversions. */
struct conversions_sum {
	int64_t count, done, failed, unfinished, refused;
	uint64_t frames;      /**< transcoded, of those not done too      */
	cr_ns mean, p50, max; /**< submission to end, of those done       */
	cr_ns span;	      /**< from submission to the last one's end  */
	char why[256];	      /**< the first that failed or was refused   */
};
void conversions_sum(const struct conversions *v, struct conversions_sum *sum);

/** Speech converted per time, of the whole span; 0: none. */
double conversions_speed(const struct conversions_sum *sum);

/** The value of a metric of conversions: ppm or ns. */
int64_t conversions_metric(const struct conversions_sum *sum,
			   enum campaign_metric m);

/** "conversions" of run.json: the sum, and the daemon's numbers of the jobs;
 * owned by the caller. */
json_t *conversions_json(const struct conversions *v);

/** Remove the inputs; what was converted stays in the folder. After @rpc is
 * closed. NULL is fine. */
void conversions_close(struct conversions *v);

#endif
