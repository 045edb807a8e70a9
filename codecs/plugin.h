/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for codecs from outside: shared objects that export a
 *
 *     const struct cr_codec cr_codec_plugin
 */
#ifndef CODECS_PLUGIN_H
#define CODECS_PLUGIN_H

#include "cr/codec.h"

/**
 * Load the codec in the shared object @path, behind those that cr_codecs has.
 * It stays loaded. Before any other thread runs. Returns 0; or with @e -ENOEXEC
 * (not a codec, another ABI, a table that breaks the contract), -EEXIST (there
 * is one of its name), -ENOSPC (too many).
 */
int codec_plugin_load(const char *path, struct cr_err *e);

/** The reason why @c is unusable as a plug-in, or NULL. Pure. */
const char *codec_plugin_flaw(const struct cr_codec *c);

#endif
