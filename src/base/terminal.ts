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
  /** Keys are no longer shown nor gathered to lines. Does nothing where the input is no terminal. */
  setRawMode(isRaw: boolean): void
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
  setRawMode(isRaw) {
    if (process.stdin.isTTY) process.stdin.setRawMode(isRaw)
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
      throw error
    })
  },
  hand(command, args, environment) {
    const { status, error } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
    if (error !== undefined) throw error
    return status ?? 1
  },
}
