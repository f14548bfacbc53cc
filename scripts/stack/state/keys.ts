import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { exportJWK, generateKeyPair } from "jose";
import * as z from "zod";
import { parseJson } from "../../json";

const keysShape = z.object({
  /** The service's WALLET_ENCRYPTION_KEY, 64 hex digits; absent with rows of real money, for which the operator has it. */
  walletEncryptionKey: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** The service's MESSENGER_WEBHOOK_SECRET. */
  messengerWebhookSecret: z.string().min(16),
  /** The service's SOCIAL_WEBHOOK_SECRET. */
  socialWebhookSecret: z.string().min(16),
  /** The local token issuer's private key (ES256), as a JWK. */
  issuerKey: z.object({
    kty: z.literal("EC"),
    crv: z.literal("P-256"),
    x: z.string(),
    y: z.string(),
    d: z.string(),
  }),
});

/** The file of an earlier version. */
const keptShape = keysShape.partial();

type StoredKeys = z.infer<typeof keptShape>;

/** The keys a stack makes for itself. */
export type Keys = z.infer<typeof keysShape>;

/** Stored keys that cannot be used, with a remedy. */
export class KeysError extends Error {}

/**
 * The keys stored in `directory`, created at the first call; keys that an earlier version lacks are added.
 * @param options.sealedRows Whether rows are stored that the encryption key seals: then it is never created anew.
 * @param options.master `elsewhere`: the operator has the encryption key, and it must not be stored with the rows.
 * @throws KeysError if the file is damaged, the key of stored rows is missing, or it is stored where it must not be.
 */
export async function keptKeys(
  directory: string,
  options: { sealedRows?: boolean; master?: "here" | "elsewhere" } = {},
): Promise<Keys> {
  const file = fileIn(directory);
  const kept = await readKeys(file);
  const isHere = options.master !== "elsewhere";
  if (!isHere && kept?.walletEncryptionKey !== undefined) {
    throw new KeysError(
      `${file} holds a walletEncryptionKey, and the key of wallets with real money is not to lie beside them: keep it ` +
        "elsewhere as WALLET_ENCRYPTION_KEY, if it seals any, and take it out of the file.",
    );
  }
  const whole = keysShape.safeParse(kept);
  if (whole.success && (kept?.walletEncryptionKey !== undefined || !isHere)) return whole.data;
  if (options.sealedRows === true && kept?.walletEncryptionKey === undefined) {
    const what = kept === null ? `${file} is missing` : `${file} has no walletEncryptionKey`;
    throw new KeysError(
      `${what}, while ${directory} keeps rows that are sealed under it. ${remedy(directory)} An own ` +
        "WALLET_ENCRYPTION_KEY in the settings does as well, if that is what sealed them.",
    );
  }
  await mkdir(directory, { recursive: true });
  const draft = `${file}.${process.pid}`;
  const { walletEncryptionKey, ...others } = await freshKeys();
  const keys = { ...(isHere ? { walletEncryptionKey } : {}), ...others, ...kept };
  await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  if (kept === null) {
    // A link, unlike a rename, never replaces keys that another process has just created.
    await link(draft, file).catch(unless("EEXIST"));
    await unlink(draft);
  } else {
    await rename(draft, file);
  }
  return keysShape.parse(await readKeys(file));
}

/** New keys, stored nowhere. */
export async function freshKeys(): Promise<Keys> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return keysShape.parse({
    walletEncryptionKey: randomBytes(32).toString("hex"),
    messengerWebhookSecret: randomBytes(24).toString("base64url"),
    socialWebhookSecret: randomBytes(24).toString("base64url"),
    issuerKey: await exportJWK(privateKey),
  });
}

/** The keys in `directory`, complete or not; `null` if there are none. Creates nothing. @throws KeysError */
export function storedKeys(directory: string): Promise<StoredKeys | null> {
  return readKeys(fileIn(directory));
}

async function readKeys(file: string): Promise<StoredKeys | null> {
  const text = await readFile(file, "utf8").catch(unless("ENOENT"));
  if (text === undefined) return null;
  const parsed = keptShape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where =
    issue === undefined || issue.path.length === 0 ? "it is no JSON object" : issue.path.join(".");
  throw new KeysError(`${file} is damaged (${where}). ${remedy(path.dirname(file))}`);
}

function remedy(directory: string): string {
  return `Put back a copy of it; without one, delete ${directory} to start afresh: its wallets cannot be opened any more.`;
}

function fileIn(directory: string): string {
  return path.join(directory, "keys.json");
}

function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof Error && "code" in error && error.code === code)) throw error;
    return undefined;
  };
}
