/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings that a campaign names, as a corpus.
 */
#ifndef FEEDER_RECORDINGS_H
#define FEEDER_RECORDINGS_H

#include "speech/speech.h"

/** Names as a campaign has them. All borrowed. */
struct recordings {
	const char
		*base; /**< the campaign file: relative names are beside it */
	char *const *input; /**< files, folders and globs */
	unsigned count; /**< 0: the installed ones                           */
};

/** Load them at @rate Hz: speech_open(). Any thread. */
int recordings_open(struct speech_corpus **corpus, const struct recordings *r,
		    unsigned rate, struct cr_err *e);

#endif
