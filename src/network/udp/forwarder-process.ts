/** The forwarder of a node as a process of its own: it outlives the node agent, and pods go on reaching each other while no agent runs. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { type PidFile, runningPid, stopByPidFile } from '#base/pid-file.ts'
import type { Processes } from '#base/processes.ts'
import type { ForwarderSettings } from '#network/udp/udp-forwarder.ts'

export type ForwarderProcessOptions = {
  /** Its settings and log. */
  directory: string
  /** What starts it, but for the path of its settings. */
  program: readonly string[]
  files: Files
  processes: Processes
  clock: Clock
  /** A network namespace other than the process's own. */
  namespace?: string | undefined
}

const stopTimeoutMs = 5000

export class ForwarderProcess {
  readonly #options: ForwarderProcessOptions
  readonly #settingsFile: string
  readonly #pidFile: PidFile

  constructor(options: ForwarderProcessOptions) {
    this.#options = options
    this.#settingsFile = join(options.directory, 'udp-forwarder.json')
    this.#pidFile = { path: join(options.directory, 'udp-forwarder.pid'), commandWords: [this.#settingsFile] }
  }

  /** Other nodes are taken up while it runs; another place to listen at, or another device, needs another process. */
  async tell(settings: ForwarderSettings): Promise<void> {
    const { files, directory } = this.#options
    const text = JSON.stringify(settings)
    const before = await files.readTextIfPresent(this.#settingsFile)
    const isRunning = await this.isRunning()
    if (isRunning && before === text) return
    const known = before === undefined ? undefined : (JSON.parse(before) as ForwarderSettings)
    const isSamePlace = known?.device === settings.device && JSON.stringify(known.at) === JSON.stringify(settings.at)
    if (isRunning && !isSamePlace) await this.stop()
    await files.makeDirectory(directory)
    await files.write(this.#settingsFile, text)
    if (!isRunning || !isSamePlace) await this.#start()
  }

  async isRunning(): Promise<boolean> {
    return (await runningPid(this.#pidFile, this.#options)) !== undefined
  }

  async stop(): Promise<void> {
    await stopByPidFile(this.#pidFile, { ...this.#options, timeoutMs: stopTimeoutMs })
    await this.#options.files.remove(this.#settingsFile)
  }

  async #start(): Promise<void> {
    const { files, directory, processes, program, namespace } = this.#options
    const output = await files.openForOutput(join(directory, 'udp-forwarder.log'))
    try {
      const enter = namespace === undefined ? [] : ['nsenter', `--net=${namespace}`, '--']
      const [command = '', ...args] = [...enter, ...program, this.#settingsFile]
      const child = await processes.start(command, args, { detached: true, output: output.descriptor })
      await files.write(this.#pidFile.path, `${child.pid}\n`)
    } finally {
      await output.close()
    }
  }
}
