/** Shows the progress of a measurement: a changing line on stderr, apart from the figures. */
export type Progress = (what: string) => void;

/** Overwrites its line on a terminal, and writes one line after another elsewhere. */
export function createProgress(stream: NodeJS.WriteStream = process.stderr): {
  show: (line: string) => void;
  clear: () => void;
} {
  const startedAt = performance.now();
  let last = "";
  return {
    show: (line) => {
      if (line === last) return;
      last = line;
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
      const text = `${seconds.padStart(4)} s  ${line}`;
      stream.write(stream.isTTY ? `\r\u001b[2K${text}` : `${text}\n`);
    },
    clear: () => {
      if (stream.isTTY && last !== "") stream.write("\r\u001b[2K");
      last = "";
    },
  };
}
