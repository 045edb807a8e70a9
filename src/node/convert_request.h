/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request to convert a file: a plain struct that any protocol can fill,
 * and its check. Texts are borrowed.
 */
#ifndef NODE_CONVERT_REQUEST_H
#define NODE_CONVERT_REQUEST_H

#include <stdbool.h>

struct conversion_cfg;
struct cr_err;

/** Behind "in: is missing". */
#define CONVERT_WHICH_FILE "a file in the node's spool folder"

struct convert_request {
	const char *in, *out; /**< must be there                */
	const char *mode;     /**< NULL: the codec's default    */
	unsigned rate;	      /**< of WAV, Hz; 0: the input's   */
	bool dtx, overwrite;
};

/**
 * The configuration that @r asks for: names, options, the output's kind. 0, or
 * -EINVAL with @e naming the member and the way out, and @out as it was. Pure:
 * whether the files are there is converter_submit()'s to say.
 */
int convert_check(struct conversion_cfg *out, const struct convert_request *r,
		  struct cr_err *e);

#endif
