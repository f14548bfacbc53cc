import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { parseJson } from "../../json";
import { applyVariables } from "../../stack/env";
import { recordingShape, replayFetch, watched, type Recording } from "./exchanges";
import { fault, type Finding } from "../finding";
import { asked } from "../providers";
import { QUESTIONS } from "../questions";

/** Recordings of the doctor, read by the service's own parsers. */

/** As long as keys, and nobody's. */
const KEYS = {
  LLM_GATEWAY_API_KEY: "bk_replayed",
  SENTIMENT_API_KEY: "xai-replayed",
  MESSENGER_BOT_TOKEN: "123456:replayed-replayed-replayed-0000000",
  SWAP_API_KEY: "replayed-key",
};

/** The service's result for one recording, as of its time. */
export async function replayed({ question: subject, at, exchanges }: Recording): Promise<Finding> {
  const question = QUESTIONS.find((one) => one.subject === subject);
  if (question === undefined)
    return fault(subject, "is not a question of this version", "Use the version that recorded it.");
  const { now } = Date;
  const { fetch } = globalThis;
  const restore = applyVariables(KEYS);
  try {
    Date.now = () => at;
    replayFetch(exchanges);
    return (await watched(() => asked(question, at))).value;
  } finally {
    Date.now = now;
    globalThis.fetch = fetch;
    restore();
  }
}

/** A folder or file that is not a recording, in words for the operator. */
export class RecordingError extends Error {}

/** The recordings in a folder, by file name. @throws RecordingError */
export async function recordingsIn(directory: string): Promise<Recording[]> {
  const all = await readdir(directory).catch(() => {
    throw new RecordingError(
      `There is no folder ${directory}: npm run doctor -- --record ${directory} makes it.`,
    );
  });
  const files = all.filter((name) => name.endsWith(".json")).toSorted();
  return Promise.all(
    files.map(async (name) => {
      const parsed = recordingShape.safeParse(parseJson(await readFile(path.join(directory, name), "utf8")));
      if (!parsed.success) throw new RecordingError(`${name} is not a recording of the doctor.`);
      return parsed.data;
    }),
  );
}
