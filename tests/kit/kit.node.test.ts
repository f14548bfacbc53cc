import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import proxyPackage from "../../scripts/proxy/package.json";
import { manifestShape, registryShape } from "../../scripts/kit/registry";
import { connect, fakeService, json, textOf, type FakeService } from "../proxy/support";

/** What `npm run build:kit` gives to clients, used as they would. */

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { name: NAME, version } = proxyPackage;
const CLIENT = `${NAME}-client-${version}.tgz`;

/** Among the repository's packages, so that the client finds the one it depends on. */
let folder: string;
let service: FakeService;

beforeAll(async () => {
  folder = await mkdtemp(join(ROOT, "node_modules", "kit-"));
  service = await fakeService();
  await promisify(execFile)(process.execPath, ["--import", "tsx", "scripts/kit/main.ts", join(folder, "kit")], {
    cwd: ROOT,
  });
  await mkdir(join(folder, "client"));
  const unpacked = ["-xzf", kit(CLIENT), "--strip-components", "1", "-C", join(folder, "client")];
  await promisify(execFile)("tar", unpacked);
}, 600_000);
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const kit = (...path: string[]) => join(folder, "kit", ...path);
const read = async (path: string): Promise<unknown> => JSON.parse(await readFile(kit(path), "utf8"));

describe("the kit", () => {
  test("has the tarball, the registry's entry, the bundle and the client", async () => {
    expect((await readdir(kit())).toSorted()).toEqual(
      [CLIENT, `${NAME}-${version}.mcpb`, `${NAME}-${version}.tgz`, "server.json"].toSorted(),
    );
    expect((await readdir(join(folder, "client"))).toSorted()).toEqual(
      ["LICENSE", "api.d.ts", "index.d.ts", "index.js", "package.json", "web.d.ts", "web.js"].toSorted(),
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

const TEN_LINES = `import { createService, type Schemas } from "./client/index.js";
const service = createService("https://some.convex.site");
const { data: market } = await service.GET("/mcp/market", { params: { query: { token: "SOL" } } });
const bitcoin: number | undefined = market?.keyPrices.bitcoin.usd;
const order: Schemas["McpDefiSwapInput"] = { userId: "alice", fromToken: "ETH", toToken: "USDC", amount: "1" };
const { data: swap, error, response } = await service.POST("/mcp/defi/swap", { body: order });
if (error !== undefined) throw new Error(\`\${response.status}: \${error.error}\`);
const status: "confirmed" | "submitted" | "failed" | string | undefined = swap.status;
const { data: latest } = await service.GET("/mcp/signals/latest", { params: { query: { token: "BTC" } } });
console.log(bitcoin, status, latest?.signals.BTC?.entry);
`;

const WEB_LINES = `import type { FunctionArgs, FunctionReturnType } from "convex/server";
import { api } from "./client/web.js";
const args: FunctionArgs<typeof api.account.claims.claimUserId> = { userId: "alice" };
type Claimed = FunctionReturnType<typeof api.account.claims.claimUserId>;
export const until = (claimed: Claimed): number | null => claimed.pendingUntil;
export const asked: string = args.userId;
`;

const WRONG = [
  ['fromToken: "ETH"', 'fromToken: "DOGE"'],
  ['"/mcp/market"', '"/mcp/markets"'],
  ["keyPrices.bitcoin", "keyPrices.dogecoin"],
  ['amount: "1"', "amount: 1"],
] as const;

const SOURCES: Record<string, string> = {
  "ten.mts": TEN_LINES,
  "web.mts": WEB_LINES,
  "wrongWeb.mts": WEB_LINES.replace("pendingUntil", "pending"),
  ...Object.fromEntries(
    WRONG.map(([right, wrong], at) => [`wrong${at}.mts`, TEN_LINES.replace(right, wrong)]),
  ),
};

/** What the compiler says of each source. */
async function compiled(): Promise<Record<string, string[]>> {
  const files = Object.keys(SOURCES).map((name) => join(folder, name));
  for (const [name, text] of Object.entries(SOURCES)) await writeFile(join(folder, name), text);
  const program = ts.createProgram(files, {
    strict: true,
    // Not the platform's own types, which are not ours to check.
    skipDefaultLibCheck: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
  });
  const found: Record<string, string[]> = {};
  for (const { file, messageText } of ts.getPreEmitDiagnostics(program)) {
    const name = file === undefined ? "" : basename(file.fileName);
    found[name] = [...(found[name] ?? []), ts.flattenDiagnosticMessageText(messageText, " ")];
  }
  return found;
}

describe("the typed client", () => {
  test(
    "lets ten lines of TypeScript through, and refuses what there is not",
    { timeout: 600_000 },
    async () => {
      const problems = await compiled();
      // Nothing is wrong with the right ones, with the types themselves, or with what those import.
      const wrong = [...WRONG.map((_, at) => `wrong${at}.mts`), "wrongWeb.mts"];
      expect(Object.keys(problems).toSorted()).toEqual(wrong.toSorted());
    },
  );

  test("asks the service", async () => {
    const loaded: unknown = await import(
      /* @vite-ignore */ pathToFileURL(join(folder, "client", "index.js")).href
    );
    const { createService } = clientShape.parse(loaded);
    service.answers(json(200, { status: "ok" }));
    expect(await createService(service.url).GET("/health")).toMatchObject({ data: { status: "ok" } });
    expect(service.received.map(({ method, path }) => [method, path])).toEqual([["GET", "/health"]]);
  });
  const asking = z.custom<(path: string) => Promise<unknown>>((value) => typeof value === "function");
  const clientShape = z.object({
    createService: z.custom<(url: string) => { GET: z.output<typeof asking> }>(
      (value) => typeof value === "function",
    ),
  });

  test("has the web application's functions, whose arguments and results the compiler has checked", async () => {
    const declared = await readFile(join(folder, "client", "web.d.ts"), "utf8");
    expect(declared.match(/FunctionReference</g)?.length).toBeGreaterThan(30);
  });
});
