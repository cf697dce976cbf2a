import type { Processes, RunningProcess } from '#base/processes.ts'

export type ShellResult = { exitCode: number /** What it printed, errors included. */; output: string }

/**
 * Runs short programs from a shell that stays. To start a program, a process copies the tables of its memory first: with some hundred
 * megabytes that takes longer than the program itself. The shell is small, and started when it is first needed.
 */
export class ResidentShell {
  readonly #processes: Processes
  #shell: Promise<RunningProcess> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #count = 0
  readonly #longestMs: number

  /** `longestMs`: what takes longer is given up, and the shell with it. */
  constructor(processes: Processes, { longestMs = 120_000 }: { longestMs?: number } = {}) {
    this.#processes = processes
    this.#longestMs = longestMs
  }

  /** One after the other. Rejects where the shell cannot be had, or ends meanwhile; the next call starts another. */
  run(words: readonly string[], input: string): Promise<ShellResult> {
    const result = this.#last.then(() => this.#run(words, input))
    // Whoever gave the command gets the failure; the next one only waits for its end.
    this.#last = result.catch(() => {})
    return result
  }

  /** The next call starts another. */
  close(): void {
    void this.#shell?.then((shell) => {
      shell.stdin?.end()
      shell.kill()
    })
    this.#shell = undefined
  }

  /** One that has ended between two calls has nobody who hears of it: it would never answer. */
  async #living(): Promise<{ shell: RunningProcess; starting: Promise<RunningProcess> }> {
    for (;;) {
      this.#shell ??= this.#start()
      const starting = this.#shell
      const shell = await starting.catch((error: unknown) => {
        this.#shell = undefined
        throw error
      })
      const { stdin, stdout } = shell
      if (!stdin?.destroyed && !stdout?.readableEnded && !stdout?.destroyed) return { shell, starting }
      if (this.#shell === starting) this.#shell = undefined
    }
  }

  async #start(): Promise<RunningProcess> {
    const shell = await this.#processes.start('sh', [])
    // Its end may be heard of before the write that came too late fails: whoever waited is gone by then.
    shell.stdin?.on('error', () => {})
    return shell
  }

  async #run(words: readonly string[], input: string): Promise<ShellResult> {
    const { shell, starting } = await this.#living()
    const { stdin, stdout } = shell
    // Between calls it keeps nobody from ending.
    shell.hold?.(true)
    if (stdin === null || stdout === null) throw new Error('the shell has no streams')
    // A line that no input has.
    let end = `END-${this.#count++}`
    while (input.includes(end)) end += '-'
    return await new Promise<ShellResult>((resolve, reject) => {
      let output = ''
      const read = (piece: Uint8Array | string) => {
        output += piece
        const found = output.endsWith('\n') ? new RegExp(`(?<=\\n)${end} (\\d+)\\n$`).exec(output) : null
        if (found === null) return
        finish()
        resolve({ exitCode: Number(found[1]), output: output.slice(0, found.index - 1) })
      }
      const gone = () => {
        finish()
        if (this.#shell === starting) this.#shell = undefined
        reject(new Error('the shell has ended'))
      }
      const timer = setTimeout(() => {
        finish()
        if (this.#shell === starting) this.#shell = undefined
        shell.kill('SIGKILL')
        reject(new Error(`${words[0]} has not ended within ${this.#longestMs} ms`))
      }, this.#longestMs)
      const finish = () => {
        clearTimeout(timer)
        shell.hold?.(false)
        stdout.off('data', read)
        stdout.off('end', gone)
        stdin.off('error', gone)
      }
      stdout.on('data', read)
      stdout.on('end', gone)
      stdin.on('error', gone)
      const body = input === '' || input.endsWith('\n') ? input : `${input}\n`
      stdin.write(`${words.map(quoted).join(' ')} 2>&1 <<'${end}'\n${body}${end}\nprintf '\\n%s %s\\n' '${end}' $?\n`)
    })
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`
