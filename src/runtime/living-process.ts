import { type Files, hasCode } from '#base/files.ts'

/** A process that may not be our child: its number alone could be another's by now. */
export type LivingProcess = { pid: number; startTicks: string; bootId: string }

export class ProcessTable {
  readonly #files: Files
  #bootId = ''

  private constructor(files: Files) {
    this.#files = files
  }

  static async open(files: Files): Promise<ProcessTable> {
    const table = new ProcessTable(files)
    table.#bootId = ((await files.readTextIfPresent('/proc/sys/kernel/random/boot_id')) ?? '').trim()
    return table
  }

  /** Undefined where it has ended, or cannot be looked at. */
  async find(pid: number): Promise<LivingProcess | undefined> {
    const stat = await this.#stat(pid).catch(() => undefined)
    return stat === undefined ? undefined : { pid, startTicks: stat, bootId: this.#bootId }
  }

  /** Rejects where it cannot be looked at, for want of descriptors say: that is not to be taken for its end. */
  async isAlive({ pid, startTicks, bootId }: LivingProcess): Promise<boolean> {
    return bootId === this.#bootId && (await this.#stat(pid)) === startTicks
  }

  /** When it was started, in the kernel's count; undefined for those that have ended, though nobody may have heard of it. */
  async #stat(pid: number): Promise<string | undefined> {
    const text = await this.#files.readTextIfPresent(`/proc/${pid}/stat`).catch((error: unknown) => {
      // It ended while it was being read.
      if (hasCode(error, 'ESRCH')) return undefined
      throw error
    })
    const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields === undefined || fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  }
}
