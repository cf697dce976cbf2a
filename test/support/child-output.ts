/** What a program writes, in a file that has no name. Nobody reads a pipe while a test waits for another program, and who writes to a full one stands still. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type SpawnedProgram = {
  readonly child: ChildProcess
  /** With its exit code; null where a signal ended it. */
  readonly exited: Promise<number | null>
  /** All that it has written so far. */
  output(): string
  /** Resolves once it has written such a thing; throws when it has ended without, or is killed since it takes too long. */
  writes(expected: RegExp, limitMs: number): Promise<void>
}

/** The program ends with this process at the latest. */
export function spawnProgram(command: string, args: readonly string[], options: SpawnOptions = {}): SpawnedProgram {
  const directory = mkdtempSync(join(tmpdir(), 'tn-output-'))
  // What is appended by several comes one after the other.
  const file = openSync(join(directory, 'output'), 'a+')
  rmSync(directory, { recursive: true })
  const child = spawn(command, args, { ...options, stdio: ['ignore', file, file] })
  let isOver = false
  const exited = new Promise<number | null>((resolve, reject) => {
    child.on('exit', resolve)
    child.on('error', reject)
  })
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  const note = () => {
    isOver = true
    process.off('exit', kill)
  }
  exited.then(note, note)
  const output = () => {
    const bytes = Buffer.alloc(fstatSync(file).size)
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0)).toString()
  }
  return {
    child,
    exited,
    output,
    async writes(expected, limitMs) {
      for (const endMs = performance.now() + limitMs; !expected.test(output()); await sleep(20)) {
        if (isOver && !expected.test(output())) throw new Error(`it ended with ${await exited}:\n${output()}`)
        if (performance.now() > endMs) kill()
      }
    },
  }
}
