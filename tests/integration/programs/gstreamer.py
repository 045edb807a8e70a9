# SPDX-License-Identifier: Apache-2.0
"""A phone made of GStreamer: it speaks noise and presses digits (rtpdtmfsrc),
hears from the same port, and tells which digits it has heard (rtpdtmfdepay)."""
import pytest

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    Gst.init(None)
except (ImportError, ValueError):
    Gst = None

EVENT_PT = 101
# codec: payload type, clock, encoding name, how it is made
CODECS = {
    "pcmu": (0, 8000, "PCMU", "mulawenc ! rtppcmupay"),
    "pcma": (8, 8000, "PCMA", "alawenc ! rtppcmapay"),
    "l16": (97, 16000, "L16", "audioconvert ! rtpL16pay"),
}
IN = ('udpsrc address={host} port=0 name=in caps="application/x-rtp" ! '
      "rtpptdemux name=types")
OUT = ("rtpdtmfmux name=mux ! udpsink name=out host={host} port={to} "
       "async=false close-socket=false audiotestsrc is-live=true "
       "samplesperbuffer={samples} wave=pink-noise ! "
       "audio/x-raw,rate={clock},channels=1 ! {maker} pt={pt} ssrc={ssrc} "
       "min-ptime=20000000 max-ptime=20000000 timestamp-offset=1000 ! "
       "mux.sink_0 rtpdtmfsrc pt=101 clock-rate={clock} ssrc={ssrc} "
       "timestamp-offset=1000 packet-redundancy={ends} ! mux.priority_sink_0")


def needed():
    if not Gst or not all(map(Gst.ElementFactory.find, (
            "rtpdtmfsrc", "rtpdtmfmux", "rtpdtmfdepay"))):
        pytest.skip("no GStreamer for Python: deps/install test")


def caps(pt, clock, name):
    return Gst.Caps.from_string(
        f"application/x-rtp,media=audio,clock-rate={clock},"
        f"encoding-name={name},payload={pt}")


class GstPhone:
    """It speaks to port @to of @host; the end of each digit is sent @ends
    times."""

    def __init__(self, codec, to, ssrc, ends, host="127.0.0.1"):
        pt, clock, name, maker = CODECS[codec]
        self.caps = {pt: caps(pt, clock, name),
                     EVENT_PT: caps(EVENT_PT, clock, "TELEPHONE-EVENT")}
        self.heard, self.errors = [], []
        self.listener = Gst.parse_launch(IN.format(host=host))
        types = self.listener.get_by_name("types")
        types.connect("request-pt-map", lambda _, pt: self.caps.get(pt))
        types.connect("pad-added", self._new_type)
        self.listener.set_state(Gst.State.PLAYING)
        source = self.listener.get_by_name("in")
        assert source.get_state(Gst.CLOCK_TIME_NONE)[0] != \
            Gst.StateChangeReturn.FAILURE
        self.port = source.get_property("port")
        self.speaker = Gst.parse_launch(OUT.format(
            host=host, to=to, clock=clock, samples=clock // 50, maker=maker,
            pt=pt, ssrc=ssrc, ends=ends))
        self.speaker.get_by_name("out").set_property(
            "socket-v6" if ":" in host else "socket",
            source.get_property("used-socket"))

    def _new_type(self, types, pad):
        digits = pad.get_name() == f"src_{EVENT_PT}"
        sink = Gst.parse_bin_from_description(
            ("rtpdtmfdepay ! " if digits else "") + "fakesink sync=false",
            True)
        self.listener.add(sink)
        sink.sync_state_with_parent()
        pad.link(sink.get_static_pad("sink"))

    def speak(self):
        self.speaker.set_state(Gst.State.PLAYING)

    def press(self, digit, down):
        s = Gst.Structure.new_empty("dtmf-event")
        values = {"type": 1, "method": 1, "start": down}
        if down:
            values.update(number=digit, volume=10)
        for name, value in values.items():
            s.set_value(name, value)
        self.speaker.send_event(
            Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, s))

    def digits(self):
        """Those heard so far."""
        for pipeline in self.listener, self.speaker:
            while message := pipeline.get_bus().pop():
                s = message.get_structure()
                assert message.type != Gst.MessageType.ERROR, s.to_string()
                if s and s.get_name() == "dtmf-event":
                    self.heard.append(s.get_value("number"))
        return self.heard

    def end(self):
        for pipeline in self.speaker, self.listener:
            pipeline.set_state(Gst.State.NULL)
