/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request to convert a file: a plain struct that any protocol can fill.
 * Texts are borrowed.
 */
#ifndef NODE_CONVERT_REQUEST_H
#define NODE_CONVERT_REQUEST_H

#include <stdbool.h>

/** Behind "in: is missing". */
#define CONVERT_WHICH_FILE "a file in the node's spool folder"

struct convert_request {
	const char *in, *out; /**< must be there                */
	const char *mode;     /**< NULL: the codec's default    */
	unsigned rate;	      /**< of WAV, Hz; 0: the input's   */
	bool dtx, overwrite;
};

#endif
