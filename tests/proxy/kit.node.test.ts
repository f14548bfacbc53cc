import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { expect, onTestFinished, test } from "vitest";
import { bundle } from "../../scripts/proxy/bundle";
import { mcpBundle, registryEntry } from "../../scripts/proxy/kit";

test("the registry's entry and the bundle for desktop clients name the operator's package, and hold the program", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "kit-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "proxy.mjs");
  const { about, builtIn } = await bundle(file);
  const { name, version, mcpName } = about;
  expect(registryEntry(about)).toMatchObject({
    name: mcpName,
    version,
    packages: [{ identifier: name, version, transport: { type: "stdio" } }],
  });
  const program = new Uint8Array(await readFile(file));
  const files = unzipSync(mcpBundle(about, builtIn, program));
  const manifest: unknown = JSON.parse(strFromU8(files["manifest.json"] ?? new Uint8Array()));
  expect(manifest).toMatchObject({
    name,
    version,
    server: { entry_point: "server/proxy.mjs" },
    tools: { length: 19 },
  });
  expect(files["server/proxy.mjs"]).toEqual(program);
});
