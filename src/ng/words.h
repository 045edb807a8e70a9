/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single words of an NG request: flags, and members of lists.
 *
 * Pure.
 */
#ifndef NG_WORDS_H
#define NG_WORDS_H

#include "ng/request.h"

struct ng_word {
	const char *name; /**< NULL: behind the last one                 */
	size_t offset;	  /**< of the member that becomes @value ...     */
	unsigned bytes;	  /**< ... and has so many; 0: none does         */
	int value;
	unsigned mux;	     /**< is added to that of the request        */
	const char *warning; /**< or NULL                                */
};

/** Those of the lists "flags", "replace", "rtcp-mux", "supports" and "SDES",
 * and of the words at "endpoint-learning" and "ICE". Flags are also words of
 * the others, behind their name: "replace-origin". */
extern const struct ng_word ng_flag_words[], ng_replace_words[], ng_mux_words[],
	ng_support_words[], ng_key_words[], ng_learn_words[], ng_ice_words[];

/** Behind @name with hyphens, which @text begins with, or NULL: it does not. As
 * ng_is_named(). */
const char *ng_behind(const char *text, const char *name);

/** Is @text what @name says with hyphens? It may have spaces or underscores in
 * their place, and capitals. */
bool ng_is_named(const char *text, const char *name);

/** Let @r have what @text, one of @words, means. False: it is none of them. */
bool ng_word_take(struct ng_request *r, const struct ng_word *words,
		  const char *text);

#endif
