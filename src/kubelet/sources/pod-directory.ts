import { join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { append } from '#base/append.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { ChangingPods } from '#kubelet/sources/changing-pods.ts'
import type { PodListener, StaticPodSource } from '#kubelet/sources/pod-source.ts'
import { staticPodsIn } from '#kubelet/sources/static-pod.ts'

export type PodDirectoryOptions = { path: string; node: string; files: Files; clock: Clock; logger: Logger; checkMs?: number }

const usualCheckMs = 20_000
/** Editors write files in several steps. */
const settleMs = 100

/** Of a manifest. */
const largestBytes = 10 << 20

/** Static pods of a directory (or of one file): read when it changes, and now and then in case that went unseen. */
export class PodDirectory implements StaticPodSource {
  readonly #options: PodDirectoryOptions
  readonly #pods = new ChangingPods()
  readonly #seen = new Map<string, { text: string; pods: V1Pod[] }>()
  #watch: Disposable | undefined
  #check: Timer | undefined
  #settling: Timer | undefined
  #reading: Promise<void> = Promise.resolve()

  constructor(options: PodDirectoryOptions) {
    this.#options = options
  }

  /** Resolves when the present files are read. */
  async start(): Promise<void> {
    const { clock, checkMs = usualCheckMs } = this.#options
    await this.#read()
    this.#check = clock.every(checkMs, () => void this.#read())
  }

  stop(): void {
    this.#watch?.[Symbol.dispose]()
    this.#watch = undefined
    this.#check?.cancel()
    this.#settling?.cancel()
  }

  /** Resolves when what is being read is read. */
  settled(): Promise<void> {
    return this.#reading
  }

  follow(listener: PodListener): Disposable {
    return this.#pods.follow(listener)
  }

  #read(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      const { path, logger } = this.#options
      try {
        await this.#readNow()
      } catch (error) {
        logger.warn('failed to read static pod manifests', { path, error: String(error) })
      }
    })
    return this.#reading
  }

  async #readNow(): Promise<void> {
    const { path, files } = this.#options
    const stat = await files.stat(path)
    if (stat === undefined) {
      this.#pods.replace([])
      return
    }
    this.#watch ??= this.#watchOver(path)
    const isDirectory = stat.kind === 'directory'
    const names = isDirectory ? (await files.list(path)).filter((name) => !name.startsWith('.') && !name.endsWith('.draft')) : ['']
    const found: V1Pod[] = []
    for (const name of names) append(found, await this.#podsOf(isDirectory ? join(path, name) : path))
    this.#pods.replace(found)
  }

  /** A file that makes no sense is told once, and the others do not suffer; what it held before runs on until it makes sense again. */
  async #podsOf(file: string): Promise<V1Pod[]> {
    const { files, node, clock, logger } = this.#options
    const stat = await files.statTarget(file)
    const seen = this.#seen.get(file)
    if (stat === undefined || stat.kind === 'directory') return []
    // A pipe would never end, and hold up all others.
    if (stat.kind !== 'file' || stat.sizeBytes > largestBytes) {
      logger.warn('not a static pod manifest', { file, kind: stat.kind, sizeBytes: stat.sizeBytes, largestBytes })
      return seen?.pods ?? []
    }
    const text = await files.readTextIfPresent(file)
    if (text === undefined) return []
    if (seen?.text === text) return seen.pods
    try {
      const pods = staticPodsIn(text, { source: 'file', node, place: file, now: formatTime(clock.now()) })
      this.#seen.set(file, { text, pods })
      return pods
    } catch (error) {
      logger.warn('invalid static pod manifest', { file, error: String(error) })
      this.#seen.set(file, { text, pods: seen?.pods ?? [] })
      return seen?.pods ?? []
    }
  }

  #watchOver(path: string): Disposable {
    const { files, clock } = this.#options
    return files.watch(path, () => {
      this.#settling?.cancel()
      this.#settling = clock.after(settleMs, () => void this.#read())
    })
  }
}
