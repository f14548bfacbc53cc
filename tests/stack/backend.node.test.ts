import { cp, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { addressesOf, repository, startMain, temporaryDirectory } from "./processes";

/** `npm start -- --backend`: the platform's own backend, as the Convex CLI fetches and runs it; that CLI is a stand-in here. */

test("runs beside the stand-ins, with the service's settings and no other variable, and leaves nothing", async () => {
  const folder = await temporaryDirectory();
  const cli = path.join(folder, "node_modules/convex");
  await mkdir(path.join(cli, "bin"), { recursive: true });
  await writeFile(path.join(cli, "package.json"), '{"name":"convex","version":"0.0.0","type":"module"}');
  await cp(path.join(repository, "tests/stack/convexCli.mjs"), path.join(cli, "bin/main.js"));
  for (const name of ["convex", "package.json", "tsconfig.json"])
    await symlink(path.join(repository, name), path.join(folder, name));
  const env = { TMPDIR: folder, OTHERS_SECRET: "not to be told" };
  const stack = startMain(["--backend"], { env, cwd: folder });
  const { site, chain } = await addressesOf(stack);
  const set = await (await fetch(`${site}/set`)).text();
  expect(set).toContain(`CHAIN_RPC_URL="${chain}"`);
  expect(set).toMatch(/^WALLET_ENCRYPTION_KEY="[0-9a-f]{64}"$/m);
  expect(set).toContain('AUTH_ISSUER="https://auth.invalid"');
  expect(set).not.toMatch(/OTHERS_SECRET|^PATH=|^CONVEX_|^LOG_LEVEL=/m);
  stack.kill("SIGTERM");
  expect(await stack.ended).toMatchObject({ code: 0 });
  expect((await readdir(folder)).filter((name) => name.startsWith("backend-"))).toEqual([]);
});
