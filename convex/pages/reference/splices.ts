/**
 * Gzip of a text from pieces that were compressed at build time, with another text between them: a request compresses
 * nothing. A piece is a run of deflate blocks that ends at a whole byte (RFC 1951), so pieces can be joined; the checksum of
 * the whole (RFC 1952) is computed from theirs.
 */

/** `bytes`: its blocks, in base64; `length` and `crc` are those of its text in UTF-8. */
export type Piece = { bytes: string; length: number; crc: number };

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});
const updateCrc = (crc: number, byte = 0) => (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);

const HEADER = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/** An empty block with the mark of the last. */
const LAST = [1, 0, 0, 0xff, 0xff];

/** @param between A short text, which is stored uncompressed. */
export function joinPieces(pieces: readonly Piece[], between: string): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(between);
  const size = [text.length & 0xff, text.length >> 8];
  const stored = Uint8Array.of(0, ...size, ...size.map((byte) => byte ^ 0xff), ...text);
  const crcOfText = ~text.reduce(updateCrc, -1) >>> 0;
  const parts: Uint8Array[] = [Uint8Array.from(HEADER)];
  let [crc, length] = [0, 0];
  const add = (part: Uint8Array, one: { length: number; crc: number }) => {
    parts.push(part);
    for (let i = 0; i < one.length; i++) crc = updateCrc(crc);
    crc ^= one.crc;
    length += one.length;
  };
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) add(stored, { length: text.length, crc: crcOfText });
    add(
      Uint8Array.from(atob(piece.bytes), (char) => char.charCodeAt(0)),
      piece,
    );
  }
  const end = [crc, length].flatMap((word) => [0, 8, 16, 24].map((shift) => (word >>> shift) & 0xff));
  parts.push(Uint8Array.of(...LAST, ...end));
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}
