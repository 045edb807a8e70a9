/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libavcodec: opening mono coders, one packet for one frame.
 */
#include "codecs/lav.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/channel_layout.h>

struct lav {
	AVCodecContext *ctx;
	AVPacket *packet;
	AVFrame *frame;
	AVBufferRef *input; /* decoder: what packet points to while sent */
	size_t packet_max;
};

/* Channel layouts became structures in libavutil 57.24. */
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
static void context_mono(AVCodecContext *ctx)
{
	av_channel_layout_default(&ctx->ch_layout, 1);
}

static void frame_mono(AVFrame *frame)
{
	av_channel_layout_default(&frame->ch_layout, 1);
}
#else
static void context_mono(AVCodecContext *ctx)
{
	ctx->channels = 1;
	ctx->channel_layout = AV_CH_LAYOUT_MONO;
}

static void frame_mono(AVFrame *frame)
{
	frame->channel_layout = AV_CH_LAYOUT_MONO;
}
#endif

static int open_context(struct lav *l, const AVCodec *codec,
			const struct lav_spec *spec, struct cr_err *e)
{
	l->ctx = avcodec_alloc_context3(codec);
	l->packet = av_packet_alloc();
	l->frame = av_frame_alloc();
	if (!l->ctx || !l->packet || !l->frame)
		return cr_fail(e, -ENOMEM, "%s: out of memory", spec->name);
	l->ctx->sample_rate = (int)spec->sample_rate;
	l->ctx->bit_rate = (int64_t)spec->bit_rate;
	l->ctx->bits_per_coded_sample = (int)spec->coded_bits;
	l->ctx->sample_fmt = AV_SAMPLE_FMT_S16;
	l->ctx->thread_count = 1;
	context_mono(l->ctx);
	if (avcodec_open2(l->ctx, codec, NULL))
		return cr_fail(e, -EIO, "%s: libavcodec does not open it",
			       spec->name);
	return 0;
}

static int prepare_frame(struct lav *l, const struct lav_spec *spec,
			 struct cr_err *e)
{
	l->frame->nb_samples = l->ctx->frame_size;
	l->frame->format = AV_SAMPLE_FMT_S16;
	l->frame->sample_rate = (int)spec->sample_rate;
	frame_mono(l->frame);
	if (l->ctx->frame_size <= 0 || av_frame_get_buffer(l->frame, 0))
		return cr_fail(e, -ENOMEM, "%s: out of memory", spec->name);
	return 0;
}

static int prepare_input(struct lav *l, const struct lav_spec *spec,
			 struct cr_err *e)
{
	size_t size = spec->packet_max + AV_INPUT_BUFFER_PADDING_SIZE;

	l->input = av_buffer_allocz(size);
	l->packet_max = spec->packet_max;
	if (!l->input)
		return cr_fail(e, -ENOMEM, "%s: out of memory", spec->name);
	return 0;
}

static int open_either(struct lav **out, const AVCodec *codec,
		       const struct lav_spec *spec, struct cr_err *e)
{
	struct lav *l;
	int ret;

	av_log_set_level(AV_LOG_QUIET);
	if (!codec)
		return cr_fail(e, -ENOENT, "%s: not in this libavcodec",
			       spec->name);
	l = calloc(1, sizeof(*l));
	if (!l)
		return cr_fail(e, -ENOMEM, "%s: out of memory", spec->name);
	ret = open_context(l, codec, spec, e);
	if (!ret)
		ret = av_codec_is_encoder(codec) ? prepare_frame(l, spec, e)
						 : prepare_input(l, spec, e);
	if (ret) {
		lav_close(l);
		return ret;
	}
	*out = l;
	return 0;
}

int lav_encoder_open(struct lav **l, const struct lav_spec *spec,
		     struct cr_err *e)
{
	return open_either(l, avcodec_find_encoder_by_name(spec->name), spec,
			   e);
}

int lav_decoder_open(struct lav **l, const struct lav_spec *spec,
		     struct cr_err *e)
{
	return open_either(l, avcodec_find_decoder_by_name(spec->name), spec,
			   e);
}

void lav_close(struct lav *l)
{
	if (!l)
		return;
	avcodec_free_context(&l->ctx);
	av_packet_free(&l->packet);
	av_frame_free(&l->frame);
	av_buffer_unref(&l->input);
	free(l);
}

int lav_encode(struct lav *l, const int16_t *pcm, uint8_t *out, size_t cap)
{
	int ret = -EIO;

	/* No copy: the encoder has given its last reference back. */
	if (av_frame_make_writable(l->frame))
		return -EIO;
	memcpy(l->frame->data[0], pcm,
	       (size_t)l->ctx->frame_size * sizeof(*pcm));
	if (avcodec_send_frame(l->ctx, l->frame) ||
	    avcodec_receive_packet(l->ctx, l->packet))
		return -EIO;
	if (l->packet->size > 0 && (size_t)l->packet->size <= cap) {
		memcpy(out, l->packet->data, (size_t)l->packet->size);
		ret = l->packet->size;
	}
	av_packet_unref(l->packet);
	return ret;
}

int lav_decode(struct lav *l, const uint8_t *data, size_t bytes, int16_t *pcm,
	       size_t cap)
{
	int ret = -EIO;

	/* Size 0 would mean the end of the stream to libavcodec. */
	if (!bytes || bytes > l->packet_max)
		return -EIO;
	memcpy(l->input->data, data, bytes);
	memset(l->input->data + bytes, 0, AV_INPUT_BUFFER_PADDING_SIZE);
	l->packet->buf = l->input;
	l->packet->data = l->input->data;
	l->packet->size = (int)bytes;
	if (!avcodec_send_packet(l->ctx, l->packet) &&
	    !avcodec_receive_frame(l->ctx, l->frame)) {
		size_t n = (size_t)l->frame->nb_samples;

		if (n <= cap) {
			memcpy(pcm, l->frame->data[0], n * sizeof(*pcm));
			ret = (int)n;
		}
		av_frame_unref(l->frame);
	}
	/* The buffer is ours, not the packet's. */
	l->packet->buf = NULL;
	l->packet->data = NULL;
	l->packet->size = 0;
	return ret;
}
