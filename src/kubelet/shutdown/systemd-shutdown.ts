/** Shutdowns as systemd tells of them: it waits for whoever holds a lock, as long as its settings allow. */
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Processes, RunningProcess } from '#base/processes.ts'
import type { ShutdownNotice } from '#kubelet/shutdown/node-shutdown.ts'

export type SystemdShutdownOptions = { processes: Processes; files: Files; clock: Clock; logger: Logger; wantedMs: number }

const login = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'] as const
const dropIn = '/etc/systemd/logind.conf.d/99-kubelet.conf'
const reconnectMs = 1000

/** Whether systemd runs this machine. */
export const hasSystemd = async (files: Files): Promise<boolean> => (await files.stat('/run/systemd/system')) !== undefined

export class SystemdShutdown implements ShutdownNotice, Disposable {
  readonly #options: SystemdShutdownOptions
  #holder: RunningProcess | undefined
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: SystemdShutdownOptions) {
    this.#options = options
  }

  async follow(onChange: (isShuttingDown: boolean) => void): Promise<void> {
    await this.#allowTime()
    await this.#hold(onChange)
  }

  /** The lock goes with the program that holds it. */
  release(): void {
    this.#holder?.kill('SIGTERM')
  }

  [Symbol.dispose](): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.release()
  }

  /** systemd waits five seconds unless told otherwise. */
  async #allowTime(): Promise<void> {
    const { processes, files, wantedMs } = this.#options
    const { exitCode, stdout, stderr } = await processes.run('busctl', ['--system', 'get-property', ...login, 'InhibitDelayMaxUSec'])
    if (exitCode !== 0) throw new Error(`failed to ask logind how long a shutdown can be held up: ${stderr.trim()}`)
    const allowedMs = Number(stdout.trim().split(' ')[1]) / 1000
    if (allowedMs >= wantedMs) return
    await files.makeDirectory('/etc/systemd/logind.conf.d', { mode: 0o755 })
    const text = `# Written by the kubelet, so that pods have time to end.\n[Login]\nInhibitDelayMaxSec=${Math.ceil(wantedMs / 1000)}\n`
    await files.write(dropIn, text, { mode: 0o644 })
    await processes.run('systemctl', ['kill', '--signal=SIGHUP', 'systemd-logind.service'])
  }

  /** One program both holds the lock and listens. */
  async #hold(onChange: (isShuttingDown: boolean) => void): Promise<void> {
    const { processes, clock, logger } = this.#options
    const match = `type='signal',interface='${login[2]}',member='PrepareForShutdown'`
    const listener = ['busctl', '--system', `--match=${match}`, '--json=short', 'monitor']
    const lock = ['--what=shutdown', '--mode=delay', '--who=kubelet', '--why=Kubelet needs time to handle node shutdown']
    const holder = await processes.start('systemd-inhibit', [...lock, ...listener], { output: 'pipe' })
    this.#holder = holder
    holder.hold?.(false)
    let rest = ''
    holder.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const isShuttingDown = shutdownIn(line)
        if (isShuttingDown !== undefined) onChange(isShuttingDown)
      }
    })
    void holder.exited.then(() => {
      if (this.#isStopped) return
      // It was let go, or has died: the next shutdown is to be heard of as well.
      this.#timer = clock.after(reconnectMs, () => {
        this.#hold(onChange).catch((error: unknown) => logger.warn('failed to watch for node shutdown', { error: String(error) }))
      })
    })
  }
}

/** Undefined where the line tells of something else. */
function shutdownIn(line: string): boolean | undefined {
  try {
    const { member, payload } = JSON.parse(line) as { member?: string; payload?: { data?: unknown[] } }
    return member === 'PrepareForShutdown' ? payload?.data?.[0] === true : undefined
  } catch {
    return undefined
  }
}
