import { parseEnv } from "node:util";
import { bytesToHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { checkVariable, isVariable } from "../convex/lib/env";
import { toChecksum } from "../convex/lib/money/base";

/** The operator's settings: the lines of `.env.local`, and their problems. Messages never contain a value. */

export type Settings = Readonly<Record<string, string | undefined>>;

export type Problem = { name: string; says: string };

/** `auth.config.ts` reads these at every push, which refuses unset ones; these stand for no web application. */
export const AT_PUSH: Readonly<Record<string, string>> = {
  AUTH_ISSUER: "https://auth.invalid",
  AUTH_APPLICATION_ID: "unset",
};

const OF_THE_CLI =
  /^(?:CONVEX_(?:DEPLOYMENT|DEPLOY_KEY|URL|SITE_URL|SELF_HOSTED_URL|SELF_HOSTED_ADMIN_KEY)|(?:VITE|NEXT_PUBLIC|REACT_APP|PUBLIC|EXPO_PUBLIC)_CONVEX_.*)$/;
const OF_THE_STACK = /^(?:(?:API_|PROVIDERS_|CHAIN_)?PORT|LOCAL_STATE_DIR|LOCAL_ENV_FILE)$/;

/** The file with the operator's settings, the same for all commands. */
export function getSettingsFile(): string {
  return process.env.LOCAL_ENV_FILE || ".env.local";
}

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=/;

/** The variables of a settings file. Other lines are dropped: Node would read them as part of the next name. */
export function parseSettings(text: string): Record<string, string | undefined> {
  // Some editors write a byte order mark, which would become part of the first name.
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .filter((line) => ASSIGNMENT.test(line));
  return parseEnv(lines.join("\n"));
}

/** Values as lines of a settings file. None has a line break; one with a quote is quoted by the other kind. */
export function formatSettings(values: Settings): string {
  return Object.entries(values)
    .map(([name, value = ""]) => `${name}=${value.includes('"') ? `'${value}'` : `"${value}"`}\n`)
    .join("");
}

/** Whether the deployment reads a variable of this name. */
export function isOfTheService(name: string): boolean {
  return isVariable(name) || Object.hasOwn(AT_PUSH, name);
}

/** Names that nothing reads. */
export function listUnknownNames(file: Settings): Problem[] {
  return Object.keys(file).flatMap((name) =>
    isOfTheService(name) || OF_THE_CLI.test(name) || OF_THE_STACK.test(name)
      ? []
      : [{ name, says: "is a name that nothing reads: see .env.local.example for the names" }],
  );
}

/** @param isLocal Whether the settings are for a chain on this machine, where test keys are allowed. */
export function listProblems(settings: Settings, isLocal: boolean): Problem[] {
  const given = Object.entries(settings).flatMap(([name, raw = ""]) =>
    raw.trim() !== "" && isOfTheService(name) ? [{ name, value: raw.trim() }] : [],
  );
  const seen = new Map<string, string>();
  return given.flatMap(({ name, value }) => {
    const twin = SECRETS.includes(name) ? seen.get(bare(value)) : undefined;
    if (SECRETS.includes(name)) seen.set(bare(value), name);
    const says =
      findComplaint(name, value, isLocal) ??
      (twin === undefined ? null : `is the same as ${twin}: each needs one of its own`);
    return says === null ? [] : [{ name, says }];
  });
}

const MAKE_ONE = "make one with openssl rand -hex 32";
const ENCRYPTION_KEYS = ["WALLET_ENCRYPTION_KEY", "WALLET_ENCRYPTION_KEY_PREVIOUS"];
const ACCOUNTS = ["X402_RELAYER_PRIVATE_KEY", "ANCHOR_PRIVATE_KEY"];
const CALLERS_SECRETS = [
  "MESSENGER_WEBHOOK_SECRET",
  "MESSENGER_CONNECT_SECRET",
  "SOCIAL_WEBHOOK_SECRET",
  "DEPOSIT_WEBHOOK_SECRET",
];
/** Secrets that the operator generates; one key may serve at two providers. */
const SECRETS = [...ENCRYPTION_KEYS, ...ACCOUNTS, ...CALLERS_SECRETS];

/** A random key of 256 bits is estimated at more than 200. */
const LEAST_KEY_BITS = 128;
const LEAST_SECRET_BITS = 60;

/** An upper estimate of a text's entropy in bits: its different triples, each counted as one more of its characters. */
function guessBits(text: string): number {
  const triples = new Set(Array.from(text, (_, at) => text.slice(at, at + 3)));
  return triples.size * Math.log2(Math.max(1, new Set(text).size));
}

/** A placeholder that was left in place of a value. */
const PLACEHOLDER =
  /^(?:<.*>|\.{3}|…|x{3,}|todo|changeme|change-me|replace[-_ ]?(?:me|with).*|your[-_ ].*)$/i;

/** The problem with one value; `null` if there is none. */
export function findComplaint(name: string, value: string, isLocal = false): string | null {
  if (PLACEHOLDER.test(value)) return "is a placeholder, not a value";
  const form = isVariable(name) ? checkVariable(name, value) : null;
  if (form !== null) return form;
  if (name === "AUTH_ISSUER" && !/^https:\/\/[^\s/]+/.test(value)) return "must be an https address";
  if (ENCRYPTION_KEYS.includes(name) && guessBits(value) < LEAST_KEY_BITS)
    return `is not random enough to protect wallets: ${MAKE_ONE}`;
  if (CALLERS_SECRETS.includes(name) && guessBits(value) < LEAST_SECRET_BITS)
    return `can be guessed, and who guesses it can speak for others: ${MAKE_ONE}`;
  if (ACCOUNTS.includes(name)) {
    const isTest = testAccounts().some(({ key }) => key === value.toLowerCase());
    if (isTest) return isLocal ? null : "is a published test key: anybody can spend its funds";
    if (guessBits(value.slice(2)) < LEAST_KEY_BITS) return "can be guessed: make a new account";
  }
  if (name !== "PLATFORM_WALLET_ADDRESS") return null;
  if (/[a-f]/.test(value) && /[A-F]/.test(value) && toChecksum(value) !== value)
    return "has a wrong checksum: copy it again from the wallet";
  const isTest = testAccounts().some(({ address }) => address.toLowerCase() === value.toLowerCase());
  return isTest && !isLocal ? "is a published test account's: anybody can spend its funds" : null;
}

const bare = (secret: string) => secret.toLowerCase().replace(/^0x/, "");

let accounts: { address: string; key: string }[] | undefined;

/** The accounts of development chains, whose keys are public. */
function testAccounts(): { address: string; key: string }[] {
  accounts ??= Array.from({ length: 20 }, (_, addressIndex) => {
    const words = "test test test test test test test test test test test junk";
    const account = mnemonicToAccount(words, { addressIndex });
    const key = account.getHdKey().privateKey;
    return { address: account.address, key: key === null ? "" : bytesToHex(key) };
  });
  return accounts;
}
