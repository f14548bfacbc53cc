import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect } from "vitest";
import { JournalError, openJournal, readJournal } from "../../scripts/stack/state/journal";
import { keptKeys } from "../../scripts/stack/state/keys";
import { chain, test, useChain } from "../support/chain/chain";
import { killRounds } from "./kills";
import { ranHere } from "../support/commands";
import { freePorts, startMain, STRONG_KEY, temporaryDirectory } from "./processes";

/** The local stack with a chain that is real to it: it holds money on purpose, and then loses nothing. */

useChain();

const REAL = { CHAIN_RPC_URL: "https://rpc.test/key" };
const FLAG = "--hold-real-money";

describe("a real chain", () => {
  test.for([
    [[], REAL, /--hold-real-money/],
    [["--ephemeral"], REAL, /--hold-real-money/],
    [[FLAG], REAL, /needs WALLET_ENCRYPTION_KEY/],
    [[FLAG, "--ephemeral"], { ...REAL, WALLET_ENCRYPTION_KEY: STRONG_KEY }, /leave --ephemeral out/],
    [[FLAG], { WALLET_ENCRYPTION_KEY: STRONG_KEY }, /set CHAIN_RPC_URL/],
  ] as const)("with %j and %j is refused in one line that says how", async ([args, env, expected]) => {
    const LOCAL_STATE_DIR = await temporaryDirectory();
    const { code, stderr } = await ranHere("scripts/stack/main.ts", args, {
      env: { ...freePorts, LOCAL_STATE_DIR, ...env },
    });
    expect([code, stderr]).toEqual([1, expect.stringMatching(expected)]);
    expect(stderr.trimEnd()).not.toMatch(/\n|rpc\.test/);
  });

  test("is held by one stack at a time, which keeps the encryption key elsewhere", async () => {
    const LOCAL_STATE_DIR = await temporaryDirectory();
    const env = {
      CHAIN_RPC_URL: chain.url,
      WALLET_ENCRYPTION_KEY: STRONG_KEY,
      TICKER_API_URL: "http://127.0.0.1:9",
      EVIDENCE_API_URL: "http://127.0.0.1:9",
      LOCAL_STATE_DIR,
    };
    const first = startMain([FLAG, "--json"], env);
    await first.output(/^\{.*\}$/m);
    expect(await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8")).not.toContain(
      "walletEncryptionKey",
    );
    const second = await startMain([FLAG, "--json"], env).ended;
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringContaining("is in use: stop the other stack"),
    ]);
    first.kill("SIGTERM");
    expect((await first.ended).code).toBe(0);
  });

  test("does not take a key that lies beside the rows", async () => {
    const directory = await temporaryDirectory();
    await keptKeys(directory);
    await expect(keptKeys(directory, { master: "elsewhere" })).rejects.toThrow(
      "the key of wallets with real money is not to lie beside them",
    );
  });
});

test("kill -9 at a random moment loses no key and pays nothing twice", async () => {
  const toll = await killRounds(chain, { rounds: 1, seed: 7, settled: false });
  expect(toll.orders).toBeGreaterThan(0);
});

describe("the log", () => {
  const change = (id: string) => [
    { part: "", id, row: { table: "notes", document: { _id: id, _creationTime: 1, text: id } } },
  ];

  /** Three commits, in two files. */
  async function written(): Promise<{ directory: string; files: string[] }> {
    const directory = await temporaryDirectory();
    const journal = await openJournal(directory, 0);
    journal.note(change("1"));
    await journal.synced();
    const { kept } = await journal.turn((sequence) => sequence);
    expect(kept).toBe(1);
    journal.note(change("2"));
    journal.note(change("3"));
    await journal.close();
    const files = (await readdir(directory)).sort().map((name) => path.join(directory, name));
    return { directory, files };
  }
  const sequences = async (directory: string, after = 0) =>
    (await readJournal(directory, after)).map(({ sequence }) => sequence);

  test("holds every commit, in order, behind the one that a snapshot ends with", async () => {
    const { directory } = await written();
    expect(await sequences(directory)).toEqual([1, 2, 3]);
    expect(await sequences(directory, 2)).toEqual([3]);
  });

  test("is read up to a line that a crash has cut off, and goes on in another file behind that", async () => {
    const { directory, files } = await written();
    const [, last = ""] = files;
    const text = await readFile(last, "utf8");
    await writeFile(last, text.slice(0, -9));
    expect(await sequences(directory)).toEqual([1, 2]);
    const next = await openJournal(directory, 2);
    next.note(change("4"));
    await next.close();
    expect(await sequences(directory)).toEqual([1, 2, 3]);
  });

  test("is refused where a line in the middle is damaged, or a commit is missing", async () => {
    const { directory, files } = await written();
    const [first = "", last = ""] = files;
    const text = await readFile(last, "utf8");
    await writeFile(last, text.replace('"text":"2"', '"text":"5"'));
    await expect(sequences(directory)).rejects.toThrow(JournalError);
    await writeFile(last, text);
    await writeFile(first, "");
    await expect(sequences(directory)).rejects.toThrow("commit 1 is missing");
    await appendFile(first, text);
    await expect(sequences(directory)).rejects.toThrow("commit 1 is missing");
  });
});
