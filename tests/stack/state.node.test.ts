import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { freshKeys, KeysError, keptKeys } from "../../scripts/stack/state/keys";
import { StateError } from "../../scripts/stack/state/persistence";
import { openStateDirectory } from "../../scripts/stack/state/stateDirectory";
import { ranHere } from "../support/commands";
import { freePorts, startMain, temporaryDirectory } from "./processes";

/** What a start says about settings and kept state that cannot be used. */

const MAIN = "scripts/stack/main.ts";

const simulated = ["LLM gateway", "chain"] as const;

async function opened(directory: string, providers: Parameters<typeof openStateDirectory>[1]) {
  const said: string[] = [];
  const rows = await openStateDirectory(directory, providers, (line) => said.push(line));
  return { rows, said: said.join("\n") };
}

describe("settings", () => {
  test("with bad values are refused, each named with what it should be", async () => {
    const directory = await temporaryDirectory();
    const LOCAL_ENV_FILE = path.join(directory, ".env.local");
    await writeFile(LOCAL_ENV_FILE, "WALLET_ENCRYPTION_KEY=tooshort\nLLM_KEY=x\nCONFIRMATIONS=many\n");
    const { code, stderr } = await ranHere(MAIN, ["--ephemeral"], {
      env: {
        ...freePorts,
        LOCAL_ENV_FILE,
        SWAP_API_URL: "nowhere",
        SENTIMENT_API_KY: "xai-0123456789",
      },
    });
    expect(code).toBe(1);
    expect(stderr.split("\n")).toEqual([
      `${LOCAL_ENV_FILE}, line 1: WALLET_ENCRYPTION_KEY must be 64 hex digits or base64 of 32 bytes`,
      `${LOCAL_ENV_FILE}, line 2: LLM_KEY is a name that nothing reads: did you mean LLM_GATEWAY_API_KEY?`,
      `${LOCAL_ENV_FILE}, line 3: CONFIRMATIONS must be a whole number from 1 to 1000`,
      "environment: SWAP_API_URL must be an http(s) address",
      "environment: SENTIMENT_API_KY is a name that nothing reads: did you mean SENTIMENT_API_KEY?",
      "Fix these lines, or leave them empty.",
      "",
    ]);
  });

  test("that nothing reads are told, and make no provider a real one", async () => {
    const directory = await temporaryDirectory();
    const LOCAL_ENV_FILE = path.join(directory, ".env.local");
    await writeFile(LOCAL_ENV_FILE, "LLM_API_KEY=bk_0123456789\ngarbage\nMESSENGER_CHAT_ID=4711\n");
    const stack = startMain(["--ephemeral"], {
      LOCAL_ENV_FILE,
      MESSENGER_CHATID: "4711",
      TERM_FEATURES: "x",
    });
    const [, real] = await stack.output(/real providers: (.*)/);
    expect(real).toBe("none: all are simulated");
    await stack.output(/; CHAIN_PORT=\d+ npm run fund -- 0x…\n/);
    await stack.output(/^ {2}PROVIDERS_PORT=\d+ npm run doctor$/m);
    stack.kill("SIGTERM");
    expect((await stack.ended).stderr.split("\n")).toEqual([
      `${LOCAL_ENV_FILE}, line 1: LLM_API_KEY is a name that nothing reads: did you mean LLM_GATEWAY_API_KEY?`,
      `${LOCAL_ENV_FILE}: line 2 is neither NAME=value nor a # comment`,
      "environment: MESSENGER_CHATID is a name that nothing reads: did you mean MESSENGER_CHAT_ID?",
      "MESSENGER_CHAT_ID has no effect without MESSENGER_BOT_TOKEN: the messenger is simulated",
      "",
    ]);
  });
});

