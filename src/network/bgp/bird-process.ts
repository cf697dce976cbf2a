/** BIRD on a node: started where it does not run, told of changes while it does; it outlives us, and routes outlive it. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { type PidFile, runningPid, stopByPidFile } from '#base/pid-file.ts'
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
  /** What it has taken up: where telling it failed, or we ended before, the configuration is newer. */
  readonly #inForce: string
  readonly #socket: string
  readonly #pidFile: PidFile

  constructor(options: BirdOptions) {
    this.#options = options
    this.#configuration = join(options.directory, 'bird.conf')
    this.#inForce = join(options.directory, 'bird.in-force.conf')
    this.#socket = join(options.directory, 'bird.ctl')
    this.#pidFile = { path: join(options.directory, 'bird.pid'), commandWords: [this.#configuration] }
  }

  /** Does nothing where it runs and was told the same before. */
  async tell(configuration: string): Promise<void> {
    const { files, directory } = this.#options
    const isSame = (await files.readTextIfPresent(this.#inForce)) === configuration
    const isRunning = await this.isRunning()
    if (isSame && isRunning) return
    await files.makeDirectory(directory)
    await files.write(this.#configuration, configuration)
    if (isRunning) await this.#run('birdc', ['-s', this.#socket, 'configure'])
    else await this.#start()
    await files.write(this.#inForce, configuration)
  }

  async isRunning(): Promise<boolean> {
    return (await runningPid(this.#pidFile, this.#options)) !== undefined
  }

  /** Takes its routes away too. */
  async stop(): Promise<void> {
    const { files } = this.#options
    await stopByPidFile(this.#pidFile, { ...this.#options, timeoutMs: stopTimeoutMs })
    if ((await files.stat(this.#configuration)) === undefined) return
    // Where the kernel has no such family there are no routes of it.
    for (const family of ['-4', '-6']) await this.#run('ip', [family, 'route', 'flush', 'proto', 'bird']).catch(() => {})
    for (const path of [this.#configuration, this.#inForce, this.#socket]) await files.remove(path)
  }

  async #start(): Promise<void> {
    const { files, directory, processes } = this.#options
    const output = await files.openForOutput(join(directory, 'bird.log'))
    try {
      const [program, args] = this.#inside('bird', ['-f', '-c', this.#configuration, '-s', this.#socket])
      const child = await processes.start(program, args, { detached: true, output: output.descriptor }).catch((error: unknown) => {
        throw new Error('--pod-network bgp needs the program bird (Debian: apt install bird2)', { cause: error })
      })
      await files.write(this.#pidFile.path, `${child.pid}\n`)
    } finally {
      await output.close()
    }
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
