import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { constants, crc32, deflateRawSync } from "node:zlib";
import { domains, endpointsByDomain } from "../../convex/endpoints";
import { ADDRESS, type Piece } from "../../convex/pages/reference/texts";
import { openApi } from "./document";
import { llmsText } from "./llms";
import { HEADERS } from "../../convex/pages/assets";
import { pages } from "./page";

/** Writes the reference into a module of `convex/`: generating it evaluates every endpoint, which is too much for a request. */

const PROXY = new URL("../../dist/proxy.js", import.meta.url);

/** The document, the pages and the text for models of a deployment at this address, with the headers of the pages. */
export function buildReference(address: string) {
  const texts = {
    document: JSON.stringify(openApi(endpointsByDomain, address)),
    ...pages(openApi(domains, address)),
    llms: llmsText(domains, address),
  };
  return { texts, headers: HEADERS };
}

/** The content of the module: the texts in pieces, the headers of the pages, and the version's tag. */
export function buildPublication() {
  const written = buildReference(ADDRESS);
  // The program for AI clients, if it is built.
  const program: { proxy?: string } = existsSync(PROXY) ? { proxy: readFileSync(PROXY, "utf8") } : {};
  const packed = Object.entries({ ...written.texts, ...program }).map(
    ([name, text]) => [name, text.split(ADDRESS).map(packPiece)] as const,
  );
  return {
    TAG: computeTag({ ...written, ...program }),
    /** Shown beside the address of the program, for comparison after a download. */
    PROXY_SHA256: createHash("sha256")
      .update(program.proxy ?? "")
      .digest("hex"),
    PAGE_HEADERS: written.headers,
    TEXTS: Object.fromEntries(packed),
  };
}

/** A text without the address, in gzip blocks that others can follow. */
function packPiece(text: string): Piece {
  const utf8 = Buffer.from(text);
  const bytes = deflateRawSync(utf8, { level: 9, finishFlush: constants.Z_SYNC_FLUSH }).toString("base64");
  return { bytes, length: utf8.length, crc: crc32(utf8) };
}

function buildModule(): string {
  const { TAG, PROXY_SHA256, PAGE_HEADERS, TEXTS } = buildPublication();
  const constant = (name: string, value: object, type = "string") =>
    `export const ${name}: Readonly<Record<string, ${type}>> = ${JSON.stringify(value)};`;
  return [
    "/** Build output: written by `npm run build` and `npm run codegen`, and not in the repository. */",
    `export const TAG = "${TAG}";`,
    `export const PROXY_SHA256 = "${PROXY_SHA256}";`,
    constant("PAGE_HEADERS", PAGE_HEADERS),
    constant("TEXTS", TEXTS, "readonly { bytes: string; length: number; crc: number }[]"),
    "",
  ].join("\n\n");
}

/** Identifies the texts. */
function computeTag(written: object): string {
  return createHash("sha256").update(JSON.stringify(written)).digest("hex").slice(0, 16);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeFile(
    fileURLToPath(new URL("../../convex/pages/reference/bytes.ts", import.meta.url)),
    buildModule(),
  );
