"""Pictures of the world in recordings: as PNG files, not as pixels.

A simulator sends megabytes of pixels a second. A file grows for as long as its mission is under way,
and is compacted only after it, so pictures are packed as they come. They keep their topic, and are of
the type that image tools of ROS, and Foxglove, have for them.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

from skm_primitives.recording.cdr import codec_of

PIXELS: Final = "sensor_msgs/Image"
PACKED: Final = "sensor_msgs/CompressedImage"
MOST_PIXELS: Final = 4_000_000
CHANNELS: Final = {"rgb8": 3, "mono8": 1}
COLOUR_TYPES: Final = {3: 2, 1: 0}
"""Of a PNG file, by the channels of a pixel."""


def png(message: Any) -> bytes | None:  # noqa: ANN401 - a sensor_msgs/Image
    """Return an image message as a PNG file; None if it is of a kind that is not packed."""
    channels = CHANNELS.get(message.encoding)
    width, height, data = int(message.width), int(message.height), bytes(message.data)
    if channels is None or not 0 < width * height <= MOST_PIXELS:
        return None
    row = width * channels
    if len(data) != row * height:
        return None
    rows = b"".join(b"\0" + data[start : start + row] for start in range(0, len(data), row))
    header = struct.pack(">IIBBBBB", width, height, 8, COLOUR_TYPES[channels], 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


def packed(data: bytes) -> bytes | None:
    """Return an Image as a CompressedImage, both as bytes; None if it is not packed."""
    message = codec_of(PIXELS).decode(data)
    file = png(message)
    if file is None:
        return None
    header = {"stamp": vars(message.header.stamp), "frame_id": message.header.frame_id}
    return codec_of(PACKED).encode({"header": header, "format": "png", "data": file})
