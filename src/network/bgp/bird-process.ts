/** BIRD on a node: started where it does not run, told of changes while it does; it outlives us, and routes outlive it. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'

export type BirdOptions = {
  /** Its configuration, socket and log. */
  directory: string
  files: Files
  processes: Processes
  clock: Clock
  /** A network namespace other than the process's own. */
  namespace?: string | undefined
}

const stopTimeoutMs = 5000

export class Bird {
  readonly #options: BirdOptions
  readonly #configuration: string
  readonly #socket: string
  readonly #pidFile: string

  constructor(options: BirdOptions) {
    this.#options = options
    this.#configuration = join(options.directory, 'bird.conf')
    this.#socket = join(options.directory, 'bird.ctl')
    this.#pidFile = join(options.directory, 'bird.pid')
  }

  /** Does nothing where it runs and was told the same before. */
  async tell(configuration: string): Promise<void> {
    const { files, directory } = this.#options
    const isSame = (await files.readTextIfPresent(this.#configuration)) === configuration
    const pid = await this.#runningPid()
    if (isSame && pid !== undefined) return
    await files.makeDirectory(directory)
    await files.write(this.#configuration, configuration)
    if (pid === undefined) await this.#start()
    else await this.#run('birdc', ['-s', this.#socket, 'configure'])
  }

  async isRunning(): Promise<boolean> {
    return (await this.#runningPid()) !== undefined
  }

  /** Takes its routes away too. */
  async stop(): Promise<void> {
    const { processes, clock, files } = this.#options
    const pid = await this.#runningPid()
    if (pid !== undefined) {
      processes.kill(pid, 'SIGTERM')
      const untilMs = clock.monotonic() + stopTimeoutMs
      while (processes.isAlive(pid)) {
        if (clock.monotonic() > untilMs) processes.kill(pid, 'SIGKILL')
        await clock.sleep(20)
      }
    }
    if ((await files.stat(this.#configuration)) === undefined) return
    for (const family of ['-4', '-6']) await this.#run('ip', [family, 'route', 'flush', 'proto', 'bird']).catch(() => {})
    for (const path of [this.#configuration, this.#socket, this.#pidFile]) await files.remove(path)
  }

  async #start(): Promise<void> {
    const { files, directory, processes } = this.#options
    const output = await files.openForOutput(join(directory, 'bird.log'))
    try {
      const [program, args] = this.#inside('bird', ['-f', '-c', this.#configuration, '-s', this.#socket])
      const child = await processes.start(program, args, { detached: true, output: output.descriptor }).catch((error: unknown) => {
        throw new Error('--pod-network bgp needs the program bird (Debian: apt install bird2)', { cause: error })
      })
      await files.write(this.#pidFile, `${child.pid}\n`)
    } finally {
      await output.close()
    }
  }

  async #runningPid(): Promise<number | undefined> {
    const { files, processes } = this.#options
    const pid = Number(await files.readTextIfPresent(this.#pidFile))
    if (!pid || !processes.isAlive(pid)) return undefined
    // Numbers of processes are given again.
    const words = ((await files.readTextIfPresent(`/proc/${pid}/cmdline`).catch(() => '')) ?? '').split('\0')
    return words.includes(this.#configuration) ? pid : undefined
  }

  async #run(program: string, args: readonly string[]): Promise<void> {
    const { exitCode, stdout, stderr } = await this.#options.processes.run(...this.#inside(program, args))
    if (exitCode !== 0 || /syntax error/i.test(stdout)) throw new Error(`${program} ${args.join(' ')}: ${(stderr || stdout).trim()}`)
  }

  #inside(program: string, args: readonly string[]): [string, string[]] {
    const { namespace } = this.#options
    return namespace === undefined ? [program, [...args]] : ['nsenter', [`--net=${namespace}`, '--', program, ...args]]
  }
}
