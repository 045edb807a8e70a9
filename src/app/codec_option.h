/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option --codec, which several programs have.
 */
#ifndef APP_CODEC_OPTION_H
#define APP_CODEC_OPTION_H

#include "base/cli.h"

#define CODEC_OPTION_HELP                                                      \
	"Load a codec from a shared object (./mine.so, with a slash). May be " \
	"given several times."

/** Load the codecs that @list names; where one cannot be had, exits with 2 and
 * a message that names @program. Before any other thread runs. */
void codec_option_use(const char *program, const struct field_texts *list);

#endif
