/** The terminal, or the pipes, that a program talks to its user through. */
import { spawnSync } from 'node:child_process'

export type Terminal = {
  readonly inputIsTerminal: boolean
  readonly outputIsTerminal: boolean
  readonly columns: number
  readonly rows: number
  write(text: string | Uint8Array): void
  complain(text: string): void
  /** All of the standard input. */
  readAll(): Promise<Uint8Array>
  /** The standard input as it comes; keys one by one in raw mode. */
  input(): AsyncIterable<Uint8Array>
  /**
   * Keys are no longer shown nor gathered to lines; where it is transparent, line breaks of the output are not changed, either. Does
   * nothing where the input is no terminal.
   */
  setRawMode(isRaw: boolean, options?: { isTransparent?: boolean }): void
  onResize(callback: () => void): Disposable
  onInterrupt(callback: () => void): void
  /** Runs a program that talks to the user itself: an editor, a pager. Returns its exit code; throws where it cannot be started. */
  hand(command: string, args: readonly string[], environment?: Record<string, string>): number
}

export const thisTerminal: Terminal = {
  get inputIsTerminal() {
    return process.stdin.isTTY === true
  },
  get outputIsTerminal() {
    return process.stdout.isTTY === true
  },
  get columns() {
    return process.stdout.columns ?? 80
  },
  get rows() {
    return process.stdout.rows ?? 24
  },
  write(text) {
    process.stdout.write(text)
  },
  complain(text) {
    process.stderr.write(text)
  },
  async readAll() {
    const pieces: Uint8Array[] = []
    for await (const piece of process.stdin as AsyncIterable<Uint8Array>) pieces.push(piece)
    return Buffer.concat(pieces)
  },
  input: () => process.stdin as AsyncIterable<Uint8Array>,
  setRawMode(isRaw, { isTransparent = false } = {}) {
    if (process.stdin.isTTY) process.stdin.setRawMode(isRaw)
    // Node leaves line breaks of the output as they are for programs of its own; whoever runs elsewhere makes its own.
    if (process.stdin.isTTY && isRaw && isTransparent) spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
    if (!isRaw) process.stdin.unref()
  },
  onResize(callback) {
    process.stdout.on('resize', callback)
    return { [Symbol.dispose]: () => void process.stdout.off('resize', callback) }
  },
  onInterrupt(callback) {
    let isFirst = true
    process.on('SIGINT', () => {
      // Who asks twice does not want to wait for anything.
      if (!isFirst) process.exit(130)
      isFirst = false
      callback()
    })
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      // The reader of the pipe has gone: nobody wants the rest.
      if (error.code === 'EPIPE') process.exit(141)
      // A disk that is full, for one: what was to be read there is not whole.
      process.stderr.write(`error: write /dev/stdout: ${error.code === 'ENOSPC' ? 'no space left on device' : error.message}\n`)
      process.exit(1)
    })
  },
  hand(command, args, environment) {
    const { status, error } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
    if (error !== undefined) throw error
    return status ?? 1
  },
}

/** What a user, the system or a terminal that is closed ends a program with. */
export type EndingSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** On the signal the process ends: with this exit code, or as if nobody had listened for it. */
export function endOn(signal: EndingSignal, how: number | 'by the signal'): void {
  process.on(signal, () => {
    if (typeof how === 'number') process.exit(how)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** Resolves when all that was written has left the process: what a slow reader of a pipe has not taken is lost at its end otherwise. */
export async function flushOutput(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) =>
      stream.destroyed ? undefined : new Promise<void>((resolve) => void stream.write('', () => resolve())),
    ),
  )
}
