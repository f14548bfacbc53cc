import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Records from which sources a bundle was made: tests against it must test the present sources. */

const STAMP = "sources.sha256";

/** Records in `folder` that its bundle was made from the present sources in `root`. */
export async function stamp(root: string, folder: string): Promise<void> {
  await writeFile(join(folder, STAMP), await digestOf(root));
}

/** @returns Why the bundle in `folder` does not match the sources in `root`; null if it does. */
export async function staleness(root: string, folder: string): Promise<string | null> {
  const noted = await readFile(join(folder, STAMP), "utf8").catch(() => null);
  if (noted === null) return "There is no bundle";
  return noted === (await digestOf(root)) ? null : "The bundle is not of the sources as they are now";
}

/** Of every source below `convex/`, and of the versions of what they import. */
async function digestOf(root: string): Promise<string> {
  const names = await readdir(join(root, "convex"), { recursive: true });
  const sources = names.filter((name) => /\.[jt]s$/.test(name)).map((name) => join("convex", name));
  const hash = createHash("sha256");
  for (const name of [...sources.sort(), "package-lock.json"]) {
    const text = await readFile(join(root, name), "utf8");
    hash.update(`${name} ${text.length}\n${text}`);
  }
  return hash.digest("hex");
}
