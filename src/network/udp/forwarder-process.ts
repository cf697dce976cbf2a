/** The forwarder of a node as a process of its own: it outlives the node agent, and pods go on reaching each other while no agent runs. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
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
  readonly #pidFile: string

  constructor(options: ForwarderProcessOptions) {
    this.#options = options
    this.#settingsFile = join(options.directory, 'udp-forwarder.json')
    this.#pidFile = join(options.directory, 'udp-forwarder.pid')
  }

  /** Other nodes are taken up while it runs; another place to listen at, or another device, needs another process. */
  async tell(settings: ForwarderSettings): Promise<void> {
    const { files, directory } = this.#options
    const text = JSON.stringify(settings)
    const before = await files.readTextIfPresent(this.#settingsFile)
    const isRunning = (await this.#runningPid()) !== undefined
    if (isRunning && before === text) return
    const known = before === undefined ? undefined : (JSON.parse(before) as ForwarderSettings)
    const isSamePlace = known?.device === settings.device && JSON.stringify(known.at) === JSON.stringify(settings.at)
    if (isRunning && !isSamePlace) await this.stop()
    await files.makeDirectory(directory)
    await files.write(this.#settingsFile, text)
    if (!isRunning || !isSamePlace) await this.#start()
  }

  async isRunning(): Promise<boolean> {
    return (await this.#runningPid()) !== undefined
  }

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
    for (const path of [this.#settingsFile, this.#pidFile]) await files.remove(path)
  }

  async #start(): Promise<void> {
    const { files, directory, processes, program, namespace } = this.#options
    const output = await files.openForOutput(join(directory, 'udp-forwarder.log'))
    try {
      const enter = namespace === undefined ? [] : ['nsenter', `--net=${namespace}`, '--']
      const [command = '', ...args] = [...enter, ...program, this.#settingsFile]
      const child = await processes.start(command, args, { detached: true, output: output.descriptor })
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
    return words.includes(this.#settingsFile) ? pid : undefined
  }
}
