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
 * A client's configuration belongs to the person: it may have comments, a byte order mark, line ends and servers of their
 * own, be a link, and be private. What is entered is entered into its text, and everything else stays as it is.
 */

/** Where in the file a server is entered: under which key, by which name. */
type Place = { file: string; key: string; name: string };

type Entered = {
  changed: boolean;
  /** The file as it was before; `null` where there was none. */
  backup: string | null;
};

const BYTE_ORDER_MARK = "\ufeff";

const fields = z.record(z.string(), z.unknown());
const started = z.looseObject({ command: z.string() });

/** @throws UsageError when the file cannot be read or written, or is not as expected; nothing has been changed then. */
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
    const told = failure.safeParse(error);
    if (!told.success) throw error;
    throw new UsageError(`${file} cannot be changed (${told.data.code})${BY_HAND}`);
  }
}

const failure = z.object({ code: z.string(), syscall: z.string() });
const BY_HAND = ": nothing was changed. Without --write you are shown what to add by hand";

/** The file that is meant: links stay, also those to what is not there yet. */
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
  if (!servers.success) throw new UsageError(`${key} in ${file} is no object${BY_HAND}`);
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
  // Whatever the text was like, a client has to read from it what it read before, and this server.
  const after = { ...before, [key]: { ...servers.data, [name]: expected } };
  if (!isDeepStrictEqual(read(file, body), after))
    throw new UsageError(`${file} is not JSON as expected${BY_HAND}`);
  return mark + body;
}

/** What clients read: JSON, with comments and commas behind the last of a list. */
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

/** In one step, and as private as it was: other servers' secrets may stand in it. */
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
