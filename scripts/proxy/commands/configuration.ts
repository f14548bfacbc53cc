import {
  chmod,
  copyFile,
  mkdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { applyEdits, modify, parse, type JSONPath, type ParseError } from "jsonc-parser";
import * as z from "zod/mini";
import { UsageError } from "./usage";

/**
 * A client's configuration belongs to the person: it may contain comments, a byte order mark, its own line ends and
 * servers, be a link, and be private. The entry is added to its text, and everything else stays unchanged.
 */

/** Where to enter a server: the file, the key, and the name. */
type Place = { file: string; key: string; name: string };

type Entered = {
  changed: boolean;
  /** A copy of the earlier file; `null` if there was none. */
  backup: string | null;
};

const BYTE_ORDER_MARK = "\ufeff";

const fields = z.record(z.string(), z.unknown());
const started = z.looseObject({ command: z.string() });

/** @throws UsageError if the file cannot be read or written, or has an unexpected form; then nothing was changed. */
export async function enter(place: Place, server: Record<string, unknown>): Promise<Entered> {
  const { file } = place;
  try {
    const target = await behindLinks(file);
    const before = await textOf(target);
    const after = edited(before ?? "", place, server);
    if (after === before) return { changed: false, backup: null };
    await mkdir(dirname(target), { recursive: true });
    const backup = before === null ? null : `${file}.${new Date().toISOString().replace(/\D/g, "")}.backup`;
    if (backup !== null) await copyFile(target, backup);
    await replace(target, after);
    return { changed: true, backup };
  } catch (error) {
    const parsed = failure.safeParse(error);
    if (!parsed.success) throw error;
    throw new UsageError(`${file} cannot be changed (${parsed.data.code})${BY_HAND}`);
  }
}

const failure = z.object({ code: z.string(), syscall: z.string() });
const BY_HAND = ": nothing was changed. Without --write you are shown what to add by hand";

/** The file behind links; links stay, even those to missing files. */
async function behindLinks(file: string): Promise<string> {
  const leadsTo = await readlink(file).catch(() => null);
  if (leadsTo === null) return file;
  return realpath(file).catch(() => resolve(dirname(file), leadsTo));
}

async function textOf(file: string): Promise<string | null> {
  const missing = z.object({ code: z.literal("ENOENT") });
  const bytes = await readFile(file).catch((error: unknown) => {
    if (missing.safeParse(error).success) return null;
    throw error;
  });
  if (bytes === null) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`${file} is not text in UTF-8${BY_HAND}`);
  }
}

function edited(text: string, { file, key, name }: Place, server: Record<string, unknown>): string {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const given = text.slice(mark.length);
  const blank = given.trim() === "";
  let body = blank ? "{}\n" : given;
  const before = read(file, body);
  const servers = fields.safeParse(before[key] ?? {});
  if (!servers.success) throw new UsageError(`${key} in ${file} is not an object${BY_HAND}`);
  const formattingOptions = styleOf(given);
  const set = (path: JSONPath, value: unknown) => {
    body = applyEdits(body, modify(body, path, value, { formattingOptions }));
  };

  const own = started.safeParse(servers.data[name]);
  const { env, ...rest } = server;
  const newEnv = env === undefined ? undefined : fields.parse(env);
  const ownEnv = fields.safeParse(own.data?.["env"]);
  const expected = own.success
    ? { ...own.data, ...rest, ...(newEnv === undefined ? {} : { env: { ...ownEnv.data, ...newEnv } }) }
    : server;
  if (isDeepStrictEqual(servers.data[name], expected)) return text;
  if (!own.success)
    set(before[key] === null ? [key] : [key, name], before[key] === null ? { [name]: server } : server);
  else {
    for (const [field, value] of Object.entries(rest)) set([key, name, field], value);
    if (newEnv !== undefined && !ownEnv.success) set([key, name, "env"], newEnv);
    else for (const [field, value] of Object.entries(newEnv ?? {})) set([key, name, "env", field], value);
  }
  // Whatever the text was like, a client must find the old entries and this server in it.
  const after = { ...before, [key]: { ...servers.data, [name]: expected } };
  if (!isDeepStrictEqual(read(file, body), after))
    throw new UsageError(`${file} is not JSON as expected${BY_HAND}`);
  return mark + body;
}

/** The form that clients read: JSON, with comments and trailing commas. */
function read(file: string, text: string): Record<string, unknown> {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  const object = fields.safeParse(value);
  if (first === undefined && object.success && !Array.isArray(value)) return object.data;
  const line = first === undefined ? 1 : text.slice(0, first.offset).split("\n").length;
  throw new UsageError(`${file} is not JSON as expected in line ${line}${BY_HAND}`);
}

function styleOf(text: string) {
  const [, indent = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  return {
    insertSpaces: !indent.includes("\t"),
    tabSize: indent.includes("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

/** In one step, and with the same permissions: it may contain other servers' secrets. */
async function replace(file: string, text: string): Promise<void> {
  const there = await stat(file).catch(() => null);
  const draft = `${file}.${process.pid}.draft`;
  try {
    await writeFile(draft, text, there === null ? {} : { mode: 0o600 });
    if (there !== null) await chmod(draft, there.mode & 0o777);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
