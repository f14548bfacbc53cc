import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import proxyPackage from "../../scripts/proxy/package.json";
import { manifestShape, registryShape } from "../../scripts/kit/registry";
import { connect, fakeService, json, textOf, type FakeService } from "../proxy/support";

/** What `npm run build:kit` gives to clients, used as they would. */

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { name: NAME, version } = proxyPackage;

/** Among the repository's packages, so that the client finds the one it depends on. */
let folder: string;
let service: FakeService;

beforeAll(async () => {
  folder = await mkdtemp(join(ROOT, "node_modules", "kit-"));
  service = await fakeService();
  await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "scripts/kit/main.ts", join(folder, "kit")],
    {
      cwd: ROOT,
    },
  );
}, 600_000);
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const kit = (...path: string[]) => join(folder, "kit", ...path);
const read = async (path: string): Promise<unknown> => JSON.parse(await readFile(kit(path), "utf8"));

describe("the kit", () => {
  test("has the tarball, the registry's entry and the bundle", async () => {
    expect((await readdir(kit())).toSorted()).toEqual(
      [`${NAME}-${version}.mcpb`, `${NAME}-${version}.tgz`, "server.json"].toSorted(),
    );
  });

  test("has the registry's entry, which the registry takes for the package's own", async () => {
    const entry = registryShape.parse(await read("server.json"));
    const { stdout } = await promisify(execFile)("tar", [
      "-xzOf",
      kit(`${NAME}-${version}.tgz`),
      "package/package.json",
    ]);
    // The registry reads `mcpName` in what npm was given, and holds it against the entry's name; npm has names of its own.
    expect(entry).toMatchObject(
      z
        .object({
          name: z
            .string()
            .max(214)
            .regex(/^(?:@[a-z0-9-]+\/)?[a-z0-9][a-z0-9-]*$/),
          version: z.string(),
          mcpName: z.string(),
        })
        .transform((packed) => ({
          name: packed.mcpName,
          version: packed.version,
          packages: [{ registryType: "npm", identifier: packed.name, version: packed.version }],
        }))
        .parse(JSON.parse(stdout)),
    );
    expect(entry.name.split("/")).toEqual([expect.stringMatching(/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/), NAME]);
  });

  test("has a bundle that a desktop client can start, with the address its user has set", async () => {
    const files = unzipSync(new Uint8Array(await readFile(kit(`${NAME}-${version}.mcpb`))));
    const textOfFile = (file: string) => Buffer.from(files[file] ?? []).toString();
    const manifest = manifestShape.parse(JSON.parse(textOfFile("manifest.json")));
    expect(manifest.tools).toHaveLength(19);
    const { command, args, env } = manifest.server.mcp_config;
    expect([command, args, Object.keys(manifest.user_config)]).toEqual([
      "node",
      [`\${__dirname}/${manifest.server.entry_point}`],
      ["service_url"],
    ]);
    expect(env).toEqual({ NOELCLAW_CONVEX_URL: "${user_config.service_url}" });
    const program = join(folder, "proxy.mjs");
    await writeFile(program, textOfFile(manifest.server.entry_point));
    service.answers(json(200, { success: true, stopped: 4 }));
    const started = await connect(program, service.url);
    expect(textOf(await started.call("stop_research", { userId: "alice" }))).toContain("4");
    await started.client.close();
  });
});
