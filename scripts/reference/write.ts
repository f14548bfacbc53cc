import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "fflate";
import { domains } from "../../convex/endpoints";
import { ADDRESS } from "../../convex/ops/reference/texts";
import { openApi } from "./document";
import { page } from "../../convex/ops/reference/page";

/** Writes the API document into a module of `convex/`: making it evaluates every endpoint, which no request should. */

/** The document and the page of a deployment at this address, with the page's headers. */
export function reference(address: string) {
  const document = openApi(domains, address);
  const { html, headers } = page(document);
  return { document: JSON.stringify(document), page: html, headers };
}

/** What the module holds. */
function referenceModule(): string {
  const texts = reference(ADDRESS);
  const packed = gzipSync(Buffer.from(texts.document), { level: 9, mtime: 0 });
  return [
    "/** The API document, gzipped, in base64, and what stands for this version of it and its page. Written by `npm run codegen`. */",
    `export const TAG = "${tagOf(texts)}";`,
    `export const DOCUMENT: string = "${Buffer.from(packed).toString("base64")}";`,
    "",
  ].join("\n\n");
}

/** Stands for the texts: others have another one. */
export function tagOf(texts: ReturnType<typeof reference>): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeFile(
    fileURLToPath(new URL("../../convex/ops/reference/written.ts", import.meta.url)),
    referenceModule(),
  );
