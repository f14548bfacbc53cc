import { withoutControls } from "./markup";

/** Decodes bytes as text. Pure. */

/** Bytes as text. `isBroken`: they are no text in any charset that may be meant, and have replacement characters. */
export type DecodedText = { text: string; isBroken: boolean; charset: string };

/**
 * The text of a body: in the charset of its byte order mark, in UTF-16 where it looks like that, else in UTF-8, in the
 * charset that its content type names, or in the one of its XML declaration. What is not UTF-8 by chance is UTF-8.
 * @param type The content type.
 */
export function decodeText(bytes: Uint8Array, type: string): DecodedText {
  const [, declared = ""] = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(type) ?? [];
  const charsets = [findWideCharset(bytes, declared), "utf-8", declared, findDeclaredCharset(bytes)];
  for (const charset of new Set(charsets)) {
    const text = charset === "" ? undefined : decodeStrictly(bytes, charset);
    if (text !== undefined) return { text, isBroken: false, charset };
  }
  return {
    text: new TextDecoder().decode(bytes),
    isBroken: true,
    charset: declared === "" ? "utf-8" : declared,
  };
}

/** UTF-16 by its mark, by its name, or by the zeros of its first character. */
function findWideCharset([first, second]: Uint8Array, declared: string): string {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return "utf-16be";
  return /^utf-?16/i.test(declared) ? declared : "";
}

function findDeclaredCharset(bytes: Uint8Array): string {
  const head = String.fromCharCode(...bytes.subarray(0, 200));
  return /^\s*<\?xml[^>]*encoding\s*=\s*["']([\w-]{1,40})/i.exec(head)?.[1] ?? "";
}

/** `undefined` for invalid bytes: Convex's decoder returns nothing where the standard one throws. */
function decodeStrictly(bytes: Uint8Array, charset: string): string | undefined {
  try {
    const text: unknown = new TextDecoder(charset, { fatal: true }).decode(bytes);
    if (typeof text !== "string") return undefined;
    // Some decoders take Windows' charset for Latin-1.
    return /^utf/i.test(charset) ? text : withoutControls(text);
  } catch {
    return undefined;
  }
}
