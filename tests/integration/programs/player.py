# SPDX-License-Identifier: Apache-2.0
"""GStreamer sends coded frames that it is given, each when its time has come:
the payload format, the numbers, the timestamps and the clock are its own."""
import gstreamer

PIPELINE = ("appsrc name=source format=time caps={caps} ! {payloader} "
            "name=payloader perfect-rtptime=false ! udpsink name=sink "
            "host={host} port={port}")


class Player:
    """@frames are (ms, octets, payload type), in order of time."""

    def __init__(self, caps, payloader, frames, port, host="127.0.0.1"):
        gstreamer.needed()
        self.gst = gstreamer.Gst
        self.pipeline = self.gst.parse_launch(PIPELINE.format(
            caps=caps, payloader=payloader, host=host, port=port))
        self.payloader = self.pipeline.get_by_name("payloader")
        self.types = iter([pt for _, _, pt in frames])
        self.payloader.get_static_pad("sink").add_probe(
            self.gst.PadProbeType.BUFFER, self._next_type)
        source = self.pipeline.get_by_name("source")
        source.set_property("max-bytes", 0)
        self.pipeline.set_state(self.gst.State.PLAYING)
        for ms, octets, _ in frames:
            buffer = self.gst.Buffer.new_wrapped(bytes(octets))
            buffer.pts = ms * self.gst.MSECOND
            source.emit("push-buffer", buffer)
        source.emit("end-of-stream")

    def _next_type(self, *_):
        self.payloader.set_property("pt", next(self.types))
        return self.gst.PadProbeReturn.OK

    def wait(self, timeout):
        """Until all has been sent; 0, as a process."""
        message = self.pipeline.get_bus().timed_pop_filtered(
            timeout * self.gst.SECOND,
            self.gst.MessageType.EOS | self.gst.MessageType.ERROR)
        self.pipeline.set_state(self.gst.State.NULL)
        assert message and message.type == self.gst.MessageType.EOS, message
        return 0


def amr_frames(packets):
    """What GStreamer unpacks of octet-aligned packets of AMR: frames as a file
    has them."""
    gstreamer.needed()
    gst = gstreamer.Gst
    pipeline = gst.parse_launch(
        "appsrc name=source format=time caps=application/x-rtp,media=audio,"
        "clock-rate=8000,encoding-name=AMR,payload=96,octet-align=(string)1 ! "
        "rtpamrdepay ! appsink name=sink sync=false")
    source, sink = map(pipeline.get_by_name, ("source", "sink"))
    source.set_property("max-bytes", 0)
    pipeline.set_state(gst.State.PLAYING)
    for data in packets:
        source.emit("push-buffer", gst.Buffer.new_wrapped(data))
    source.emit("end-of-stream")
    frames = []
    while sample := sink.emit("pull-sample"):
        buffer = sample.get_buffer()
        frames.append(buffer.extract_dup(0, buffer.get_size()))
    pipeline.set_state(gst.State.NULL)
    return frames
