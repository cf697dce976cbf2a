/** A pseudo-terminal with a program in it, as somebody who sits there sees it. */
import { type ChildProcess, spawn } from 'node:child_process'

export type TestTerminal = AsyncDisposable & {
  /** What is on the screen: lines that were written over are gone, and so are colours. */
  screen(): string
  /** Resolves when the screen shows it; throws when the program has ended without. */
  shows(expected: RegExp): Promise<void>
  /** `\u0003` is Ctrl-C. */
  type(text: string): void
  readonly ended: Promise<number | null>
}

/** Runs a program, given as in a shell. Waits for `shows` are bounded by the test's own limit. */
export function openTerminal(line: string, environment: NodeJS.ProcessEnv): TestTerminal {
  // With a terminal of its own the program is told of Ctrl-C as it would be.
  // No shell may stand before it: one that waits is told of Ctrl-C too, and some end with 130 whatever the program says.
  const child: ChildProcess = spawn('script', ['-qefc', `exec ${line}`, '/dev/null'], {
    env: { ...environment, TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let written = ''
  let onMore = () => {}
  const hear = (piece: Buffer) => {
    written += piece
    onMore()
  }
  child.stdout?.on('data', hear)
  child.stderr?.on('data', hear)
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      resolve(code)
      onMore()
    })
  })
  let isOver = false
  void ended.then(() => {
    isOver = true
    onMore()
  })
  const screen = () =>
    written
      .split('\n')
      .map((row) => row.replace(/\r$/, '').split('\r').at(-1) ?? '')
      .join('\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal obeys and does not show
      .replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
  return {
    screen,
    async shows(expected) {
      while (!expected.test(screen())) {
        if (isOver) throw new Error(`it ended without ${expected}:\n${screen()}`)
        await new Promise<void>((resolve) => {
          onMore = resolve
        })
      }
    },
    type: (text) => void child.stdin?.write(text),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
