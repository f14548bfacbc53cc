import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import * as z from "zod";
import { ownCompilation, permit2Compilation } from "./compilation";

/** Ties the compiled contracts to their sources, so that no compiler is needed to check that they match. */

export const FINGERPRINT = "fingerprint.json";

const fingerprintShape = z.object({
  /** SHA-256 of the compilers' versions, sources and settings. */
  inputs: z.string(),
  /** SHA-256 of the artifacts. */
  artifacts: z.string(),
});
export type Fingerprint = z.infer<typeof fingerprintShape>;

const packageShape = z.object({ version: z.string() });
const require = createRequire(import.meta.url);

/** The fingerprint of the present sources and of the artifacts in `directory`. */
export async function fingerprintOf(directory: string): Promise<Fingerprint> {
  const inputs = [await ownCompilation(), await permit2Compilation()].map((compilation) => {
    const { version } = packageShape.parse(require(`${compilation.compiler}/package.json`));
    return { version, ...compilation };
  });
  const names = (await readdir(directory)).filter((name) => name !== FINGERPRINT).sort();
  const texts = await Promise.all(names.map((name) => readFile(path.join(directory, name), "utf8")));
  return { inputs: sha256(inputs), artifacts: sha256({ names, texts }) };
}

/** The fingerprint that the build wrote beside the artifacts. */
export async function writtenFingerprint(directory: string): Promise<Fingerprint> {
  return fingerprintShape.parse(JSON.parse(await readFile(path.join(directory, FINGERPRINT), "utf8")));
}

function sha256(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}
