import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Which sources a bundle was made of, noted beside it: what is tested against it must be what it holds. */

const STAMP = "sources.sha256";

/** Notes in `folder` that its bundle is of the sources in `root` as they are now. */
export async function stamp(root: string, folder: string): Promise<void> {
  await writeFile(join(folder, STAMP), await digestOf(root));
}

/** @returns Why the bundle in `folder` is not of the sources in `root`; null when it is. */
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
