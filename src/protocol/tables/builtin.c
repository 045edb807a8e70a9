/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of codecs and schedulers.
 */
#include "protocol/tables/node.h"

const struct field codec_mode_fields[] = {
	{ ROW_TEXT(codec_mode, "name", name), .help = "name of the mode" },
	{ ROW_INT(codec_mode, "bit_rate", bit_rate), .unit = "bit/s",
	  .help = "bit rate of speech" },
	{ ROW_INT(codec_mode, "bytes", bytes), .unit = "bytes",
	  .help = "size of a frame of speech" },
	{ 0 },
};

const struct field codec_info_fields[] = {
	{ ROW_TEXT(codec_info, "name", name),
	  .help = "name of the codec in this protocol" },
	{ ROW_TEXT(codec_info, "rtp_name", rtp_name),
	  .help = "encoding name of the codec in SDP" },
	{ ROW_TEXT(codec_info, "help", help),
	  .help = "description of the codec" },
	{ ROW_INT(codec_info, "rate", rate), .unit = "Hz",
	  .help = "sampling rate" },
	{ ROW_INT(codec_info, "clock", clock), .unit = "Hz",
	  .help = "clock rate of RTP timestamps" },
	{ ROW_TIME(codec_info, "frame", frame, "ms"),
	  .help = "duration of a frame" },
	{ ROW_BOOL(codec_info, "decodes", decodes),
	  .help = "the codec can be a call's input" },
	{ ROW_BOOL(codec_info, "encodes", encodes),
	  .help = "the codec can be a call's output" },
	{ ROW_TEXT(codec_info, "default_mode", default_mode),
	  .help = "mode of a call that names none" },
	{ ROW_EACH(codec_info, "modes", modes, codec_mode),
	  .help = "the codec's modes" },
	{ 0 },
};

const struct field codecs_fields[] = {
	{ ROW_EACH(codecs, "codecs", codecs, codec_info),
	  .help = "the codecs" },
	{ 0 },
};

const struct field option_info_fields[] = {
	{ ROW_TEXT(option_info, "name", name), .help = "its name" },
	{ ROW_TEXT(option_info, "help", help),
	  .help = "description of the option, with its range and default" },
	{ 0 },
};

const struct field scheduler_info_fields[] = {
	{ ROW_TEXT(scheduler_info, "name", name), .help = "its name" },
	{ ROW_TEXT(scheduler_info, "help", help),
	  .help = "description of the scheduler" },
	{ ROW_TEXT(scheduler_info, "admission", admission),
	  .help = "the test by which the scheduler admits calls" },
	{ ROW_EACH(scheduler_info, "options", options, option_info),
	  .help = "the scheduler's options" },
	{ 0 },
};

const struct field schedulers_fields[] = {
	{ ROW_TEXT(schedulers, "scheduler", scheduler),
	  .help = "the scheduler in use, with its options" },
	{ ROW_EACH(schedulers, "schedulers", schedulers, scheduler_info),
	  .help = "the schedulers that the node can switch to" },
	{ 0 },
};

const struct field scheduler_result_fields[] = {
	{ ROW_TEXT(scheduler_result, "scheduler", scheduler),
	  .help = "the scheduler now in use, with its options" },
	{ 0 },
};
