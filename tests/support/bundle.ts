import { fileURLToPath } from "node:url";
import { staleness } from "../../scripts/deploy/sourceStamp";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs before the tests of the bundle: without it they would test the sources, not what is pushed. */
export default async function requireBundle(): Promise<void> {
  const why = await staleness(root, fileURLToPath(new URL("../../.local/bundle", import.meta.url)));
  if (why !== null) throw new Error(`${why}: npm run check:deploy writes it to .local/bundle`);
}