describe("kept keys", () => {
  test.each([
    ["no JSON", "{", /keys\.json is damaged \(it is no JSON object\)\. Put back a copy of it/],
    ["without the encryption key", '{"x":1}', /keys\.json has no walletEncryptionKey, while .* keeps rows/],
    ["missing", null, /keys\.json is missing, while .* keeps rows/],
  ])("that are %s are refused while rows are kept, and stay as they are", async (_name, text, message) => {
    const directory = await temporaryDirectory();
    const file = path.join(directory, "keys.json");
    if (text !== null) await writeFile(file, text);
    const failure = await keptKeys(directory, { sealedRows: true }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(KeysError);
    expect(String(failure)).toMatch(message);
    expect(await readFile(file, "utf8").catch(() => null)).toBe(text);
  });

  test("are made where no rows are kept yet, or the operator's own key seals them", async () => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, "keys.json"), '{"x":1}');
    expect((await keptKeys(directory)).walletEncryptionKey).toMatch(/^[0-9a-f]{64}$/);
  });

  test("that are damaged end a start in one line", async () => {
    const LOCAL_STATE_DIR = await temporaryDirectory();
    await writeFile(
      path.join(LOCAL_STATE_DIR, "keys.json"),
      JSON.stringify({ ...(await freshKeys()), issuerKey: 7 }),
    );
    const { code, stderr } = await ranHere(MAIN, [], { env: { ...freePorts, LOCAL_STATE_DIR } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^\S+keys\.json is damaged \(issuerKey\)\. .*\n$/);
  });
});

describe("the state directory", () => {
  test("that cannot be written ends a start in one line with what to do", async () => {
    const directory = await temporaryDirectory();
    await writeFile(path.join(directory, "file"), "");
    // The second is there, and nothing can be made in it.
    for (const LOCAL_STATE_DIR of [path.join(directory, "file", "state"), "/proc/state"]) {
      const { code, stderr } = await ranHere(MAIN, [], { env: { ...freePorts, LOCAL_STATE_DIR } });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^The state directory \S+ cannot be written \(E[A-Z]+\): set LOCAL_STATE_DIR .*--ephemeral\.\n$/,
      );
    }
  });

  test("with rows and without their chain is told, with what to do", async () => {
    const directory = await temporaryDirectory();
    expect(await opened(directory, { simulated, real: [] })).toEqual({ rows: false, said: "" });
    await writeFile(path.join(directory, "data.json"), "{}");
    const { rows, said } = await opened(directory, { simulated, real: [] });
    expect(rows).toBe(true);
    expect(said).toMatch(
      /chain\.json is missing while rows are kept: the chain starts afresh.* Put the file back/,
    );
    await writeFile(path.join(directory, "chain.json"), "{}");
    expect(await opened(directory, { simulated, real: [] })).toEqual({ rows: true, said: "" });
  });

  test("with rows of a simulated gateway is told at every start with a real one", async () => {
    const directory = await temporaryDirectory();
    await opened(directory, { simulated, real: [] });
    await writeFile(path.join(directory, "data.json"), "{}");
    await writeFile(path.join(directory, "chain.json"), "{}");
    for (const start of [1, 2]) {
      const { said } = await opened(directory, { simulated: ["chain"], real: ["LLM gateway"] });
      expect([start, said]).toEqual([start, expect.stringContaining("answers of the simulated LLM gateway")]);
      expect(said).toContain("Set LOCAL_STATE_DIR to another directory");
    }
  });

  test("whose rows belong to another chain is refused: their transactions would be sent there", async () => {
    const directory = await temporaryDirectory();
    await opened(directory, { simulated, real: [] });
    await writeFile(path.join(directory, "data.json"), "{}");
    await writeFile(path.join(directory, "chain.json"), "{}");
    const real = { simulated: ["LLM gateway"] as const, real: ["chain"] as const };
    await expect(opened(directory, real)).rejects.toThrow(StateError);
    await expect(opened(directory, real)).rejects.toThrow("belong to the local chain");
    // Of a version that kept no account of it.
    await rm(path.join(directory, "stack.json"));
    await expect(opened(directory, real)).rejects.toThrow("belong to the local chain");
  });
});
