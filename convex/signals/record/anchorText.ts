import * as z from "zod";

/** What an anchor's transaction says: text, so that a block explorer shows it. Pure. */

const TEXT = /^signal record ([1-9]\d{0,15}) ([0-9a-f]{64})$/;

/** The call data of an anchor, `0x` and the text's UTF-8 in hex. */
export function anchorData({ sequence, hash }: { sequence: number; hash: string }): `0x${string}` {
  const bytes = new TextEncoder().encode(`signal record ${sequence} ${hash}`);
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** What call data says; `null` when they are no anchor's. */
export function readAnchor(data: string): { sequence: number; hash: string } | null {
  const pairs = /^0x((?:[0-9a-f]{2})*)$/i.exec(data)?.[1]?.match(/../g) ?? [];
  const text = new TextDecoder().decode(Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16)));
  const [, sequence, hash] = TEXT.exec(text) ?? [];
  return sequence === undefined || hash === undefined ? null : { sequence: Number(sequence), hash };
}

const hex = z.string().regex(/^0x[0-9a-f]{64}$/i);

/** A transaction of the anchor's account as this service knows it. */
export const anchorShape = z.object({
  nonce: z.int().nonnegative(),
  /** The event whose hash it holds; `null` for one that only keeps the account's nonces together. */
  sequence: z.int().positive().nullable(),
  hash: z.string().nullable().describe("The hash of that event"),
  txHashes: z
    .array(hex)
    .describe("Where its fees had to be raised there are several, of which one at most is mined."),
  status: z.enum(["pending", "confirmed", "failed"]),
  signedAt: z.iso.datetime(),
});
export type Anchor = z.output<typeof anchorShape>;
