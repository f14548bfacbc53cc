import * as z from "zod";

/** The payloads of x402 and their parts, as clients write them. */

export const hexBytes = (bytes: number) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`))
    .toLowerCase();
/** 64 or 65 bytes from a key, any length from a contract wallet. Some libraries write 0 and 1 for a `v` of 27 and 28. */
export const signatureHex = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2}){64,2048}$/)
  .toLowerCase()
  .transform((hex) => {
    if (hex.length === 2 + 2 * 64) return expandSignature(hex);
    const [last] = hex.length === 2 + 2 * 65 ? [hex.slice(-2)] : [];
    return last === "00" || last === "01" ? hex.slice(0, -2) + (last === "00" ? "1b" : "1c") : hex;
  });

/** Expands a compact signature (ERC-2098) to 65 bytes: the top bit of `s` is the parity of `y`. */
function expandSignature(hex: string): string {
  const top = Number.parseInt(hex.slice(66, 68), 16);
  const s = (top & 0x7f).toString(16).padStart(2, "0") + hex.slice(68);
  return hex.slice(0, 66) + s + (top < 0x80 ? "1b" : "1c");
}

/** A uint256 in decimal digits. */
const digits = z
  .string()
  .regex(/^(?:0|[1-9][0-9]{0,77})$/)
  .refine((text) => BigInt(text) < 2n ** 256n);

/** The `payload` of a signed payment (EIP-3009). */
export const authorizationShape = z.object({
  signature: signatureHex,
  authorization: z.object({
    from: hexBytes(20),
    to: hexBytes(20),
    value: digits,
    validAfter: digits,
    validBefore: digits,
    nonce: hexBytes(32),
  }),
});

const requirement = z.object({ scheme: z.string(), network: z.string() });
/** A payment of version 1 or 2, in the form of version 1. */
export const paymentShape = z.union([
  requirement.extend({ x402Version: z.literal(1), payload: z.unknown() }),
  z
    .object({ x402Version: z.literal(2), accepted: requirement, payload: z.unknown() })
    .transform(({ accepted, payload }) => ({ ...accepted, payload })),
]);

/** Decodes standard or URL-safe base64; `null` if the text is neither. */
export function decodeBase64(text: string): string | null {
  const standard = text.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(standard)) return null;
  try {
    // The platform's decoder returns `undefined` where the standard's throws.
    return atob(standard) ?? null;
  } catch {
    return null;
  }
}
